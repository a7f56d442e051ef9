//! What guards the session may lie elsewhere, behind symlinks: the links hold, and what they lead to.

use super::world::Jailed;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Moves this out of the home or project into `to`, and leaves a link that leads there.
fn behind_link(place: &Path, to: &Path, relative: Option<&str>) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(place, to).unwrap();
    symlink(relative.map_or(to, Path::new), place).unwrap();
}

/// What stands at each name: the link, where it is one, and the text.
fn seen(names: &[PathBuf]) -> BTreeMap<PathBuf, (Option<PathBuf>, String)> {
    let text = |path: &Path| if path.is_dir() { String::new() } else { fs::read_to_string(path).unwrap() };
    names.iter().map(|name| (name.clone(), (fs::read_link(name).ok(), text(name)))).collect()
}

/// With the sandbox open, tries to change what stands at each of these names, and what it leads to.
fn try_everything(world: &Jailed, names: &[PathBuf]) {
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let before = seen(names);
    for name in names {
        let (link, real) = (name.display(), name.canonicalize().unwrap());
        let (above, top) = (real.parent().unwrap().display(), world.root().join("dotfiles"));
        let (real, top) = (real.display(), top.display());
        world.sandbox.put(
            "try.sh",
            &format!(
                "mkdir -p evil; echo x > evil/new\necho x >> '{link}'; echo x >> '{real}'\nmv -fT evil/new '{link}'; mv -fT evil/new '{real}'\n\
                 ln -sfn $PWD/evil/new '{link}'; ln -sfn $PWD/evil '{link}'\nrm -rf '{link}'; rm -rf '{real}'\n\
                 mv '{link}' gone1; mv '{real}' gone2; mv '{above}' gone3; mv '{top}' gone4\n\
                 python3 -c \"import os; os.rename('evil', '{link}')\"; perl -e \"unlink '{link}'; symlink 'x', '{link}'\"\n\
                 unshare -Urm sh -c \"umount -l '{link}'; umount -l '{real}'; rm -f '{link}'; echo x > '{real}'\"\n\
                 rm -rf evil gone*; exit 0\n",
            ),
        );
        let ran = session.ran("sh try.sh");
        assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "work"), "{link}: {ran:?}");
        assert_eq!(seen(names), before, "{link}: {ran:?}");
    }
}

#[test]
fn settings_behind_links_are_held_with_their_links() {
    let world = Jailed::new();
    let (config, home, other) = (world.sandbox.config(), world.sandbox.home(), world.root().join("dotfiles"));
    fs::create_dir_all(config.join("agents")).unwrap();
    for name in ["settings.json", "settings.local.json"] {
        fs::write(config.join(name), "{}\n").unwrap();
        world.sandbox.put(&format!(".claude/{name}"), "{}\n");
    }
    behind_link(&config.join("settings.json"), &other.join("a/settings.json"), None);
    // One link after the other, and a relative one.
    behind_link(
        &config.join("settings.local.json"),
        &other.join("b/middle"),
        Some("../../dotfiles/b/middle"),
    );
    behind_link(&other.join("b/middle"), &other.join("c/last"), Some("../c/last"));
    behind_link(&world.project().join(".claude/settings.json"), &world.project().join("conf/s.json"), None);
    fs::create_dir_all(home.join(".config/aops/templates/owed")).unwrap();
    fs::write(home.join(".config/aops/templates/owed/push.md"), "push it\n").unwrap();
    behind_link(&home.join(".config/aops/config.toml"), &other.join("config.toml"), None);
    behind_link(&home.join(".config/aops/templates/owed/push.md"), &other.join("d/push.md"), None);
    let names = [
        config.join("settings.json"),
        config.join("settings.local.json"),
        other.join("b/middle"),
        world.project().join(".claude/settings.json"),
        home.join(".config/aops/config.toml"),
        home.join(".config/aops/templates/owed/push.md"),
    ];
    try_everything(&world, &names);
}

#[test]
fn folders_behind_links_are_held_with_their_links() {
    let world = Jailed::new();
    let (config, home, other) = (world.sandbox.config(), world.sandbox.home(), world.root().join("dotfiles"));
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("settings.json"), "{}\n").unwrap();
    world.sandbox.put(".aops/config.toml", "");
    behind_link(&config, &other.join("claude"), None);
    behind_link(&home.join(".config/aops"), &other.join("aops"), Some("../../dotfiles/aops"));
    behind_link(&world.project().join(".aops"), &world.project().join("conf/aops"), None);
    let names = [
        config.clone(),
        config.join("settings.json"),
        home.join(".config/aops"),
        home.join(".config/aops/config.toml"),
        world.project().join(".aops"),
        world.project().join(".aops/config.toml"),
    ];
    try_everything(&world, &names);
}

/// What lies beside a link that is held is changed as ever.
#[test]
fn beside_a_link_that_is_held_commands_work() {
    let world = Jailed::new();
    let (config, other) = (world.sandbox.config(), world.root().join("dotfiles"));
    fs::create_dir_all(&config).unwrap();
    fs::write(config.join("settings.json"), "{}\n").unwrap();
    behind_link(&config.join("settings.json"), &other.join("settings.json"), None);
    symlink(&other, world.project().join("dots")).unwrap();
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let script = format!(
        "set -e; echo x > '{0}/new'; mv '{0}/new' '{0}/newer'; ln '{0}/newer' '{0}/linked'; mkdir -p '{1}/skills/x'; rm dots; ln -s new dots\n",
        other.display(),
        config.display()
    );
    world.sandbox.put("try.sh", &script);
    let ran = session.ran("sh try.sh");
    assert_eq!((ran.code, ran.err.as_str(), ran.profile().as_str()), (Some(0), "", "work"), "{ran:?}");
    assert!(other.join("newer").exists() && config.join("skills/x").exists());
    assert_eq!(fs::read_link(world.project().join("dots")).unwrap(), Path::new("new"));
}
