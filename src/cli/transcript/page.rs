//! The markdown writer: paragraphs, quoted as deep as the subagent they come from.
//!
//! Writes to its output. Invariant: every text of the session is redacted and without control characters, and cannot end
//! the fence around it.

use crate::text::json::cut;
use crate::text::redact::redact;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Bytes of one text; the rest is cut.
const LONGEST: usize = 64 << 10;

pub(super) struct Page<'a> {
    out: &'a mut dyn Write,
    pub(super) depth: usize,
}

impl<'a> Page<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> Self {
        Self { out, depth: 0 }
    }

    /// One paragraph of our own.
    pub(super) fn line(&mut self, text: &str) -> io::Result<()> {
        self.put(text)?;
        self.put("")
    }

    /// A text of the session, as markdown.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        self.line(safe(text, LONGEST).trim_end())
    }

    /// A text of the session, verbatim.
    pub(super) fn fenced(&mut self, kind: &str, text: &str) -> io::Result<()> {
        let text = safe(text, LONGEST);
        let mut longest = 2;
        let mut run = 0;
        for c in text.chars() {
            run = if c == '`' { run + 1 } else { 0 };
            longest = longest.max(run);
        }
        let fence = "`".repeat(longest + 1);
        self.put(&format!("{fence}{kind}"))?;
        self.put(text.trim_end_matches('\n'))?;
        self.line(&fence)
    }

    fn put(&mut self, text: &str) -> io::Result<()> {
        let mark = "> ".repeat(self.depth);
        if text.is_empty() {
            return writeln!(self.out, "{}", mark.trim_end());
        }
        text.lines().try_for_each(|line| writeln!(self.out, "{}", format!("{mark}{line}").trim_end()))
    }
}

/// Redacted, cut, and without control characters.
pub(super) fn safe(text: &str, longest: usize) -> String {
    let clean = redact(text);
    let kept = |c: &char| matches!(c, '\n' | '\t') || !c.is_control();
    let mut out: String = cut(&clean, longest).chars().filter(kept).collect();
    if clean.len() > longest {
        let _ = write!(out, "\n[{} bytes more]", clean.len() - longest);
    }
    out
}
