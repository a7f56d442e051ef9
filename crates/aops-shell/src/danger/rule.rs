//! One row of the table of danger rules, and one find.

/// What is at stake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It can be undone with effort.
    Medium,
    /// Work, data or a secret is lost.
    High,
    /// Nothing brings it back.
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

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usual {
    /// It passes if all that it would lose can be kept first. Else a person is asked.
    Keep,
    /// A person is asked; where none is there, it is refused.
    Ask,
    Deny,
}

#[derive(Debug)]
pub struct Rule {
    /// Its switch in a configuration: `danger.` and the id.
    pub key: &'static str,
    pub severity: Severity,
    /// What becomes of a call that it finds, where no configuration says otherwise.
    pub usual: Usual,
    /// What the command does, after `it`.
    pub reason: &'static str,
    /// What to do instead, as an order.
    pub instead: &'static str,
    /// Lines that it finds; a line of a tool other than the shell begins with the tool's name and a colon.
    pub examples: &'static [&'static str],
    /// Lines that look like them and pass.
    pub counter: &'static [&'static str],
}

impl Rule {
    pub fn id(&self) -> &'static str {
        self.key.strip_prefix("danger.").unwrap_or(self.key)
    }
}

/// A rule and what it found.
#[derive(Clone, Debug)]
pub struct Danger {
    pub rule: &'static Rule,
    /// The command, or the file.
    pub what: String,
}
