//! The findings for a person at a terminal and for programs (JSON).

use crate::cli::Io;
use crate::cli::table::Tone;
use aops_attest::bind::Binding;
use aops_attest::envelope::keyid;
use aops_attest::level::Level;
use aops_attest::logged::Trust;
use aops_attest::pool::{Attested, Pool};
use aops_attest::signers::{Signer, SignerKey};
use aops_attest::verify::{Finding, Wanted, exit_code};
use aops_core::text::template::one_line;
use aops_core::text::time::timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const LONGEST_SUBJECT: usize = 100;

#[derive(Debug)]
pub(super) struct Told<'a> {
    pub(super) findings: &'a [Finding],
    pub(super) pool: &'a Pool,
    pub(super) trust: &'a Trust,
    pub(super) wanted: &'a Wanted,
    pub(super) range: &'a str,
}

/// `2026-11-17T15:30:00Z`, from seconds since 1970.
pub(super) fn moment(seconds: i64) -> String {
    timestamp(seconds.saturating_mul(1000)).replace(".000Z", "Z")
}

pub(super) fn short(commit: &str) -> &str {
    commit.get(..9).unwrap_or(commit)
}

impl Told<'_> {
    pub(super) fn statements<'s>(&'s self, finding: &'s Finding) -> impl Iterator<Item = &'s Attested> {
        finding.attested.iter().map(|at| &self.pool.attested[*at])
    }

    pub(super) fn passes(&self) -> bool {
        exit_code(self.findings) == 0
    }

    /// The lowest level among the commits that have one.
    pub(super) fn lowest(&self) -> Option<Level> {
        self.findings.iter().filter_map(|finding| finding.level).min()
    }

    /// The level that every commit reaches; `None` if one passes without a level (one signed by a person, or
    /// accepted by hand). A merge that adds nothing needs none.
    pub(super) fn reached_by_all(&self) -> Option<Level> {
        let all = || self.findings.iter().filter(|finding| !finding.adds_nothing);
        self.lowest().filter(|_| all().all(|finding| finding.level.is_some()))
    }

    /// Clients with their versions, then models.
    pub(super) fn makers(&self, finding: &Finding) -> (BTreeSet<String>, BTreeSet<String>) {
        let mut clients = BTreeSet::new();
        let mut models = BTreeSet::new();
        for one in self.statements(finding) {
            let agent = &one.statement.predicate.build_definition.internal_parameters.agent;
            clients.extend(agent.runtime.iter().map(|runtime| {
                let version = runtime.version.as_deref().unwrap_or_default();
                one_line(format!("{} {version}", runtime.name).trim_end(), LONGEST_SUBJECT)
            }));
            let used = one.facts().into_iter().flat_map(|facts| facts.tokens.keys().cloned());
            models.extend(used.chain(agent.model.iter().map(|model| model.model_id.clone())));
        }
        (clients, models.iter().map(|name| one_line(name, LONGEST_SUBJECT)).collect())
    }

    fn keys(&self, finding: &Finding) -> String {
        let name = |signer: &Signer| match &signer.key {
            SignerKey::Log(key) => keyid(key),
            SignerKey::Person(_) => signer.owner.clone(),
        };
        finding.signers.iter().map(|at| name(&self.trust.signers[*at])).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn to_json(&self) -> Value {
        let one = |finding: &Finding| {
            let properties: Vec<&str> = finding.properties.iter().map(|one| one.name()).collect();
            json!({
                "commit": finding.commit,
                "binding": finding.binding.map(Binding::name),
                "level": finding.level.map(Level::name),
                "properties": properties,
                "sessions": finding.sessions,
                "signer": Some(self.keys(finding)).filter(|keys| !keys.is_empty()),
                "seen": finding.seen.map(moment),
                "person": finding.person,
                "testedElsewhere": finding.tested_elsewhere,
                "code": finding.trouble.as_ref().map(|trouble| trouble.code.name()),
                "why": finding.trouble.as_ref().map(|trouble| trouble.why.clone()),
            })
        };
        let commits: Vec<Value> = self.findings.iter().map(one).collect();
        json!({
            "ok": self.passes(), "exit": exit_code(self.findings), "range": self.range,
            "lowest": self.lowest().map(Level::name), "commits": commits,
        })
    }

    /// The remark about a commit that passes.
    pub(super) fn praise(&self, finding: &Finding) -> String {
        if let Some(person) = &finding.person {
            return if person.is_empty() {
                "by hand, not signed".to_owned()
            } else {
                format!("signed by {person}")
            };
        }
        let Some(level) = finding.level else { return "a merge that adds nothing".to_owned() };
        let (clients, models) = self.makers(finding);
        let mut words: Vec<String> = clients.into_iter().chain(models).collect();
        words.extend(finding.seen.map(|time| format!("witnessed {}", moment(time))));
        words.extend(finding.tested_elsewhere.then(|| "tested on another tree".to_owned()));
        format!("{level} {}", words.join(", "))
    }

    /// Prints a line for each commit.
    pub(super) fn print(&self, io: &mut Io) -> anyhow::Result<u8> {
        for finding in self.findings {
            let (tone, words) = match &finding.trouble {
                Some(trouble) => (Tone::Bad, format!("{} {}", trouble.code, trouble.why)),
                None => (Tone::Good, self.praise(finding)),
            };
            let words = one_line(&words, 200);
            let subject = one_line(&finding.subject, LONGEST_SUBJECT);
            let words = tone.paint(&words, io);
            writeln!(io.out, "{} {words}  {subject}", short(&finding.commit))?;
        }
        Ok(0)
    }
}
