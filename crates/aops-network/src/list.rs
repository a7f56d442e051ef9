//! The list: which hosts may be reached at which ports, and on whose word.
//!
//! Pure. The text is one rule a line. Invariants: what is denied is denied whoever allows it; a text of which one line is not
//! understood is no list.

use crate::name::{Name, port};
use std::collections::BTreeSet;
use std::fmt;

/// Ports of a host for which none is named.
pub const USUAL_PORTS: [u16; 3] = [443, 80, 22];

/// How a rule names this host and port.
pub fn spelt(host: &str, port: u16) -> String {
    if USUAL_PORTS.contains(&port) { host.to_owned() } else { format!("{host}:{port}") }
}

/// What becomes of a host that is on no list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// It is passed and noted.
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
    /// Lock files, settings of package managers, remotes.
    Derived,
    BuiltIn,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    Listed(Word),
    /// On no list: nobody is held yet.
    Observed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    Denied(Word),
    NotListed,
    /// The host is listed, but not at this port.
    OtherPort,
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
    /// Every name below it, and not itself.
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
    /// These names may lead to a private address.
    pub private: Vec<Pattern>,
    /// Ports of this machine's loopback that are reachable inside.
    pub local: BTreeSet<u16>,
    pub publish: Publish,
    /// A hello may hide a second name.
    pub ech: bool,
}

/// Why a text is no list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
    pub number: usize,
    pub line: String,
}

impl Mode {
    pub const ALL: [(Self, &'static str); 3] = [(Self::Observe, "observe"), (Self::Ask, "ask"), (Self::List, "list")];
}

impl Word {
    pub const ALL: [(Self, &'static str); 5] = [
        (Self::Person, "person"),
        (Self::Managed, "managed"),
        (Self::Project, "project"),
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

    /// Where it allows, no port means the usual ones.
    fn allows(&self, port: u16) -> bool {
        self.port.map_or_else(|| USUAL_PORTS.contains(&port), |named| named == port)
    }

    /// Where it denies, no port means all.
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
        }
    }

    /// The one verdict on a name and a port.
    pub fn judge(&self, name: &Name, port: u16) -> Verdict {
        let of_name = || self.allow.iter().filter(|(pattern, _)| pattern.names(name));
        let denied = self.deny.iter().find(|(pattern, _)| pattern.names(name) && pattern.denies(port));
        let refused = match (denied, of_name().find(|(pattern, _)| pattern.allows(port))) {
            (Some((_, word)), _) => Refusal::Denied(*word),
            (None, Some((_, word))) => return Verdict::Pass(Pass::Listed(*word)),
            (None, None) if of_name().next().is_some() => Refusal::OtherPort,
            (None, None) => Refusal::NotListed,
        };
        if self.mode == Mode::Observe { Verdict::Pass(Pass::Observed) } else { Verdict::Refuse(refused) }
    }

    /// Whether this name may lead to a private address. Where everything is passed, private ones are too.
    pub fn may_be_private(&self, name: &Name) -> bool {
        self.mode == Mode::Observe || self.private.iter().any(|pattern| pattern.names(name))
    }

    /// The ports of any address that something listens on inside.
    pub fn ports(&self) -> BTreeSet<u16> {
        let named = self.allow.iter().filter_map(|(pattern, _)| pattern.port);
        named.chain(USUAL_PORTS).collect()
    }

    /// Whether a server inside at this port is opened outside, where it listens on none of our own.
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
        // A file that was cut off at its beginning, or is empty, is none.
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
                self.publish = Publish::Only(ports.iter().map(|one| port(one.as_bytes())).collect::<Option<_>>()?);
            }
            ["ech"] => self.ech = true,
            _ => return None,
        }
        Some(())
    }
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

/// The text that is read back as the same list.
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
        if self.ech { writeln!(f, "ech") } else { Ok(()) }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(word) => write!(f, "it is denied ({word})"),
            Self::NotListed => f.write_str("it is not on this project's list"),
            Self::OtherPort => f.write_str("it is on this project's list with other ports"),
        }
    }
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line.is_empty() {
            return f.write_str("it names no mode");
        }
        write!(f, "line {} is no rule: `{}`", self.number, self.line.escape_debug())
    }
}

#[cfg(test)]
mod tests;
