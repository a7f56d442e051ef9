//! What another command of the user left behind, or does meanwhile, opens no jail and blocks no session.

use super::world::{Jailed, Ran};
use crate::support::{BINARY, Sandbox};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;

fn uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Any command may make the name of the client's folder before the client does.
#[test]
fn a_link_in_the_place_of_the_clients_folder_leads_nowhere() {
    let world = Jailed::new();
    let config = world.sandbox.config();
    fs::create_dir_all(config.join("aops")).unwrap();
    let session = world.prompted();
    let link = world.sandbox.tmp().join(format!("claude-{}", uid()));
    for target in
        [world.project(), config.join("aops"), session.inner.folder(), session.inner.folder().join("jail")]
    {
        symlink(&target, &link).unwrap();
        let script = format!(
            "for path in ['{}', '{}']:\n\x20   try: open(path + '/planted', 'w')\n\x20   except OSError as error: print(error.strerror)\n",
            target.display(),
            link.display()
        );
        world.sandbox.put("write.py", &script);
        let ran = session.ran("python3 write.py");
        assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "trial"), "{ran:?}");
        assert!(!target.join("planted").exists(), "{}: {ran:?}", target.display());
        fs::remove_file(&link).unwrap();
    }
}

/// There are outputs of tasks and scratch folders of every session of the user, and whoever listens on a
/// socket.
#[test]
fn what_is_tried_changes_nothing_of_the_clients() {
    for named in [false, true] {
        let mut world = Jailed::new();
        let elsewhere = world.root().join("elsewhere");
        let temporary = if named { elsewhere.clone() } else { world.sandbox.tmp() };
        let folder = temporary.join(format!("claude-{}", uid()));
        if named {
            world.sandbox = world.sandbox.with("CLAUDE_CODE_TMPDIR", &elsewhere);
        }
        let (output, notes) = (folder.join("-p/s/tasks/b1.output"), folder.join("-p/s/scratchpad/notes.md"));
        for (file, text) in [(&output, "1 failed\n"), (&notes, "x\n")] {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let heard = UnixListener::bind(folder.join("s")).unwrap();
        heard.set_nonblocking(true).unwrap();
        let script = format!(
            "import os, socket\nopen('{}', 'w').write('passed')\nos.remove('{}')\nopen('{}/new', 'w')\n\
            try: socket.socket(socket.AF_UNIX).connect('{2}/s'); print('heard')\n\
            except OSError as error: print(error.strerror)\n",
            output.display(),
            notes.display(),
            folder.display()
        );
        world.sandbox.put("write.py", &script);
        let session = world.prompted();
        let ran = session.ran("python3 write.py");
        assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "trial"), "{ran:?}");
        assert_eq!(fs::read_to_string(&output).unwrap(), "1 failed\n", "{ran:?}");
        assert!(notes.exists() && !folder.join("new").exists(), "{ran:?}");
        assert!(heard.accept().is_err() && !ran.out.contains("heard"), "{ran:?}");
        // It still tells the client where it is.
        let told = world.sandbox.tmp().join("claude-1234-cwd");
        assert_eq!(fs::read_to_string(told).unwrap(), format!("{}\n", world.project().display()));
    }
}

/// The file for the working directory is written for real, and lies where any command of the user may put
/// another.
#[test]
fn a_second_name_of_another_file_is_not_told_the_working_directory() {
    let world = Jailed::new();
    let (settings, file) =
        (world.sandbox.config().join("settings.json"), world.sandbox.tmp().join("claude-1234-cwd"));
    fs::create_dir_all(world.sandbox.config()).unwrap();
    fs::write(&settings, "{}\n").unwrap();
    world.sandbox.put("unknown.sh", "true\n");
    let session = world.prompted();
    fs::hard_link(&settings, &file).unwrap();
    assert_eq!(session.ran("sh unknown.sh").profile(), "trial");
    // A call of our own program is not in the jail, and tells its folder too.
    assert_eq!(session.ran("aops-hook status").code, Some(0));
    assert_eq!(fs::read_to_string(&settings).unwrap(), "{}\n");
    fs::remove_file(&file).unwrap();
    // Nobody reads from this one.
    mknodat(CWD, &file, FileType::Fifo, Mode::RWXU, 0).unwrap();
    assert_eq!(session.ran("aops-hook status").code, Some(0));
    fs::remove_file(&file).unwrap();
    assert_eq!(session.ran("aops-hook status").code, Some(0));
    assert_eq!(fs::read_to_string(&file).unwrap(), format!("{}\n", world.project().display()));
}

/// The commands may begin in another order than their calls.
#[test]
fn two_calls_of_the_same_line_prove_each_other() {
    let world = Jailed::new();
    world.sandbox.put("unknown.sh", "true\n");
    let session = world.prompted();
    let calls = [0, 1].map(|_| session.inner.call("Bash", json!({"command": "sh unknown.sh"})));
    for call in &calls {
        session.inner.pre(call).silent();
    }
    for call in calls.iter().rev() {
        let ran = Ran::of(&session.line("sh unknown.sh").output().unwrap());
        assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""), "{ran:?}");
        session.inner.post(call).silent();
    }
    let entries = session.inner.entries();
    let proven =
        entries.iter().filter(|entry| entry["with"]["end"]["under"]["jailed"]["profile"] == "trial").count();
    assert_eq!(proven, 2, "{entries:#?}");
}

/// A program with capabilities of its own would have them in the user namespace that owns the mounts.
#[test]
fn no_program_gets_more_rights_than_an_ordinary_user_has() {
    let world = Jailed::new();
    world.sandbox.put("look.sh", "grep NoNewPrivs /proc/self/status\n");
    let session = world.prompted();
    let expected = format!("NoNewPrivs:\t{}\n", u32::from(uid() != 0));
    for profile in ["trial", "read", "work"] {
        let line = if profile == "read" { "grep NoNewPrivs /proc/self/status" } else { "sh look.sh" };
        if profile == "work" {
            session.inner.hydrate("minor-edit", "new");
        }
        let ran = session.ran(line);
        assert_eq!((ran.profile().as_str(), ran.out.as_str()), (profile, expected.as_str()), "{ran:?}");
    }
}

/// A folder that is closed for the moment opens what lies below it to no later command: its owner opens it
/// again.
#[test]
fn a_folder_that_was_closed_guards_as_before() {
    let world = Jailed::new();
    let (home, config) = (world.sandbox.home(), world.sandbox.config());
    fs::create_dir_all(config.join("agents")).unwrap();
    fs::write(config.join("settings.json"), "{}\n").unwrap();
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let name = config.file_name().unwrap().to_str().unwrap();
    for folder in [home.clone(), world.project(), config.clone(), config.join("agents")] {
        // Of a closed folder nothing is known: such a command may not run at all.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
        let script = format!(
            "chmod 755 '{0}'; mv '{1}/{name}' '{1}/moved'; mv '{2}/.claude' '{2}/moved'\n\
             echo x > '{3}/settings.json'; echo x > '{3}/agents/critic.md'; exit 0\n",
            folder.display(),
            home.display(),
            world.project().display(),
            config.display()
        );
        fs::set_permissions(world.project(), fs::Permissions::from_mode(0o755)).unwrap();
        world.sandbox.put("try.sh", &script);
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
        let ran = session.ran("sh try.sh");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!((ran.code, ran.profile().as_str()), (Some(0), "work"), "{ran:?}");
        assert!(config.exists() && !home.join("moved").exists(), "{}: {ran:?}", folder.display());
        assert_eq!(fs::read_to_string(config.join("settings.json")).unwrap(), "{}\n", "{ran:?}");
    }
}

/// What cannot be looked at may hold what guards.
#[test]
fn a_command_does_not_run_while_what_guards_cannot_be_looked_at() {
    if uid() == 0 {
        return;
    }
    let world = Jailed::new();
    let agents = world.sandbox.config().join("agents");
    fs::create_dir_all(&agents).unwrap();
    world.sandbox.put("try.sh", "true\n");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let call = session.inner.call("Bash", json!({"command": "sh try.sh"}));
    session.inner.pre(&call).silent();
    fs::set_permissions(&agents, fs::Permissions::from_mode(0o000)).unwrap();
    let ran = Ran::of(&session.line("sh try.sh").output().unwrap());
    assert_eq!(ran.code, Some(126), "{ran:?}");
    let advice = format!("chmod u+rwx '{}'", agents.display());
    assert!(ran.err.contains("Permission denied") && ran.err.contains(&advice), "{ran:?}");
    assert!(world.bare(&advice).code == Some(0));
    assert_eq!(session.ran("sh try.sh").code, Some(0));
}

/// A session or a scratch folder may lie in the client's own folder.
#[test]
fn a_project_in_the_clients_folder_cannot_be_moved_away() {
    let sandbox = Sandbox::new();
    let clients = sandbox.tmp().join(format!("claude-{}", uid()));
    let project = clients.join("a/project");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join("move.sh"), format!("cd /; mv '{0}/a' '{0}/b'; exit 0\n", clients.display()))
        .unwrap();
    let mut command = sandbox.command(BINARY);
    command
        .args(["--shell", "sh move.sh"])
        .current_dir(&project)
        .env("CLAUDECODE", "1")
        .env("AI_AGENT", "x_agent");
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(project.join("move.sh").exists(), "{output:?}");
}

/// They can switch every hook off, and a superuser's script could write them.
#[test]
fn a_superusers_script_does_not_write_the_administrators_settings() {
    if uid() != 0 {
        return;
    }
    for was in ["nothing", "file", "link"] {
        let world = Jailed::with("[gates]\naudit = \"off\"\n");
        let (managed, elsewhere) = (world.root().join("managed"), world.root().join("elsewhere.json"));
        fs::write(&elsewhere, "{}").unwrap();
        if was != "nothing" {
            fs::create_dir(&managed).unwrap();
        }
        match was {
            "file" => fs::write(managed.join("managed-settings.json"), "{}").unwrap(),
            "link" => symlink(&elsewhere, managed.join("managed-settings.json")).unwrap(),
            _ => {}
        }
        let session = world.prompted();
        session.inner.hydrate("minor-edit", "new");
        let script = format!(
            "cd '{}'; mkdir -p managed managed/managed-settings.d\n\
            for at in managed/managed-settings.json managed/managed-settings.d/a.json elsewhere.json; do\n\
            echo '{{\"disableAllHooks\":true}}' > $at; done; mv managed gone; rm -rf managed; echo tried\n",
            world.root().display()
        );
        world.sandbox.put("write.sh", &script);
        let ran = session.ran("sh write.sh");
        assert!(ran.profile() == "work" && ran.out == "tried\n", "{was}: {ran:?}");
        let text = fs::read_to_string(managed.join("managed-settings.json")).unwrap_or_default();
        assert_eq!(text, if was == "nothing" { "" } else { "{}" }, "{was}: {ran:?}");
        assert!(!managed.join("managed-settings.d").exists(), "{was}: {ran:?}");
        assert_eq!(
            fs::metadata(&managed).unwrap().permissions().mode() & 0o777,
            0o755,
            "{was}: others read there"
        );
    }
}

/// A bundle there is in force for everybody, whoever signed it.
#[test]
fn a_superusers_script_does_not_make_our_administrators_folder() {
    if uid() != 0 {
        return;
    }
    let mut world = Jailed::with("[gates]\naudit = \"off\"\n");
    let root = world.root();
    world.sandbox = world.sandbox.with("AOPS_TEST_ROOT", root);
    let folder = world.root().join("etc/aops-hook");
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let script = format!(
        "cd '{}/etc'; mkdir -p aops-hook; echo planted > aops-hook/bundle; mv aops-hook gone; rm -rf aops-hook\n\
        mkdir -p aops-hook; echo planted > aops-hook/bundle; echo tried\n",
        world.root().display()
    );
    world.sandbox.put("write.sh", &script);
    let ran = session.ran("sh write.sh");
    assert!(ran.profile() == "work" && ran.out == "tried\n", "{ran:?}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "{ran:?}");
    assert_eq!(fs::metadata(&folder).unwrap().permissions().mode() & 0o777, 0o755, "others read there");
}

/// Events that wait to be recorded lie there, where there is no room in the client's folder.
#[test]
fn no_script_makes_our_folder_in_the_data_before_us() {
    let world = Jailed::with("[gates]\naudit = \"off\"\n");
    let sessions = world.sandbox.data().join("sessions");
    let _ = fs::remove_dir_all(&sessions);
    let session = world.prompted();
    session.inner.hydrate("minor-edit", "new");
    let script = format!(
        "cd '{0}'; mkdir -p sessions/spool; ln -s / sessions/insights; mv sessions x; echo tried\n",
        world.sandbox.data().display()
    );
    world.sandbox.put("plant.sh", &script);
    let ran = session.ran("sh plant.sh");
    assert!(ran.profile() == "work" && ran.out == "tried\n", "{ran:?}");
    assert_eq!(fs::read_dir(&sessions).unwrap().count(), 0, "{ran:?}");
}
