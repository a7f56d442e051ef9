//! The findings in one paragraph for a pull request.
//!
//! Invariant: names from a statement or a commit appear as code or plain text, so no file name or model name
//! becomes a link, a mention or a heading.

use super::told::{Told, moment, short};
use aops_attest::code::Code;
use aops_attest::level::{Level, Property, are_tested, claimed};
use aops_attest::logged::Trust;
use aops_attest::pool::Attested;
use aops_attest::signers::SignerKey;
use aops_attest::statement::{Annotations, Author, Qa, Seen, Verdict};
use aops_attest::verify::{Finding, People};
use aops_core::text::plain::count;
use std::collections::BTreeSet;

/// How many paths and commits are named individually.
const MOST_NAMED: usize = 5;

/// Text without characters that Markdown interprets.
fn plain(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " .,:;+-_/()".contains(c);
    text.chars().map(|c| if is_plain(c) { c } else { ' ' }).collect()
}

fn code(text: &str) -> String {
    let text: String = text.chars().map(|c| if c == '`' || c.is_control() { '\'' } else { c }).collect();
    format!("`{text}`")
}

fn listed(all: &[String]) -> String {
    let more = all.len().saturating_sub(MOST_NAMED);
    let shown = all.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

pub(super) fn paragraph(told: &Told) -> String {
    let mut all: Vec<&Attested> = told.findings.iter().flat_map(|finding| told.statements(finding)).collect();
    all.sort_by(|one, other| one.digest.cmp(&other.digest));
    all.dedup_by(|one, other| one.digest == other.digest);
    let parts = [
        head(told),
        made_by(told, &all),
        checked_by(told, &all),
        lines_by(&all),
        others(told),
        witnesses(told),
    ];
    let parts = parts.into_iter().chain([word_of(told)]).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

fn head(told: &Told) -> String {
    let is_guarded = |finding: &&Finding| finding.passes() && finding.properties.contains(&Property::Guarded);
    let guarded = told.findings.iter().filter(is_guarded).count();
    let lowest = told.lowest().map(|level| format!(", lowest level {level}")).unwrap_or_default();
    format!("**Guarded: {guarded} of {}{lowest}.**", count(told.findings.len() as u64, "commit"))
}

fn made_by(told: &Told, all: &[&Attested]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut clients = BTreeSet::new();
    let mut models = BTreeSet::new();
    for (client, model) in told.findings.iter().map(|finding| told.makers(finding)) {
        clients.extend(client);
        models.extend(model.into_iter().filter(|model| !model.is_empty()));
    }
    if models.is_empty() {
        models.insert("an unknown model".to_owned());
    }
    let names = |names: BTreeSet<String>| plain(&listed(&names.into_iter().collect::<Vec<_>>()));
    let sessions: BTreeSet<&String> = told.findings.iter().flat_map(|finding| &finding.sessions).collect();
    let policy = |one: &&Attested| {
        let used = &one.statement.predicate.build_definition.resolved_dependencies;
        let policy = used.iter().find(|resource| resource.name == "policy")?;
        policy.digest.sha256.as_ref().and_then(|digest| digest.get(..8)).map(code)
    };
    let policies: BTreeSet<String> = all.iter().filter_map(policy).collect();
    let policies = listed(&policies.into_iter().collect::<Vec<_>>());
    let under = if policies.is_empty() { String::new() } else { format!(" under policy {policies}") };
    format!(
        "Made by {} with {} in {}{under};",
        names(clients),
        names(models),
        count(sessions.len() as u64, "session")
    )
}

/// Plan, verification, tests, refusals and waivers.
fn checked_by(told: &Told, all: &[&Attested]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let facts: Vec<&Annotations> = all.iter().filter_map(|one| one.facts()).collect();
    let refused: u64 = facts.iter().filter_map(|facts| facts.refusals.get("danger")).sum();
    let waived: usize = facts.iter().map(|facts| facts.waivers.len()).sum();
    let waived = if waived == 0 { "no waiver".to_owned() } else { count(waived as u64, "waiver") };
    let done = [plan(told, &facts), verified(told, &facts), tests(told, &facts)].join(", ");
    format!("{done}; {} refused, {waived};", count(refused, "dangerous command"))
}

/// For how many of the commits with statements all statements say so; empty if it is all of them.
fn share(told: &Told, property: Property) -> Option<String> {
    let holds = |facts: &Annotations| claimed(facts, Level::Approved).contains(&property);
    let of = |finding: &Finding| {
        let mut all = told.statements(finding).filter_map(Attested::facts).peekable();
        all.peek().is_some().then(|| all.all(holds))
    };
    let all: Vec<bool> = told.findings.iter().filter_map(of).collect();
    let many = all.iter().filter(|holds| **holds).count();
    match many {
        0 => None,
        _ if many == all.len() => Some(String::new()),
        _ => Some(format!(" for {many} of {}", count(all.len() as u64, "commit"))),
    }
}

fn names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" and ")
}

/// A verdict other than the wanted one is named.
fn plan(told: &Told, facts: &[&Annotations]) -> String {
    let plans = || facts.iter().filter_map(|facts| facts.plan);
    let others =
        names(plans().filter(|plan| plan.verdict != Verdict::Proceed).map(|plan| plan.verdict.name()));
    let by = names(plans().filter(|plan| plan.verdict == Verdict::Proceed).map(|plan| plan.by.name()));
    match share(told, Property::Planned) {
        Some(share) => format!("plan by {by}{share}"),
        None if others.is_empty() => "no plan".to_owned(),
        None => format!("no accepted plan ({others})"),
    }
}

fn verified(told: &Told, facts: &[&Annotations]) -> String {
    let is_done = |qa: &Qa| qa.verdict == Verdict::Verified && qa.after;
    let all = || facts.iter().filter_map(|facts| facts.qa);
    let others = names(all().filter(|qa| qa.verdict != Verdict::Verified).map(|qa| qa.verdict.name()));
    let by = names(all().filter(is_done).map(|qa| qa.by.name()));
    match share(told, Property::Qa) {
        Some(share) => format!("verified by {by}{share}"),
        None if !others.is_empty() => format!("not verified ({others})"),
        None if all().next().is_some() => "changed after it was verified".to_owned(),
        None => "not verified".to_owned(),
    }
}

fn tests(told: &Told, facts: &[&Annotations]) -> String {
    let ran = || facts.iter().flat_map(|facts| facts.tests.iter().filter(|test| test.tree == facts.tree));
    let seen =
        if ran().all(|test| test.seen == Seen::Jail) { "seen by the jail" } else { "as the client told it" };
    let has_failed = |facts: &Annotations| {
        facts.tests.iter().any(|test| test.tree == facts.tree) && !are_tested(facts, &facts.tree)
    };
    let failed = facts.iter().filter(|facts| has_failed(facts)).count();
    let failed = if failed == 0 { String::new() } else { ", others failed".to_owned() };
    match share(told, Property::Tests) {
        Some(share) => format!("tests passed on the last tree ({seen}){share}{failed}"),
        None if failed.is_empty() => "no tests were run on the final tree".to_owned(),
        None => "tests failed".to_owned(),
    }
}

fn lines_by(all: &[&Attested]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut session = 0;
    let mut outside = 0;
    let mut paths = BTreeSet::new();
    for file in all.iter().filter_map(|one| one.facts()).flat_map(|facts| facts.files.iter().flatten()) {
        session += file.lines.session;
        outside += file.lines.outside;
        if file.by != Author::Session {
            paths.insert(&file.path);
        }
    }
    let paths: Vec<String> = paths.into_iter().map(|path| code(path)).collect();
    let by_hand =
        if paths.is_empty() { String::new() } else { format!(", {outside} by hand in {}", listed(&paths)) };
    format!("{} by the session{by_hand}.", count(session, "line"))
}

/// Commits without an attestation, or whose attestation is not sufficient.
fn others(told: &Told) -> String {
    let line = |finding: &Finding| {
        let commit = code(short(&finding.commit));
        match (&finding.trouble, &finding.person) {
            (Some(trouble), _) if trouble.code == Code::None => {
                Some(format!("{commit} has no attestation{}.", signed(told, finding)))
            }
            (Some(trouble), _) => {
                Some(format!("{commit} fails ({}): {}.", trouble.code, plain(&trouble.why)))
            }
            (None, Some(person)) if person.is_empty() && finding.is_signed => {
                Some(format!("{commit} was made by hand; its signature was not checked."))
            }
            (None, Some(person)) if person.is_empty() => {
                Some(format!("{commit} was made by hand and is not signed."))
            }
            (None, Some(person)) => Some(format!("{commit} is signed by {}.", plain(person))),
            (None, None) if finding.tested_elsewhere => Some(format!("{commit} was tested on another tree.")),
            (None, None) => None,
        }
    };
    let lines: Vec<String> = told.findings.iter().filter_map(line).collect();
    let more = lines.len().saturating_sub(MOST_NAMED * 4);
    let shown = lines.into_iter().take(MOST_NAMED * 4).collect::<Vec<_>>().join(" ");
    if more > 0 { format!("{shown} And {more} more.") } else { shown }
}

/// What is known about a person's signature, if one would be sufficient.
fn signed(told: &Told, finding: &Finding) -> &'static str {
    match told.wanted.people {
        People::Signed if finding.is_signed => ", and nobody on the list signed it",
        People::Signed => " and no signature",
        _ => "",
    }
}

fn witnesses(told: &Told) -> String {
    let last = told.findings.iter().filter_map(|finding| finding.seen).max();
    let Some(time) = last else { return String::new() };
    let names: BTreeSet<&str> = told.trust.witnesses.iter().map(|key| key.name.as_str()).collect();
    let counts = told.findings.iter().flat_map(|finding| told.statements(finding));
    let seen = counts.filter_map(|one| one.witnessed.as_ref()).map(|seen| seen.count).min().unwrap_or(0);
    format!("Witnessed {} by {seen} of {}.", moment(time).replace('T', " ").replace('Z', " UTC"), names.len())
}

/// Who makes the statement, and that it is only their word.
fn word_of(told: &Told) -> String {
    let used: BTreeSet<usize> = told.findings.iter().flat_map(|finding| finding.signers.clone()).collect();
    let keys: Vec<String> = used.into_iter().filter_map(|at| name(told.trust, at)).collect();
    if keys.is_empty() {
        String::new()
    } else {
        format!("This is the word of key {}, not a review.", listed(&keys))
    }
}

fn name(trust: &Trust, at: usize) -> Option<String> {
    let signer = &trust.signers[at];
    let SignerKey::Log(key) = &signer.key else { return None };
    Some(format!("{} ({}, up to {})", code(&key.name), plain(&signer.owner), signer.may))
}
