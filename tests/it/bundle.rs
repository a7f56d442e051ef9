//! `bundle` and `install --managed`: one signed policy on many machines, each with a root of its own.

mod pulled;

use crate::client::{Client, OVER_ETC};
use crate::fleet::postgres::Postgres;
use crate::model::{Model, Turn};
use crate::pages::{blocks, read, split};
use crate::speed::counted;
use crate::support::{Answer, Sandbox};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

const NAME: &str = "admin.example/policy";

/// The bundle's configuration: `deploy` is refused, with this reason.
fn config(reason: &str) -> String {
    format!(
        "[mode]\nlevel = \"guard\"\n\n[[rule]]\nid = \"no-deploy\"\ntool = \"Bash\"\ncommand = \"deploy*\"\naction = \"deny\"\nreason = \"{reason}\"\n"
    )
}

/// The administrator's desk: a folder `policy`, a key, and the bundles made of them.
struct Admin(Sandbox);

impl Admin {
    fn new() -> Self {
        let admin = Self(Sandbox::new());
        admin.0.person(&["key", "init", "--origin", NAME]).said(&[NAME]);
        admin
    }

    fn key(&self) -> String {
        self.0.person(&["key", "export", "--yes"]).out.trim().to_owned()
    }

    fn put(&self, file: &str, text: &str) {
        self.0.put(&format!("policy/{file}"), text);
    }

    /// The next version of what `policy` holds, not signed.
    fn make(&self, file: &str, more: &[&str]) -> PathBuf {
        self.0
            .person(&[&["bundle", "make", "policy", "-o", file, "--name", NAME], more].concat())
            .said(&["packed"]);
        self.0.project().join(file)
    }

    fn sign(&self, file: &Path) {
        self.0.person(&["bundle", "sign", file.to_str().unwrap(), "--yes"]).said(&["signed", NAME]);
    }

    /// A signed version in a file of its own.
    fn version(&self, version: u64) -> PathBuf {
        let file = self.make(&format!("{version}.bundle"), &["--version", &version.to_string()]);
        self.sign(&file);
        file
    }
}

/// A machine whose administrator's folders are below a root of its own.
struct Machine(Sandbox);

impl Machine {
    fn new() -> Self {
        let sandbox = Sandbox::unchosen();
        let root = sandbox.home().parent().unwrap().join("machine");
        sandbox.configure_only("tracker.command = \"none\"\naudit.rate = 0\n");
        Self(sandbox.with("AOPS_TEST_ROOT", root))
    }

    fn root(&self, path: &str) -> PathBuf {
        self.0.home().parent().unwrap().join("machine").join(path)
    }

    fn install(&self, bundle: &Path, more: &[&str]) -> Answer {
        self.0.person(&[&["install", "--managed", bundle.to_str().unwrap()], more].concat())
    }

    fn runs(&self) -> (String, u64) {
        let said = self.0.person(&["bundle", "status", "--json"]).json();
        (
            said["bundle"]["name"].as_str().unwrap_or_default().to_owned(),
            said["bundle"]["version"].as_u64().unwrap_or(0),
        )
    }

    /// What a new session says to a shell command.
    fn tries(&self, command: &str) -> Answer {
        let session = self.0.session();
        assert_eq!(session.start("startup").code, Some(0));
        assert_eq!(session.prompt("go").code, Some(0));
        session.pre(&session.call("Bash", json!({"command": command})))
    }
}

/// A policy change signed and in force on 50 machines; a forged, an unsigned and a rolled-back bundle refused
/// on each.
#[test]
fn a_policy_is_in_force_on_fifty_machines() {
    let (admin, stranger) = (Admin::new(), Admin::new());
    admin.put("config.toml", &config("first"));
    let first = admin.version(1);
    admin.put("config.toml", &config("second"));
    let second = admin.version(2);
    stranger.put("config.toml", &config("mine"));
    let forged = stranger.version(3);
    let unsigned = admin.make("3.bundle", &["--version", "3"]);
    let key = admin.key();
    for n in 0..50 {
        let machine = Machine::new();
        machine.install(&first, &[]).failed(2, &["this machine trusts no key", "--key KEY"]);
        machine.install(&first, &["--key", &key]).said(&["this machine runs `admin.example/policy` 1"]);
        machine.install(&second, &[]).said(&["this machine runs `admin.example/policy` 2, signed by"]);
        machine
            .install(&forged, &[])
            .failed(4, &["is refused: it is not signed by a key that is trusted here", "hint: "]);
        machine.install(&unsigned, &[]).failed(4, &["is refused: it is not signed", "aops-hook bundle sign"]);
        machine
            .install(&first, &[])
            .failed(2, &["version 1 is older than `admin.example/policy` 2", "--version 3"]);
        assert_eq!(machine.runs(), (NAME.to_owned(), 2), "machine {n}");
        machine.tries("deploy now").refused(&["second"]);
    }
}

/// A rule that the bundle fixes is named and wins.
#[test]
fn a_bundle_holds_a_danger_rule() {
    let (admin, machine) = (Admin::new(), Machine::new());
    admin.put("config.toml", "[mode]\nlevel = \"guard\"\n\n[danger]\ngit-discard = \"deny\"\n");
    machine.install(&admin.version(1), &["--key", &admin.key()]).said(&["runs"]);
    let user = machine.0.home().join(".config/aops/config.toml");
    let before = fs::read_to_string(&user).unwrap();
    for arguments in
        [&["danger", "off", "git-discard", "--yes"][..], &["danger", "ask", "git-discard", "--here", "--yes"]]
    {
        machine
            .0
            .person(arguments)
            .failed(2, &["the administrator's bundle holds `git-discard` at `deny`", "bundle status"]);
    }
    assert_eq!(fs::read_to_string(&user).unwrap(), before);
    machine.0.person(&["danger", "off", "git-clean", "--yes"]).said(&["is set"]);
    machine.0.person(&["danger", "deny", "git-discard", "--yes"]).said(&["is set"]);
    machine.tries("git reset --hard HEAD~1").refused(&["git-discard"]);
    let list = machine.0.person(&["danger", "list", "--json"]).json();
    let row = list.as_array().unwrap().iter().find(|row| row["rule"] == "git-discard").unwrap();
    assert_eq!((&row["level"], &row["from"][0]["layer"]), (&json!("deny"), &json!("managed")), "{row}");
}

/// The database that machines share knows who runs what.
#[test]
fn fleet_status_shows_which_bundle_a_machine_runs() {
    let (postgres, admin, machine) = (Postgres::with_tables(), Admin::new(), Machine::new());
    postgres.configure(&machine.0, "");
    let told = || {
        assert_eq!(machine.0.session().start("startup").code, Some(0));
        machine.0.wait_until("it was sent", || machine.0.alive().is_empty());
        machine.0.person(&["fleet", "status", "--json"]).json()["machines"][0]["bundle"].clone()
    };
    assert_eq!(told(), json!(null));
    admin.put("config.toml", &config("first"));
    machine.install(&admin.version(1), &["--key", &admin.key()]).said(&["runs"]);
    machine.install(&admin.version(2), &[]).said(&["runs"]);
    let told = told();
    assert_eq!((&told["name"], &told["version"]), (&json!(NAME), &json!(2)));
    assert_eq!(told["digest"].as_str().map(str::len), Some(64));
    machine.0.person(&["fleet", "status"]).said(&["admin.example/policy 2"]);
}

#[test]
fn what_is_refused_goes_on_as_the_hint_says() {
    let (admin, machine) = (Admin::new(), Machine::new());
    let key = admin.key();
    admin.put("config.toml", &config("first"));
    machine.install(&admin.version(1), &["--key", &key]).said(&["runs"]);
    admin.put("config.toml", &config("second"));
    machine.install(&admin.version(2), &[]).said(&["runs"]);
    // A byte of a signed bundle changed, and then signed by who may.
    let changed = admin.0.project().join("changed.bundle");
    let text = fs::read_to_string(admin.version(3)).unwrap();
    fs::write(&changed, text.replace("\"version\":3", "\"version\":4")).unwrap();
    machine.install(&changed, &[]).failed(4, &["the signature of `admin.example/policy` is wrong"]);
    admin.sign(&changed);
    machine.install(&changed, &[]).said(&["runs `admin.example/policy` 4"]);
    // Another content under the same version, and an older one brought back under a newer version.
    admin.put("config.toml", &config("first"));
    machine.install(&admin.version(4), &[]).failed(2, &["another bundle of the same version", "--version 5"]);
    machine.0.person(&["bundle", "verify", admin.version(4).to_str().unwrap()]).failed(2, &["same version"]);
    let back = admin.make("back.bundle", &["--version", "5"]);
    admin.sign(&back);
    machine.0.person(&["bundle", "verify", back.to_str().unwrap()]).said(&["is complete and signed by"]);
    machine.install(&back, &["--dry-run"]).said(&["would run", "would write"]);
    assert_eq!(machine.runs().1, 4, "nothing was changed");
    machine.install(&back, &[]).said(&["runs `admin.example/policy` 5"]);
    machine.tries("deploy").refused(&["first"]);
    // Another name: the one in force is ended first.
    let other = admin.0.project().join("other.bundle");
    let other = other.to_str().unwrap();
    admin.0.person(&["bundle", "make", "policy", "-o", other, "--name", "other.example"]).said(&["packed"]);
    admin.sign(Path::new(other));
    machine.install(Path::new(other), &[]).failed(2, &["aops-hook uninstall --managed"]);
    machine.0.person(&["uninstall", "--managed", "--yes"]).said(&["removed"]);
    machine.install(Path::new(other), &["--key", &key]).said(&["runs `other.example` 1"]);
}

#[test]
fn neither_user_nor_project_loosens_it() {
    let (admin, machine) = (Admin::new(), Machine::new());
    admin.put("config.toml", &(config("held") + "[danger]\ngit-clean = \"deny\"\n[audit]\nrate = 0.5\n"));
    machine.install(&admin.version(1), &["--key", &admin.key()]).said(&["runs"]);
    let sandbox = &machine.0;
    sandbox.configure("tracker.command = \"none\"\n[mode]\nlevel = \"observe\"\n[danger]\ngit-clean = \"off\"\n[audit]\nrate = 0\ngrace = 1\n");
    machine.tries("deploy").refused(&["held"]);
    let shown = sandbox.person(&["policy", "show", "--json"]).json();
    let setting =
        |name: &str| shown["settings"].as_array().unwrap().iter().find(|one| one["key"] == name).unwrap();
    for (key, value) in
        [("mode.level", json!("guard")), ("danger.git-clean", json!("deny")), ("audit.rate", json!(0.5))]
    {
        assert_eq!((&setting(key)["value"], &setting(key)["from"]), (&value, &json!("managed")), "{key}");
    }
    assert_eq!(setting("audit.grace")["from"], "user", "what the bundle does not name is the user's");
    let idle: Vec<_> =
        shown["without_effect"].as_array().unwrap().iter().map(|one| one["key"].clone()).collect();
    for key in ["mode.level", "danger.git-clean", "audit.rate"] {
        assert!(idle.contains(&json!(key)), "{key} is told: {idle:?}");
    }
    sandbox
        .person(&["mode", "observe", "--yes"])
        .failed(2, &["administrator's bundle sets the mode to `guard`"]);
    sandbox.person(&["mode", "strict", "--yes"]).said(&["strict"]);
    // A start cannot lower it, and a project's file cannot either.
    let lower = Machine(machine.0.with("AOPS_MODE", "observe"));
    let session = lower.0.session();
    let said = session.start("startup");
    assert!(said.out.contains("the administrator's bundle sets the mode"), "{said:?}");
    lower.0.put(".aops/config.toml", "[danger]\ngit-clean = \"off\"\n");
    lower.0.session().prompt("go").refused(&["danger.git-clean", "a project may only raise this"]);
}

/// Texts: the administrator's take the place of the user's and the project's; axioms add up.
#[test]
fn its_texts_hold() {
    let (admin, machine) = (Admin::new(), Machine::new());
    let workflow =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/workflows/debugging.md")).unwrap();
    admin.put("workflows/debugging.md", &workflow);
    admin.put("AXIOMS.md", "Never on a Friday.\n");
    admin.put("agents/critic.md", "---\nname: critic\ndescription: ours\n---\nOurs.\n");
    admin.put("templates/refusals/rule.md", "the house says: {{reason}}\n");
    machine.install(&admin.version(1), &["--key", &admin.key()]).said(&["runs"]);
    machine.0.put(".aops/workflows/debugging.md", &workflow.replace("Debugging", "Less"));
    for name in ["workflows/debugging.md", "AXIOMS.md", "agents/critic.md", "templates/refusals/rule.md"] {
        let path = machine.0.home().join(".config/aops").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, if name.starts_with("workflows") { &workflow } else { "mine\n" }).unwrap();
    }
    let shown = machine.0.person(&["policy", "show", "--json"]).json();
    let texts = shown["texts"].as_array().unwrap();
    let from = |name: &str| texts.iter().find(|one| one["name"] == name).unwrap()["from"].clone();
    for name in ["workflow/debugging", "agent/critic", "template/refusals/rule", "axioms/AXIOMS@managed"] {
        assert_eq!(from(name), "managed", "{name}");
    }
    assert_eq!(from("axioms/AXIOMS@user"), "user");
    let agent = machine.root("etc/claude-code/.claude/agents/aops-hook/critic.md");
    assert!(fs::read_to_string(&agent).unwrap().ends_with("Ours.\n"));
    fs::remove_dir_all(admin.0.project().join("policy/agents")).unwrap();
    machine.install(&admin.version(2), &[]).said(&["runs"]);
    assert!(!fs::read_to_string(agent).unwrap().ends_with("Ours.\n"), "the shipped one is back");
}

/// What is there and cannot be trusted stops everything, and the next installation mends it.
#[test]
fn a_damaged_bundle_refuses_until_it_is_installed_again() {
    let (admin, machine) = (Admin::new(), Machine::new());
    admin.put("config.toml", &config("held"));
    let bundle = admin.version(1);
    machine.install(&bundle, &["--key", &admin.key()]).said(&["runs"]);
    machine
        .0
        .person(&["doctor"])
        .out
        .lines()
        .find(|line| line.contains("admin.example/policy 1, signed by"))
        .unwrap();
    let place = machine.root("etc/aops-hook/bundle");
    fs::write(&place, fs::read_to_string(&place).unwrap().replace("deny", "warn")).unwrap();
    machine.0.session().prompt("go").refused(&["aops-hook/bundle", "digest", "install --managed BUNDLE"]);
    machine.0.person(&["bundle", "status"]).failed(2, &["digest"]);
    let doctor = machine.0.person(&["doctor"]);
    assert!(
        doctor.code == Some(1) && doctor.out.contains("fix: as root, run `aops-hook install --managed"),
        "{doctor:?}"
    );
    fs::remove_file(machine.root("etc/aops-hook/keys")).unwrap();
    machine.install(&bundle, &["--key", &admin.key()]).said(&["runs"]);
    machine.tries("deploy").refused(&["held"]);
    let session = machine.0.session();
    session.start("startup").silent();
    let shown = machine.0.person(&["status", &session.id, "--json"]).json();
    assert_eq!((&shown["bundle"]["name"], &shown["bundle"]["version"]), (&json!(NAME), &json!(1)));
    machine.0.person(&["status", &session.id]).said(&["admin.example/policy 1"]);
}

/// A person who registered us before the administrator did has nothing to mend: the client runs equal hooks
/// once.
#[test]
fn a_persons_own_hooks_are_no_fault() {
    let (admin, machine) = (Admin::new(), Machine::new());
    admin.put("config.toml", &config("held"));
    machine.install(&admin.version(1), &["--key", &admin.key()]).said(&["managed-settings.d"]);
    machine.0.person(&["install"]).said(&["registered"]);
    let rows = machine.0.person(&["doctor", "--json"]).json_of_any_exit();
    let row = rows.as_array().unwrap().iter().find(|row| row["check"] == "once").unwrap();
    assert_eq!(row["ok"], true, "{row}");
    let settings = machine.0.home().join(".claude/settings.json");
    let text = fs::read_to_string(&settings).unwrap();
    fs::write(&settings, text.replace(crate::support::BINARY, "/opt/other/aops-hook")).unwrap();
    let rows = machine.0.person(&["doctor", "--json"]).json_of_any_exit();
    let row = rows.as_array().unwrap().iter().find(|row| row["check"] == "once").unwrap();
    assert_eq!(row["ok"], false, "another program is run as well: {row}");
}

/// Each client's administrator's file brings our hooks; foreign entries stay, and all of it is undone.
#[test]
fn each_client_has_our_hooks_for_everybody() {
    let (admin, machine) = (Admin::new(), Machine::new());
    admin.put("config.toml", &config("held"));
    let (bundle, key) = (admin.version(1), admin.key());
    let codex = machine.root("etc/codex/hooks.json");
    let foreign = "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}]\n  }\n}\n";
    fs::create_dir_all(codex.parent().unwrap()).unwrap();
    fs::write(&codex, foreign).unwrap();
    machine
        .install(&bundle, &["--key", &key])
        .said(&["codex/hooks.json", "opencode.json", "managed-settings.d"]);
    let read =
        |path: &str| fs::read_to_string(machine.root(path)).unwrap_or_else(|error| panic!("{path}: {error}"));
    let link = "etc/aops-hook/aops-hook";
    for (path, program) in [
        ("etc/claude-code/managed-settings.d/aops-hook.json", crate::support::BINARY),
        ("etc/codex/hooks.json", link),
        ("etc/gemini-cli/settings.json", link),
        ("etc/github-copilot/policy.d/aops-hook.json", link),
        ("etc/aops-hook/opencode.js", link),
    ] {
        assert!(read(path).contains(program), "{path}");
    }
    assert_eq!(fs::read_link(machine.root(link)).unwrap(), Path::new(crate::support::BINARY));
    assert!(read("etc/codex/hooks.json").contains("beep"));
    assert!(read("etc/opencode/opencode.json").contains("file:///etc/aops-hook/opencode.js"));
    assert!(read("etc/claude-code/managed-settings.d/aops-hook.json").contains("CLAUDE_CODE_SHELL_PREFIX"));
    machine.install(&bundle, &[]).said(&["already runs"]);
    fs::remove_file(machine.root("etc/gemini-cli/settings.json")).unwrap();
    machine.install(&bundle, &[]).said(&["gemini-cli/settings.json"]);
    fs::remove_file(machine.root(link)).unwrap();
    machine.install(&bundle, &[]).said(&["this machine runs"]);
    assert!(machine.root(link).exists());
    machine.0.person(&["uninstall", "--managed", "--yes"]).said(&["removed"]);
    let unspaced = |text: &str| text.split_whitespace().collect::<String>();
    assert_eq!(unspaced(&read("etc/codex/hooks.json")), unspaced(foreign));
    for path in ["etc/aops-hook", "etc/gemini-cli/settings.json", "etc/opencode/opencode.json"] {
        assert!(!machine.root(path).exists(), "{path}");
    }
    machine.0.person(&["bundle", "status"]).said(&["this machine runs no bundle"]);
}

/// An agent signs nothing, installs nothing, and writes none of these files.
#[test]
fn no_agent_decides_for_everybody() {
    let admin = Admin::new();
    admin.put("config.toml", &config("held"));
    let file = admin.version(1);
    let file = file.to_str().unwrap();
    for line in [
        &["bundle", "sign", file, "--yes"][..],
        &["bundle", "make", "policy", "-o", "x"],
        &["install", "--managed", file],
    ] {
        admin.0.inside(line).failed(2, &["needs a person at a terminal"]);
    }
    admin.0.person(&["bundle", "sign", file]).failed(2, &["needs a person at a terminal"]);
    admin.0.inside(&["bundle", "verify", file, "--key", &admin.key()]).said(&["is complete"]);
    admin.0.configure("tracker.command = \"none\"\nmode.level = \"guard\"\n");
    let session = admin.0.session();
    assert_eq!(session.start("startup").code, Some(0));
    for command in [
        "aops-hook bundle sign x --yes",
        "aops-hook install --managed x",
        "cp x /etc/aops-hook/bundle",
        "rm -r /etc/codex",
        "echo {} > /etc/gemini-cli/settings.json",
        "tee /etc/claude-code/managed-settings.d/zz.json",
    ] {
        session.pre(&session.call("Bash", json!({"command": command}))).refused(&["hint"]);
    }
    let write = json!({"file_path": "/etc/aops-hook/keys", "content": "x"});
    session.pre(&session.call("Write", write)).refused(&["what guards this session"]);
    session.pre(&session.call("Bash", json!({"command": "cat /etc/codex/hooks.json"}))).silent();
}

#[test]
fn a_bundle_is_packed_whole_or_not_at_all() {
    let admin = Admin::new();
    admin.put("config.toml", "[mode]\nlevl = \"loop\"\n");
    admin.put("templates/refusals/rules.md", "x");
    let make = |more: &[&str]| admin.0.person(&[&["bundle", "make", "policy", "-o", "p"], more].concat());
    make(&[]).failed(2, &["--name example.com/policy"]);
    make(&["--name", NAME])
        .failed(2, &["nothing was packed", "mode.levl", "refusals/rule`?", "hint: fix it"]);
    assert!(!admin.0.project().join("p").exists());
    fs::remove_dir_all(admin.0.project().join("policy/templates")).unwrap();
    admin.put("config.toml", &config("one"));
    assert_eq!(make(&["--name", NAME, "--json"]).json()["version"], 1);
    assert_eq!(make(&["--json"]).json()["version"], 2, "one more than in the file, under its name");
    let old = admin.version(1);
    admin.put("config.toml", &config("two"));
    admin.put("AXIOMS.md", "more\n");
    let new = admin.version(2);
    let diff = |more: &[&str]| {
        admin.0.person(&[&["bundle", "diff", old.to_str().unwrap(), new.to_str().unwrap()], more].concat())
    };
    diff(&[]).said(&["`admin.example/policy` 1 to `admin.example/policy` 2", "-reason = \"one\"", "+more"]);
    let changes = diff(&["--json"]).json();
    assert_eq!(changes["changes"].as_array().unwrap().len(), 2, "{changes}");
    let none = Sandbox::new().with("AOPS_TEST_ROOT", admin.0.tmp());
    none.person(&["bundle", "diff", old.to_str().unwrap()]).said(&["no bundle to", "+level"]);
    none.person(&["bundle", "sign", old.to_str().unwrap(), "--yes"]).failed(2, &["aops-hook key init"]);
    admin
        .0
        .person(&["bundle", "verify", "policy/config.toml", "--key", &admin.key()])
        .failed(4, &["it is not a bundle", "fetch the original again"]);
}

/// The policy is in the session's state: an event pays nothing for the bundle.
#[test]
fn a_bundle_costs_an_event_no_system_call() {
    let admin = Admin::new();
    admin.put("config.toml", &config("held"));
    let (bundle, key) = (admin.version(1), admin.key());
    let calls = |machine: &Machine| {
        let session = machine.0.session();
        assert_eq!(session.start("startup").code, Some(0));
        assert_eq!(session.prompt("go").code, Some(0));
        let call = session.call("Read", json!({"file_path": "/x"}));
        let fields = json!({"tool_name": call.tool, "tool_input": call.input, "tool_use_id": call.id});
        counted(&machine.0, &session.payload("PreToolUse", fields))
    };
    let (with, without) = (Machine::new(), Machine::new());
    with.install(&bundle, &["--key", &key]).said(&["runs"]);
    without.0.configure(&(config("held") + "[tracker]\ncommand = \"none\"\n"));
    let (with, without) = (calls(&with), calls(&without));
    assert!(!with.iter().any(|call| call.contains("etc/aops-hook")), "{with:#?}");
    assert!(with.len() <= without.len() + 1, "{} with a bundle, {} without", with.len(), without.len());
}

/// The page's commands, in their order, say what it says; `…` is anything.
#[test]
fn the_pages_commands_work() {
    let (page, machine) = (read("docs/bundle.md"), Machine::new());
    machine.0.put("policy/config.toml", &blocks(&page, "toml")[0]);
    let shown: Vec<String> =
        blocks(&page, "console").concat().split("$ ").skip(1).map(str::to_owned).collect();
    assert_eq!(shown.len(), 10, "the commands were found");
    for shown in shown {
        let (line, wanted) = shown.split_once('\n').unwrap();
        let line = line.trim_start_matches("sudo ").strip_prefix("aops-hook ").unwrap();
        let key = machine.0.person(&["key", "export", "--yes"]).out;
        let mut words: Vec<String> = split(line).iter().map(|word| word.replace("KEY", key.trim())).collect();
        words.extend(line.starts_with("bundle sign").then(|| "--yes".to_owned()));
        let said = machine.0.person(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let parts =
            wanted.lines().flat_map(|line| line.split('…')).map(str::trim).filter(|part| !part.is_empty());
        said.said(&parts.collect::<Vec<_>>());
    }
}

/// A person on a machine whose administrator installed a bundle: `deploy` is refused, though that person
/// never ran `install`.
pub(crate) fn administered() -> Sandbox {
    let (admin, sandbox) = (Admin::new(), Sandbox::unchosen());
    admin.put("config.toml", &config("held by the house"));
    admin.put(
        "agents/scribe.md",
        "---\nname: scribe\ndescription: keeps the house's books\n---\nYou keep books.\n",
    );
    let root = sandbox.home().parent().unwrap().join("machine");
    let (bundle, key) = (admin.version(1), admin.key());
    let words =
        ["install", "--managed", bundle.to_str().unwrap(), "--key", &key, "--root", root.to_str().unwrap()];
    sandbox.person(&words).said(&["runs"]);
    sandbox.with(OVER_ETC, root.join("etc"))
}

/// Hooks, jail and agents come from the administrator's folders alone.
#[cfg(target_os = "linux")]
#[test]
fn claude_code_obeys_an_administrator() {
    let sandbox = administered();
    let model = Model::new([
        Turn::call("Bash", json!({"command": "deploy now"})),
        Turn::call("Bash", json!({"command": "echo $((6 * 7))"})),
        Turn::text("Then not."),
    ]);
    Client::unguarded(&sandbox, &model).run("deploy it").ended("Then not.");
    let results = model.tool_results();
    assert!(results[0].is_error && results[0].text.contains("held by the house"), "{results:?}");
    assert_eq!(results[1].text, "42", "{results:?}");
    let heard = model.requests()[0].body.to_string();
    assert!(heard.contains("keeps the house's books"), "the bundle's agent can be started");
}

/// A bundle past its last day, or revoked, is named and not installed; its rules hold until another is there.
#[test]
fn an_expired_or_revoked_bundle_is_told() {
    let admin = Admin::new();
    admin.put("config.toml", &config("held"));
    let key = admin.key();
    let last = |n: u64, day: &str| {
        let file = admin.make(&format!("{n}.bundle"), &["--version", &n.to_string(), "--not-after", day]);
        admin.sign(&file);
        file
    };
    let (good, old) = (last(1, "2099-12-31"), last(2, "2020-01-31"));
    let machine = Machine::new();
    machine.install(&old, &["--key", &key]).failed(2, &["it expired at 2020-01-31T23:59:59.999Z", "hint: "]);
    machine.install(&good, &["--key", &key]).said(&["this machine runs `admin.example/policy` 1"]);
    machine.0.person(&["bundle", "status"]).said(&["it should be replaced by 2099-12-31T23:59:59.999Z"]);
    let doctor = |machine: &Machine| {
        let rows = machine.0.person(&["doctor", "--json"]).json_of_any_exit();
        rows.as_array().unwrap().iter().find(|row| row["check"] == "bundle").unwrap().clone()
    };
    assert_eq!(doctor(&machine)["ok"], true);
    // The clock goes on.
    let mut command = machine.0.command(crate::support::BINARY);
    let later = (aops_core::system::env::now_ms() + 100 * 365 * 86_400_000).to_string();
    let said = command.args(["bundle", "status", "--json"]).env("AOPS_TEST_NOW_MS", later).output().unwrap();
    let said = Answer::of("", &said);
    let told: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, &told["expired"]), (Some(1), &json!(true)), "{said:?}");
    // Revoked by its digest.
    let digest = machine.0.person(&["bundle", "status", "--json"]).json()["bundle"]["digest"].clone();
    let revoked = machine.root("etc/aops-hook/revoked");
    fs::write(&revoked, format!("# a rule was wrong\n{} # 1\n", digest.as_str().unwrap())).unwrap();
    let said = machine.0.person(&["bundle", "status"]);
    assert!(said.code == Some(1) && said.out.contains("it was revoked, and holds until"), "{said:?}");
    let row = doctor(&machine);
    assert!(row["ok"] == false && row["finding"].as_str().unwrap().contains("it was revoked"), "{row}");
    machine.tries("deploy now").refused(&["held"]);
    machine.install(&good, &[]).failed(2, &["it was revoked"]);
    fs::write(&revoked, "nonsense\n").unwrap();
    assert!(machine.0.person(&["bundle", "status"]).out.contains("`nonsense` is not the digest of a bundle"));
    admin
        .0
        .person(&["bundle", "make", "policy", "-o", "x", "--name", NAME, "--not-after", "soon"])
        .failed(2, &["is not a day"]);
}
