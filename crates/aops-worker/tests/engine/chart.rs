//! The chart and the image: rendered by Helm itself, checked against the schemas of Kubernetes, and what it
//! starts read by the program that it starts. No cluster and no container engine is asked.

use crate::brought::{helm, kubernetes};
use aops_core::config::policy::{self, Fleet, Source};
use aops_core::system::env::Env;
use aops_worker::gateway::Gateway;
use aops_worker::worker;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

const PACKAGING: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging");
const USUAL: [&str; 2] = ["engine.identity=publickeyv1_abc", "workers.tlsSecret=certificates"];
/// The oldest that the chart allows with schemas at hand, and a newer one.
const VERSIONS: [&str; 2] = ["1.25", "1.33"];

fn helm_says(verb: &[&str], values: &[&str]) -> Output {
    let mut command = Command::new(helm());
    command.args(verb).arg(format!("{PACKAGING}/helm/aops-fleet"));
    command.args(values.iter().flat_map(|value| ["--set", value]));
    command.env_clear().env("HOME", "/nonexistent").env("PATH", "/usr/bin:/bin").output().unwrap()
}

/// What the chart makes with these values, after every part was checked.
fn rendered(values: &[&str]) -> Vec<Value> {
    let said = helm_says(&["template", "r", "--namespace", "n"], values);
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rendered.yaml");
    fs::write(&file, &said.stdout).unwrap();
    for version in VERSIONS {
        let mut check = Command::new("python3");
        check.args(["-m", "kubernetes_validate", "--strict", "--no-warn", "-k", version]).arg(&file);
        let said = check.env("PYTHONPATH", kubernetes()).output().unwrap();
        assert!(said.status.success(), "{version}: {}{}", text(&said.stdout), text(&said.stderr));
    }
    let mut read = Command::new("python3");
    read.args(["-c", "import json, sys, yaml; json.dump([one for one in yaml.safe_load_all(open(sys.argv[1])) if one], sys.stdout)"]);
    let said = read.arg(&file).env("PYTHONPATH", kubernetes()).output().unwrap();
    serde_json::from_slice(&said.stdout).unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn refused(values: &[&str]) -> String {
    let said = helm_says(&["template", "r"], values);
    assert!(!said.status.success(), "{values:?}");
    text(&said.stderr)
}

fn one<'a>(all: &'a [Value], kind: &str, name: &str) -> &'a Value {
    all.iter().find(|one| one["kind"] == kind && one["metadata"]["name"] == name).unwrap()
}

fn container<'a>(set: &'a Value, name: &str) -> &'a Value {
    let all = set["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    all.iter().find(|one| one["name"] == name).unwrap()
}

/// Its words after the verb.
fn words(container: &Value) -> Vec<String> {
    let all: Vec<String> = serde_json::from_value(container["args"].clone()).unwrap();
    all[1..].to_vec()
}

#[test]
fn the_chart_starts_what_the_programs_read() {
    let said = helm_says(&["lint", "--strict"], &USUAL);
    assert!(said.status.success(), "{}{}", text(&said.stdout), text(&said.stderr));
    let all = rendered(&USUAL);
    let engine = one(&all, "StatefulSet", "r-aops-fleet-engine");
    let gateway = container(engine, "gateway");
    // The gateway reads its words, with its files where this test has them.
    let folder = tempfile::tempdir().unwrap();
    let tokens = folder.path().join("tokens");
    fs::write(&tokens, "").unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    let here: Vec<String> = words(gateway)
        .into_iter()
        .map(|word| word.replace("/run/keys", &folder.path().display().to_string()))
        .collect();
    let read = Gateway::read(&here, &Fleet::default()).unwrap();
    assert!(read.runs.listen.ip().is_loopback(), "the server calls it in its pod alone");
    let mounts = |container: &Value| {
        let all = container["volumeMounts"].as_array().unwrap();
        all.iter().map(|one| one["mountPath"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for word in words(gateway).iter().filter(|word| word.contains("/var/") || word.contains("/run/")) {
        let path = word.trim_start_matches("unix:");
        assert!(mounts(gateway).iter().any(|mount| Path::new(path).starts_with(mount)), "{word}");
    }
    // The server has no port: its doors are sockets that only its gateway shares.
    let server = container(engine, "restate");
    assert!(server["ports"].is_null() && server["args"].to_string().contains("\"--listen-mode\",\"unix\""));
    assert_eq!(engine["spec"]["replicas"], 1);
    // A worker reads its configuration and its words.
    let config = &one(&all, "ConfigMap", "r-aops-fleet-worker")["data"]["config.toml"];
    let source = Source { file: "config.toml", text: config.as_str().unwrap() };
    let (policy, _) = policy::read(Some(source), None).unwrap();
    let fleet = policy.fleet;
    assert_eq!(fleet.identity.as_deref(), Some("publickeyv1_abc"));
    assert_eq!(fleet.certificate.as_deref(), Some("/run/certificate/tls.crt"));
    assert_eq!(fleet.engine.as_deref(), Some("http://r-aops-fleet"));
    assert!(one(&all, "Service", "r-aops-fleet")["spec"]["ports"][0]["port"] == 80, "which is that address");
    let worker = container(one(&all, "StatefulSet", "r-aops-fleet-worker"), "worker");
    let mut here = words(worker);
    assert!(here.contains(&"https://$(MACHINE).r-aops-fleet-worker.n.svc:9443".to_owned()), "{here:?}");
    here[1] = "r-aops-fleet-worker-0".to_owned();
    here.extend(["--hook".to_owned(), "/bin/true".to_owned()]);
    let why = worker::Options::read(&here, &Env::read(), &fleet).unwrap_err();
    assert!(why.contains("/run/certificate/tls.crt"), "all is read up to its certificate: {why}");
}

#[test]
fn the_chart_leaves_nothing_open() {
    for values in
        [&USUAL[..], &["engine.identity=publickeyv1_abc", "workers.plain=true", "gateway.oidc=true"]]
    {
        let all = rendered(values);
        for set in all.iter().filter(|one| one["kind"] == "StatefulSet") {
            let pod = &set["spec"]["template"]["spec"];
            assert_eq!(
                (&pod["automountServiceAccountToken"], &pod["securityContext"]["runAsNonRoot"]),
                (&json!(false), &json!(true))
            );
            let containers =
                ["containers", "initContainers"].map(|kind| pod[kind].as_array().unwrap().clone()).concat();
            for one in containers {
                let wanted = json!({"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true, "capabilities": {"drop": ["ALL"]}});
                assert_eq!(one["securityContext"], wanted, "{one}");
            }
        }
        let of = |name: &str| one(&all, "NetworkPolicy", name)["spec"].clone();
        assert_eq!(of("r-aops-fleet-engine")["ingress"], json!([{"ports": [{"port": 7391}]}]));
        let from = of("r-aops-fleet-worker")["ingress"][0]["from"][0]["podSelector"]["matchLabels"].clone();
        assert_eq!(from["app.kubernetes.io/component"], "engine", "only the engine reaches a worker");
    }
    assert!(refused(&[]).contains("engine.identity is missing"));
    assert!(refused(&USUAL[..1]).contains("workers.tlsSecret is missing"));
    assert!(
        refused(&[USUAL[0], USUAL[1], "workers.replicsa=3"]).contains("replicsa"),
        "a misspelt value is told"
    );
    let open = [USUAL[0], USUAL[1], "gateway.ingress.enabled=true", "gateway.ingress.host=runs.example"];
    assert!(refused(&open).contains("gateway.ingress.tlsSecret is missing"), "no token travels in the clear");
    let closed = [&open[..], &["gateway.ingress.tlsSecret=t"]].concat();
    assert!(rendered(&closed).iter().any(|one| one["kind"] == "Ingress"));
}

/// The image has what the chart starts, as nobody in particular. No container engine is here to build it.
#[test]
fn the_image_has_what_the_chart_starts() {
    let recipe = fs::read_to_string(format!("{PACKAGING}/container/Containerfile")).unwrap();
    let line = |word: &str| recipe.lines().rfind(|line| line.starts_with(word)).unwrap().to_owned();
    assert_eq!(line("COPY "), "COPY aops-fleet aops-hook /usr/bin/");
    assert_eq!(line("USER "), "USER 10001:10001");
    let all = rendered(&USUAL);
    let pod = &one(&all, "StatefulSet", "r-aops-fleet-worker")["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsUser"], 10001);
    assert!(recipe.contains(" git "), "a worker clones");
    assert_eq!(
        container(one(&all, "StatefulSet", "r-aops-fleet-worker"), "worker")["command"],
        json!(["aops-fleet"])
    );
    let version = env!("CARGO_PKG_VERSION");
    let chart = fs::read_to_string(format!("{PACKAGING}/helm/aops-fleet/Chart.yaml")).unwrap();
    assert!(
        chart.contains(&format!("version: {version}\n"))
            && chart.contains(&format!("appVersion: \"{version}\""))
    );
}
