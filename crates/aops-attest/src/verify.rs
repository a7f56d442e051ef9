//! Judges each commit of a range: what binds it, how much that proves, and why it does not pass.
//!
//! Invariants: a check that could not be made never counts as passed; a person's signature can replace a
//! missing attestation, but never excuses a forgery.

use crate::bind::{Binding, Bound, bind};
use crate::change::{Change, Record};
use crate::code::{Code, Trouble};
use crate::level::{Level, Properties, Property, Wish, are_tested};
use crate::logged::Trust;
use crate::pool::{Attested, Pool};
use crate::signers::{Signer, SignerKey};
use crate::weigh::{Weight, weigh};
use crate::world::{Commit, World};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// What is required of commits that nothing attests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum People {
    /// They pass if a person on the list signed them.
    #[default]
    Signed,
    /// They pass, and are listed.
    Any,
    None,
}

#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub wishes: Vec<Wish>,
    /// Tests must have run on exactly the commit's tree.
    pub tests_here: bool,
    pub people: People,
    /// In seconds.
    pub max_age: Option<i64>,
    /// Seconds since 1970.
    pub now: i64,
}

impl Wanted {
    pub fn names(&self) -> Vec<&'static str> {
        self.wishes.iter().map(|wish| wish.name()).collect()
    }
}

/// What we know about one commit.
#[derive(Clone, Debug, Default)]
pub struct Finding {
    pub commit: String,
    pub subject: String,
    /// Its first path, for tools that show findings next to code.
    pub path: Option<Vec<u8>>,
    pub binding: Option<Binding>,
    pub level: Option<Level>,
    pub properties: Properties,
    pub sessions: Vec<String>,
    /// Indices in the list of signers.
    pub signers: Vec<usize>,
    /// When the last witness saw it.
    pub seen: Option<i64>,
    /// It has an ssh signature, by anybody.
    pub is_signed: bool,
    /// It is a merge with exactly the tree that git's own merge of its parents gives, so it adds nothing.
    pub adds_nothing: bool,
    /// The person whose commit it is; `None` if unknown.
    pub person: Option<String>,
    /// The statements that count.
    pub attested: Vec<usize>,
    /// Its tests ran on the tree of another commit.
    pub tested_elsewhere: bool,
    pub trouble: Option<Trouble>,
}

/// A finding for each commit.
pub fn verify(
    commits: &[Commit],
    pool: &Pool,
    trust: &Trust,
    wanted: &Wanted,
    world: &mut dyn World,
) -> Result<Vec<Finding>, Trouble> {
    let bound = bind(commits, pool, world)?;
    let mut approvals = Approvals::default();
    let mut findings = Vec::new();
    for (commit, bound) in commits.iter().zip(bound) {
        let mut finding = Finding {
            commit: commit.id.clone(),
            subject: commit.subject.clone(),
            is_signed: commit.is_signed,
            path: commit.change.records.first().map(|record| record.path.clone()),
            ..Finding::default()
        };
        match &bound {
            None => finding.trouble = Some(diagnose(commit, pool)),
            Some(bound) => {
                let approved = approvals.of(commit, bound, pool, (trust, wanted.now), world)?;
                finding.fill(commit, bound, (pool, trust), &approved, wanted);
            }
        }
        finding.ask_people(commit, trust, wanted, world)?;
        findings.push(finding);
    }
    Ok(findings)
}

impl Finding {
    pub fn passes(&self) -> bool {
        self.trouble.is_none()
    }

    fn fill(
        &mut self,
        commit: &Commit,
        bound: &Bound,
        (pool, trust): (&Pool, &Trust),
        approved: &[bool],
        wanted: &Wanted,
    ) {
        self.binding = Some(bound.binding);
        self.adds_nothing = bound.binding == Binding::Merge;
        let Some(Weight { level, properties, counted }) = weigh(&bound.parts, approved, pool, trust) else {
            return;
        };
        let all: Vec<&Attested> = counted.iter().map(|at| &pool.attested[*at]).collect();
        let sessions = all.iter().filter_map(|one| one.facts()).flat_map(|facts| facts.sessions.clone());
        self.sessions = sessions.collect::<BTreeSet<_>>().into_iter().collect();
        self.signers = all.iter().map(|one| one.signer).collect::<BTreeSet<_>>().into_iter().collect();
        self.seen = all.iter().map(|one| one.witnessed.as_ref().map(|seen| seen.time)).max().flatten();
        let is_here = |one: &&Attested| one.facts().is_some_and(|facts| are_tested(facts, &commit.tree));
        self.tested_elsewhere = properties.contains(&Property::Tests) && !all.iter().all(is_here);
        let oldest = all.iter().filter_map(|one| one.time()).min();
        self.level = Some(level);
        self.properties = properties;
        self.attested = counted;
        self.trouble = self.unmet(level, oldest, wanted);
    }

    fn unmet(&self, level: Level, oldest: Option<i64>, wanted: &Wanted) -> Option<Trouble> {
        if let Some(wish) = wanted.wishes.iter().find(|wish| !wish.is_met(level, &self.properties)) {
            return Some(self.name_unmet(*wish, level));
        }
        if wanted.tests_here && (self.tested_elsewhere || !self.properties.contains(&Property::Tests)) {
            return Some(Trouble::new(Code::Property, "its tests ran on another tree, or not at all"));
        }
        let youngest = wanted.now - wanted.max_age?;
        let is_old = oldest.is_none_or(|time| time < youngest);
        is_old.then(|| Trouble::new(Code::Age, "the attestation is older than allowed"))
    }

    fn name_unmet(&self, wish: Wish, level: Level) -> Trouble {
        let code = match wish {
            _ if wish.lacks_witness(&self.properties) => Code::Witness,
            Wish::Level(_) => Code::Level,
            Wish::Property(_) => Code::Property,
        };
        Trouble::new(
            code,
            match wish {
                Wish::Property(one) => format!("`{one}` is missing"),
                Wish::Level(wanted) => match wanted.missing(&self.properties) {
                    Some(missing) => format!("it reaches {level}, not {wanted}: `{missing}` is missing"),
                    None => {
                        format!("it reaches {level}, not {wanted}: the key is not allowed a higher level")
                    }
                },
            },
        )
    }

    fn ask_people(
        &mut self,
        commit: &Commit,
        trust: &Trust,
        wanted: &Wanted,
        world: &mut dyn World,
    ) -> Result<(), Trouble> {
        let is_open = self.trouble.as_ref().is_some_and(|trouble| !trouble.is_alarm);
        let who = match wanted.people {
            People::Any if self.binding.is_none() => Some(String::new()),
            People::Signed if commit.is_signed && is_open => {
                let signer = world.committer(&commit.id)?.map(|at| &trust.signers[at]);
                signer.filter(|signer| signer.is_valid_at(wanted.now)).map(|signer| signer.owner.clone())
            }
            _ => None,
        };
        if let (true, Some(person)) = (is_open, who) {
            self.person = Some(person);
            self.trouble = None;
        }
        Ok(())
    }
}

/// Why nothing binds it: statements about it that do not count, its own note that names another commit, and
/// parts of it that are attested.
fn diagnose(commit: &Commit, pool: &Pool) -> Trouble {
    let speaks = pool.rejected.iter().filter(|one| {
        let of_it = one.commit == commit.id || one.change == commit.digest && !commit.is_merge();
        // A file given by a person that cannot be read may be about any commit.
        let of_any = one.commit.is_empty() && one.noted.is_empty();
        of_it || of_any || one.noted.contains(&commit.id)
    });
    if let Some(worst) = speaks.min_by_key(|one| one.trouble.weight()) {
        return worst.trouble.clone();
    }
    if pool.attested.iter().any(|one| one.noted.contains(&commit.id)) {
        return Trouble::new(Code::Subject, "its note is about another commit");
    }
    if commit.is_merge() {
        return Trouble::new(Code::MergeOwn, "the merge changes more than its parents do");
    }
    let listed: HashSet<&Record> = pool
        .attested
        .iter()
        .filter_map(|one| one.change.as_ref())
        .flat_map(|change| &change.records)
        .collect();
    if commit.change.records.iter().any(|record| listed.contains(record)) {
        return Trouble::new(Code::Part, "only part of it is attested");
    }
    Trouble::new(Code::None, "no attestation")
}

/// Who approved which change; each signature is checked once.
#[derive(Default)]
struct Approvals {
    known: BTreeMap<String, BTreeSet<usize>>,
}

impl Approvals {
    /// For each part of a commit: whether a person other than the owner of the log's key approved it, or the
    /// commit's own change.
    fn of(
        &mut self,
        commit: &Commit,
        bound: &Bound,
        pool: &Pool,
        (trust, now): (&Trust, i64),
        world: &mut dyn World,
    ) -> Result<Vec<bool>, Trouble> {
        let mut approved = Vec::new();
        for part in &bound.parts {
            let owners: BTreeSet<&str> =
                part.iter().map(|at| trust.signers[pool.attested[*at].signer].owner.as_str()).collect();
            let mut people = self.ask(&commit.change, &commit.digest, pool, world)?;
            let listed = part.first().and_then(|at| pool.attested[*at].change.as_ref());
            if let Some(change) = listed.filter(|_| bound.binding != Binding::Commit) {
                people.extend(self.ask(change, &change.digest(), pool, world)?);
            }
            let counts = |signer: &Signer| {
                let is_person = matches!(signer.key, SignerKey::Person(_));
                is_person && signer.is_valid_at(now) && !owners.contains(signer.owner.as_str())
            };
            approved.push(people.iter().any(|at| counts(&trust.signers[*at])));
        }
        Ok(approved)
    }

    fn ask(
        &mut self,
        change: &Change,
        digest: &str,
        pool: &Pool,
        world: &mut dyn World,
    ) -> Result<BTreeSet<usize>, Trouble> {
        if let Some(known) = self.known.get(digest) {
            return Ok(known.clone());
        }
        let mut people = BTreeSet::new();
        for line in pool.approvals.iter().filter(|line| line.change == digest) {
            people.extend(world.approver(&change.bytes(), &line.signature)?);
        }
        self.known.insert(digest.to_owned(), people.clone());
        Ok(people)
    }
}

/// The exit code: 4 if something was forged, 1 if a commit does not pass.
pub fn exit_code(findings: &[Finding]) -> u8 {
    let troubles: Vec<&Trouble> = findings.iter().filter_map(|finding| finding.trouble.as_ref()).collect();
    match () {
        () if troubles.iter().any(|trouble| trouble.is_alarm) => 4,
        () if findings.is_empty() || troubles.iter().any(|trouble| trouble.code == Code::Objects) => 3,
        () if troubles.is_empty() => 0,
        () => 1,
    }
}
