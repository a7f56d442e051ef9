use super::*;
use crate::policy::{Layer, Level};
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

    /// The hash, with the stamp held to its promise.
    fn hash(&self) -> String {
        let now = self.look();
        assert_eq!(now.stamp, stamp(&self.env, &self.project), "nothing changed, so the stamp is the same");
        now.hash
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
fn every_text_that_counts_moves_hash_and_stamp() {
    let world = world();
    let mut seen = vec![(world.hash(), world.look().stamp)];
    let mut moved = |what: &str| {
        let now = (world.hash(), world.look().stamp);
        assert!(seen.iter().all(|old| old.0 != now.0 && old.1 != now.1), "{what}");
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
    // Some kernels count time in steps of a few milliseconds; nobody edits faster than that.
    std::thread::sleep(std::time::Duration::from_millis(20));
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
    let layer = |name: &str| world.look().texts.into_iter().find(|text| text.name == name).unwrap().layer;
    assert_eq!(layer("workflows/x.md"), Some(Layer::User));
    world.ours("workflows/x.md", "project's");
    assert_eq!(layer("workflows/x.md"), Some(Layer::Project));
    assert_eq!(
        (layer("user/AXIOMS.md"), layer("project/AXIOMS.md")),
        (Some(Layer::User), Some(Layer::Project))
    );
}

#[test]
fn every_shipped_text_is_in_the_hash() {
    let names: Vec<String> = world().look().texts.into_iter().map(|text| text.name).collect();
    for asset in crate::asset::ASSETS.iter().filter(|asset| !asset.path.starts_with("commands/")) {
        assert!(names.iter().any(|name| name == asset.path), "{}", asset.path);
    }
}

#[test]
fn the_projects_folder_is_found() {
    let world = world();
    let deep = world.project.join("a/b");
    fs::create_dir_all(&deep).unwrap();
    let root_of = |env: &Env, from: &Path| root(env, from);
    assert_eq!(root_of(&world.env, &deep), None);
    fs::create_dir(world.project.join(".git")).unwrap();
    assert_eq!(root_of(&world.env, &deep).as_ref(), Some(&world.project));
    fs::create_dir(world.project.join("a/.aops")).unwrap();
    assert_eq!(root_of(&world.env, &deep), Some(world.project.join("a")), "the nearest counts");
    let env = Env { project: world.project.clone(), ..world.env.clone() };
    assert_eq!(
        root_of(&env, &deep).as_ref(),
        Some(&world.project),
        "where the client began, whatever cwd is"
    );
    assert_eq!(root_of(&world.env, Path::new("relative")), None);
}

#[test]
fn nothing_above_home_counts() {
    let world = world();
    let above = world.env.home.parent().unwrap().join(".aops");
    put(&above.join("config.toml"), "gates.qa = \"off\"");
    assert_eq!(root(&world.env, &world.project), None);
    fs::create_dir(world.env.home.join(".aops")).unwrap();
    assert_eq!(root(&world.env, &world.project).as_ref(), Some(&world.env.home));
}

#[test]
fn what_cannot_be_read_is_a_problem() {
    let said = |world: &World| load(&world.env, &world.project).unwrap_err();
    let folder = world();
    folder.user("config.toml/x", "");
    assert!(said(&folder).what.contains("cannot be read"), "{}", said(&folder));
    let long = world();
    long.user("config.toml", &"#".repeat(300 << 10));
    assert!(said(&long).what.ends_with("larger than 256 KB"), "{}", said(&long));
    let text = world();
    text.user("agents/critic.md", &"#".repeat(2 << 20));
    assert!(said(&text).what.ends_with("larger than 1024 KB"), "{}", said(&text));
    let odd = world();
    fs::create_dir_all(&odd.env.user_config).unwrap();
    fs::write(odd.env.user_config.join("config.toml"), b"# ok\n# \xff\n").unwrap();
    assert!(said(&odd).what.ends_with("config.toml:2:3: not UTF-8"), "{}", said(&odd));
    assert_eq!(said(&odd).code, Code::ConfigInvalid);
}

/// Opening a pipe waits for somebody to write to it; we do not.
#[test]
fn a_pipe_is_no_configuration() {
    let world = world();
    let path = world.project.join(".aops/config.toml");
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    #[expect(clippy::disallowed_methods, reason = "no safe call for a pipe on every system")]
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.expect("`mkfifo` is on every unix").success());
    let failure = load(&world.env, &world.project).unwrap_err();
    assert!(failure.what.ends_with("config.toml: cannot be read: not a regular file"), "{failure}");
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
