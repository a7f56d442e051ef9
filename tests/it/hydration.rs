//! What a prompt and a session are told: its size, and whose words they are.

use crate::memory::server::{Habit, Server};
use crate::support::{Answer, Sandbox};
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

fn told(answer: &Answer) -> String {
    answer.json()["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default().to_owned()
}

/// The text of the context file that an instruction names.
fn context(answer: &Answer) -> String {
    let words = told(answer);
    let file = words.split([' ', ')']).find(|word| word.contains("/context/hydration-")).unwrap();
    fs::read_to_string(file).unwrap()
}

/// Every later shell command of the session has these variables; what `PYTHONPATH` held stays behind ours.
#[test]
fn the_session_exports_its_folders() {
    let sandbox = Sandbox::repository("0.0");
    let exports = sandbox.tmp().join("exports");
    let session = sandbox.session();
    let start = session.payload("SessionStart", json!({"source": "startup"})).to_string();
    let mut hook = sandbox.command(crate::support::BINARY);
    hook.arg("SessionStart")
        .envs(sandbox.inside_client())
        .env("CLAUDE_ENV_FILE", &exports)
        .write_stdin(start);
    hook.assert().success();
    let line = format!(
        ". '{}'; printf '%s\\n' \"$AOPS\" \"$AOPS_SESSION\" \"$ACA_DATA\" \"$PYTHONPATH\"",
        exports.display()
    );
    let said = sandbox.command("sh").args(["-c", &line]).env("PYTHONPATH", "/before").output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let [texts, folder, data, python] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(Path::new(texts).join("AXIOMS.md").is_file(), "{said}");
    assert_eq!((Path::new(folder), Path::new(data)), (&*session.folder(), &*sandbox.data()));
    assert_eq!(python, format!("{texts}:/before"));
}

/// The file's folder is the client's, and every command can write there, but we write outside of any jail.
#[test]
fn nothing_is_exported_into_a_file_that_guards() {
    let sandbox = Sandbox::repository("0.0");
    let folder = sandbox.config().join("session-env/s");
    let exports = folder.join("sessionstart-hook-0.sh");
    let settings = sandbox.config().join("settings.json");
    fs::create_dir_all(&folder).unwrap();
    fs::write(&settings, "{}").unwrap();
    let session = sandbox.session();
    let started = || {
        let start = session.payload("SessionStart", json!({"source": "compact"})).to_string();
        let mut hook = sandbox.command(crate::support::BINARY);
        hook.arg("SessionStart").envs(sandbox.inside_client()).env("CLAUDE_ENV_FILE", &exports);
        hook.write_stdin(start).assert().success();
    };
    started();
    assert!(fs::read_to_string(&exports).unwrap().contains("AOPS_SESSION"));
    let plants: [&dyn Fn(); 3] =
        [&|| symlink(&settings, &exports).unwrap(), &|| fs::hard_link(&settings, &exports).unwrap(), &|| {
            fs::remove_dir_all(&folder).unwrap();
            symlink(sandbox.config().join("aops"), &folder).unwrap();
        }];
    for plant in plants {
        fs::remove_file(&exports).unwrap();
        plant();
        started();
        assert_eq!(fs::read_to_string(&settings).unwrap(), "{}");
        assert!(!sandbox.config().join("aops/sessionstart-hook-0.sh").exists());
    }
}

#[test]
fn what_is_said_stays_small() {
    let sandbox = Sandbox::repository("0.0");
    sandbox.put("CORE.md", &"The core of it, line by line.\n".repeat(200));
    for n in 0..20 {
        let text =
            format!("# Parser {n}\n{}", "the parser of the project reads every greeting twice\n".repeat(40));
        fs::write(sandbox.data().join(format!("parser-{n}.md")), text).unwrap();
    }
    let session = sandbox.session();
    let turn = |n: usize| {
        let words = format!("turn {n}: {}", "a long story about the parser. ".repeat(40));
        json!({"type": if n.is_multiple_of(2) { "user" } else { "assistant" }, "message": {"content": words}})
            .to_string()
            + "\n"
    };
    fs::create_dir_all(sandbox.sessions()).unwrap();
    let transcript = sandbox.sessions().join(format!("{}.jsonl", session.id));
    fs::write(transcript, (0..60).map(turn).collect::<String>()).unwrap();

    let greeting = told(&session.start("startup"));
    assert!(greeting.len() < 6_000 && greeting.contains("# Axioms"), "{} bytes: {greeting}", greeting.len());
    assert!(greeting.contains("the rest is in `CORE.md`"), "{greeting}");
    let said = session.prompt("repair the parser of the greeting, please");
    let instruction = told(&said);
    assert!(instruction.chars().count() < 600, "{instruction}");
    let file = context(&said);
    assert!(file.len() < 14_000, "{} bytes: {file}", file.len());
    for words in ["parser-", "turn 59", "`debugging`", "**Never weaken a test.**"] {
        assert!(file.contains(words), "no `{words}` in {file}");
    }

    session.hydrate("minor-edit", "new");
    session.start("resume").said(&["The loop is in phase `execute`"]);
    let line = told(&session.start("resume"));
    assert!(line.lines().count() == 1 && line.len() < 400, "one line after a resume: {line}");
    for source in ["compact", "clear"] {
        let again = told(&session.start(source));
        assert!(again.contains("# Axioms") && again.len() < 6_000, "{source}: {again}");
        assert!(again.contains("The loop is in phase `execute`"), "{source}: {again}");
    }
}

/// The client reads `AGENTS.md` only where no `CLAUDE.md` is: where there is one that does not bring it, we
/// do.
#[test]
fn agents_md_is_told_once_where_no_claude_md_brings_it() {
    let text = "Run `make` before you say that it works.\n";
    let greeting = |write: &dyn Fn(&Sandbox)| {
        let sandbox = Sandbox::repository("0.0");
        sandbox.put("AGENTS.md", text);
        write(&sandbox);
        let session = sandbox.session();
        let (first, again) = (told(&session.start("startup")), session.start("resume"));
        assert!(again.out.is_empty(), "{again:?}");
        first
    };
    let told_by = |greeting: &str| greeting.contains("/AGENTS.md`:\n\nRun `make` before");
    // The client reads it itself where no `CLAUDE.md` stands beside it.
    let alone = greeting(&|_| {});
    assert!(!alone.contains("AGENTS.md"), "{alone}");
    assert!(told_by(&greeting(&|s| drop(s.put("CLAUDE.md", "Be kind, see AGENTS.md.\n")))));
    for (name, words) in [
        ("CLAUDE.md", "@AGENTS.md"),
        ("CLAUDE.md", "Be kind. See @./AGENTS.md."),
        (".claude/CLAUDE.md", "@../AGENTS.md\n"),
        ("CLAUDE.local.md", "@AGENTS.md"),
        ("CLAUDE.md", text),
    ] {
        let greeting = greeting(&|s| drop(s.put(name, words)));
        assert!(!greeting.contains("AGENTS.md"), "{name} brings it by {words}: {greeting}");
    }
    let linked =
        greeting(&|s| std::os::unix::fs::symlink("AGENTS.md", s.project().join("CLAUDE.md")).unwrap());
    assert!(!linked.contains("AGENTS.md"), "{linked}");
    let long = greeting(&|s| {
        s.put("CLAUDE.md", "Be kind.\n");
        s.put("AGENTS.md", &text.repeat(60));
    });
    assert!(long.contains("How to work on this project is in `") && !long.contains("Run `make`"), "{long}");
    let none = greeting(&|s| fs::remove_file(s.project().join("AGENTS.md")).unwrap());
    assert!(!none.contains("AGENTS.md"), "{none}");
}

/// From the start of a session to its end: whoever is told it, is told it once.
#[test]
fn agents_md_is_told_once_a_session() {
    let text = "Run `make` before you say that it works.\n";
    for (mode, whole, named) in [("strict", 1, 1), ("loop", 0, 1), ("guard", 0, 0), ("observe", 0, 0)] {
        let sandbox = Sandbox::repository("0.0");
        sandbox.put("AGENTS.md", text);
        sandbox.put("CLAUDE.md", "Be kind.\n");
        sandbox.configure(&format!("[audit]\nrate = 0.0\n[mode]\nlevel = \"{mode}\"\n"));
        let session = sandbox.session();
        let mut said = vec![session.start("startup").out, session.prompt("add a greeting").out];
        let call = session
            .call("Agent", json!({"subagent_type": "prompt-hydrator", "prompt": "p", "description": "d"}));
        said.extend([session.pre(&call).out, session.hydrate("minor-edit", "new"), session.post(&call).out]);
        said.extend([session.write("hello.txt").out, session.stop("Done.").out, session.start("resume").out]);
        said.push(session.prompt("and another one").out);
        let told = said.concat();
        assert_eq!(told.matches("before you say that it works").count(), whole, "{mode}: {told}");
        assert_eq!(told.matches("/AGENTS.md`").count(), named, "{mode}: {told}");
        assert_eq!(
            told.matches("read it before you change anything").count(),
            named - whole,
            "{mode}: {told}"
        );
    }
}

#[test]
fn a_projects_memory_server_is_asked_once_the_user_approves_it() {
    let (sandbox, server) = (Sandbox::new(), Server::start(Habit::Json));
    let entry = json!({"mcpServers": {"memory": {"type": "http", "url": server.url()}}});
    sandbox.put(".mcp.json", &entry.to_string());
    sandbox.put(".claude/settings.json", r#"{"enableAllProjectMcpServers": true}"#);
    let session = sandbox.session();
    let _ = session.start("startup");
    let file = context(&session.prompt("where does the wombat sleep?"));
    assert!(file.contains("> the server `memory` of `.mcp.json` is not approved by the user"), "{file}");
    assert_eq!(server.methods(), [""; 0], "nothing was sent");
    sandbox.put(".claude/settings.local.json", r#"{"enabledMcpjsonServers": ["memory"]}"#);
    let file = context(&session.prompt("where does the wombat sleep?"));
    assert!(file.contains("> - the wombat sleeps"), "{file}");
}

#[test]
fn a_template_that_cannot_be_read_is_named_and_nothing_passes() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    let file = sandbox.home().join(".config/aops/templates/refusals/sandbox.md");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, b"\xff").unwrap();
    let named = format!("`{}` is not UTF-8", file.display());
    session.write("hello.txt").refused(&["CONFIG_INVALID", &named, "hint: a person can"]);
    session.prompt("and now?").refused(&["CONFIG_INVALID", file.to_str().unwrap()]);
    fs::write(&file, "not yet\nhint: start `{{agent}}`, {{call}} {{effect}}\n").unwrap();
    session.prompt("and now?").said(&["prompt-hydrator"]);
    session.write("hello.txt").refused(&["not yet"]);
}

#[test]
fn a_workflow_of_the_projects_own_drops_no_gate() {
    let sandbox = Sandbox::repository("0.0");
    let shipped = include_str!("../../workflows/minor-edit.md");
    let lax = shipped.replace("id: minor-edit", "id: quick").replace("gates: [qa]", "gates: []");
    sandbox.put(".aops/workflows/quick.md", &lax);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make hello.txt");
    session.hydrate("quick", "new");
    session.write("hello.txt").refused(&["workflow `quick` wants its plan reviewed first", "critic"]);
    sandbox.person(&["workflow", "list"]).said(&["quick"]);
    // The user's own may: it is their loop.
    fs::remove_dir_all(sandbox.project().join(".aops")).unwrap();
    let own = sandbox.home().join(".config/aops/workflows");
    fs::create_dir_all(&own).unwrap();
    fs::write(own.join("quick.md"), &lax).unwrap();
    let _ = session.prompt("make hello.txt");
    session.hydrate("quick", "new");
    session.write("hello.txt").silent();
}

#[test]
fn an_edit_in_the_middle_of_a_turn_counts_from_the_next_prompt_and_is_an_entry() {
    let sandbox = Sandbox::repository("0.0");
    let session = sandbox.session();
    let _ = session.start("startup");
    let began = session.state()["policy_hash"].clone();
    let _ = session.prompt(". make hello.txt");
    sandbox.put(
        ".aops/config.toml",
        "[[rule]]\nid = \"no-hello\"\npath = \"hello.txt\"\naction = \"deny\"\nreason = \"no\"\n",
    );
    session.write("hello.txt").silent();
    assert_eq!(session.state()["policy_hash"], began);
    let _ = session.prompt(". again");
    session.write("hello.txt").refused(&["no-hello"]);
    let now = session.state()["policy_hash"].clone();
    assert_ne!(now, began);
    let recorded = session.entries().iter().filter(|entry| entry["with"]["policy_hash"] == now).count();
    assert_eq!(recorded, 1, "one entry says that it changed");
}

/// Steps come before issues and notes: those are cut first, and the steps become shorter before one is
/// missing.
#[test]
fn the_hydrator_has_the_steps_of_every_workflow() {
    let names = |text: String| {
        text.lines().filter_map(|line| line.strip_prefix("    name: ").map(str::to_owned)).collect::<Vec<_>>()
    };
    let shipped = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/workflows")).unwrap();
    let steps: Vec<String> =
        shipped.flat_map(|file| names(fs::read_to_string(file.unwrap().path()).unwrap())).collect();
    assert!(steps.len() > 50, "{steps:?}");
    let given = |prompt: &str, own: usize, index: Option<&str>| {
        let sandbox = Sandbox::repository("0.0");
        for n in 0..20 {
            let text = format!(
                "# Parser {n}\n{}",
                "the parser of the project reads every greeting twice\n".repeat(40)
            );
            fs::write(sandbox.data().join(format!("parser-{n}.md")), text).unwrap();
        }
        for n in 0..own {
            let text = format!(
                "---\nid: own-{n}\ntitle: T\ntype: workflow\ncategory: test\nsteps:\n  - id: a\n    name: Own {n}\n    description: {}\n---\n\n# T\n",
                "knead it ".repeat(50)
            );
            sandbox.put(&format!(".aops/workflows/own-{n}.md"), &text);
        }
        if let Some(index) = index {
            fs::create_dir_all(sandbox.home().join(".config/aops")).unwrap();
            fs::write(sandbox.home().join(".config/aops/WORKFLOWS.md"), index).unwrap();
        }
        let session = sandbox.session();
        let _ = session.start("startup");
        let file = context(&session.prompt(prompt));
        assert!(file.contains("List the items: Produce the full list by a command; count it;"), "{file}");
        let text = told(&session.begin_agent("a1", "prompt-hydrator"));
        assert!(text.chars().count() < 10_000, "{}", text.len());
        for step in &steps {
            assert!(text.contains(&format!(". {step}")), "no `{step}` in {text}");
        }
        let at = |title: &str| text.find(title).unwrap_or(text.len());
        assert!(
            at("## Steps of each workflow") < at("## Tracked work") && at("## Tracked work") < at("## Notes")
        );
        text
    };
    let short = given("repair the parser", 0, None);
    assert!(
        short.contains("1. List the items 2. Plan 3. Pilot 4. Process 5. Reconcile 6. Verify"),
        "{short}"
    );
    assert!(short.contains("## Tracked work") && short.contains("Never weaken a test"), "{short}");
    let long = given(&"repair the parser of the greeting, ".repeat(80), 40, None);
    assert!(long.contains("(trimmed here") && !long.contains("parser-11"), "notes are cut first: {long}");
    let many = given("repair the parser", 8, None);
    assert!((0..8).all(|n| many.contains(&format!("1. Own {n}"))), "{many}");
    let roomy = given("repair the parser", 0, Some("# Workflows\n\nChoose.\n"));
    assert!(roomy.contains("1. List the items: Produce the full list by a command; count it;"), "{roomy}");
}

/// The text of a workflow takes part: its steps, and those of the ones it links to, reach the agent that
/// plans by them, the main agent in short, the critic and the verifier.
#[test]
fn the_workflow_reaches_everybody_who_works_by_it() {
    let sandbox = Sandbox::repository("0.0");
    let inner = "---\nid: bake\ntitle: Bake\ntype: workflow\ncategory: operations\nsteps:\n  - id: heat\n    name: Heat\n    workflow: null\n    description: Heat the oven to 200 degrees.\n---\n\n# Bake\n";
    let outer = "---\nid: pastry\ntitle: Pastry\ntype: workflow\ncategory: operations\ndependencies: []\nsteps:\n  - id: dough\n    name: Make the dough\n    description: Knead it for ten minutes.\n  - id: oven\n    name: Bake it\n    workflow: \"[[bake]]\"\n    description: As long as it takes.\n    needs: [dough]\n---\n\n# Pastry\n\n## Success Metrics\n\n- It is golden.\n";
    sandbox.put(".aops/workflows/bake.md", inner);
    sandbox.put(".aops/workflows/pastry.md", outer);
    sandbox.person(&["workflow", "check"]).said(&["no problems"]);
    let session = sandbox.session();
    let _ = session.start("startup");
    let _ = session.prompt("make croissants");
    let start =
        session.call("Agent", json!({"subagent_type": "prompt-hydrator", "prompt": "p", "description": "d"}));
    let _ = session.pre(&start);
    let context = session.hydrate("pastry", "new");
    for words in [
        "1. Make the dough: Knead it for ten minutes.",
        "2. Bake it (as in `bake`)",
        "1. Heat: Heat the oven to 200 degrees.",
    ] {
        assert!(context.contains(words), "the hydrator: no `{words}` in {context}");
    }
    let chain = "the plan in force follows workflow `pastry`: Make the dough → Bake it (Heat)";
    session.post(&start).said(&[chain, "the plan needs a review: start the agent `critic`"]);
    let review = json!({"verdict": "PROCEED", "acceptance_criteria": ["golden"], "problems": []});
    let (seen_by_critic, _) = session.agent_reports("critic", &crate::support::fenced(review));
    session.write("croissant.txt").silent();
    let (seen_by_qa, _) =
        session.agent_reports("qa-verifier", &crate::support::fenced(json!({"verdict": "VERIFIED"})));
    for (who, context) in [("critic", seen_by_critic), ("qa-verifier", seen_by_qa)] {
        for words in ["Knead it for ten minutes.", "Heat the oven to 200 degrees.", "- It is golden."] {
            assert!(context.contains(words), "{who}: no `{words}` in {context}");
        }
    }
}
