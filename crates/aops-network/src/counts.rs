//! What was reached, and what was refused: numbers for each host, and nothing of the content.
//!
//! Pure: the caller passes the time. Invariant: the table stays small, whatever names a command makes up.

use crate::list::{Pass, Word};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Hosts in the table; the refusals of those that made room are only counted in total.
const MOST_HOSTS: usize = 1024;

/// From this many bytes on, sending to a host that is not a remote of the repository is reported.
pub(crate) const MUCH: u64 = 1_000_000;

/// Seconds since 1970.
pub type Time = u64;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    pub first: Time,
    pub last: Time,
    pub connections: u64,
    pub up: u64,
    pub down: u64,
    /// How often it was refused, and why the last time.
    pub refused: u64,
    pub why: String,
    /// The rule or answer that allowed it.
    pub word: Option<Word>,
}

/// A server inside that is reachable on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    pub inside: u16,
    pub outside: u16,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// By host and port.
    rows: BTreeMap<(String, u16), Row>,
    /// Refusals of hosts that made room for others.
    pub others: u64,
    pub served: Vec<Served>,
}

impl Counts {
    /// The host's row. If the table is full, the host that was only refused, and not for the longest time,
    /// makes room; and if all were reached, the one that moved the least.
    fn row(&mut self, host: &str, port: u16, now: Time) -> &mut Row {
        let key = (host.to_owned(), port);
        if self.rows.len() >= MOST_HOSTS && !self.rows.contains_key(&key) {
            let worth = |row: &Row| (row.connections > 0, row.up + row.down, row.last);
            let least = self.rows.iter().min_by_key(|(_, row)| worth(row)).map(|(key, _)| key.clone());
            if let Some(row) = least.and_then(|key| self.rows.remove(&key)) {
                self.others += row.refused;
            }
        }
        let row = self.rows.entry(key).or_insert_with(|| Row { first: now, ..Row::default() });
        row.last = now;
        row
    }

    pub fn passed(&mut self, host: &str, port: u16, on: Pass, now: Time) {
        let row = self.row(host, port, now);
        row.connections += 1;
        row.word = match on {
            Pass::Listed(word) => Some(word),
            Pass::Observed => None,
        };
    }

    pub fn moved(&mut self, host: &str, port: u16, up: u64, down: u64, now: Time) {
        let row = self.row(host, port, now);
        row.up += up;
        row.down += down;
    }

    pub fn refused(&mut self, host: &str, port: u16, why: &str, now: Time) {
        let row = self.row(host, port, now);
        row.refused += 1;
        why.clone_into(&mut row.why);
    }

    pub fn row_of(&self, host: &str, port: u16) -> Option<&Row> {
        self.rows.get(&(host.to_owned(), port))
    }

    pub fn rows(&self) -> impl Iterator<Item = (&str, u16, &Row)> {
        self.rows.iter().map(|((host, port), row)| (host.as_str(), *port, row))
    }

    /// A summary: `6 hosts, 41 MB in, 88 kB out · 2 refused · served: localhost:3000`.
    pub fn describe(&self) -> String {
        let all = || self.rows().map(|(.., row)| row);
        let hosts: BTreeSet<&str> =
            self.rows().filter(|(.., row)| row.connections > 0).map(|(host, ..)| host).collect();
        let down = all().map(|row| row.down).sum();
        let up = all().map(|row| row.up).sum();
        let hosts = match hosts.len() {
            0 => "no host reached".to_owned(),
            1 => format!("1 host, {} in, {} out", size(down), size(up)),
            n => format!("{n} hosts, {} in, {} out", size(down), size(up)),
        };
        let refused = all().map(|row| row.refused).sum::<u64>() + self.others;
        let refused = if refused > 0 { format!(" · {refused} refused") } else { String::new() };
        let served: Vec<String> = self.served.iter().map(Served::place).collect();
        let served =
            if served.is_empty() { String::new() } else { format!(" · served: {}", served.join(", ")) };
        let much = self.rows().filter(|(.., row)| row.up > MUCH && row.word != Some(Word::Remote));
        let much: Vec<String> =
            much.map(|(host, _, row)| format!(" · {} out to {host}", size(row.up))).collect();
        let much = much.concat();
        format!("{hosts}{refused}{much}{served}")
    }
}

impl Served {
    /// `localhost:3000`, `localhost:3001 (3000 inside)`
    pub fn place(&self) -> String {
        let Self { inside, outside } = self;
        if inside == outside {
            format!("localhost:{outside}")
        } else {
            format!("localhost:{outside} ({inside} inside)")
        }
    }
}

/// For the model: commands reach it at one port, the person at the other.
impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { inside, outside } = self;
        write!(
            f,
            "the server at port {inside} is at http://localhost:{outside} for the person: {inside} is taken on this machine"
        )
    }
}

impl Row {
    /// `212×, 40 MB in, 61 kB out`, or how often it was refused and why.
    pub fn describe(&self) -> String {
        let reached = format!("{}×, {} in, {} out", self.connections, size(self.down), size(self.up));
        let refused = format!("refused {}×, {}", self.refused, self.why);
        match (self.connections, self.refused) {
            (_, 0) => reached,
            (0, _) => refused,
            _ => format!("{reached}; {refused}"),
        }
    }
}

/// `61 kB`, `0.9 MB`, `41 MB`.
pub fn size(bytes: u64) -> String {
    let tenths = |unit: u64| (bytes + unit / 20) / (unit / 10);
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..900_000 => format!("{} kB", (bytes + 500) / 1_000),
        900_000..9_950_000 => format!("{}.{} MB", tenths(1_000_000) / 10, tenths(1_000_000) % 10),
        9_950_000..995_000_000 => format!("{} MB", (bytes + 500_000) / 1_000_000),
        _ => format!("{}.{} GB", tenths(1_000_000_000) / 10, tenths(1_000_000_000) % 10),
    }
}

/// One line per host: tabs between the fields, the reason last.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (host, port, row) in self.rows() {
            let word = row.word.map_or_else(|| "-".to_owned(), |word| word.to_string());
            let Row { first, last, connections, up, down, refused, why, .. } = row;
            writeln!(
                f,
                "host\t{host}\t{port}\t{first}\t{last}\t{connections}\t{up}\t{down}\t{refused}\t{word}\t{why}"
            )?;
        }
        for Served { inside, outside } in &self.served {
            writeln!(f, "served\t{inside}\t{outside}")?;
        }
        writeln!(f, "others\t{}", self.others)
    }
}

impl Counts {
    /// The counts in this text; `None` if a line cannot be parsed.
    pub fn parse(text: &str) -> Option<Self> {
        let mut counts = Self::default();
        for line in text.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            match fields[..] {
                ["host", host, port, first, last, connections, up, down, refused, word, why] => {
                    let number = |text: &str| text.parse::<u64>().ok();
                    let row = Row {
                        first: number(first)?,
                        last: number(last)?,
                        connections: number(connections)?,
                        up: number(up)?,
                        down: number(down)?,
                        refused: number(refused)?,
                        why: why.to_owned(),
                        word: Word::ALL.iter().find(|(_, name)| *name == word).map(|(word, _)| *word),
                    };
                    counts.rows.insert((host.to_owned(), port.parse().ok()?), row);
                }
                ["served", inside, outside] => {
                    counts
                        .served
                        .push(Served { inside: inside.parse().ok()?, outside: outside.parse().ok()? });
                }
                ["others", others] => counts.others = others.parse().ok()?,
                _ => return None,
            }
        }
        Some(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_told_in_a_few_words() {
        let mut counts = Counts::default();
        assert_eq!(counts.describe(), "no host reached");
        counts.passed("a.test", 443, Pass::Observed, 1);
        counts.moved("a.test", 443, 88_400, 40_600_000, 1);
        counts.refused("b.test", 443, "it is not on this project's list", 2);
        counts.served.push(Served { inside: 3000, outside: 3001 });
        assert_eq!(
            counts.describe(),
            "1 host, 41 MB in, 88 kB out · 1 refused · served: localhost:3001 (3000 inside)"
        );
        counts.moved("a.test", 443, 2_000_000, 0, 3);
        assert!(counts.describe().contains(" · 2.1 MB out to a.test · "), "{}", counts.describe());
        let rows: Vec<String> = counts.rows().map(|(.., row)| row.describe()).collect();
        assert_eq!(rows, ["1×, 41 MB in, 2.1 MB out", "refused 1×, it is not on this project's list"]);
        for (bytes, said) in
            [(0, "0 B"), (999, "999 B"), (1_500, "2 kB"), (900_000, "0.9 MB"), (1_960_000, "2.0 MB")]
        {
            assert_eq!(size(bytes), said);
        }
        assert_eq!(size(2_500_000_000), "2.5 GB");
    }

    #[test]
    fn counts_are_kept_by_host_and_port_and_read_back() {
        let mut counts = Counts::default();
        counts.passed("a.test", 443, Pass::Listed(Word::Derived), 10);
        counts.moved("a.test", 443, 5, 700, 12);
        counts.passed("a.test", 443, Pass::Listed(Word::Derived), 14);
        counts.refused("b.test", 443, "it is not on this project's list", 15);
        counts.passed("c.test", 22, Pass::Observed, 16);
        counts.served.push(Served { inside: 3000, outside: 3001 });
        let (_, _, row) = counts.rows().next().unwrap();
        assert_eq!((row.first, row.last, row.connections, row.up, row.down), (10, 14, 2, 5, 700));
        assert_eq!(Counts::parse(&counts.to_string()), Some(counts));
        assert_eq!(Counts::parse("host\ta\n"), None);
    }

    #[test]
    fn made_up_names_do_not_fill_it() {
        let mut counts = Counts::default();
        for n in 0..MOST_HOSTS + 7 {
            counts.refused(&format!("n{n}.test"), 443, "x", 1);
        }
        assert_eq!((counts.rows().count(), counts.others), (MOST_HOSTS, 7));
        counts.refused("n9.test", 443, "x", 2);
        assert_eq!(counts.others, 7);
        // What is reached and what is refused afterwards is known.
        counts.refused("last.test", 443, "x", 3);
        counts.passed("a.test", 443, Pass::Observed, 4);
        counts.moved("a.test", 443, 5_000_000, 0, 4);
        assert_eq!((counts.rows().count(), counts.others), (MOST_HOSTS, 9));
        for n in 0..MOST_HOSTS {
            counts.refused(&format!("m{n}.test"), 443, "x", 5);
        }
        assert_eq!(counts.row_of("a.test", 443).map(|row| row.up), Some(5_000_000));
        assert!(counts.row_of("last.test", 443).is_none() && counts.row_of("m1023.test", 443).is_some());
        // However many were reached.
        for n in 0..MOST_HOSTS {
            counts.passed(&format!("p{n}.test"), 443, Pass::Observed, 6);
        }
        assert_eq!(counts.rows().count(), MOST_HOSTS);
        assert!(counts.row_of("a.test", 443).is_some() && counts.row_of("p1023.test", 443).is_some());
    }
}
