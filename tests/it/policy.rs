//! Configuration, from file to words: `policy show|hash|diff`, the hook on a broken file, schema and
//! documentation.

use crate::support::Sandbox;
use aops_core::config::policy::key::{EntryField, KEYS, Key, Project};
use aops_core::config::policy::value::Form;
use aops_core::config::policy::{Policy, Source, check, project, read, rule};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

fn user(sandbox: &Sandbox, name: &str, text: &str) -> PathBuf {
    let path = sandbox.home().join(".config/aops").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

pub(crate) fn setting(shown: &Value, key: &str) -> Value {
    shown["settings"].as_array().unwrap().iter().find(|row| row["key"] == key).unwrap().clone()
}

#[test]
fn show_says_where_each_value_comes_from() {
    let sandbox = Sandbox::new();
    user(
        &sandbox,
        "config.toml",
        "[gates]\nqa = \"off\"\nclose = \"warn\"\n[effects]\nwrite = \"mcp__a__*\"\n",
    );
    let rule = "[[rule]]\nid = \"no-env\"\npath = \".env\"\naction = \"deny\"\nreason = \"secrets\"\n";
    sandbox.put(".aops/config.toml", &format!("gates.qa = \"warn\"\neffects.write = [\"b\"]\n{rule}"));
    sandbox.put(".aops/workflows/mine.md", "# mine");
    let answer = sandbox.person(&["policy"]);
    answer.said(&["\nhash\t"]);
    let shown: Vec<String> = sandbox
        .scrub(&answer.out)
        .lines()
        .filter(|line| !line.ends_with("\tdefault"))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        shown[..shown.len() - 1],
        [
            "gates.qa\t\"warn\"\t[sandbox]/project/.aops/config.toml:1",
            "gates.commit\t\"warn\"\t[sandbox]/home/.config/aops/config.toml:3",
            "gates.push\t\"warn\"\t[sandbox]/home/.config/aops/config.toml:3",
            "gates.close\t\"warn\"\t[sandbox]/home/.config/aops/config.toml:3",
            "effects.write\t[\"b\", \"mcp__a__*\"]\t[sandbox]/home/.config/aops/config.toml:5, [sandbox]/project/.aops/config.toml:2",
            "rule.no-env\tdeny path .env\t[sandbox]/project/.aops/config.toml:4",
            "workflow/mine\tafc62e7e3c27\t[sandbox]/project/.aops/workflows/mine.md",
        ]
    );
    assert_eq!(answer.out.matches("\tdefault\n").count(), KEYS.len() - 5);

    let shown = sandbox.person(&["policy", "show", "--json"]).json();
    assert_eq!(
        setting(&shown, "audit.rate"),
        json!({"key": "audit.rate", "value": 0.1, "from": "default", "at": []})
    );
    let qa = setting(&shown, "gates.qa");
    assert_eq!(
        (&qa["from"], &qa["value"], &qa["at"][0]["line"]),
        (&json!("project"), &json!("warn"), &json!(1))
    );
    assert_eq!((&shown["rules"][0]["id"], &shown["rules"][0]["from"]), (&json!("no-env"), &json!("project")));
    assert_eq!(sandbox.person(&["policy", "hash", "--json"]).json(), json!({"hash": shown["hash"]}));
    sandbox.person(&["policy", "hash"]).said(&[shown["hash"].as_str().unwrap()]);
}

#[test]
fn the_project_is_found_from_below() {
    let sandbox = Sandbox::new();
    sandbox.put(".git/HEAD", "ref: refs/heads/main\n");
    sandbox.put(".aops/config.toml", "stop.refusals = 7");
    sandbox.put("a/b/file", "");
    let mut command = sandbox.command(crate::support::BINARY);
    let said = command.args(["policy", "show", "--json"]).current_dir(sandbox.project().join("a/b")).output();
    let shown: Value = serde_json::from_slice(&said.unwrap().stdout).unwrap();
    assert_eq!(setting(&shown, "stop.refusals")["value"], 7);
}

#[test]
fn a_broken_file_is_refused_with_every_place() {
    let sandbox = Sandbox::new();
    user(&sandbox, "config.toml", "[gates]\nreflct = \"off\"\nqa = \"of\"\n");
    for what in ["show", "hash", "diff"] {
        let answer = sandbox.person(&["policy", what]);
        answer.failed(
            2,
            &[
                ".config/aops/config.toml:2:1: `gates.reflct`: unknown key; did you mean `reflect`?\n",
                ".config/aops/config.toml:3:6: `gates.qa`: \"off\", \"warn\" or \"enforce\", not \"of\"",
                "hint:",
            ],
        );
    }
    sandbox.person(&["policy", "shw"]).failed(2, &["show"]);
    sandbox.person(&["policy", "hash", "abc"]).failed(2, &["policy diff SESSION"]);
}

#[test]
fn a_project_that_loosens_is_refused_by_the_hook() {
    let sandbox = Sandbox::new();
    sandbox.put(".aops/config.toml", "[gates]\nqa = \"off\"\n");
    let session = sandbox.session();
    let place = "project/.aops/config.toml:2:6: `gates.qa`: a project may only raise this";
    session.prompt("hello").refused(&["CONFIG_INVALID", place, "aops-hook policy show"]);
    session.start("startup").warned(&["CONFIG_INVALID", place]);
    let call = session.call("Bash", json!({"command": "ls"}));
    session.pre(&call).refused(&["CONFIG_INVALID", place]);
    session.stop("done").warned(&[place]);
    sandbox.put(".aops/config.toml", "[gates]\nqa = \"enforce\"\n");
    let answer = session.start("startup");
    assert_eq!(answer.code, Some(0), "{answer:?}");
    assert!(!answer.out.contains("CONFIG_INVALID"), "{answer:?}");
}

#[test]
fn diff_names_what_changed_since_the_session_began() {
    let sandbox = Sandbox::new();
    user(&sandbox, "config.toml", "gates.qa = \"warn\"\n");
    user(&sandbox, "agents/critic.md", "one");
    sandbox.person(&["policy", "diff"]).failed(2, &["no session in this project yet"]);
    let session = sandbox.session();
    assert_eq!(session.start("startup").code, Some(0));
    let hash = sandbox.person(&["policy", "hash"]).out.trim().to_owned();
    sandbox.person(&["policy", "diff"]).said(&["unchanged since session", &hash]);

    user(
        &sandbox,
        "config.toml",
        "gates.qa = \"off\"\n[[check]]\nid = \"a\"\non = \"stop\"\nrun = \"true\"\n",
    );
    user(&sandbox, "agents/critic.md", "two");
    user(&sandbox, "workflows/mine.md", "new");
    let diff = sandbox.person(&["policy", "diff", &session.id[..8], "--json"]).json();
    assert_eq!(
        (&diff["recorded"], &diff["same"], &diff["session_id"]),
        (&json!(hash), &json!(false), &json!(session.id))
    );
    let names: Vec<&str> =
        diff["changes"].as_array().unwrap().iter().map(|change| change["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["agent/critic", "check.a", "gates.qa", "workflow/mine"]);
    let change = |n: usize| (diff["changes"][n]["then"].clone(), diff["changes"][n]["now"].clone());
    assert_eq!(change(2), (json!("\"warn\""), json!("\"off\"")));
    assert_eq!(change(1).0, Value::Null);
    let said = sandbox.person(&["policy", "diff"]);
    said.said(&[&format!("recorded  {hash}"), "gates.qa\t\"warn\"\t\"off\"\n"]);

    // A change that a session has seen is no difference any more.
    assert_eq!(session.prompt("go on").code, Some(0));
    sandbox.person(&["policy", "diff"]).said(&["unchanged since session"]);

    fs::remove_dir_all(sandbox.config().join("aops/policies")).unwrap();
    user(&sandbox, "config.toml", "");
    sandbox.person(&["policy", "diff"]).said(&["was not kept"]);
    assert_eq!(sandbox.person(&["policy", "diff", "--json"]).json()["changes"], Value::Null);
}

#[test]
fn sessions_that_begin_at_once_keep_the_same_policy() {
    let sandbox = Sandbox::new();
    let start = |n: u32| {
        let id = format!("{n:08}-0000-4000-8000-000000000000");
        let event = json!({"session_id": id, "transcript_path": "", "cwd": sandbox.project(),
            "hook_event_name": "SessionStart", "source": "startup"});
        sandbox.hook("SessionStart", &event)
    };
    let answers: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..24).map(|n| scope.spawn(move || start(n))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for answer in answers {
        assert!(answer.code == Some(0) && answer.err.is_empty(), "{answer:#?}");
    }
    assert_eq!(fs::read_dir(sandbox.config().join("aops/policies")).unwrap().count(), 1);
}

#[test]
fn a_session_of_another_project_is_not_compared() {
    let sandbox = Sandbox::new();
    let session = sandbox.session();
    assert_eq!(session.start("startup").code, Some(0));
    let elsewhere = sandbox.home().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let mut command = sandbox.command(crate::support::BINARY);
    let said = command.args(["policy", "diff", &session.id]).current_dir(elsewhere).output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("is of another project"));
}

fn schema() -> Value {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schemas/config.schema.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn names(object: &Value) -> BTreeSet<String> {
    object.as_object().unwrap().keys().cloned().collect()
}

/// What the schema should say of a form, without descriptions and defaults.
fn said_of(form: Form) -> Value {
    let named = |name: &str| json!({"allOf": [{"$ref": format!("#/definitions/{name}")}]});
    match form {
        Form::Flag => json!({"type": "boolean"}),
        Form::OneOf(words) => json!({"enum": words}),
        Form::SomeOf(words) => {
            json!({"oneOf": [{"enum": words}, {"type": "array", "items": {"enum": words}}]})
        }
        Form::Whole(least, most) => json!({"type": "integer", "minimum": least, "maximum": most}),
        Form::Share => json!({"type": "number", "minimum": 0, "maximum": 1}),
        Form::Server => json!({"type": "string", "pattern": "^http://[^@\\s]+$"}),
        Form::Database => json!({"type": "string", "pattern": "^postgres(ql)?://[^\\s]+$"}),
        Form::Text => named("text"),
        Form::Period => named("period"),
        Form::Id => named("id"),
        Form::Names => named("names"),
        Form::Host => named("host"),
        Form::Hosts => named("hosts"),
        Form::Ports([]) => named("ports"),
        Form::Ports(words) => json!({"oneOf": [{"enum": words}, {"$ref": "#/definitions/ports"}]}),
        Form::Switches(_) => json!({"allOf": [{"$ref": "#/properties/danger"}]}),
    }
}

fn without(mut said: Value, keys: &[&str]) -> Value {
    for key in keys {
        said.as_object_mut().unwrap().remove(*key);
    }
    said
}

#[test]
fn the_schema_has_every_key_and_no_other() {
    let schema = schema();
    assert_eq!(schema["additionalProperties"], false);
    let tables: BTreeSet<String> = KEYS
        .iter()
        .map(|key| key.table().to_owned())
        .chain(["rule", "check", "project"].map(str::to_owned))
        .collect();
    assert_eq!(names(&schema["properties"]), tables);
    let policy = Policy::default();
    for key in KEYS.iter() {
        let table = &schema["properties"][key.table()];
        let in_table: BTreeSet<String> =
            KEYS.iter().filter(|k| k.table() == key.table()).map(|k| k.last().to_owned()).collect();
        assert_eq!((names(&table["properties"]), &table["additionalProperties"]), (in_table, &json!(false)));
        let said = &table["properties"][key.last()];
        assert_eq!(without(said.clone(), &["description", "default"]), said_of(key.form), "{}", key.name);
        let default = said.get("default").cloned().unwrap_or_default();
        assert_eq!(default, key.get(&policy).json(), "{}", key.name);
    }
    parts_agree(&schema["properties"]["rule"], rule::PARTS, 256);
    parts_agree(&schema["properties"]["check"], check::PARTS, 64);
    parts_agree(&schema["properties"]["project"], project::PARTS, 256);
    assert_eq!(
        schema["properties"]["check"]["items"]["properties"]["timeout_ms"]["default"],
        check::TIMEOUT_MS
    );
}

#[track_caller]
fn parts_agree(table: &Value, parts: &[EntryField], most: u64) {
    let item = &table["items"];
    assert_eq!((&item["additionalProperties"], &table["maxItems"]), (&json!(false), &json!(most)));
    assert_eq!(names(&item["properties"]), parts.iter().map(|part| part.name.to_owned()).collect());
    let needed: Vec<&str> = parts.iter().filter(|part| part.needed).map(|part| part.name).collect();
    assert_eq!(item["required"], json!(needed));
    for part in parts {
        let said = &item["properties"][part.name];
        assert_eq!(without(said.clone(), &["description", "default"]), said_of(part.form), "{}", part.name);
    }
}

/// Not what the table says but what the parser does: at each limit of the schema, and one beyond.
#[test]
fn the_parser_keeps_to_the_schema() {
    let schema = schema();
    let accepts = |key: &str, value: &Value| {
        let text = format!("{key} = {value}");
        read(Some(Source { file: "f", text: &text }), None).is_ok()
    };
    let mut tried = 0;
    for (table, about) in schema["properties"].as_object().unwrap() {
        for (last, said) in about["properties"].as_object().into_iter().flatten() {
            let key = format!("{table}.{last}");
            let words = said["enum"].as_array().cloned().unwrap_or_default();
            let limits = ["minimum", "maximum", "default"].map(|name| said[name].clone());
            for good in words.iter().chain(limits.iter().filter(|limit| !limit.is_null())) {
                assert!(accepts(&key, good), "{key} = {good}");
                tried += 1;
            }
            let beyond = [(&said["minimum"], -1), (&said["maximum"], 1)];
            let beyond = beyond.iter().filter_map(|(limit, step)| Some(json!(limit.as_i64()? + step)));
            // A number is a text nowhere, and a port only up to the largest.
            let is_ports = said.to_string().contains("#/definitions/ports");
            let number = if is_ports { json!([65_536]) } else { json!([3]) };
            for bad in beyond.chain([json!("no such word\n"), json!([[]]), number]) {
                assert!(!accepts(&key, &bad), "{key} = {bad}");
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "{tried}");
}

fn page() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md");
    fs::read_to_string(path).unwrap()
}

#[test]
fn the_page_has_every_key_with_its_default() {
    let page = page();
    let policy = Policy::default();
    let row = |key: &Key| {
        let default = match key.get(&policy).to_string() {
            unset if unset == "not set" => unset,
            value => format!("`{value}`"),
        };
        format!("| `{}` | {default} | ", key.name)
    };
    for key in KEYS.iter() {
        let line = page.lines().find(|line| line.starts_with(&row(key)));
        let line = line.unwrap_or_else(|| panic!("no line begins {:?}", row(key)));
        let may = match key.project {
            Project::Raise => "raise",
            Project::Lower if key.form == Form::Flag => "switch it off",
            Project::Lower => "lower",
            Project::Add => "add",
            Project::Fill => "set, if you have not set it yourself",
            Project::Keep => "nothing",
        };
        assert!(line.ends_with(&format!("| {may} |")), "{line}");
        match key.form {
            Form::Whole(least, most) => assert!(line.contains(&format!("| {least} to {most} |")), "{line}"),
            Form::OneOf(words) => {
                assert!(words.iter().all(|w| line.contains(&format!("`\"{w}\"`"))), "{line}");
            }
            _ => {}
        }
    }
    let rows = |title: &str| {
        let section = page.split(&format!("\n## {title}\n")).nth(1).unwrap().split("\n## ").next().unwrap();
        let names = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    let named = |parts: &[EntryField]| parts.iter().map(|part| part.name.to_owned()).collect::<Vec<_>>();
    assert_eq!(rows("Keys"), KEYS.iter().map(|key| key.name.to_owned()).collect::<Vec<_>>());
    assert_eq!(rows("`[[rule]]`"), named(rule::PARTS));
    assert_eq!(rows("`[[check]]`"), named(check::PARTS));
    assert_eq!(rows("`[[project]]`"), named(project::PARTS));
}

#[test]
fn the_pages_example_works() {
    let page = page();
    let example = page.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let sandbox = Sandbox::new();
    user(&sandbox, "config.toml", example);
    sandbox.person(&["policy"]).said(&["no-force-push", "ask-before-migrations", "check.format", "0.2"]);
}

/// A rule about a path is about reading it too, whatever reads it; one about writing is not.
#[test]
fn a_path_is_held_however_it_is_read() {
    let sandbox = Sandbox::new();
    let rule = |more: &str| {
        format!(
            "mode.level = \"guard\"\n[[rule]]\nid = \"s\"\npath = \"secret/**\"\n{more}action = \"deny\"\nreason = \"not yours\"\n"
        )
    };
    sandbox.configure(&rule(""));
    sandbox.put("secret/a", "x\n");
    let session = sandbox.session();
    let _ = session.start("startup");
    let ask = |tool: &str, input: Value| session.pre(&session.call(tool, input));
    let lines = [
        "cat secret/a",
        "cat < secret/a",
        "grep x secret/a",
        "grep -r x secret",
        "cd secret && cat a",
        "git show HEAD:secret/a",
        "cp secret/a b",
        "head --lines=1 ./secret/a",
    ];
    for line in lines {
        ask("Bash", json!({"command": line})).refused(&["not yours"]);
    }
    ask("Read", json!({"file_path": sandbox.project().join("secret/a")})).refused(&["not yours"]);
    ask("Grep", json!({"pattern": "x", "path": "secret"})).refused(&["not yours"]);
    ask("Glob", json!({"pattern": "secret/*"})).refused(&["not yours"]);
    for line in ["cat other/a", "ls", "echo secretly"] {
        ask("Bash", json!({"command": line})).silent();
    }
    sandbox.configure(&rule("effect = \"write\"\n"));
    let session = sandbox.session();
    let _ = session.start("startup");
    let ask = |tool: &str, input: Value| session.pre(&session.call(tool, input));
    ask("Bash", json!({"command": "grep x secret/a > found"})).silent();
    ask("Bash", json!({"command": "echo x > secret/a"})).refused(&["not yours"]);
}

#[test]
fn rules_are_tried_on_their_own_examples() {
    let sandbox = Sandbox::new();
    let config = |text: &str| sandbox.configure(text);
    let rules = |push: &str| {
        format!(
            "[[rule]]\nid = \"push\"\ncommand = \"git push --force*\"\naction = \"deny\"\nreason = \"r\"\nexamples = [{push}]\n[[rule]]\nid = \"env\"\npath = \".env*\"\neffect = \"write\"\naction = \"ask\"\nreason = \"r\"\nexamples = [\"Write(.env.local)\", \"!Read(.env)\", \"Bash(rm a/.env)\", \"mcp__files__write(sub/.env)\", \"!Write(src/env.rs)\"]\n[[rule]]\nid = \"mute\"\ntool = \"Skill\"\naction = \"warn\"\nreason = \"r\"\n"
        )
    };
    config(&rules("\"Bash(cd x && sudo git push origin --force-with-lease)\", \"!Bash(git push origin)\""));
    sandbox
        .person(&["policy", "show", "--test"])
        .said(&["3 rules, 7 examples, 0 of them fail", "without examples: mute"]);
    config(&rules("\"Bash(git push)\", \"!Bash(git push --force)\", \"Bash(git push -q --force)\""));
    let said = sandbox.person(&["policy", "show", "--test"]);
    assert_eq!((said.code, said.err.as_str()), (Some(1), ""), "{said:?}");
    assert!(
        said.out.contains("config.toml:2) does not match `Bash(git push)`, and is meant to"),
        "{}",
        said.out
    );
    assert!(said.out.contains("matches `Bash(git push --force)`, and is meant not to"), "{}", said.out);
    assert!(said.out.contains("8 examples, 2 of them fail") && !said.out.contains(" -q"), "{}", said.out);
    let json = sandbox.person(&["policy", "show", "--test", "--json"]);
    let told: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((json.code, &told["ok"]), (Some(1), &json!(false)));
    assert_eq!((&told["examples"][0]["rule"], &told["without_examples"]), (&json!("env"), &json!(["mute"])));
    sandbox.person(&["policy", "hash", "--test"]).failed(2, &["--test"]);
    config("[[rule]]\nid = \"x\"");
    sandbox.person(&["policy", "show", "--test"]).failed(2, &["config.toml"]);
}

/// A deploy ran under `command = "./deploy*"`, which matched nothing, and nobody was told.
#[test]
fn a_program_with_its_path_is_matched_and_a_rule_that_matches_nothing_is_named() {
    let sandbox = Sandbox::new();
    let rule = |id: &str, own: &str| {
        format!("[[rule]]\nid = \"{id}\"\n{own}\naction = \"deny\"\nreason = \"ask the release team\"\n")
    };
    let deploy = rule("deploy", "command = \"./deploy*\"\nexamples = \"Bash(./deploy.sh --now)\"");
    sandbox.configure(&deploy);
    sandbox.put("deploy.sh", "");
    let session = sandbox.session();
    let _ = session.start("startup");
    let own = sandbox.project().join("deploy.sh");
    for line in ["./deploy.sh", "true && ./deploy.sh x", "sudo ./deploy.sh", own.to_str().unwrap()] {
        session.ask_bash(line).refused(&["ask the release team"]);
    }
    session.ask_bash("cat ./deploy.sh").silent();
    sandbox.person(&["policy", "show", "--test"]).said(&["1 rule, 1 example, 0 of them fail"]);
    let config =
        [deploy, rule("lower", "tool = \"bash\""), rule("reads", "tool = \"Read\"\neffect = \"write\"")];
    sandbox.configure(&config.concat());
    let words = [
        "`rule.lower` (",
        "it can never match: no tool is called `bash` here; write `Bash`",
        "`rule.reads` (",
    ];
    let said = sandbox.person(&["policy", "show", "--test"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(words.iter().all(|word| said.out.contains(word)), "{}", said.out);
    let told = sandbox.person(&["policy", "show", "--test", "--json"]).json_of_any_exit();
    assert_eq!((&told["ok"], &told["never_match"][0]["key"]), (&json!(false), &json!("rule.lower")));
    sandbox.person(&["policy", "show"]).said(&words);
    let found = sandbox.person(&["doctor", "--json"]).json_of_any_exit();
    let finding = found.as_array().unwrap().iter().find(|line| line["check"] == "configuration").unwrap();
    assert!(words.iter().all(|word| finding["finding"].as_str().unwrap().contains(word)), "{finding}");
}

/// Shell patterns: every command of a line must be covered to read, one is enough to write, and the guard
/// holds.
#[test]
fn shell_patterns_say_what_a_line_does() {
    let sandbox = Sandbox::new();
    let lists = "[effects]\nread = [\"Bash(cargo test*)\", \"Bash(./check.sh)\", \"Bash(tee *)\"]\nwrite = [\"Bash(cat secrets*)\"]\n";
    sandbox.configure(lists);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("do the tests pass?");
    for line in [
        "cargo test",
        "cargo test -p core 2>&1 | tail -5",
        "cd sub && cargo test",
        "./check.sh && cargo test",
        "cat README.md",
    ] {
        session.ask_bash(line).silent();
    }
    for line in [
        "cargo test > out.log",
        "cargo test && rm x",
        "cargo run test",
        "RUSTFLAGS=-g cargo test",
        "./check.sh --fix",
        "cat secrets.txt | head",
        "$x test",
    ] {
        session.ask_bash(line).refused(&["plan"]);
    }
    session.ask_bash("echo x | tee ~/.claude/settings.json").refused(&["settings"]);
    sandbox.put(".aops/config.toml", "effects.read = [\"Bash(rm*)\"]\n");
    sandbox.person(&["policy", "show"]).failed(2, &["only the user may add \"Bash(rm*)\""]);
}

#[test]
fn a_shell_pattern_without_a_meaning_is_refused_and_one_without_effect_is_found() {
    let sandbox = Sandbox::new();
    for (odd, words) in [
        ("read = \"Bash\"", "write `Bash(cargo test*)`"),
        ("read = \"PowerShell(Get*)\"", "a shell pattern is"),
        ("write = \"Bash()\"", "a shell pattern is"),
        ("write = \"Bash(ls\"", "a shell pattern is"),
        ("read = \"Edit(src/*)\"", "a shell pattern is"),
        ("examples = \"cargo test please\"", "a call as `Tool(argument)`"),
    ] {
        sandbox.configure(&format!("[effects]\n{odd}\n"));
        sandbox.person(&["policy", "show"]).failed(2, &["config.toml:2:", words]);
    }
    let text =
        "[effects]\nread = [\"Bash(cargo test*)\", \"Bash(make check)\"]\nwrite = [\"Bash(gh pr *)\"]\n";
    let examples =
        "examples = [\"Bash(cargo test && make check)\", \"!Bash(cargo test > x)\", \"!Bash(make)\"]\n";
    sandbox.configure(&format!("{text}{examples}"));
    sandbox.person(&["policy", "show", "--test"]).said(&["0 rules, 6 examples, 0 of them fail"]);
    // And so are those of the page.
    sandbox.configure(page().split("```toml\n").nth(2).unwrap().split("```").next().unwrap());
    sandbox.person(&["policy", "show", "--test"]).said(&["0 rules, 5 examples, 0 of them fail"]);
    // A command never begins with an assignment or a list: such a pattern covers nothing.
    sandbox.configure("[effects]\nread = [\"Bash(A=1 make*)\"]\nexamples = [\"Bash(make)\"]\n");
    let said = sandbox.person(&["policy", "show", "--test"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(
        said.out.contains("`effects.read` (") && said.out.contains("has no effect on `Bash(A=1 make)`"),
        "{said:?}"
    );
    assert!(
        said.out.contains("has no effect on `Bash(make)`") && said.out.contains("2 of them fail"),
        "{said:?}"
    );
}

#[test]
fn levels_from_the_mode_and_settings_without_effect_are_named() {
    let sandbox = Sandbox::new();
    sandbox.configure("[mode]\nlevel = \"guard\"\n[gates]\nqa = \"enforce\"\n[small]\nfiles = 5\n");
    let said = sandbox.person(&["policy"]);
    said.said(&["gates.sandbox\t\"off\"\tmode guard\n", "gates.checks\t\"enforce\"\tmode guard\n"]);
    said.said(&["note: `small.files` (", "config.toml:6) has no effect: only mode `loop`"]);
    let shown = sandbox.person(&["policy", "show", "--json"]).json();
    let (sandboxed, qa) = (setting(&shown, "gates.sandbox"), setting(&shown, "gates.qa"));
    assert_eq!((&sandboxed["from"], &sandboxed["at"][0]["line"]), (&json!("mode"), &json!(2)));
    assert_eq!((&qa["from"], &qa["value"]), (&json!("user"), &json!("enforce")));
    assert_eq!(shown["without_effect"][0]["key"], "small.files");
    let found = sandbox.person(&["doctor", "--json"]).json_of_any_exit();
    let lines = found.as_array().unwrap().iter().filter(|line| line["check"] == "configuration");
    let lines: Vec<String> = lines.map(|line| line["finding"].to_string()).collect();
    assert!(lines[0].contains("`small.files` (") && lines[0].contains("has no effect"), "{found}");
    // Named where it has one, it is named no longer.
    sandbox.configure("[mode]\nlevel = \"loop\"\n[small]\nfiles = 5\n");
    assert!(!sandbox.person(&["policy"]).out.contains("has no effect"));
}
