//! The list: which hosts may be reached at which ports, and who said so.
//!
//! Pure. The text has one rule per line. Invariants: a denied host stays denied, whoever allows it; if one
//! line cannot be parsed, the whole text is rejected.

use crate::known::takes_uploads;
use crate::name::{Name, port};
use std::collections::BTreeSet;
use std::fmt;

/// Ports that are allowed for a host without a port.
pub const USUAL_PORTS: [u16; 3] = [443, 80, 22];

/// This host and port in the form of a rule.
pub fn spelt(host: &str, port: u16) -> String {
    if USUAL_PORTS.contains(&port) { host.to_owned() } else { format!("{host}:{port}") }
}

/// What happens to a host that is on no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// It is reached and recorded.
    Observe,
    /// It is refused, and remembered as wanted.
    Ask,
    List,
}

/// Who said that a host is allowed or denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    Person,
    Managed,
    Project,
    /// A person's answer to a question of this session.
    Session,
    /// A remote of the repository.
    Remote,
    /// Lock files and settings of package managers.
    Derived,
    BuiltIn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    Listed(Word),
    /// On no list, but nothing is refused yet.
    Observed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Denied(Word),
    NotListed,
    /// The host is listed, but not at this port.
    OtherPort,
    /// The host is listed, but accepts uploads from anybody, and a secret was read.
    AfterSecret,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass(Pass),
    Refuse(Refusal),
}

/// `host`, `*.host`, either with `:port`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pattern {
    pub name: Name,
    /// Every name below it, but not the name itself.
    pub below: bool,
    pub port: Option<u16>,
}

/// Which ports of servers inside are opened on this machine's loopback.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Publish {
    #[default]
    Auto,
    None,
    Only(BTreeSet<u16>),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct List {
    pub mode: Mode,
    pub allow: Vec<(Pattern, Word)>,
    pub deny: Vec<(Pattern, Word)>,
    /// These names may resolve to a private address.
    pub private: Vec<Pattern>,
    /// Ports of this machine's loopback that are reachable inside.
    pub local: BTreeSet<u16>,
    pub publish: Publish,
    /// A hello may contain a second, encrypted name.
    pub ech: bool,
    /// A secret was read: listed hosts that accept uploads from anybody need approval again, except for the
    /// remotes.
    pub guarded: bool,
}

/// Why a text is not a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    pub number: usize,
    pub line: String,
}

impl Mode {
    pub const ALL: [(Self, &'static str); 3] =
        [(Self::Observe, "observe"), (Self::Ask, "ask"), (Self::List, "list")];
}

impl Word {
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Person, "person"),
        (Self::Managed, "managed"),
        (Self::Project, "project"),
        (Self::Session, "session"),
        (Self::Remote, "remote"),
        (Self::Derived, "derived"),
        (Self::BuiltIn, "built-in"),
    ];
}

fn named<T: Copy>(all: &[(T, &'static str)], word: &str) -> Option<T> {
    all.iter().find(|(_, name)| *name == word).map(|(one, _)| *one)
}

fn name_of<T: PartialEq>(all: &[(T, &'static str)], wanted: &T) -> &'static str {
    all.iter().find(|(one, _)| one == wanted).map_or("", |(_, name)| name)
}

impl Pattern {
    pub fn of(text: &str) -> Option<Self> {
        let (below, rest) = text.strip_prefix("*.").map_or((false, text), |rest| (true, rest));
        let (name, port) = Name::with_port(rest.as_bytes())?;
        Some(Self { name, below, port })
    }

    fn names(&self, name: &Name) -> bool {
        if self.below { name.is_below(&self.name) } else { *name == self.name }
    }

    /// It matches this name at this port.
    pub fn covers(&self, name: &Name, port: u16) -> bool {
        self.names(name) && self.allows(port)
    }

    /// If it allows, no port means the usual ones.
    fn allows(&self, port: u16) -> bool {
        self.port.map_or_else(|| USUAL_PORTS.contains(&port), |named| named == port)
    }

    /// If it denies, no port means all.
    fn denies(&self, port: u16) -> bool {
        self.port.is_none_or(|named| named == port)
    }
}

impl List {
    pub fn new(mode: Mode) -> Self {
        Self {
            mode,
            allow: Vec::new(),
            deny: Vec::new(),
            private: Vec::new(),
            local: BTreeSet::new(),
            publish: Publish::Auto,
            ech: false,
            guarded: false,
        }
    }

    /// The only verdict on a name and a port.
    pub fn judge(&self, name: &Name, port: u16) -> Verdict {
        let of_name = || self.allow.iter().filter(|(pattern, _)| pattern.names(name));
        let listed = || of_name().filter(|(pattern, _)| pattern.allows(port));
        let counts = |word: Word| !self.guarded || !needs_person_again(word, name);
        let denied = self.deny.iter().find(|(pattern, _)| pattern.names(name) && pattern.denies(port));
        let refused = match (denied, listed().find(|(_, word)| counts(*word))) {
            (Some((_, word)), _) => Refusal::Denied(*word),
            (None, Some((_, word))) => return Verdict::Pass(Pass::Listed(*word)),
            (None, None) if listed().next().is_some() => Refusal::AfterSecret,
            (None, None) if of_name().next().is_some() => Refusal::OtherPort,
            (None, None) => Refusal::NotListed,
        };
        if self.mode == Mode::Observe { Verdict::Pass(Pass::Observed) } else { Verdict::Refuse(refused) }
    }

    /// Keeps what a person answered in this session and, if `found` is true, what was derived when the
    /// session began, since neither is in a configuration.
    pub fn keep_from(&mut self, old: &Self, found: bool) {
        let lasts = |word: Word| match word {
            Word::Session => true,
            Word::Remote | Word::Derived | Word::BuiltIn => found,
            Word::Person | Word::Managed | Word::Project => false,
        };
        self.allow.extend(old.allow.iter().filter(|(_, word)| lasts(*word)).cloned());
        self.guarded = old.guarded;
    }

    /// From now until the task ends, a person's permission from before the secret was read does not count for
    /// these hosts.
    pub fn guard(&mut self) {
        self.guarded = true;
        self.allow.retain(|(pattern, word)| *word != Word::Session || !takes_uploads(&pattern.name));
    }

    /// Whether this name may resolve to a private address. If every host is allowed, so are private
    /// addresses.
    pub fn may_be_private(&self, name: &Name) -> bool {
        self.mode == Mode::Observe || self.private.iter().any(|pattern| pattern.names(name))
    }

    /// The ports on which something must listen inside, for any address.
    pub fn ports(&self) -> BTreeSet<u16> {
        let named = self.allow.iter().filter_map(|(pattern, _)| pattern.port);
        named.chain(USUAL_PORTS).collect()
    }

    /// Whether a server inside at this port is opened outside, unless it listens on one of our own ports.
    pub fn publishes(&self, port: u16) -> bool {
        match &self.publish {
            Publish::None => false,
            Publish::Auto => port >= 1024,
            Publish::Only(ports) => port >= 1024 && ports.contains(&port),
        }
    }

    pub fn parse(text: &str) -> Result<Self, BadLine> {
        let mut list = Self::new(Mode::List);
        let mut has_mode = false;
        let mut number = 0;
        for (at, line) in text.lines().enumerate() {
            number = at + 1;
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let bad = || BadLine { number, line: line.to_owned() };
            let words: Vec<&str> = line.split(' ').collect();
            has_mode |= words[0] == "mode";
            list.add(&words).ok_or_else(bad)?;
        }
        // A file that is empty, or whose beginning was cut off, is rejected.
        if has_mode { Ok(list) } else { Err(BadLine { number: number + 1, line: String::new() }) }
    }

    fn add(&mut self, words: &[&str]) -> Option<()> {
        match words {
            ["mode", mode] => self.mode = named(&Mode::ALL, mode)?,
            ["allow", pattern, word] => self.allow.push((Pattern::of(pattern)?, named(&Word::ALL, word)?)),
            ["deny", pattern, word] => self.deny.push((Pattern::of(pattern)?, named(&Word::ALL, word)?)),
            ["private", pattern] => self.private.push(Pattern::of(pattern)?),
            ["local", one] => drop(self.local.insert(port(one.as_bytes())?)),
            ["publish", "auto"] => self.publish = Publish::Auto,
            ["publish", "none"] => self.publish = Publish::None,
            ["publish", ports @ ..] if !ports.is_empty() => {
                self.publish =
                    Publish::Only(ports.iter().map(|one| port(one.as_bytes())).collect::<Option<_>>()?);
            }
            ["ech"] => self.ech = true,
            ["guarded"] => self.guarded = true,
            _ => return None,
        }
        Some(())
    }
}

impl Refusal {
    /// A person can still allow it.
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Denied(_))
    }

    /// The same for a refusal's text.
    pub fn is_open_in_words(why: &str) -> bool {
        [Self::NotListed, Self::OtherPort, Self::AfterSecret].iter().any(|known| why == known.to_string())
    }
}

/// A person who allowed this host before could not know about the secret; the remotes are where the work goes
/// anyway.
fn needs_person_again(word: Word, name: &Name) -> bool {
    !matches!(word, Word::Session | Word::Remote) && takes_uploads(name)
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(name_of(&Self::ALL, self))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let star = if self.below { "*." } else { "" };
        write!(f, "{star}{}", self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

/// The text from which the same list can be parsed.
impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "mode {}", name_of(&Mode::ALL, &self.mode))?;
        for (verb, all) in [("allow", &self.allow), ("deny", &self.deny)] {
            for (pattern, word) in all {
                writeln!(f, "{verb} {pattern} {word}")?;
            }
        }
        for pattern in &self.private {
            writeln!(f, "private {pattern}")?;
        }
        for port in &self.local {
            writeln!(f, "local {port}")?;
        }
        match &self.publish {
            Publish::Auto => {}
            Publish::Only(ports) if !ports.is_empty() => {
                let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
                writeln!(f, "publish {}", ports.join(" "))?;
            }
            Publish::None | Publish::Only(_) => writeln!(f, "publish none")?,
        }
        for (word, is_set) in [("ech", self.ech), ("guarded", self.guarded)] {
            if is_set {
                writeln!(f, "{word}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(word) => write!(f, "it is denied ({word})"),
            Self::NotListed => f.write_str("it is not on this project's list"),
            Self::OtherPort => f.write_str("it is on this project's list with other ports"),
            Self::AfterSecret => {
                f.write_str("it takes uploads from anybody, and a secret was read in this task")
            }
        }
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line.is_empty() {
            return f.write_str("it names no mode");
        }
        write!(f, "line {} is not a rule: `{}`", self.number, self.line.escape_debug())
    }
}

#[cfg(test)]
mod tests;
