//! What is proven about a commit: levels, each including the one before it, and independent properties.

use crate::statement::{Annotations, By, Hold, Mode, Verdict};
use aops_ledger::named;
use std::collections::{BTreeMap, BTreeSet};

named! {
    /// In rising order.
    #[derive(PartialOrd, Ord)]
    pub enum Level {
        Recorded = "A0",
        Guarded = "A1",
        Verified = "A2",
        Witnessed = "A3",
        Approved = "A4",
    }
}

named! {
    #[derive(PartialOrd, Ord)]
    pub enum Property {
        Guarded = "guarded",
        Planned = "planned",
        Qa = "qa",
        Tests = "tests",
        NoWaiver = "no-waiver",
        NoOutside = "no-outside",
        Witnessed = "witnessed",
        Approved = "approved",
        Attended = "attended",
    }
}

pub type Properties = BTreeSet<Property>;

impl Property {
    /// The lowest level that includes it.
    fn level(self) -> Level {
        match self {
            Self::Guarded => Level::Guarded,
            Self::Planned | Self::Qa | Self::Tests | Self::NoWaiver | Self::NoOutside => Level::Verified,
            Self::Witnessed => Level::Witnessed,
            Self::Approved => Level::Approved,
            Self::Attended => Level::Recorded,
        }
    }

    /// It does not depend on the word of the log's key.
    fn is_of_others(self) -> bool {
        matches!(self, Self::Witnessed | Self::Approved)
    }
}

impl Level {
    /// The highest level of which all properties are present.
    pub fn reached(properties: &Properties) -> Self {
        let has_all = |level: Self| {
            let mut needed = Property::ALL.into_iter().filter(|one| *one != Property::Attended);
            needed.all(|one| one.level() > level || properties.contains(&one))
        };
        Self::ALL.into_iter().take_while(|level| has_all(*level)).last().unwrap_or(Self::Recorded)
    }

    /// The first property that is missing for this level.
    pub fn missing(self, properties: &Properties) -> Option<Property> {
        let mut needed: Vec<Property> =
            Property::ALL.into_iter().filter(|one| *one != Property::Attended).collect();
        needed.sort_by_key(|one| one.level());
        needed.into_iter().find(|one| one.level() <= self && !properties.contains(one))
    }
}

/// The properties that a statement claims, as far as its key may claim them. Whether anything was done by
/// hand is judged elsewhere, since another session may have done it.
pub fn claimed(facts: &Annotations, may: Level) -> Properties {
    let holds = |one: &Property| match one {
        Property::Guarded => is_guarded(facts),
        Property::Planned => facts.plan.is_some_and(|plan| {
            plan.verdict == Verdict::Proceed && matches!(plan.by, By::Critic | By::Person)
        }),
        Property::Qa => {
            facts.qa.is_some_and(|qa| qa.verdict == Verdict::Verified && qa.by == By::QaVerifier && qa.after)
        }
        Property::Tests => are_tested(facts, &facts.tree),
        // A single call that a person allowed waives neither plan nor verification nor tests.
        Property::NoWaiver => facts.waivers.iter().all(|waiver| waiver.of == "call"),
        Property::Attended => facts.attended,
        Property::NoOutside | Property::Witnessed | Property::Approved => false,
    };
    Property::ALL.into_iter().filter(|one| one.level() <= may && holds(one)).collect()
}

fn is_guarded(facts: &Annotations) -> bool {
    let is_held =
        facts.jail.unjailed == 0 && (facts.jail.commands == 0 || facts.jail.least > Some(Hold::Words));
    let is_whole = facts.danger_off.is_empty() && facts.blocks == 0 && facts.tampering == 0;
    facts.mode >= Mode::Guard && is_held && is_whole
}

/// Tests ran on this tree, and the last run of each passed.
pub fn are_tested(facts: &Annotations, tree: &str) -> bool {
    let mut last: BTreeMap<&str, (u64, i64)> = BTreeMap::new();
    for test in facts.tests.iter().filter(|test| test.tree == tree) {
        let known = last.entry(&test.name).or_insert((test.entry, test.exit));
        if test.entry >= known.0 {
            *known = (test.entry, test.exit);
        }
    }
    !last.is_empty() && last.values().all(|(_, exit)| *exit == 0)
}

/// One requirement: a level, or a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    Level(Level),
    Property(Property),
}

impl Wish {
    pub fn of(word: &str) -> Option<Self> {
        Level::of(word).map(Self::Level).or_else(|| Property::of(word).map(Self::Property))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Level(level) => level.name(),
            Self::Property(one) => one.name(),
        }
    }

    /// Whether a missing witness is the reason.
    pub fn lacks_witness(self, properties: &Properties) -> bool {
        match self {
            Self::Level(level) => level.missing(properties) == Some(Property::Witnessed),
            Self::Property(one) => one == Property::Witnessed,
        }
    }

    pub fn is_met(self, level: Level, properties: &Properties) -> bool {
        match self {
            Self::Level(wanted) => level >= wanted,
            Self::Property(one) => properties.contains(&one),
        }
    }
}

/// Removes properties that the key may not claim, whoever claims them.
pub fn capped(properties: &mut Properties, may: Level) {
    properties.retain(|one| one.is_of_others() || one.level() <= may);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statement::tests::example;

    fn facts() -> Annotations {
        example().session().unwrap().1.clone()
    }

    fn level_of(change: impl Fn(&mut Annotations)) -> Level {
        let mut facts = facts();
        change(&mut facts);
        let mut properties = claimed(&facts, Level::Approved);
        properties.insert(Property::NoOutside);
        Level::reached(&properties)
    }

    #[test]
    fn each_level_has_all_of_the_one_before() {
        assert_eq!(level_of(|_| {}), Level::Verified);
        let mut properties: Properties = Property::ALL.into_iter().collect();
        assert_eq!(Level::reached(&properties), Level::Approved);
        properties.remove(&Property::Attended);
        assert_eq!(Level::reached(&properties), Level::Approved);
        properties.remove(&Property::Guarded);
        assert_eq!(Level::reached(&properties), Level::Recorded);
        assert_eq!(Level::Witnessed.missing(&properties), Some(Property::Guarded));
        assert_eq!(Level::Recorded.missing(&Properties::new()), None);
    }

    #[test]
    fn what_lowers_a_level() {
        let recorded: [fn(&mut Annotations); 7] = [
            |facts| facts.mode = Mode::Observe,
            |facts| facts.jail.unjailed = 1,
            |facts| facts.jail.least = Some(Hold::Words),
            |facts| facts.jail.least = None,
            |facts| facts.danger_off.push("force-push".to_owned()),
            |facts| facts.blocks = 1,
            |facts| facts.tampering = 1,
        ];
        for change in recorded {
            assert_eq!(level_of(change), Level::Recorded);
        }
        let guarded: [fn(&mut Annotations); 9] = [
            |facts| facts.plan = None,
            |facts| facts.plan.as_mut().unwrap().verdict = Verdict::Revise,
            |facts| facts.plan.as_mut().unwrap().by = By::QaVerifier,
            |facts| facts.qa.as_mut().unwrap().after = false,
            |facts| facts.qa.as_mut().unwrap().verdict = Verdict::Issues,
            |facts| facts.tests[0].exit = 1,
            |facts| facts.tests[0].tree = "0".repeat(40),
            |facts| facts.tests.clear(),
            |facts| {
                facts.waivers.push(crate::statement::Waiver { of: "task".into(), by: By::Person, entry: 9 });
            },
        ];
        for change in guarded {
            assert_eq!(level_of(change), Level::Guarded);
        }
        assert_eq!(level_of(|facts| facts.plan.as_mut().unwrap().by = By::Person), Level::Verified);
        let no_command = |facts: &mut Annotations| facts.jail = crate::statement::Jail::default();
        assert_eq!(level_of(no_command), Level::Verified);
    }

    #[test]
    fn the_last_run_of_each_test_counts() {
        let again = |exit, entry| crate::statement::Test { exit, entry, ..facts().tests[0].clone() };
        assert_eq!(level_of(|facts| facts.tests.push(again(1, 16))), Level::Guarded);
        assert_eq!(level_of(|facts| facts.tests.insert(0, again(1, 14))), Level::Verified);
    }

    #[test]
    fn a_key_says_no_more_than_it_may() {
        assert_eq!(claimed(&facts(), Level::Recorded), Properties::from([Property::Attended]));
        let mut all: Properties = Property::ALL.into_iter().collect();
        capped(&mut all, Level::Guarded);
        let left = [Property::Guarded, Property::Witnessed, Property::Approved, Property::Attended];
        assert_eq!(all, Properties::from(left));
    }
}
