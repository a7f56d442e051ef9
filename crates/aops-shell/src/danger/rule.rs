//! One row of the table of danger rules, and one finding.

/// What is at stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It can be undone with effort.
    Medium,
    /// Work, data or a secret is lost.
    High,
    /// Nothing can bring it back.
    Critical,
}

impl Severity {
    pub fn word(self) -> &'static str {
        match self {
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }
}

/// What happens to a call that a rule finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// The call runs if everything it would lose can be saved first; otherwise a person must approve it.
    Keep,
    /// A person must approve it; if nobody can answer, it is blocked.
    Ask,
    Deny,
}

#[derive(Debug)]
pub struct Rule {
    /// Its key in a configuration: `danger.` and the id.
    pub key: &'static str,
    pub severity: Severity,
    /// What happens to a call that the rule finds, unless a configuration says otherwise.
    pub usual: Usual,
    /// What the command does; completes a sentence that begins with `it`.
    pub reason: &'static str,
    /// What to do instead, as an instruction.
    pub instead: &'static str,
    /// Lines that it finds; a line of a tool other than the shell begins with the tool's name and a colon.
    pub examples: &'static [&'static str],
    /// Similar lines that pass.
    pub counter: &'static [&'static str],
}

impl Rule {
    pub fn id(&self) -> &'static str {
        self.key.strip_prefix("danger.").unwrap_or(self.key)
    }
}

/// A rule and the command or file it found.
#[derive(Clone, Debug)]
pub struct Danger {
    pub rule: &'static Rule,
    /// The command, or the file.
    pub what: String,
}
