//! Tests questions to a person, their answers, and who gave them.

use super::*;
use crate::gate::facts::facts;
use crate::gate::questions::judge as tell;
use crate::model::gate_id::GateId;
use crate::session::fact::Fact;
use crate::session::question::{Answered, Answerer, Decision, Question, Unproven};

fn asked_about(rule: Option<&str>) -> OpenCall {
    let question = Question {
        gate: GateId::Danger.into(),
        line: "Bash git reset --hard".to_owned(),
        rule: rule.map(str::to_owned),
        secret: None,
        since: "1970-01-01T00:00:01.000Z".to_owned(),
    };
    OpenCall { call: CallKey::of("Bash", "t"), question: Some(question), ..OpenCall::default() }
}

fn waiting() -> Session {
    with(|session| session.memory.calls = vec![asked_about(Some("git-discard"))])
}

fn decided(allowed: bool, by: Answerer) -> Context {
    let decision = Decision { call: "t".to_owned(), allowed, by, at_ms: Some(5_000) };
    Context {
        now_ms: 9_000,
        earlier: Earlier { decisions: vec![decision], ..Earlier::default() },
        ..Context::default()
    }
}

fn answers(facts: &[Fact]) -> Vec<Answered> {
    let answer = |fact: &Fact| if let Fact::Answer(answered) = fact { Some(answered.clone()) } else { None };
    facts.iter().filter_map(answer).collect()
}

fn kinds(facts: &[Fact]) -> Vec<&'static str> {
    facts.iter().map(|fact| fact.stored().0).collect()
}

#[test]
fn a_question_is_opened_by_an_ask_alone() {
    let ask = |ruling| Verdict {
        ruling,
        rule: Some("git-discard".to_owned()),
        ..Verdict::deny(GateId::Danger, "may it?")
    };
    let of = |ruling| facts(&working(), &call("Bash"), &ask(ruling), &writes());
    assert_eq!(kinds(&of(Ruling::Ask)), ["call", "question"]);
    assert_eq!(kinds(&of(Ruling::Defer)), ["call"]);
    let denied = of(Ruling::Deny);
    let rules: Vec<_> = denied
        .iter()
        .filter_map(|fact| if let Fact::Call(step) = fact { step.rule().map(str::to_owned) } else { None })
        .collect();
    assert_eq!(rules, ["git-discard"], "a refusal names its rule");
}

#[test]
fn the_end_of_a_call_is_a_yes() {
    let made = ToolCall { key: CallKey::of("Bash", "t"), duration_ms: Some(3_000), ..ToolCall::default() };
    let end = event("PostToolUse").with_call(made);
    let context = Context { now_ms: 8_000, ..Context::default() };
    let all = facts(&waiting(), &end, &Verdict::pass(), &context);
    assert_eq!(kinds(&all)[..2], ["answer", "call"]);
    let answer = &answers(&all)[0];
    assert_eq!(
        (answer.allowed, answer.by, answer.ms),
        (true, Answerer::Unknown, Some(4_000)),
        "without the time it ran"
    );
    let unasked =
        with(|session| session.memory.calls = vec![OpenCall { question: None, ..asked_about(None) }]);
    assert!(answers(&facts(&unasked, &end, &Verdict::pass(), &context)).is_empty());
}

#[test]
fn the_next_event_settles_it() {
    let stop = event("Stop");
    let none = Context { now_ms: 9_000, ..Context::default() };
    let left = answers(&facts(&waiting(), &stop, &Verdict::pass(), &none));
    assert_eq!((left[0].allowed, left[0].by, left[0].ms), (false, Answerer::Unknown, Some(8_000)));
    let no = facts(&waiting(), &stop, &Verdict::pass(), &decided(false, Answerer::Person));
    assert_eq!(kinds(&no)[..2], ["answer", "call"]);
    assert_eq!((answers(&no)[0].by, answers(&no)[0].ms), (Answerer::Person, Some(4_000)));
    // It was approved, and its end was never reported.
    let yes = facts(&waiting(), &stop, &Verdict::pass(), &decided(true, Answerer::Person));
    assert_eq!(kinds(&yes)[..4], ["answer", "call", "call", "call"]);
    assert!(answers(&yes)[0].allowed);
    let said = |id: &str| {
        event("PermissionDenied").with_call(ToolCall { key: CallKey::of("Bash", id), ..ToolCall::default() })
    };
    let by_client = facts(&waiting(), &said("t"), &Verdict::pass(), &none);
    assert_eq!(answers(&by_client)[0].by, Answerer::Client);
    assert!(
        answers(&facts(&waiting(), &said("other"), &Verdict::pass(), &none)).is_empty(),
        "another call's"
    );
    let odd = facts(&waiting(), &stop, &Verdict::pass(), &decided(true, Answerer::Unknown));
    assert!(!answers(&odd)[0].allowed, "what proves nothing counts for nothing");
}

#[test]
fn another_hooks_yes_is_told() {
    let stop = event("Stop");
    let silent = |session: &Session, context: &Context| tell(session, &stop, context).notice.is_empty();
    assert!(silent(&waiting(), &Context::default()));
    assert!(silent(&waiting(), &decided(true, Answerer::Person)));
    assert!(silent(&waiting(), &decided(false, Answerer::Hook)), "a no is stricter");
    let context = decided(true, Answerer::Hook);
    let told = tell(&waiting(), &stop, &context);
    assert!(told.ruling == Ruling::Pass && told.notice.contains("danger rule git-discard"), "{told:?}");
    let all = facts(&waiting(), &stop, &Verdict::pass(), &context);
    assert_eq!(kinds(&all)[..2], ["answer", "violation"]);
    // The same for a call that was answered before, and for several.
    let answered = Answered {
        allowed: true,
        call: CallKey::of("Bash", "t"),
        gate: GateId::Guard.into(),
        ..Answered::default()
    };
    let known = Unproven {
        answered: answered.clone(),
        since: "1970-01-01T00:00:01.000Z".to_owned(),
        ..Unproven::default()
    };
    let late = with(|session| session.memory.questions.unproven = vec![known.clone()]);
    assert!(tell(&late, &stop, &context).notice.contains("(guard)"));
    let of_rule = Answered { rule: Some("mine".to_owned()), gate: GateId::Rules.into(), ..answered };
    let many = with(|session| {
        let second = Unproven { answered: of_rule.clone(), ..known.clone() };
        session.memory.questions.unproven = vec![second, known.clone()];
    });
    let told = tell(&many, &stop, &context).notice;
    assert!(told.contains("(rule mine) (and 1 more)"), "{told}");
    assert_eq!(
        kinds(&facts(&many, &stop, &Verdict::pass(), &context))[..4],
        ["answer", "violation", "answer", "violation"]
    );
}
