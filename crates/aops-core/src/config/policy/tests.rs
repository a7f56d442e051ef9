mod network;
mod tighten;

use super::key::KEYS;
use super::rule::{Called, Example};
use super::value::Value;
use super::*;
use crate::model::call::Effect;

#[expect(clippy::unnecessary_wraps, reason = "as `read` takes it")]
fn source(text: &str) -> Option<Source<'_>> {
    Some(Source { file: "f.toml", text })
}

fn user(text: &str) -> Policy {
    read(source(text), None).unwrap_or_else(|problems| panic!("{text}: {problems:?}")).0
}

/// The messages about a user's file, one problem per line.
#[track_caller]
fn refused(text: &str, want: &[&str]) {
    let problems = read(source(text), None).expect_err(text);
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said, want, "{text}");
}

#[test]
fn nothing_said_is_the_default() {
    let policy = Policy::default();
    assert_eq!(read(None, None).unwrap(), (policy.clone(), Origins::default()));
    assert_eq!(user("# nothing\n"), policy);
    let levels = KEYS.iter().filter(|key| key.table() == "gates").map(|key| key.get(&policy));
    assert!(levels.clone().count() == 9 && levels.into_iter().all(|l| l == Value::Text("enforce".into())));
    assert_eq!((policy.audit.rate.to_string(), policy.audit.at_least_every), ("0.1".to_owned(), 25));
}

#[test]
fn the_times_of_a_fleet_fit_together() {
    let fleet = user("[fleet]\nreattach = \"57s\"\nlabels = [\"linux\", \"gpu\"]").fleet;
    assert_eq!(
        (fleet.reattach.to_string(), fleet.labels),
        ("57s".to_owned(), vec!["gpu".into(), "linux".into()])
    );
    assert_eq!(user("fleet.lost_after = \"120s\"\nfleet.grace = \"2s\"").fleet, Fleet::default());
    refused(
        "[fleet]\nreattach = \"58s\"",
        &[
            "f.toml:2:12: `fleet.reattach`: `reattach` (58s) and `grace` (2s) together must be less than half of `lost_after` (2m)",
        ],
    );
    refused(
        "[fleet]\nlost_after = \"1h\"\nreattach = \"20m\"\ngrace = \"10m\"\n",
        &[
            "f.toml:4:9: `fleet.grace`: `reattach` (20m) and `grace` (10m) together must be less than half of `lost_after` (1h)",
        ],
    );
    for odd in ["0s", "2", "1.5h", "366d", ""] {
        let text = format!("fleet.grace = \"{odd}\"");
        let said = read(source(&text), None).unwrap_err()[0].to_string();
        assert!(said.contains("a duration as `30s`"), "{said}");
    }
}

const FULL: &str = r#"
audit = { rate = 0.25, at_least_every = 10, grace = 0 }
gates.qa = "warn"
[mode]
observe = true
[stop]
refusals = 5
[effects]
read = ["mcp__jira__get*", "Peek"]
write = "mcp__x__*"
[memory]
server = "http://127.0.0.1:8000/mcp"
[[rule]]
id = "zeta"
tool = "Bash"
command = ["git push --force*", "git push -f"]
action = "deny"
reason = "history is shared"
examples = ["Bash(git push --force)", "!Bash(git push)"]
[[rule]]
id = "alpha"
path = ".env"
effect = ["read", "write"]
action = "ask"
reason = "secrets"
[[check]]
id = "fmt"
on = "commit"
run = "cargo fmt --check"
paths = ["*.rs"]
"#;

#[test]
fn a_full_file_is_read() {
    let (policy, origins) = read(source(FULL), None).unwrap();
    assert_eq!(policy.audit.rate, Share::millionths(250_000));
    assert_eq!((policy.gates.qa, policy.gates.close), (Level::Warn, Level::Off), "named, and by the mode");
    assert!(policy.mode.observe && policy.stop.refusals == 5);
    assert_eq!(policy.effects.read, ["Peek", "mcp__jira__get*"]);
    assert_eq!(policy.rules.iter().map(|rule| rule.id.as_str()).collect::<Vec<_>>(), ["alpha", "zeta"]);
    assert_eq!(policy.rules[0].effect, [Effect::Read, Effect::Write]);
    assert_eq!(
        (policy.checks[0].timeout_ms, policy.checks[0].outcome.name()),
        (30_000, "INTERVENTION_REQUIRED")
    );
    let at = |key: &str| origins.of(key).iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        [at("audit.rate"), at("gates.qa"), at("gates.close"), at("rule.alpha")].concat(),
        ["f.toml:2", "f.toml:3", "f.toml:21"]
    );
}

#[test]
fn the_stored_form_is_canonical_and_reads_back() {
    for policy in [Policy::default(), user(FULL)] {
        let form = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json_canonicalizer::to_string(&policy).unwrap(), form);
        assert_eq!(serde_json::from_str::<Policy>(&form).unwrap(), policy);
    }
}

#[test]
fn order_in_the_file_moves_nothing() {
    let parts: Vec<&str> = FULL.split("[[").collect();
    let shuffled = format!("{}[[{}[[{}[[{}", parts[0], parts[3], parts[2], parts[1]);
    assert_ne!(shuffled, FULL);
    assert_eq!(user(&shuffled), user(FULL));
}

#[test]
fn what_is_wrong_is_named() {
    refused("[gates]\nqs = \"warn\"", &["f.toml:2:1: `gates.qs`: unknown key; did you mean `qa`?"]);
    refused("[gate]\nqa = \"warn\"", &["f.toml:1:2: `gate`: unknown key; did you mean `gates`?"]);
    refused("[[rules]]", &["f.toml:1:3: `rules`: unknown key; did you mean `rule`?"]);
    refused("[audit]\nqa = 1", &["f.toml:2:1: `audit.qa`: unknown key; did you mean `gates.qa`?"]);
    refused("[zebra]", &["f.toml:1:2: `zebra`: unknown key"]);
    refused(
        "gates.qa = \"of\"",
        &["f.toml:1:12: `gates.qa`: \"off\", \"warn\" or \"enforce\", not \"of\"; did you mean `off`?"],
    );
    refused(
        "[gates]\n  qa = true",
        &["f.toml:2:8: `gates.qa`: \"off\", \"warn\" or \"enforce\", not a yes or no"],
    );
    refused("gates = 3", &["f.toml:1:9: `gates`: a table: write `[gates]`"]);
    refused("rule = 3", &["f.toml:1:8: `rule`: a list of tables: write `[[rule]]`"]);
    refused("rule = [3]", &["f.toml:1:9: `rule`: a table: write `[[rule]]`"]);
    refused("[[check]]\nid = \"a\"\non = \"save\"", &["f.toml:1:1: `check.run`: missing"]);
    refused(
        "[audit]\nrate = 1.5\ngrace = -1",
        &[
            "f.toml:2:8: `audit.rate`: a number from 0 to 1, not 1.5",
            "f.toml:3:9: `audit.grace`: a whole number from 0 to 1000, not -1",
        ],
    );
    refused("audit.rate = 0.1234567", &["f.toml:1:14: `audit.rate`: at most six decimals, not 0.1234567"]);
    refused("audit.rate = nan", &["f.toml:1:14: `audit.rate`: a number from 0 to 1, not nan"]);
    refused("effects.read = [\"ok\",\n  7]", &["f.toml:2:3: `effects.read`: a text, not a whole number"]);
    refused("tracker.command = \"\"", &["f.toml:1:19: `tracker.command`: a text that is not empty"]);
    refused(
        "run.claude = \"a\\u001bb\"",
        &["f.toml:1:14: `run.claude`: a text on one line, without control characters"],
    );
    refused(
        "memory.server = \"ftp://x\"",
        &["f.toml:1:17: `memory.server`: a URL that begins with `http://`; no other protocol is supported"],
    );
    refused(
        "memory.server = \"https://127.0.0.1:8765/mcp\"",
        &["f.toml:1:17: `memory.server`: a URL that begins with `http://`; no other protocol is supported"],
    );
    refused(
        "memory.server = \"http://memory.example/mcp\"",
        &[
            "f.toml:1:17: `memory.server`: a URL whose host is a number or `localhost`, such as `http://127.0.0.1:8765/mcp`",
        ],
    );
    refused(
        "memory.server = \"http://me:secret@x/\"",
        &["f.toml:1:17: `memory.server`: a URL without user name and password: the policy is recorded"],
    );
}

#[test]
fn what_is_not_toml_is_named_by_its_place() {
    for (text, line) in [("[gates\n", 1), ("\n\nqa = = 1", 3), ("a = 1\na = 2", 2), ("x = \"", 1)] {
        let problems = read(source(text), None).unwrap_err();
        assert_eq!((problems[0].line, problems[0].what.is_empty()), (line, false), "{text}: {problems:?}");
    }
    let deep = format!("x = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(read(source(&deep), None).is_err());
}

#[test]
fn rules_and_checks_are_held_to_their_form() {
    let rule = "[[rule]]\nid = \"a\"\naction = \"deny\"\nreason = \"r\"\n";
    refused(rule, &["f.toml:2:6: `rule.id`: a rule needs `tool`, `path`, `command` or `effect`"]);
    let with = |more: &str| format!("{rule}tool = \"Bash\"\n{more}");
    refused(&with("example = []"), &["f.toml:6:1: `rule.example`: unknown key; did you mean `examples`?"]);
    refused(
        &with("effect = \"wirte\""),
        &[
            "f.toml:6:10: `rule.effect`: \"read\", \"write\", \"spawn\", \"tracker\" or \"control\", not \"wirte\"; did you mean `write`?",
        ],
    );
    refused(
        &with("examples = \"git push\""),
        &["f.toml:6:12: `rule.examples`: a call as `Tool(argument)` or `!Tool(argument)`, not \"git push\""],
    );
    let twice = with("") + &with("");
    refused(&twice, &["f.toml:7:6: `rule.id`: `a` is taken by f.toml:2"]);
    refused(
        "[[rule]]\nid = \"A b\"\ntool = \"x\"\naction = \"deny\"\nreason = \"r\"",
        &["f.toml:2:6: `rule.id`: up to 64 lower-case letters, digits and dashes"],
    );
    let many: String =
        (0..257).map(|n| rule.replace("\"a\"", &format!("\"a{n}\"")) + "tool = \"x\"\n").collect();
    assert_eq!(read(source(&many), None).unwrap_err()[0].what, "at most 256 rules");
}

#[test]
fn both_places_of_a_joined_list_are_known() {
    let project = Some(Source { file: "p.toml", text: "\neffects.write = [\"b\"]" });
    let (policy, origins) = read(source("effects.write = [\"a\"]"), project).unwrap();
    assert_eq!(policy.effects.of("b"), Some(Effect::Write));
    let places: Vec<String> = origins.of("effects.write").iter().map(ToString::to_string).collect();
    assert_eq!(places, ["f.toml:1", "p.toml:2"]);
}

#[test]
fn what_is_in_both_lists_writes() {
    let effects = user("effects = { read = [\"mcp__*\", \"Peek\"], write = [\"mcp__a__*\"] }").effects;
    for (tool, want) in [
        ("mcp__a__get", Some(Effect::Write)),
        ("mcp__b__get", Some(Effect::Read)),
        ("Peek", Some(Effect::Read)),
        ("Poke", None),
    ] {
        assert_eq!(effects.of(tool), want, "{tool}");
    }
}

#[test]
fn a_rule_matches_when_all_it_names_holds() {
    let rule = |text: &str| {
        let head = "[[rule]]\nid = \"a\"\naction = \"deny\"\nreason = \"r\"\n";
        user(&format!("{head}{text}")).rules.remove(0)
    };
    let words = |line: &str| vec![line.split_whitespace().map(str::to_owned).collect::<Vec<_>>()];
    let matches = |rule: &Rule, tool: &str, effect, path: &str, line: &str| {
        let paths: Vec<String> = path.split_whitespace().map(str::to_owned).collect();
        let commands = words(line);
        let project = "/p";
        let home = "/h";
        rule.matches(&Called { tool, effect, paths: &paths, read: &[], commands: &commands, project, home })
    };
    let force = rule("tool = [\"Bash\", \"PowerShell\"]\ncommand = \"git push --force*\"");
    for (tool, line, want) in [
        ("Bash", "git push --force", true),
        ("Bash", "/usr/bin/git push origin --force-with-lease", true),
        ("PowerShell", "git push -q origin main --force", true),
        ("Monitor", "git push --force", false),
        ("Bash", "git push origin", false),
        ("Bash", "git --force push", false),
        ("Bash", "echo git push --force", false),
        ("Bash", "", false),
    ] {
        assert_eq!(matches(&force, tool, Effect::Write, "", line), want, "{tool} {line}");
    }
    let env = rule("path = \".env*\"\neffect = \"write\"");
    for (effect, path, want) in [
        (Effect::Write, "/p/a/.env.local", true),
        (Effect::Write, "/p/a /p/.env", true),
        (Effect::Write, "/p/a", false),
        (Effect::Close, "/p/.env", true),
        (Effect::Read, "/p/.env", false),
        (Effect::Write, "", false),
    ] {
        assert_eq!(matches(&env, "Write", effect, path, ""), want, "{effect:?} {path}");
    }
}

#[test]
fn examples_are_calls() {
    let example = |meant, tool, argument| Some(Example { meant, tool, argument });
    assert_eq!(Example::of("Bash(git push (x))"), example(true, "Bash", "git push (x)"));
    assert_eq!(Example::of("!Write(a b)"), example(false, "Write", "a b"));
    assert_eq!(Example::of("mcp__a__get-b"), example(true, "mcp__a__get-b", ""));
    for odd in ["", "!", "(x)", "git push", "Bash(x", "Bash(x) y"] {
        assert_eq!(Example::of(odd), None, "{odd}");
    }
}

/// Every mode gives each gate a level, which a file overrides, whatever the order in the file.
#[test]
fn a_mode_levels_the_gates() {
    let levels = |text: &str| {
        let gates = user(text).gates;
        let all = [gates.checks, gates.sandbox, gates.critic, gates.audit, gates.qa, gates.reflect];
        let words = all.into_iter().chain([gates.commit(), gates.push(), gates.close]);
        words.map(|level| &level.name()[..1]).collect::<String>()
    };
    assert_eq!(levels("mode.level = \"observe\""), "ooooooooo");
    assert_eq!(levels("mode.observe = true"), "ooooooooo");
    assert_eq!(levels("mode.level = \"guard\""), "eoooooooo");
    assert_eq!(levels("mode.level = \"loop\""), "eeeeeeooo");
    assert_eq!(levels("mode.level = \"strict\""), "eeeeeeeee");
    assert_eq!(levels("gates.qa = \"enforce\"\nmode.level = \"guard\""), "eoooeoooo");
    assert_eq!(levels("mode.level = \"loop\"\ngates.close = \"warn\""), "eeeeeewww");
    assert_eq!(levels("gates.close = \"enforce\"\ngates.push = \"off\""), "eeeeeeeoo");
    refused(
        "mode.observe = true\nmode.level = \"loop\"",
        &["f.toml:1:16: `mode.observe`: `mode.level` has another value"],
    );
}

/// A project that raises the mode raises the gates that no file sets, and no others.
#[test]
fn a_project_raises_the_mode() {
    let of = |user: &str, project: &str| read(source(user), source(project)).map(|(policy, _)| policy);
    let policy = of("mode.level = \"observe\"\ngates.qa = \"off\"", "mode.level = \"strict\"").unwrap();
    assert_eq!((policy.gates.sandbox, policy.gates.qa), (Level::Enforce, Level::Off));
    let policy = of("mode.observe = true", "mode.observe = false").unwrap();
    assert_eq!((policy.mode.level(), policy.gates.sandbox), (ModeLevel::Strict, Level::Enforce));
    let policy = of("mode.level = \"guard\"", "gates.sandbox = \"warn\"").unwrap();
    assert_eq!(policy.gates.sandbox, Level::Warn);
    assert!(of("", "[[project]]\npath = \"/\"\nmode = \"observe\"\n").is_err());
}

#[test]
fn a_folder_has_its_own_mode() {
    let text = "[mode]\nlevel = \"loop\"\n[[project]]\npath = \"~/scratch\"\nmode = \"observe\"\n[[project]]\npath = \"/srv/*\"\nmode = \"strict\"\n";
    let at = |path: &str, project: &str| {
        let folder = Folder { path, home: "/home/u" };
        read_for(ModeLevel::Strict, folder, None, source(text), source(project))
            .map(|(policy, _)| policy.mode.level().name())
    };
    assert_eq!(at("/home/u/work", "").unwrap(), "loop");
    assert_eq!(at("/home/u/scratch", "").unwrap(), "observe");
    assert_eq!(at("/home/u/scratch/a/b", "").unwrap(), "observe");
    assert_eq!(at("/home/u/scratchy", "").unwrap(), "loop");
    assert_eq!(at("/srv/shop/api", "").unwrap(), "strict");
    assert_eq!(at("/home/u/scratch", "mode.level = \"guard\"").unwrap(), "guard");
    assert!(at("/srv/shop", "mode.level = \"loop\"").is_err());
    refused(
        "[[project]]\npath = \"scratch\"\nmode = \"loop\"\n",
        &["f.toml:2:8: `project.path`: a path that begins with `/` or `~`"],
    );
}
