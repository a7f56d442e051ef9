use super::*;
use crate::config::policy::Level;
use crate::config::texts::{ASSETS, Origin};
use std::fs;
use tempfile::TempDir;

struct World {
    _root: TempDir,
    env: Env,
    project: PathBuf,
}

fn world() -> World {
    let root = tempfile::tempdir().unwrap();
    let home = root.path().join("home");
    let project = home.join("code/project");
    fs::create_dir_all(&project).unwrap();
    let env =
        Env { config: home.join(".claude"), user_config: home.join(".config/aops"), home, ..Env::default() };
    World { _root: root, env, project }
}

impl World {
    fn user(&self, name: &str, text: &str) {
        put(&self.env.user_config.join(name), text);
    }

    fn ours(&self, name: &str, text: &str) {
        put(&self.project.join(".aops").join(name), text);
    }

    fn look(&self) -> InForce {
        look(&self.env, &self.project).unwrap()
    }

    fn hash(&self) -> String {
        self.look().hash
    }
}

fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
fn the_same_texts_give_the_same_hash_anywhere() {
    let worlds = [world(), world()];
    assert_eq!(worlds[0].hash(), worlds[1].hash());
    assert_eq!(worlds[0].hash().len(), 64);
    for world in &worlds {
        world.user("config.toml", "gates.qa = \"warn\"");
        world.ours("workflows/mine.md", "one");
    }
    assert_eq!(worlds[0].hash(), worlds[1].hash());
    worlds[1].user("config.toml", "# a remark changes nothing\ngates = { qa = \"warn\" }");
    assert_eq!(worlds[0].hash(), worlds[1].hash());
}

#[test]
fn every_text_that_counts_moves_the_hash() {
    let world = world();
    let mut seen = vec![world.hash()];
    let mut moved = |what: &str| {
        let now = world.hash();
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    for name in ["config.toml", "AXIOMS.md", "agents/critic.md", "workflows/x.md", "templates/owed/push.md"] {
        world.user(name, "# one\nstop.refusals = 4\n");
        moved(name);
    }
    for (name, text) in [("config.toml", "stop.refusals = 5"), ("AXIOMS.md", "b"), ("workflows/x.md", "c")] {
        world.ours(name, text);
        moved(name);
    }
    world.ours("workflows/x.md", "d");
    moved("an edit in place, of the same length");
    fs::remove_file(world.project.join(".aops/AXIOMS.md")).unwrap();
    moved("a text that is gone");
}

#[test]
fn what_does_not_count_moves_no_hash() {
    let world = world();
    let before = world.hash();
    for name in
        ["agents/critic.md", "templates/halt-report.md", "notes.md", "workflows/.x.md.swp", "workflows/x"]
    {
        world.ours(name, "a repository must not bring its own critic");
    }
    world.user("notes.md", "x");
    assert_eq!(world.hash(), before);
}

#[test]
fn the_nearer_workflow_counts_and_all_axioms_do() {
    let world = world();
    world.user("workflows/x.md", "user's");
    world.user("AXIOMS.md", "user's");
    world.ours("AXIOMS.md", "project's");
    let whose =
        |name: &str| world.look().texts.texts.into_iter().find(|text| text.name() == name).unwrap().origin;
    assert_eq!(whose("workflow/x"), Origin::User);
    world.ours("workflows/x.md", "project's");
    assert_eq!(whose("workflow/x"), Origin::Project);
    let axioms = world.look().form().texts.into_keys().filter(|name| name.starts_with("axioms/"));
    let want = ["axioms/AXIOMS@embedded", "axioms/AXIOMS@project", "axioms/AXIOMS@user"];
    assert_eq!(axioms.collect::<Vec<_>>(), want);
}

#[test]
fn every_shipped_text_is_in_the_hash() {
    let commands = ASSETS.iter().filter(|asset| asset.path.starts_with("commands/")).count();
    assert_eq!(world().look().form().texts.len(), ASSETS.len() - commands);
}

/// The hashed bytes are already the RFC 8785 form.
#[test]
fn the_form_is_canonical() {
    let world = world();
    world.user("agents/scribe.md", "x");
    let form = world.look().form();
    assert_eq!(serde_json_canonicalizer::to_string(&form).unwrap(), canonical(&form));
}

#[test]
fn what_cannot_be_read_is_a_problem() {
    let said = |world: &World| load(&world.env, &world.project).unwrap_err();
    let odd = world();
    odd.user("config.toml/x", "");
    assert!(said(&odd).what.ends_with("config.toml: is not a plain file"), "{}", said(&odd));
    let long = world();
    long.user("config.toml", &"#".repeat(70 << 10));
    assert!(said(&long).what.ends_with("config.toml: is longer than 64 KB"), "{}", said(&long));
    let text = world();
    text.user("agents/critic.md", &"#".repeat(70 << 10));
    assert!(said(&text).what.ends_with("critic.md: is longer than 64 KB"), "{}", said(&text));
    let link = world();
    link.user("outside.toml", "");
    fs::create_dir_all(link.project.join(".aops")).unwrap();
    let from = link.project.join(".aops/config.toml");
    let to = link.env.user_config.join("outside.toml");
    std::os::unix::fs::symlink(to, from).unwrap();
    assert!(said(&link).what.ends_with("is a link out of the project"), "{}", said(&link));
    assert_eq!(said(&odd).code, Code::ConfigInvalid);
}

/// Opening a pipe would wait for a writer; we do not wait.
#[test]
fn a_pipe_is_no_configuration() {
    let world = world();
    let path = world.project.join(".aops/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "no safe call for a pipe on every system")]
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("`mkfifo` is on every unix").success());
    let failure = load(&world.env, &world.project).unwrap_err();
    assert!(failure.what.ends_with("config.toml: is not a plain file"), "{failure}");
}

#[test]
fn a_failure_names_three_problems_and_counts_the_rest() {
    let world = world();
    world.user("config.toml", "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\n");
    let failure = load(&world.env, &world.project).unwrap_err();
    let lines: Vec<&str> = failure.what.lines().collect();
    assert!(lines[0].ends_with("config.toml:1:1: `a`: unknown key") && lines.len() == 4, "{lines:?}");
    assert_eq!(lines[3], "and 2 more");
}

#[test]
fn a_kept_policy_proves_itself() {
    let world = world();
    world.user("config.toml", "gates.qa = \"warn\"");
    let now = world.look();
    assert_eq!(kept(&world.env, &now.hash), None);
    now.keep(&world.env).unwrap();
    now.keep(&world.env).unwrap();
    assert_eq!(kept(&world.env, &now.hash), Some(now.form()));
    assert_eq!(now.policy.gates.qa, Level::Warn);
    let path = kept_at(&world.env, &now.hash);
    let forged = fs::read_to_string(&path).unwrap().replace("\"qa\":\"warn\"", "\"qa\":\"off\"");
    fs::write(&path, forged).unwrap();
    assert_eq!(kept(&world.env, &now.hash), None);
    now.keep(&world.env).unwrap();
    assert_eq!(kept(&world.env, &now.hash), Some(now.form()), "what was damaged is written anew");
}

/// A run continues if only this changed: where reports go, where something listens, what is kept.
#[test]
fn what_decides_has_a_digest_of_its_own() {
    let of = |text: &str| {
        let (policy, _) = policy::read(Some(Source { file: "f", text }), None).unwrap();
        (digest_of(&policy), digest_of(&policy.deciding()))
    };
    let (whole, decides) = of("");
    for text in [
        "fleet.announce = \"beep\"",
        "fleet.page = \"https://a\"",
        "fleet.listen = \"127.0.0.1:1\"",
        "fleet.certificate = \"/a\"",
        "fleet.otlp = \"https://a\"",
        "fleet.engine = \"https://a\"",
        "fleet.identity = \"publickeyv1_x\"",
        "fleet.gateway_keys = [\"k\"]",
        "fleet.labels = [\"gpu\"]",
        "fleet.reattach = \"20s\"",
        "fleet.grace = \"3s\"",
        "fleet.lost_after = \"3m\"",
        "fleet.url = \"postgresql://a@h/d\"",
        "run.notify = \"beep\"",
        "run.claude = \"/opt/claude\"",
        "undo.keep_days = 3",
        "checkpoint.keep = 3",
        "insights.command = \"gemini\"",
    ] {
        let (other, same) = of(text);
        assert!(other != whole && same == decides, "{text}");
    }
    for text in [
        "mode.level = \"guard\"",
        "fleet.defer = true",
        "undo.files = 3",
        "jail.level = \"require\"",
        "deliver.branch = \"x\"",
        "danger.git-discard = \"deny\"",
        "[[rule]]\nid = \"x\"\ntool = \"Bash\"\naction = \"deny\"\nreason = \"r\"",
        "[[check]]\nid = \"x\"\non = \"stop\"\nrun = \"true\"",
    ] {
        assert_ne!(of(text).1, decides, "{text}");
    }
}
