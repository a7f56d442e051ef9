//! A command in the jail may lock what it can read, and keeps nobody outside waiting.

use super::world::Jailed;

/// Opens each file of ours whose name ends so, takes every lock on it that it can get, and keeps them in the
/// background.
const HOLD: &str = "import fcntl, os
held, names_of_held = [], []
for folder, _, names in os.walk(os.environ['HOME'] + '/.claude'):
    for name in [''] + names:
        if name and not name.endswith('lock'): continue
        try: file = os.open(os.path.join(folder, name), os.O_RDONLY)
        except OSError: continue
        for take in (fcntl.flock, fcntl.lockf):
            for kind in (fcntl.LOCK_EX, fcntl.LOCK_SH):
                try: take(file, kind | fcntl.LOCK_NB); held.append(file); names_of_held.append(name)
                except OSError: pass
for name in names_of_held: print(name)
if os.fork() == 0:
    os.setsid()
    for file in (0, 1, 2): os.close(file)
    import time; time.sleep(600)
";

#[test]
fn no_command_holds_a_lock_of_ours() {
    let world = Jailed::new();
    world.sandbox.person(&["key", "init"]).said(&["made the key"]);
    world.sandbox.put("hold.py", HOLD);
    let session = world.prompted();
    for profile in ["trial", "work"] {
        if profile == "work" {
            session.inner.hydrate("minor-edit", "new");
        }
        let ran = session.ran("python3 hold.py");
        assert_eq!((ran.code, ran.profile().as_str()), (Some(0), profile), "{ran:?}");
        let files: Vec<&str> = ran.out.lines().collect();
        assert!(files.contains(&".lock") && files.len() > 2, "{ran:?}");
        // The command is still there; another session begins, and a turn ends.
        let other = world.sandbox.session();
        assert_eq!(other.start("startup").code, Some(0), "{profile}");
        assert_eq!(other.stop("done").code, Some(0), "{profile}");
        session.inner.ask_bash("ls").silent();
    }
    for (pid, line) in world.sandbox.alive() {
        if line.contains("hold.py") {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_raw(pid).unwrap(),
                rustix::process::Signal::KILL,
            );
        }
    }
}
