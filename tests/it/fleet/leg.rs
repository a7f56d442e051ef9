//! `__leg`: a part of a run, as `aops-fleet` starts it: what it asks, what it announces, what it leaves, and
//! which orders it refuses.

use crate::model::{Model, Turn};
use crate::runs::jail::PLANT;
use crate::runs::world::{CONFIG, World, bash};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

/// A repository with a remote, and a folder in which steps leave their effects.
struct Machine {
    world: World,
    effects: PathBuf,
    bare: PathBuf,
}

fn steps(lines: &[(&str, &str)]) -> String {
    let step = |(id, line): &(&str, &str)| {
        let quoted = line.replace('\'', "''");
        format!("  - {{id: {id}, name: N, description: d, run: '{quoted}'}}\n")
    };
    lines.iter().map(step).collect()
}

impl Machine {
    fn new(lines: &[(&str, &str)]) -> Self {
        Self::of(World::new(&[("w", &steps(lines))]))
    }

    fn of(mut world: World) -> Self {
        let effects = world.sandbox.tmp().join("effects");
        fs::create_dir(&effects).unwrap();
        world.sandbox = world.sandbox.with("EFFECTS", &effects);
        let bare = world.sandbox.tmp().join("remote.git");
        world.git(&["init", "-q", "--bare", "-b", "main", bare.to_str().unwrap()]);
        world.git(&["remote", "add", "origin", bare.to_str().unwrap()]);
        world.git(&["push", "-q", "-u", "origin", "main"]);
        Self { world, effects, bare }
    }

    fn leg(&self, run: &str) -> Value {
        let commit = self.world.git(&["rev-parse", "HEAD"]);
        let request = json!({
            "run_id": run, "task": "make it so", "client": "", "context": [], "model": null, "workflow": "w",
            "project_type": null, "budget": null, "step_timeout_ms": 600_000
        });
        let order = json!({"repository": self.bare, "commit": commit.trim(), "folder": "", "run": request});
        json!({"run": run, "order": order})
    }

    /// Drives a part of a run. Returns how it ended.
    #[track_caller]
    fn drive(&self, leg: &Value) -> Value {
        let [from, to] = ["leg", "end"].map(|name| self.world.sandbox.tmp().join(name));
        fs::write(&from, leg.to_string()).unwrap();
        let words = ["__leg", from.to_str().unwrap(), to.to_str().unwrap()];
        let said = self.world.sandbox.person(&words);
        assert_eq!(said.code, Some(0), "{said:?}");
        serde_json::from_str(&fs::read_to_string(&to).unwrap()).unwrap()
    }

    #[track_caller]
    fn answer(&self, run: &str, about: &Value) -> Value {
        let mut leg = self.leg(run);
        leg["answer"] = json!({
            "about": about, "approve": true, "who": "bob", "at": "2026-01-13T10:00:00Z", "note": "just this once"
        });
        self.drive(&leg)
    }

    /// It is refused with these words, and no clone was made.
    #[track_caller]
    fn refuses(&self, leg: &Value, words: &str) {
        let end = self.drive(leg);
        assert_eq!((&end["kind"], &end["outcome"]), (&json!("finished"), &json!("BLOCKED")), "{end}");
        let reason = end["reason"].as_str().unwrap();
        assert!(reason.starts_with("nothing was run: ") && reason.contains(words), "{reason}");
        assert!(!self.trees().exists(), "a clone was made");
    }

    fn trees(&self) -> PathBuf {
        self.world.sandbox.home().join(".local/state/aops/runs")
    }

    fn effect(&self, name: &str) -> String {
        fs::read_to_string(self.effects.join(name)).unwrap_or_default()
    }
}

/// What matters comes after much that does not: the question must show it all the same.
fn long_line() -> String {
    format!("true {} && touch danger && echo danger >> \"$EFFECTS/log\"", "x".repeat(400))
}

/// A call of the real client: made once, under its own id.
#[test]
fn a_call_that_the_client_deferred_is_made_once_after_the_answer() {
    let model = Model::new([bash(&long_line()), Turn::text("Built.")]);
    let before = steps(&[("before", "echo before >> \"$EFFECTS/log\"")]);
    let steps = before + "  - {id: build, name: Build, description: make it}\n";
    let machine = Machine::of(World::real(&model, &[("w", &steps)]));
    let asks = machine.drive(&machine.leg("r"));
    assert_eq!((&asks["kind"], &asks["pinned"]), (&json!("asks"), &json!(true)), "{asks}");
    let question = asks["question"].as_str().unwrap();
    for words in ["touch danger && echo danger", "not to be touched lightly"] {
        assert!(question.contains(words), "{question}");
    }
    assert_eq!(machine.drive(&machine.leg("r"))["about"], asks["about"], "without an answer it asks again");
    let other = machine.answer("r", &json!("another question"));
    assert_eq!(other["about"], asks["about"], "an answer to another question is none");
    assert_eq!(machine.effect("log"), "before\n");
    let end = machine.answer("r", &asks["about"]);
    assert_eq!(end["outcome"], "PASS", "{end}");
    assert_eq!(machine.effect("log"), "before\ndanger\n", "each once");
    let ledgers =
        machine.world.sandbox.files().into_iter().filter(|(path, _)| path.ends_with("ledger.jsonl"));
    let ledgers: Vec<String> = ledgers.map(|(_, bytes)| String::from_utf8(bytes).unwrap()).collect();
    let entries =
        ledgers.iter().flat_map(|text| text.lines()).map(|line| serde_json::from_str::<Value>(line).unwrap());
    let call =
        |entry: Value| (entry["type"] == "call").then(|| entry["with"]["to"].as_str().unwrap().to_owned());
    let went: Vec<String> =
        entries.filter(|entry| entry["with"]["call"]["id"] == "toolu_000100").filter_map(call).collect();
    assert_eq!(went, ["PENDING", "AUTHORIZED", "EXECUTING", "COMPLETED"]);
    let heard = model.requests().last().unwrap().said_by("system").join("\n");
    assert!(heard.contains("just this once"), "{heard}");
}

/// A question is announced, signed. What is announced opens the question and does not answer it.
#[test]
fn a_question_is_announced_with_a_signature() {
    let machine = Machine::new(&[("one", r#"test -e "$EFFECTS/x" || { : > "$EFFECTS/x"; kill -9 $$; }"#)]);
    let announce = r#"announce = 'cat > "$EFFECTS/told"; echo "$AOPS_SIGNATURE" > "$EFFECTS/signed"'"#;
    machine.world.configure(&format!("{CONFIG}\n[fleet]\nengine = \"https://runs.example/\"\n{announce}\n"));
    let asks = machine.drive(&machine.leg("r"));
    assert!(asks["question"].as_str().unwrap().contains("`one` was killed"), "{asks}");
    let told = machine.effect("told");
    let key = fs::read_to_string(machine.world.sandbox.config().join("aops/keys/fleet.key")).unwrap();
    let mut openssl = machine.world.sandbox.command("openssl");
    openssl.args(["dgst", "-sha256", "-hmac", key.trim()]).write_stdin(told.clone());
    let other = String::from_utf8(openssl.output().unwrap().stdout).unwrap();
    let signed = machine.effect("signed");
    let wanted = signed.trim().strip_prefix("sha256=").unwrap();
    assert!(!wanted.is_empty() && other.trim_end().ends_with(wanted), "as openssl computes it: {other}");
    let told: Value = serde_json::from_str(&told).unwrap();
    let wanted = json!({
        "run": "r", "repository": machine.bare, "question": asks["question"],
        "link": "https://runs.example/runs/r"
    });
    assert_eq!(told, wanted);
    assert_eq!(machine.answer("r", &asks["about"])["outcome"], "PASS");
}

/// The tree is written after each step: git is held there as the step was.
#[test]
fn a_filter_that_a_step_left_is_held_when_the_tree_is_carried() {
    let machine = Machine::new(&[("plant", PLANT), ("two", "true")]);
    let end = machine.drive(&machine.leg("r"));
    assert_eq!(end["outcome"], "PASS", "{end}");
    let home = machine.world.sandbox.home();
    assert!(home.join("ran").exists(), "no filter was run, so this shows nothing");
    assert!(!home.join(".config/aops/planted").exists());
}

/// Whoever can write an order makes machines run a workflow, and nothing else: no place outside of the run's
/// own tree is written, no option of git is slipped in.
#[test]
fn an_order_that_nobody_submitted_is_blocked_and_nothing_is_written() {
    let machine = Machine::new(&[("one", "true")]);
    let changed = |place: &str, value: Value| {
        let mut leg = machine.leg("r");
        *leg["order"].pointer_mut(place).unwrap() = value;
        leg
    };
    let ext = format!("ext::touch {}", machine.effects.join("planted").display());
    for (place, value, words) in [
        ("/commit", json!("--upload-pack=touch x"), "it names a commit"),
        ("/repository", json!("--upload-pack=touch x"), "the address of a repository"),
        ("/repository", json!(ext), "the address of a repository"),
        ("/folder", json!("../../../../.."), "a place in the repository"),
        ("/folder", json!("/"), "a place in the repository"),
        ("/run/context", json!(["/etc/passwd"]), "a place in the repository"),
        ("/run/run_id", json!("another"), "it has an id"),
    ] {
        machine.refuses(&changed(place, value), words);
    }
    machine.refuses(&machine.leg("../../../../planted"), "it has an id");
    assert!(!machine.effects.join("planted").exists());
}

/// The same for the record at the run's remote, which whoever can push there may have written.
#[test]
fn a_record_that_no_machine_left_is_refused_and_nothing_is_written() {
    let machine = Machine::new(&[("one", "true")]);
    let world = &machine.world;
    let bad = [
        (json!({"lines": [], "files": [["../../../../../../.config/aops/planted", "x"]]}), "it has a file"),
        (json!({"lines": [], "files": [["steps/../../../../../../../planted", "x"]]}), "it has a file"),
        (json!({"lines": ["{}"], "files": []}), "it has an attempt ledger"),
    ];
    for (n, (record, words)) in bad.into_iter().enumerate() {
        let run = format!("r{n}");
        let file = world.sandbox.tmp().join("record.json");
        fs::write(&file, record.to_string()).unwrap();
        let blob = world.git(&["hash-object", "-w", "--no-filters", file.to_str().unwrap()]);
        let list = format!("100644 blob {}\trecord.json\n", blob.trim());
        let mut mktree = world.sandbox.command("git");
        let output = mktree.arg("mktree").write_stdin(list).output().unwrap();
        let tree = String::from_utf8(output.stdout).unwrap();
        let above = world.git(&["commit-tree", "HEAD^{tree}", "-p", "HEAD", "-m", "tree"]);
        let commit = world.git(&["commit-tree", tree.trim(), "-p", above.trim(), "-m", "record"]);
        world.git(&["push", "-q", "origin", &format!("{}:refs/aops/runs/{run}", commit.trim())]);
        let mut leg = machine.leg(&run);
        leg["restore"] = json!(true);
        let end = machine.drive(&leg);
        assert_eq!(end["kind"], "failed", "{end}");
        assert!(end["words"].as_str().unwrap().contains(words), "{end}");
    }
    let home = world.sandbox.home();
    for place in [home.clone(), home.join(".config/aops"), home.join(".local/state/aops")] {
        assert!(!place.join("planted").exists(), "{}", place.display());
    }
}
