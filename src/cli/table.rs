//! Prints rows for people: aligned and coloured on a terminal, tab-separated without a headline when piped.
//!
//! Writes to the output. Invariant: no control character of a cell reaches the output, whatever a ledger
//! holds.

use super::Io;
use aops_core::text::plain::is_plain;
use std::borrow::Cow;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    #[default]
    Plain,
    Strong,
    Quiet,
    Good,
    Warn,
    Bad,
}

impl Tone {
    /// The text in this colour, if the output has colours.
    pub fn paint<'a>(self, text: &'a str, io: &Io) -> Cow<'a, str> {
        let code = match self {
            Tone::Plain => return Cow::Borrowed(text),
            _ if !io.color => return Cow::Borrowed(text),
            Tone::Strong => 1,
            Tone::Quiet => 2,
            Tone::Good => 32,
            Tone::Warn => 33,
            Tone::Bad => 31,
        };
        Cow::Owned(format!("\x1b[{code}m{text}\x1b[0m"))
    }
}

#[derive(Debug, Clone)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    pub fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: clean(text.as_ref()).into_owned(), tone }
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// A name, its value, and its colour.
pub type NamedFact = (&'static str, String, Tone);

impl Io<'_> {
    /// Rows under a headline. The last column gets the remaining width and is cut to fit; on a terminal a
    /// column that is empty in all rows is left out.
    pub fn table<const N: usize>(&mut self, head: [&str; N], rows: Vec<[Cell; N]>) -> anyhow::Result<u8> {
        self.table_within(head, rows, &[])
    }

    /// Like `table`, but these columns are cut too, the widest first, until a row fits the terminal.
    pub fn table_within<const N: usize>(
        &mut self,
        head: [&str; N],
        rows: Vec<[Cell; N]>,
        soft: &[usize],
    ) -> anyhow::Result<u8> {
        if !self.terminal {
            for row in &rows {
                writeln!(self.out, "{}", row.each_ref().map(|cell| cell.text.as_str()).join("\t"))?;
            }
            return Ok(0);
        }
        let used: [bool; N] =
            std::array::from_fn(|n| rows.is_empty() || rows.iter().any(|row| !row[n].text.is_empty()));
        let rows: Vec<_> =
            std::iter::once(head.map(|text| Cell::new(text, Tone::Strong))).chain(rows).collect();
        let widest = |n: usize| rows.iter().map(|row| row[n].text.chars().count()).max().unwrap_or(0);
        let mut widths: [usize; N] = std::array::from_fn(|n| if used[n] { widest(n) } else { 0 });
        if let Some(width) = self.width {
            narrow(&mut widths, &used, soft, width);
        }
        for row in &rows {
            let line = line(row, &widths, &used, self);
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(0)
    }

    /// Names with their values, line by line. Empty values are left out.
    pub fn facts<'a>(
        &mut self,
        facts: impl IntoIterator<Item = (&'a str, String, Tone)>,
    ) -> anyhow::Result<u8> {
        for (name, words, tone) in facts.into_iter().filter(|(_, words, _)| !words.is_empty()) {
            writeln!(self.out, "{name:9} {}", tone.paint(&clean(&words), self))?;
        }
        Ok(0)
    }

    /// Several lines with one name, which is printed before the first of them.
    pub fn beside<T: AsRef<str>>(
        &mut self,
        name: &str,
        lines: impl IntoIterator<Item = T>,
    ) -> anyhow::Result<()> {
        for (n, line) in lines.into_iter().enumerate() {
            writeln!(self.out, "  {:8} {}", if n == 0 { name } else { "" }, clean(line.as_ref()))?;
        }
        Ok(())
    }
}

/// How much of a cell is always shown.
const LEAST: usize = 8;

/// While a row is too wide, takes one character at a time from the widest of the soft columns and the last
/// one.
fn narrow(widths: &mut [usize], used: &[bool], soft: &[usize], width: usize) {
    let last = widths.len().saturating_sub(1);
    let gaps = 2 * used.iter().filter(|used| **used).count();
    let may_give = |n: &usize, widths: &[usize]| widths[*n] > LEAST && (*n == last || soft.contains(n));
    while widths.iter().sum::<usize>() + gaps > width + 2 {
        let widest = (0..widths.len()).filter(|n| may_give(n, widths)).max_by_key(|n| widths[*n]);
        let Some(widest) = widest.filter(|_| !soft.is_empty()) else { return };
        widths[widest] -= 1;
    }
}

fn line(row: &[Cell], widths: &[usize], shown: &[bool], io: &Io) -> String {
    let mut line = String::new();
    let mut taken = 0;
    for (n, cell) in row.iter().enumerate().filter(|(n, _)| shown[*n]) {
        if n + 1 == row.len() {
            let room = io.width.map_or(usize::MAX, |width| width.saturating_sub(taken).max(LEAST));
            line.push_str(&cell.tone.paint(&cut(&cell.text, room), io));
        } else {
            let shown = cut(&cell.text, widths[n]);
            line.push_str(&cell.tone.paint(&shown, io));
            line.push_str(&" ".repeat(widths[n] - shown.chars().count() + 2));
            taken += widths[n] + 2;
        }
    }
    line
}

pub(super) fn cut(text: &str, room: usize) -> Cow<'_, str> {
    if text.chars().count() <= room {
        return Cow::Borrowed(text);
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    Cow::Owned(format!("{kept}…"))
}

/// Text from outside, safe on a terminal and within one line: control and direction characters become `·`.
pub fn clean(text: &str) -> Cow<'_, str> {
    let breaks = |c: char| matches!(c, '\n' | '\t');
    if text.chars().all(|c| is_plain(c) && !breaks(c)) {
        return Cow::Borrowed(text);
    }
    let shown = |c| {
        if breaks(c) {
            ' '
        } else if is_plain(c) {
            c
        } else {
            '·'
        }
    };
    Cow::Owned(text.chars().map(shown).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use aops_core::system::env::Env;

    fn printed(terminal: bool, color: bool, width: Option<usize>) -> String {
        let env = Env::default();
        let mut out = Vec::new();
        let mut io =
            Io { env: &env, out: &mut out, json: false, terminal, width, color, yes: false, gone: false };
        let rows = vec![
            ["a".into(), "first\nline \x1b[31mred".into()],
            [Cell::new("longer-name", Tone::Bad), "x".into()],
        ];
        io.table(["session", "says"], rows).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn aligned_on_a_terminal() {
        let wanted = "session      says\na            first line ·[31mred\nlonger-name  x\n";
        assert_eq!(printed(true, false, None), wanted);
        assert_eq!(printed(true, false, Some(23)).lines().nth(1), Some("a            first lin…"));
        assert!(printed(true, true, None).contains("\x1b[31mlonger-name\x1b[0m  x"));
    }

    #[test]
    fn soft_columns_are_cut_until_a_row_fits() {
        let env = Env::default();
        let long = "x".repeat(60);
        let lines = |terminal, width| {
            let mut out = Vec::new();
            let mut io = Io {
                env: &env,
                out: &mut out,
                json: false,
                terminal,
                width,
                color: false,
                yes: false,
                gone: false,
            };
            let row = || ["an-id-to-copy".into(), Cell::from(""), Cell::from(&long), Cell::from(&long)];
            io.table_within(["id", "name", "text", "changed"], vec![row()], &[1, 2]).unwrap();
            String::from_utf8(out).unwrap()
        };
        for width in [40, 80, 110, 136] {
            let shown = lines(true, Some(width));
            assert!(shown.lines().all(|line| line.chars().count() <= width), "{width}: {shown}");
            assert!(shown.contains("an-id-to-copy  x") && shown.contains("x…"), "{width}: {shown}");
        }
        assert!(!lines(true, Some(137)).contains('…'), "{}", lines(true, Some(137)));
        assert_eq!(lines(false, None), format!("an-id-to-copy\t\t{long}\t{long}\n"));
    }

    #[test]
    fn tabs_and_no_colours_when_piped() {
        assert_eq!(printed(false, false, None), "a\tfirst line ·[31mred\nlonger-name\tx\n");
    }
}
