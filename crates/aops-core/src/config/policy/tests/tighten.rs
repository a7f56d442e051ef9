//! Tests that a project may only tighten: each key in both directions, and any two files.

use super::network::no_wider;
use super::source;
use crate::config::policy::DangerLevel;
use crate::config::policy::jail::JailLevel;
use crate::config::policy::key::{KEYS, Key, Project};
use crate::config::policy::rule::Action;
use crate::config::policy::value::Form;
use crate::config::policy::{
    Folder, Layer, Level, ModeLevel, Policy, Share, Source, hold_in, read, read_for,
};
use crate::model::call::Effect;
use proptest::prelude::*;

const HERE: Folder = Folder { path: "/home/u/p", home: "/home/u" };

/// Each key, the user's value, what a project asks for, and the result (`Err` is a refusal).
const TIGHTENING: &[(&str, &str, &str, Result<&str, ()>)] = &[
    ("mode.observe", "true", "false", Ok("false")),
    ("mode.observe", "false", "true", Err(())),
    ("mode.observe", "", "true", Err(())),
    ("mode.observe", "", "false", Ok("false")),
    ("network.mode", "\"observe\"", "\"list\"", Ok("\"list\"")),
    ("network.mode", "\"list\"", "\"ask\"", Err(())),
    ("network.mode", "", "\"observe\"", Ok("\"observe\"")),
    ("network.allow", "[\"a.test\", \"b.test\"]", "[\"b.test\"]", Ok("[\"b.test\"]")),
    ("network.allow", "[\"a.test\"]", "[\"a.test\", \"evil.test\"]", Err(())),
    ("network.allow", "", "[\"evil.test\"]", Err(())),
    ("network.deny", "[\"a.test\"]", "[\"b.test\"]", Ok("[\"a.test\", \"b.test\"]")),
    ("network.derive", "", "false", Ok("false")),
    ("network.derive", "false", "true", Err(())),
    ("network.private", "", "[\"a.test\"]", Err(())),
    ("network.private", "[\"a.test\", \"b.test\"]", "[\"a.test\"]", Ok("[\"a.test\"]")),
    ("network.local", "[5432, 6379]", "[6379]", Ok("[6379]")),
    ("network.local", "[5432]", "[22]", Err(())),
    ("network.publish", "\"none\"", "\"auto\"", Err(())),
    ("network.publish", "", "[3000]", Err(())),
    ("network.publish", "[3000]", "[3000]", Ok("[3000]")),
    ("network.sockets", "", "[\"/run/docker.sock\"]", Err(())),
    ("network.sockets", "[\"/a\", \"/b\"]", "[\"/b\"]", Ok("[\"/b\"]")),
    ("network.servers", "true", "false", Err(())),
    ("network.servers", "", "true", Ok("true")),
    ("network.ech", "", "true", Err(())),
    ("network.ech", "true", "false", Ok("false")),
    ("gates.sandbox", "\"off\"", "\"warn\"", Ok("\"warn\"")),
    ("gates.sandbox", "\"off\"", "\"enforce\"", Ok("\"enforce\"")),
    ("gates.sandbox", "\"warn\"", "\"off\"", Err(())),
    ("gates.sandbox", "", "\"warn\"", Err(())),
    ("gates.critic", "\"warn\"", "\"enforce\"", Ok("\"enforce\"")),
    ("gates.critic", "", "\"off\"", Err(())),
    ("gates.audit", "\"off\"", "\"warn\"", Ok("\"warn\"")),
    ("gates.audit", "\"enforce\"", "\"warn\"", Err(())),
    ("gates.checks", "\"warn\"", "\"warn\"", Ok("\"warn\"")),
    ("gates.checks", "", "\"off\"", Err(())),
    ("gates.qa", "\"off\"", "\"enforce\"", Ok("\"enforce\"")),
    ("gates.qa", "\"enforce\"", "\"off\"", Err(())),
    ("gates.reflect", "\"off\"", "\"warn\"", Ok("\"warn\"")),
    ("gates.reflect", "", "\"warn\"", Err(())),
    ("gates.close", "\"warn\"", "\"enforce\"", Ok("\"enforce\"")),
    ("gates.close", "", "\"off\"", Err(())),
    ("audit.rate", "", "1", Ok("1")),
    ("audit.rate", "0", "0.000001", Ok("0.000001")),
    ("audit.rate", "", "0.099999", Err(())),
    ("audit.rate", "0.5", "0", Err(())),
    ("audit.at_least_every", "", "1", Ok("1")),
    ("audit.at_least_every", "100", "99", Ok("99")),
    ("audit.at_least_every", "", "26", Err(())),
    ("audit.grace", "", "0", Ok("0")),
    ("audit.grace", "0", "1", Err(())),
    ("stop.refusals", "", "10", Ok("10")),
    ("stop.refusals", "", "2", Err(())),
    ("hydration.deadline_ms", "", "5000", Ok("5000")),
    ("hydration.deadline_ms", "", "399", Err(())),
    ("effects.read", "[\"a\", \"b\"]", "[\"b\"]", Ok("[\"a\", \"b\"]")),
    ("effects.read", "[\"a\"]", "[\"a\", \"b\"]", Err(())),
    ("effects.read", "", "\"*\"", Err(())),
    ("effects.write", "[\"b\"]", "[\"a\", \"b\"]", Ok("[\"a\", \"b\"]")),
    ("effects.write", "", "\"a\"", Ok("[\"a\"]")),
    ("effects.write", "[\"a\"]", "[]", Ok("[\"a\"]")),
    ("effects.examples", "[\"Bash(ls)\"]", "[\"Read\"]", Ok("[\"Bash(ls)\", \"Read\"]")),
    ("tracker.command", "", "\"bd\"", Ok("\"bd\"")),
    ("tracker.command", "", "\"./evil\"", Err(())),
    ("tracker.command", "\"bd2\"", "\"bd\"", Err(())),
    ("memory.server", "\"http://[::1]:8/\"", "\"http://[::1]:8/\"", Ok("\"http://[::1]:8/\"")),
    ("memory.server", "", "\"http://[::1]:8/\"", Err(())),
    ("insights.command", "\"gemini\"", "\"gemini\"", Ok("\"gemini\"")),
    ("insights.command", "", "\"./evil\"", Err(())),
    ("insights.prompts", "true", "false", Ok("false")),
    ("insights.prompts", "", "true", Err(())),
    ("checkpoint.interactive", "\"off\"", "\"execute\"", Ok("\"execute\"")),
    ("checkpoint.interactive", "", "\"all\"", Ok("\"all\"")),
    ("checkpoint.interactive", "", "\"off\"", Err(())),
    ("checkpoint.max_file_mb", "", "51", Ok("51")),
    ("checkpoint.max_file_mb", "", "49", Err(())),
    ("checkpoint.max_tree_mb", "", "2049", Ok("2049")),
    ("checkpoint.max_tree_mb", "", "2047", Err(())),
    ("checkpoint.intervene", "", "\"rollback\"", Err(())),
    ("checkpoint.intervene", "\"rollback\"", "\"rollback\"", Ok("\"rollback\"")),
    ("checkpoint.keep", "", "21", Ok("21")),
    ("checkpoint.keep", "", "19", Err(())),
    ("jail.level", "", "\"require\"", Ok("\"require\"")),
    ("jail.level", "", "\"off\"", Err(())),
    ("jail.layer_mb", "", "2047", Ok("2047")),
    ("jail.layer_mb", "", "2049", Err(())),
    ("jail.test_network", "true", "false", Ok("false")),
    ("jail.test_network", "", "true", Err(())),
    ("jail.messaging", "true", "false", Ok("false")),
    ("jail.messaging", "", "true", Err(())),
    ("jail.harness", "\"none\"", "\"work\"", Ok("\"work\"")),
    ("jail.harness", "", "\"none\"", Err(())),
    ("jail.without", "\"x\"", "\"x\"", Ok("[\"x\"]")),
    ("jail.without", "", "\"x\"", Err(())),
    ("quiet.allow", "\"contained\"", "\"reading\"", Ok("\"reading\"")),
    ("quiet.allow", "\"reading\"", "\"off\"", Ok("\"off\"")),
    ("quiet.allow", "", "\"reading\"", Err(())),
    ("quiet.allow", "\"reading\"", "\"contained\"", Err(())),
    ("quiet.network", "[\"gh\", \"npm\"]", "[\"gh\"]", Ok("[\"gh\"]")),
    ("quiet.network", "\"gh\"", "[]", Ok("[]")),
    ("quiet.network", "\"gh\"", "[\"curl\"]", Err(())),
    ("quiet.network", "", "\"gh\"", Err(())),
    ("quiet.unattended", "true", "false", Ok("false")),
    ("quiet.unattended", "", "true", Err(())),
    ("run.claude", "\"claude\"", "\"claude\"", Ok("\"claude\"")),
    ("run.claude", "", "\"claude\"", Err(())),
    ("run.notify", "\"beep\"", "\"beep\"", Ok("\"beep\"")),
    ("run.notify", "", "\"./evil\"", Err(())),
    ("deliver.branch", "\"a/{run}\"", "\"a/{run}\"", Ok("\"a/{run}\"")),
    ("deliver.branch", "", "\"main\"", Err(())),
    ("deliver.pull_request", "\"none\"", "\"none\"", Ok("\"none\"")),
    ("deliver.pull_request", "", "\"./evil\"", Err(())),
    ("run.on_pause", "\"continue\"", "\"stop\"", Ok("\"stop\"")),
    ("mode.level", "\"guard\"", "\"loop\"", Ok("\"loop\"")),
    ("mode.level", "\"loop\"", "\"guard\"", Err(())),
    ("mode.level", "", "\"loop\"", Err(())),
    ("mode.rehearse", "", "\"strict\"", Ok("\"strict\"")),
    ("mode.rehearse", "\"strict\"", "\"loop\"", Err(())),
    ("small.files", "", "2", Ok("2")),
    ("small.files", "", "4", Err(())),
    ("small.lines", "", "59", Ok("59")),
    ("small.lines", "", "61", Err(())),
    ("small.never", "\"x\"", "\"y\"", Ok("[\"x\", \"y\"]")),
    ("close.format", "", "\"make fmt\"", Ok("\"make fmt\"")),
    ("close.format", "\"cargo fmt\"", "\"true\"", Err(())),
    ("evidence.test", "", "\"make test\"", Ok("\"make test\"")),
    ("evidence.test", "\"cargo test\"", "\"true\"", Err(())),
    ("gates.commit", "\"off\"", "\"enforce\"", Ok("\"enforce\"")),
    ("gates.commit", "", "\"warn\"", Err(())),
    ("gates.push", "\"off\"", "\"warn\"", Ok("\"warn\"")),
    ("gates.push", "", "\"off\"", Err(())),
    ("run.on_pause", "", "\"continue\"", Err(())),
    ("undo.files", "", "5001", Ok("5001")),
    ("undo.files", "", "4999", Err(())),
    ("undo.mb", "", "257", Ok("257")),
    ("undo.mb", "", "255", Err(())),
    ("undo.look_ms", "", "301", Ok("301")),
    ("undo.look_ms", "", "299", Err(())),
    ("undo.keep_days", "", "15", Ok("15")),
    ("undo.keep_days", "", "13", Err(())),
    ("undo.keep_mb", "", "2049", Ok("2049")),
    ("undo.keep_mb", "", "2047", Err(())),
    ("witness.url", "[\"http://[::1]:8\"]", "[\"http://[::1]:8\"]", Ok("[\"http://[::1]:8\"]")),
    ("witness.url", "", "[\"http://[::1]:8\"]", Err(())),
    ("witness.key", "[\"k\"]", "[\"k\"]", Ok("[\"k\"]")),
    ("witness.key", "[\"k\"]", "[\"other\"]", Err(())),
    ("witness.quorum", "2", "2", Ok("2")),
    ("witness.quorum", "", "1", Err(())), // 0 means all of them
    ("witness.attest", "", "\"notes\"", Ok("\"notes\"")),
    ("witness.attest", "\"notes\"", "\"off\"", Err(())),
    ("witness.git", "", "\"notes\"", Ok("\"notes\"")),
    ("witness.git", "\"notes\"", "\"off\"", Err(())),
    ("fleet.url", "\"postgresql://a@h/d\"", "\"postgresql://a@h/d\"", Ok("\"postgresql://a@h/d\"")),
    ("fleet.url", "", "\"postgresql://evil@h/d\"", Err(())),
    ("fleet.announce", "\"beep\"", "\"beep\"", Ok("\"beep\"")),
    ("fleet.announce", "", "\"./evil\"", Err(())),
    ("fleet.defer", "true", "false", Ok("false")),
    ("fleet.defer", "", "true", Err(())),
    ("fleet.engine", "\"https://a\"", "\"https://a\"", Ok("\"https://a\"")),
    ("fleet.engine", "", "\"https://evil\"", Err(())),
    ("fleet.listen", "\"127.0.0.1:1\"", "\"127.0.0.1:1\"", Ok("\"127.0.0.1:1\"")),
    ("fleet.listen", "", "\"0.0.0.0:1\"", Err(())),
    ("fleet.certificate", "\"/a\"", "\"/a\"", Ok("\"/a\"")),
    ("fleet.certificate", "", "\"/evil\"", Err(())),
    ("fleet.identity", "\"k\"", "\"k\"", Ok("\"k\"")),
    ("fleet.identity", "", "\"k\"", Err(())),
    ("fleet.gateway_keys", "[\"k\"]", "[\"k\"]", Ok("[\"k\"]")),
    ("fleet.gateway_keys", "", "[\"k\"]", Err(())),
    ("fleet.labels", "[\"gpu\"]", "[\"gpu\"]", Ok("[\"gpu\"]")),
    ("fleet.labels", "", "[\"gpu\"]", Err(())),
    ("fleet.reattach", "", "\"30s\"", Ok("\"30s\"")),
    ("fleet.reattach", "", "\"31s\"", Err(())),
    ("fleet.grace", "", "\"2s\"", Ok("\"2s\"")),
    ("fleet.grace", "", "\"1s\"", Err(())),
    ("fleet.lost_after", "", "\"120s\"", Ok("\"2m\"")),
    ("fleet.lost_after", "", "\"3m\"", Err(())),
    ("fleet.otlp", "\"https://a\"", "\"https://a\"", Ok("\"https://a\"")),
    ("fleet.otlp", "", "\"https://evil\"", Err(())),
    ("fleet.page", "\"https://a\"", "\"https://a\"", Ok("\"https://a\"")),
    ("fleet.page", "", "\"https://evil\"", Err(())),
    ("fleet.per_repository", "", "3", Ok("3")),
    ("fleet.per_repository", "", "5", Err(())),
];

#[test]
fn a_project_may_only_tighten() {
    let line =
        |key: &str, value: &str| if value.is_empty() { String::new() } else { format!("{key} = {value}") };
    for (name, of_user, of_project, want) in TIGHTENING {
        let one = line(name, of_user);
        let other = line(name, of_project);
        let project = Some(Source { file: "p.toml", text: &other });
        let case = format!("{one} then {other}");
        match (read(source(&one), project), want) {
            (Ok((policy, _)), Ok(want)) => {
                assert_eq!(Key::of(name).unwrap().get(&policy).to_string(), *want, "{case}");
            }
            (Err(problems), Err(())) => {
                let [problem] = problems.as_slice() else { panic!("{case}: {problems:?}") };
                let place = (problem.file.as_str(), problem.line, problem.column, problem.key.as_str());
                assert_eq!(place, ("p.toml", 1, name.len() + 4, *name), "{case}");
            }
            (got, want) => panic!("{case}: {got:?}, not {want:?}"),
        }
    }
    for key in KEYS.iter() {
        let both = |ok: bool| TIGHTENING.iter().any(|row| row.0 == key.name && row.3.is_ok() == ok);
        if key.table() == "danger" {
            switch_tightens(key);
            continue;
        }
        assert!(
            both(true) && (both(false) || key.project == Project::Add),
            "{} is tried both ways",
            key.name
        );
    }
}

/// The same between an administrator's bundle and a user: a weaker value does not count, and this is
/// reported.
#[test]
fn a_user_may_only_tighten_what_a_bundle_names() {
    let line = |key: &str, value: &str| format!("{key} = {value}");
    for (name, of_bundle, of_user, want) in TIGHTENING.iter().filter(|row| !row.1.is_empty()) {
        let one = line(name, of_bundle);
        let other = line(name, of_user);
        let case = format!("{one} then {other}");
        let (policy, origins) =
            read_for(ModeLevel::Strict, Folder::default(), source(&one), source(&other), None).expect(&case);
        let held = read(source(&one), None).unwrap().0;
        let key = Key::of(name).unwrap();
        let want = want.map_or_else(|()| key.get(&held).to_string(), str::to_owned);
        assert_eq!(key.get(&policy).to_string(), want, "{case}");
        assert_eq!(
            origins.overruled().is_empty(),
            TIGHTENING
                .iter()
                .any(|row| row.3.is_ok() && (row.0, row.1, row.2) == (*name, *of_bundle, *of_user)),
            "{case}"
        );
    }
}

/// What a bundle does not set is free, except for what would make the bundle meaningless.
#[test]
fn what_a_bundle_does_not_name() {
    let both = |bundle: &str, user: &str| {
        read_for(ModeLevel::Strict, HERE, source(bundle), source(user), None).unwrap()
    };
    let level = |bundle: &str, user: &str| both(bundle, user).0.mode.level();
    assert_eq!(level("", "mode.level = \"loop\""), ModeLevel::Loop);
    assert_eq!(level("", "mode.level = \"observe\""), ModeLevel::Guard, "nothing is enforced in `observe`");
    assert_eq!(level("", ""), ModeLevel::Strict);
    assert_eq!(level("mode.level = \"observe\"", ""), ModeLevel::Observe);
    let row = "[[project]]\npath = \"/home/u/p\"\nmode = \"guard\"";
    assert_eq!(level("mode.level = \"loop\"", row), ModeLevel::Loop);
    let (mut policy, origins) = both("mode.level = \"loop\"", "mode.level = \"strict\"\ngates.qa = \"off\"");
    assert_eq!(policy.gates, Policy::default().gates, "a mode holds its gates");
    hold_in(&mut policy, &origins, ModeLevel::Observe);
    assert_eq!(policy.mode.level(), ModeLevel::Loop, "no start goes below it");
    let rule = "[[rule]]\nid = \"a\"\neffect = \"write\"\naction = \"deny\"\nreason = \"r\"\n";
    assert_eq!(both(rule, "effects.read = [\"x\"]").0.effects.read, Vec::<String>::new());
    assert_eq!(both("", "effects.read = [\"x\"]").0.effects.read, ["x"]);
    let check = "[[check]]\nid = \"a\"\non = \"stop\"\nrun = \"true\"\n";
    assert_eq!(both(check, "gates.checks = \"off\"").0.gates.checks, Level::Enforce);
    assert_eq!(both("", "gates.checks = \"off\"").0.gates.checks, Level::Off);
    let network = "network.mode = \"list\"\n";
    assert_eq!(both(network, "jail.level = \"off\"").0.jail.level, JailLevel::Auto, "only the jail holds it");
    assert_eq!(both(network, "jail.level = \"require\"").0.jail.level, JailLevel::Require);
    assert_eq!(both("", "jail.level = \"off\"").0.jail.level, JailLevel::Off);
    let taken = read_for(ModeLevel::Strict, HERE, source(rule), source(rule), None).unwrap_err();
    assert!(taken[0].what.contains("is taken"), "{taken:?}");
}

/// A project may raise a danger rule by any step, and never lower it.
#[track_caller]
fn switch_tightens(key: &Key) {
    let words = DangerLevel::WORDS;
    for (at, of_user) in words.iter().enumerate() {
        for (to, of_project) in words.iter().enumerate() {
            let line = |word: &str| format!("{} = \"{word}\"", key.name);
            let project = line(of_project);
            let got = read(source(&line(of_user)), Some(Source { file: "p.toml", text: &project }));
            assert_eq!(got.is_ok(), to >= at, "{} from {of_user} to {of_project}", key.name);
            if let Ok((policy, _)) = got {
                assert_eq!(key.get(&policy).to_string(), format!("\"{of_project}\""));
            }
        }
    }
}

#[test]
fn a_project_adds_rules_and_never_replaces_one() {
    let rule = |id: &str, action: &str| {
        format!("[[rule]]\nid = \"{id}\"\ntool = \"X\"\naction = \"{action}\"\nreason = \"r\"\n")
    };
    let one = rule("a", "deny");
    let same = rule("a", "warn");
    let other = rule("b", "warn");
    let project = |text| Some(Source { file: "p.toml", text });
    let (policy, origins) = read(source(&one), project(&other)).unwrap();
    assert_eq!(policy.rules.iter().map(|rule| rule.action).collect::<Vec<_>>(), [Action::Deny, Action::Warn]);
    assert_eq!((origins.of("rule.b")[0].layer, origins.of("rule.b")[0].line), (Layer::Project, 2));
    let problems = read(source(&one), project(&same)).unwrap_err();
    assert_eq!(problems[0].to_string(), "p.toml:2:6: `rule.id`: `a` is taken by f.toml:2");
    let check = "[[check]]\nid = \"a\"\non = \"stop\"\nrun = \"true\"\n";
    let problems = read(source(check), project(check)).unwrap_err();
    assert_eq!(problems[0].to_string(), "p.toml:2:6: `check.id`: `a` is taken by f.toml:2");
}

/// Written by hand, independently of the table that the parser uses.
fn no_laxer(new: &Policy, old: &Policy) -> bool {
    let gates = |p: &Policy| {
        let g = p.gates.clone();
        [g.sandbox, g.critic, g.audit, g.checks, g.qa, g.reflect, g.close]
    };
    let tool = |p: &Policy, name: &str| p.effects.of(name);
    let tools = ["a", "b", "ab", "x"];
    gates(new).iter().zip(gates(old)).all(|(new, old)| *new >= old)
        && (!new.mode.observe || old.mode.observe)
        && new.audit.rate >= old.audit.rate
        && new.audit.at_least_every <= old.audit.at_least_every
        && new.audit.grace <= old.audit.grace
        && new.stop.refusals >= old.stop.refusals
        && new.hydration.deadline_ms >= old.hydration.deadline_ms
        && tools.iter().all(|t| tool(new, t) == tool(old, t) || tool(new, t) == Some(Effect::Write))
        && old.rules.iter().all(|rule| new.rules.contains(rule))
        && old.checks.iter().all(|check| new.checks.contains(check))
        && (&new.tracker, &new.memory) == (&old.tracker, &old.memory)
        && (&new.run.claude, &new.run.notify) == (&old.run.claude, &old.run.notify)
        && new.run.on_pause >= old.run.on_pause
        && new.deliver == old.deliver
        && new.checkpoint.interactive >= old.checkpoint.interactive
        && new.checkpoint.max_file_mb >= old.checkpoint.max_file_mb
        && new.checkpoint.max_tree_mb >= old.checkpoint.max_tree_mb
        && new.checkpoint.intervene == old.checkpoint.intervene
        && new.checkpoint.keep >= old.checkpoint.keep
        && new.quiet.allow <= old.quiet.allow
        && new.quiet.network.iter().all(|name| old.quiet.network.contains(name))
        && (!new.quiet.unattended || old.quiet.unattended)
        && no_wider(&new.network, &old.network)
}

/// A value of a form, as written in a file; the valid ones lie close together, so that files agree and
/// differ.
fn any_value(form: Form) -> BoxedStrategy<String> {
    let quoted = |word: &&str| format!("{word:?}");
    match form {
        Form::Flag => any::<bool>().prop_map(|flag| flag.to_string()).boxed(),
        Form::OneOf(words) | Form::SomeOf(words) => {
            prop::sample::select(words.iter().map(quoted).collect::<Vec<_>>()).boxed()
        }
        Form::Whole(least, most) => (least..=most.min(least + 60)).prop_map(|n| n.to_string()).boxed(),
        Form::Share => (0_u32..=20).prop_map(|n| Share::millionths(n * 50_000).to_string()).boxed(),
        Form::Period => prop::sample::select(vec!["\"1s\"".to_owned(), "\"2s\"".to_owned()]).boxed(),
        Form::Server => {
            prop::sample::select(vec!["\"http://127.0.0.1\"".to_owned(), "\"http://localhost\"".to_owned()])
                .boxed()
        }
        Form::Database => {
            prop::sample::select(vec!["\"postgresql://a@h/d\"".to_owned(), "\"postgres://b@h/d\"".to_owned()])
                .boxed()
        }
        Form::Text | Form::Id => prop::sample::select(vec!["\"bd\"".to_owned(), "\"b\"".to_owned()]).boxed(),
        Form::Switches(_) => prop::sample::select(vec!["{ git-discard = \"off\" }".to_owned()]).boxed(),
        Form::Host => prop::sample::select(vec!["\"a.test\"".to_owned()]).boxed(),
        Form::Hosts => {
            let name = prop::sample::select(vec!["a.test", "*.b.test", "c.test:81"]);
            prop::collection::vec(name, 0..3).prop_map(|names| format!("{names:?}")).boxed()
        }
        Form::Ports(words) => {
            let port = prop::sample::select(vec![1_u16, 5432, 65535]);
            let ports = prop::collection::vec(port, 0..3).prop_map(|ports| format!("{ports:?}"));
            let words: Vec<String> = words.iter().map(quoted).chain(["[]".to_owned()]).collect();
            prop_oneof![ports, prop::sample::select(words)].boxed()
        }
        Form::Names => {
            let name = prop::sample::select(vec!["a", "b", "a*", "*"]);
            prop::collection::vec(name, 0..3).prop_map(|names| format!("{names:?}")).boxed()
        }
    }
}

/// `often` is the share of keys that it sets.
fn any_file(often: f64) -> impl Strategy<Value = String> {
    // Most other values do not fit to the two times that must be shorter.
    let keys: Vec<_> = KEYS
        .iter()
        .filter(|key| key.name != "fleet.lost_after")
        .map(|key| {
            prop::option::weighted(
                often,
                any_value(key.form).prop_map(move |v| format!("{} = {v}\n", key.name)),
            )
        })
        .collect();
    let entry = (any::<bool>(), 0..4, prop::sample::select(Action::WORDS)).prop_map(|(rule, id, action)| {
        if rule {
            format!("[[rule]]\nid = \"r{id}\"\ntool = \"X\"\naction = \"{action}\"\nreason = \"r\"\n")
        } else {
            format!("[[check]]\nid = \"c{id}\"\non = \"stop\"\nrun = \"{action}\"\n")
        }
    });
    (keys, prop::collection::vec(entry, 0..2))
        .prop_map(|(keys, entries)| keys.into_iter().flatten().chain(entries).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_project_loosens(one in any_file(0.5), other in any_file(0.1)) {
        let Ok((old, _)) = read(source(&one), None) else { return Ok(()) };
        if let Ok((new, _)) = read(source(&one), source(&other)) {
            prop_assert!(no_laxer(&new, &old), "{one}---\n{other}");
        }
    }

    /// A rejected value was really looser, or not allowed at all: a file that only repeats the user's values
    /// is fine.
    #[test]
    fn a_project_may_repeat_the_users_values(one in any_file(0.3)) {
        let plain: String = one.split("[[").next().unwrap_or_default().to_owned();
        let Ok((old, _)) = read(source(&plain), None) else { return Ok(()) };
        let again = read(source(&plain), source(&plain));
        prop_assert_eq!(again.map(|(policy, _)| policy), Ok(old));
    }

    #[test]
    fn any_text_is_answered(text in "\\PC*", file in any_file(0.3), at in 0_usize..400) {
        let at = file.char_indices().map(|(at, _)| at).nth(at).unwrap_or(file.len());
        let torn = format!("{}{text}{}", &file[..at], &file[at..]);
        for text in [&text, &torn] {
            if let Err(problems) = read(None, source(text)) {
                prop_assert!(problems.iter().all(|p| p.line > 0 && p.column > 0 && !p.to_string().contains('\n')));
            }
        }
    }
}
