//! Machines with a worker each, and what runs there.

use crate::world::{CONFIG, FLEET, Running, World, free_port, until};
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A machine with a home of its own.
pub(crate) struct Machine {
    pub(crate) name: &'static str,
    home: PathBuf,
    pub(crate) port: u16,
    pub(crate) worker: Option<Running>,
}

impl World {
    pub(crate) fn machine(&self, name: &'static str, labels: &[&str]) -> Machine {
        let mut machine = self.at_home(name);
        self.start_worker(&mut machine, labels);
        machine
    }

    fn at_home(&self, name: &'static str) -> Machine {
        let home = self.at(name);
        fs::create_dir_all(home.join(".config/aops")).unwrap();
        fs::write(home.join(".config/aops/config.toml"), CONFIG).unwrap();
        Machine { name, home, port: free_port(), worker: None }
    }

    /// A machine on which a script stands in for `aops-hook`: each run asks this, and ends with the answer.
    pub(crate) fn acting(&self, name: &'static str, asked: &Value) -> Machine {
        let script = self.at(&format!("{name}-hook"));
        let account = json!({"steps": [{"step": "build", "outcome": "PASS", "reason": "", "duration_ms": 1500}],
            "cost": 12_340_000, "tokens": 4321});
        let end =
            json!({"kind": "finished", "outcome": "PASS", "reason": "every step passed", "account": account});
        let text = format!(
            "#!/usr/bin/env python3\nimport hashlib, json, sys\nleg = json.load(open(sys.argv[2]))\nend = json.loads({:?})\nanswer = leg.get('answer')\nif not answer:\n    about = hashlib.sha256(leg['run'].encode()).hexdigest()\n    end = {{'kind': 'asks', 'question': 'may this be done?', 'about': about, 'pinned': True, 'asked': json.loads({:?}), 'account': end['account']}}\nelif not answer['approve']:\n    end.update(outcome='BLOCKED', reason=answer['who'] + ' rejected it')\njson.dump(end, open(sys.argv[3], 'w'))\n",
            end.to_string(),
            asked.to_string()
        );
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let home = self.at(name);
        fs::create_dir_all(&home).unwrap();
        let mut machine = Machine { name, home, port: free_port(), worker: None };
        let key = self.key();
        let more = ["--gateway-key", &key, "--hook", script.to_str().unwrap()];
        self.start_worker_with(&mut machine, &more);
        machine
    }

    /// A machine with the label `real` on which this script stands in for `aops-hook`.
    pub(crate) fn finishing(&self, name: &'static str, script: &Path) -> Machine {
        let mut machine = self.at_home(name);
        self.start_worker_with(&mut machine, &["--label", "real", "--hook", script.to_str().unwrap()]);
        machine
    }

    pub(crate) fn start_worker(&self, machine: &mut Machine, labels: &[&str]) {
        let key = self.key();
        let mut more = vec!["--gateway-key", key.as_str()];
        more.extend(labels.iter().flat_map(|label| ["--label", label]));
        self.start_worker_with(machine, &more);
    }

    pub(crate) fn start_worker_with(&self, machine: &mut Machine, more: &[&str]) {
        self.begin_worker(machine, more);
        until("the engine knows the machine", || self.machines()[machine.name]["away"] == false);
    }

    /// A machine whose worker has these options too; the engine need not know it yet.
    pub(crate) fn encrypted(&self, name: &'static str, more: &[&str]) -> Machine {
        let mut machine = self.at_home(name);
        self.begin_worker(&mut machine, more);
        machine
    }

    fn begin_worker(&self, machine: &mut Machine, more: &[&str]) {
        let hook = Path::new(FLEET).with_file_name("aops-hook");
        assert!(hook.exists(), "`aops-hook` is not built\nhint: `cargo build -p aops-hook --bins`");
        let [ingress, admin] = self.doors();
        let listen = format!("127.0.0.1:{}", machine.port);
        let mut args = vec!["worker", "--name", machine.name, "--listen", &listen, "--ingress", &ingress];
        args.extend(["--admin", &admin, "--hook", hook.to_str().unwrap(), "--grace", "1", "--reattach", "2"]);
        args.extend(["--lost-after", "8"]);
        args.extend(more);
        machine.worker =
            Some(self.start(Path::new(FLEET), &args, &machine.home, &format!("{}.log", machine.name)));
    }

    /// A machine that is configured, reaches the engine only through the gateway, and has the token `far`.
    pub(crate) fn far_machine(&self) -> Machine {
        let home = self.at("far");
        let port = free_port();
        let keys = home.join(".claude/aops/keys");
        fs::create_dir_all(&keys).unwrap();
        fs::write(keys.join("worker.token"), "farfar\n").unwrap();
        fs::create_dir_all(home.join(".config/aops")).unwrap();
        let fleet = format!(
            "[fleet]\nengine = \"http://127.0.0.1:{}\"\nlisten = \"127.0.0.1:{port}\"\nlabels = [\"far\"]\ngateway_keys = [\"{}\"]\nreattach = \"2s\"\ngrace = \"1s\"\nlost_after = \"8s\"\n",
            self.ports.0,
            self.key()
        );
        fs::write(home.join(".config/aops/config.toml"), CONFIG.to_owned() + &fleet).unwrap();
        let mut machine = Machine { name: "far", home, port, worker: None };
        let hook = Path::new(FLEET).with_file_name("aops-hook");
        let args = ["worker", "--name", "far", "--hook", hook.to_str().unwrap()];
        machine.worker = Some(self.start(Path::new(FLEET), &args, &machine.home, "far.log"));
        until("the engine knows the machine", || self.machines()["far"]["away"] == false);
        machine
    }

    /// Processes of steps of this machine, their holders among them.
    pub(crate) fn held(&self, machine: &Machine) -> usize {
        let folder = machine.home.join(".local/state/aops/worker");
        let mark = format!("AOPS_HOLD={}", folder.display()).into_bytes();
        let has = |path: PathBuf| {
            let variables = fs::read(path.join("environ")).unwrap_or_default();
            variables.split(|byte| *byte == 0).any(|variable| variable == mark)
        };
        fs::read_dir("/proc").unwrap().flatten().filter(|item| has(item.path())).count()
    }

    /// The clone of this run on this machine.
    pub(crate) fn clone_of(&self, machine: &Machine, run: &str) -> PathBuf {
        machine.home.join(".local/state/aops/runs").join(run)
    }
}
