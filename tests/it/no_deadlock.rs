//! No deadlock: from any state that random sessions reach, an agent that does what the refusals print gets
//! through.
//!
//! The follower knows nothing of the gates; it reads the printed words alone. A stop is not let go for want
//! of patience here, so every debt has to be payable by its own advice. Agents may misjudge, forget their
//! verdict and halt, but not for ever; a turn that is a person's (a block, a question, a halt) is a way out
//! too.

mod any;
mod world;

use aops_core::model::verdict::{Ruling, Verdict};
use aops_core::session::fact::{Fact, Unblocked};
use proptest::prelude::*;
use serde_json::json;
use world::World;

/// Far more than an obedient agent needs; a ring of refusals never ends.
const MOST_STEPS: usize = 60;
/// One refusal while another is followed, and so on.
const DEEPEST: usize = 8;

/// What users set; the shipped policy first.
const CONFIGS: &[&str] = &[
    "",
    "[audit]\ngrace = 0\n",
    "[[check]]\nid = \"save\"\non = \"save\"\nrun = \"x\"\n[[check]]\nid = \"commit\"\non = \"commit\"\nrun = \"x\"\n[[check]]\nid = \"stop\"\non = \"stop\"\nrun = \"x\"\n",
    "[[check]]\nid = \"ask\"\non = \"commit\"\nrun = \"x\"\noutcome = \"ASK_USER\"\n[[check]]\nid = \"halt\"\non = \"stop\"\nrun = \"x\"\noutcome = \"HALT\"\n",
    "[gates]\ncritic = \"off\"\nqa = \"warn\"\n",
    "[gates]\nreflect = \"off\"\nclose = \"off\"\n[[rule]]\nid = \"r\"\ncommand = \"git commit\"\naction = \"ask\"\nreason = \"r\"\n",
    "[mode]\nobserve = true\n",
    "[gates]\nsandbox = \"off\"\n",
    "[mode]\nlevel = \"loop\"\n",
    "[mode]\nlevel = \"loop\"\n[evidence]\ntest = \"make test\"\n[gates]\npush = \"enforce\"\n",
    "[mode]\nlevel = \"loop\"\n[gates]\nsandbox = \"off\"\n",
    "[mode]\nlevel = \"loop\"\n[small]\nfiles = 0\nlines = 0\n[[check]]\nid = \"stop\"\non = \"stop\"\nrun = \"x\"\n",
    "[mode]\nlevel = \"guard\"\n",
    "[mode]\nlevel = \"guard\"\n[gates]\nsandbox = \"enforce\"\nqa = \"enforce\"\n",
    "[mode]\nlevel = \"observe\"\n[gates]\nqa = \"enforce\"\ncommit = \"enforce\"\n",
    "[evidence]\ntest = \"make test\"\n",
    "[close]\nformat = \"make format\"\n[evidence]\ntest = \"make test\"\n",
];

const AGENTS: &[&str] = &[
    "prompt-hydrator", "critic", "custodiet", "qa-verifier", "framework", "aops:critic", "aops-critic",
    "Explore",
];

/// Something that happens in a session.
#[derive(Clone, Copy, Debug)]
enum Move {
    Prompt(usize),
    Start(usize),
    Report,
    Write,
    Bash(usize),
    Asked(bool),
    End(bool),
    Stop(bool),
    Batch,
    Leave,
    Checks(bool),
    Shadow(bool),
    Waive(usize),
    Clear,
    Resume,
    /// The configuration changes: a project raises the mode, a person lowers it.
    Configure(usize),
    /// A plan that a person approved in plan mode.
    Plan,
}

const PROMPTS: &[&str] = &["do it", ". do it", "/skill x", "<task-notification>", "", "what is it?"];
const LINES: &[&str] = &[
    "make test",
    "gh pr create",
    "touch b",
    "git commit -m x",
    "git push",
    "ls",
    "git add -A",
    "git fetch",
    "bd update demo-1 --claim",
    "mb update demo-2 --claim",
];
const GATES: &[&str] = &["sandbox", "audit", "checks", "qa", "reflect", "close"];

fn moves() -> impl Strategy<Value = Move> {
    prop_oneof![
        3 => (0..PROMPTS.len()).prop_map(Move::Prompt),
        6 => (0..AGENTS.len()).prop_map(Move::Start),
        6 => Just(Move::Report),
        6 => Just(Move::Write),
        3 => (0..LINES.len()).prop_map(Move::Bash),
        1 => any::<bool>().prop_map(Move::Asked),
        1 => any::<bool>().prop_map(Move::End),
        4 => any::<bool>().prop_map(Move::Stop),
        1 => Just(Move::Batch),
        1 => Just(Move::Leave),
        1 => any::<bool>().prop_map(Move::Checks),
        1 => any::<bool>().prop_map(Move::Shadow),
        1 => (0..GATES.len()).prop_map(Move::Waive),
        1 => Just(Move::Clear),
        1 => Just(Move::Resume),
        2 => (0..CONFIGS.len()).prop_map(Move::Configure),
        1 => Just(Move::Plan),
    ]
}

fn make(world: &mut World, move_: Move) {
    match move_ {
        Move::Prompt(n) => drop(world.prompt(PROMPTS[n])),
        Move::Start(n) => drop(world.start(AGENTS[n])),
        Move::Report => drop(world.report()),
        Move::Write => drop(world.write()),
        Move::Bash(n) => drop(world.bash(LINES[n])),
        Move::Asked(read) => {
            let line = if read { "ls" } else { "touch c" };
            drop(world.call("Bash", &json!({"command": line})));
        }
        Move::End(well) => world.end(well),
        Move::Stop(busy) => drop(world.stop(busy)),
        Move::Batch => drop(world.event("PostToolBatch", &json!({"tool_calls": []}))),
        Move::Leave => drop(world.event("CwdChanged", &json!({"old_cwd": "/p", "new_cwd": "/elsewhere"}))),
        Move::Checks(pass) => world.checks_pass = pass,
        Move::Shadow(on) => world.shadowed = on,
        Move::Waive(n) => world.waive(GATES[n]),
        Move::Clear => world.fold(&Fact::Unblock(Unblocked { by: "person".to_owned() })),
        Move::Resume => drop(world.event("SessionStart", &json!({"source": "resume"}))),
        Move::Configure(n) => world.configure(CONFIGS[n]),
        Move::Plan => world.plan(),
    }
}

/// What became of following a refusal.
#[derive(Debug, PartialEq, Eq)]
enum Followed {
    Done,
    /// The next step is a person's.
    Person,
}

/// The text between the first backticks after these words.
fn named<'a>(text: &'a str, before: &str) -> Option<&'a str> {
    text.split_once(before)?.1.split('`').next()
}

/// Does what a refusal prints, and nothing else.
fn follow(world: &mut World, said: &Verdict, depth: usize) -> Result<Followed, String> {
    if said.ruling == Ruling::Ask || said.halt {
        return Ok(Followed::Person);
    }
    if depth > DEEPEST {
        return Err(format!("refusals in a ring: {}", said.reason));
    }
    let Some((_, hint)) = said.reason.rsplit_once("hint: ") else {
        return Err(format!("no next step: {}", said.reason));
    };
    // A list is worked off from its top.
    let first = said.reason.lines().find(|line| line.starts_with("1. "));
    let step = first.unwrap_or(hint);
    if step.contains("repair") {
        let tried = if step.contains("issues") { world.write() } else { world.bash("touch ok") };
        if tried.ruling != Ruling::Pass {
            return follow(world, &tried, depth + 1);
        }
        world.checks_pass = true;
    }
    if let Some(agent) = named(step, "start the agent `") {
        let tried = world.start(agent);
        if tried.ruling != Ruling::Pass {
            return follow(world, &tried, depth + 1);
        }
        // Sent on, it reports again: twice at most.
        for _ in 0..4 {
            match world.report() {
                Some(said) if said.ruling == Ruling::Deny => {}
                _ => return Ok(Followed::Done),
            }
        }
        return Err(format!("`{agent}` is sent on for ever"));
    }
    let run = ["push", "evidence", "format", "pull", "tracker", "sync"]
        .iter()
        .find_map(|debt| named(step, &format!("`{debt}`: run `")));
    let line = run.or_else(|| step.contains("`commit`: commit").then_some("git commit -m x"));
    if let Some(line) = line {
        let tried = world.bash(line);
        return if tried.ruling == Ruling::Pass {
            Ok(Followed::Done)
        } else {
            follow(world, &tried, depth + 1)
        };
    }
    if step.contains("repair") {
        return Ok(Followed::Done);
    }
    let persons = ["clear-block", "tell the user", "ask the user", "ask them"];
    if persons.iter().any(|words| step.contains(words)) {
        return Ok(Followed::Person);
    }
    Err(format!("nobody can follow this: {}", said.reason))
}

/// Tries until it passes, following each refusal.
fn reach(world: &mut World, what: &str, attempt: fn(&mut World) -> Verdict) -> Result<(), String> {
    let mut last = String::new();
    for _ in 0..MOST_STEPS {
        let said = attempt(world);
        if said.ruling == Ruling::Pass || follow(world, &said, 0)? == Followed::Person {
            return Ok(());
        }
        last = said.reason;
    }
    Err(format!("{what} is still refused after {MOST_STEPS} steps: {last}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn doing_what_is_printed_gets_through(
        config in 0..CONFIGS.len(),
        before in proptest::collection::vec((moves(), any::<u8>()), 0..40),
        luck in proptest::collection::vec(any::<u8>(), 0..12),
    ) {
        let mut world = World::new(CONFIGS[config]);
        for (move_, lot) in before {
            world.luck.push_back(lot);
            make(&mut world, move_);
        }
        world.never_let_go();
        world.luck = luck.into();
        let tried = reach(&mut world, "a change", World::write)
            .and_then(|()| reach(&mut world, "the end of the turn", |world| world.stop(false)));
        prop_assert!(tried.is_ok(), "{}\n{:#?}", tried.unwrap_err(), world.session.state);
    }
}
