//! Prints rows for people: aligned and coloured on a terminal, tab-separated without a headline when piped.
//!
//! Writes to the output. Invariant: no control character of a cell reaches the output, whatever a ledger holds.

use super::Io;
use std::borrow::Cow;
use std::io;

/// The colour of a piece of text.
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

/// One cell: a text and its tone.
#[derive(Debug, Default, Clone)]
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

/// Rows under a headline. The last column takes what room is left and is cut there.
#[derive(Debug)]
pub struct Table {
    head: &'static [&'static str],
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new(head: &'static [&'static str]) -> Self {
        Self { head, rows: Vec::new() }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub fn print(&self, io: &mut Io) -> io::Result<()> {
        if !io.terminal {
            for row in &self.rows {
                let cells: Vec<_> = row.iter().map(|cell| cell.text.as_str()).collect();
                writeln!(io.out, "{}", cells.join("\t"))?;
            }
            return Ok(());
        }
        let widths = self.widths();
        let head: Vec<_> = self.head.iter().map(|text| Cell::new(text, Tone::Strong)).collect();
        for row in std::iter::once(&head).chain(&self.rows) {
            let line = line(row, &widths, io);
            writeln!(io.out, "{}", line.trim_end())?;
        }
        Ok(())
    }

    fn widths(&self) -> Vec<usize> {
        let widest = |n: usize, head: &str| {
            let cells = self.rows.iter().filter_map(|row| row.get(n)).map(|cell| cell.text.chars().count());
            cells.max().unwrap_or(0).max(head.chars().count())
        };
        self.head.iter().enumerate().map(|(n, head)| widest(n, head)).collect()
    }
}

fn line(row: &[Cell], widths: &[usize], io: &Io) -> String {
    let mut line = String::new();
    let mut used = 0;
    for (n, cell) in row.iter().enumerate() {
        let length = cell.text.chars().count();
        if n + 1 == row.len() {
            let room = io.width.map_or(length, |width| width.saturating_sub(used).max(8));
            line.push_str(&cell.tone.paint(&cut(&cell.text, room), io));
        } else {
            let width = widths.get(n).copied().unwrap_or(length);
            line.push_str(&cell.tone.paint(&cell.text, io));
            line.push_str(&" ".repeat(width.saturating_sub(length) + 2));
            used += width.max(length) + 2;
        }
    }
    line
}

fn cut(text: &str, room: usize) -> Cow<'_, str> {
    if text.chars().count() <= room {
        return Cow::Borrowed(text);
    }
    let kept: String = text.chars().take(room.saturating_sub(1)).collect();
    Cow::Owned(format!("{kept}…"))
}

/// Text from outside, safe on a terminal and within one line: control and direction characters become `·`.
pub fn clean(text: &str) -> Cow<'_, str> {
    let unsafe_ = |c: char| {
        c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(unsafe_) {
        return Cow::Borrowed(text);
    }
    let mild = |c| if matches!(c, '\n' | '\t') { ' ' } else { '·' };
    Cow::Owned(text.chars().map(|c| if unsafe_(c) { mild(c) } else { c }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::system::env::Env;

    fn printed(terminal: bool, color: bool, width: Option<usize>) -> String {
        let (env, mut out) = (Env::default(), Vec::new());
        let mut io = Io { env: &env, out: &mut out, json: false, terminal, width, color, yes: false };
        let mut table = Table::new(&["session", "says"]);
        table.row(["a".into(), "first\nline \x1b[31mred".into()]);
        table.row([Cell::new("longer-name", Tone::Bad), "x".into()]);
        table.print(&mut io).unwrap();
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
    fn tabs_and_no_colours_when_piped() {
        assert_eq!(printed(false, false, None), "a\tfirst line ·[31mred\nlonger-name\tx\n");
    }
}
