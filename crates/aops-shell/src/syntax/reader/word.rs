//! Finds where a word ends, through quotes and expansions; the programs of substitutions are read on the way.

use super::{DEEPEST, PROGRAMS, Part, Raw, Reader, ends_word, is_name_byte};

impl<'a> Reader<'a> {
    /// Read a text with expansions; its parts are kept with it.
    pub(super) fn gather(&mut self, begin: usize, read: impl FnOnce(&mut Self) -> Option<()>) -> Option<Raw<'a>> {
        let outer = std::mem::take(&mut self.parts);
        let result = read(self);
        let parts = std::mem::replace(&mut self.parts, outer);
        result?;
        // Here-documents begin behind the line feed; a word must not reach over it.
        if self.documents.is_some_and(|documents| documents.level == self.level && self.at > documents.line_end) {
            return None;
        }
        Some(Raw::new(self.text.get(begin..self.at)?, begin, parts))
    }

    pub(super) fn pass_word(&mut self) -> Option<()> {
        // The place behind a sign that makes a bracket a pattern.
        let mut pattern = None;
        while let Some(byte) = self.byte(self.at) {
            if byte == b'(' && pattern == Some(self.at) {
                self.bracket(self.at, 1, b'(', b')')?;
            } else if self.at_process() {
                self.substitution()?;
            } else if ends_word(byte) {
                break;
            } else if byte == b'\\' && self.byte(self.at + 1) == Some(b'\n') {
                // Between words a continuation is a blank; inside one it may hide a keyword or a name.
                let end = self.at;
                self.skip_continuations();
                if self.byte(self.at).is_some_and(|byte| !ends_word(byte) || byte == b'(') {
                    return None;
                }
                self.at = end;
                break;
            } else {
                self.piece(byte)?;
                pattern = b"@!?+*".contains(&byte).then_some(self.at);
            }
        }
        Some(())
    }

    fn skip_continuations(&mut self) {
        while self.byte(self.at) == Some(b'\\') && self.byte(self.at + 1) == Some(b'\n') {
            self.at += 2;
        }
    }

    /// `<(` or `>(`
    pub(super) fn at_process(&self) -> bool {
        matches!(self.byte(self.at), Some(b'<' | b'>')) && self.byte(self.at + 1) == Some(b'(')
    }

    /// Pass one character, quoted text or expansion.
    pub(super) fn piece(&mut self, byte: u8) -> Option<()> {
        match byte {
            b'\\' => self.escaped(),
            b'\'' => self.single(),
            b'"' => self.double(),
            b'$' => self.dollar(false),
            b'`' => self.escaping(1, b'`'),
            _ => self.skip(1),
        }
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        (self.at + count <= self.text.len()).then(|| self.at += count)
    }

    fn escaped(&mut self) -> Option<()> {
        // The rest of a longer character is like any other letter.
        self.skip(2)
    }

    /// A line continuation inside quotes, where names and signs must not go on behind it.
    fn continued(&mut self) -> Option<()> {
        let before = (0..self.at).rev().find_map(|at| self.byte(at).filter(|byte| !is_name_byte(*byte)));
        (before != Some(b'$')).then(|| self.at += 2)
    }

    fn single(&mut self) -> Option<()> {
        self.at += 1;
        self.at = self.find(b'\'')? + 1;
        Some(())
    }

    fn double(&mut self) -> Option<()> {
        self.at += 1;
        self.nested(|reader| {
            while reader.byte(reader.at)? != b'"' {
                reader.quoted_piece()?;
            }
            reader.skip(1)
        })
    }

    /// One character or expansion inside double quotes or a here-document.
    pub(super) fn quoted_piece(&mut self) -> Option<()> {
        match self.byte(self.at)? {
            b'\\' if self.byte(self.at + 1) == Some(b'\n') => self.continued(),
            b'\\' => self.escaped(),
            b'$' => self.dollar(true),
            b'`' => self.escaping(1, b'`'),
            _ => self.skip(1),
        }
    }

    /// Backquotes or `$'…'` with an opening this long: a backslash takes the next character along.
    fn escaping(&mut self, opening: usize, close: u8) -> Option<()> {
        self.at += opening;
        loop {
            match self.byte(self.at)? {
                byte if byte == close => return self.skip(1),
                b'\\' => self.escaped()?,
                _ => self.at += 1,
            }
        }
    }

    fn dollar(&mut self, quoted: bool) -> Option<()> {
        match self.byte(self.at + 1) {
            Some(b'(') if self.byte(self.at + 2) == Some(b'(') => {
                let begin = self.at;
                self.bracket(begin, 3, b'(', b')')?;
                (self.byte(self.at)? == b')').then(|| self.at += 1)?;
                self.end_part(begin)
            }
            Some(b'(') => self.substitution(),
            Some(b'[') => self.bracket(self.at, 2, b'[', b']'),
            Some(b'{') => self.nested(|reader| reader.parameter(quoted)),
            Some(b'\'') if !quoted => self.escaping(2, b'\''),
            Some(b'\\') if self.byte(self.at + 2) == Some(b'\n') => None,
            // So that `$?(` is no pattern.
            next => self.skip(1 + usize::from(next.is_some_and(|byte| b"@*#?-$!".contains(&byte)))),
        }
    }

    fn begin_part(&mut self, at: usize) {
        self.parts.push(Part { at, end: at, list: None });
    }

    fn end_part(&mut self, at: usize) -> Option<()> {
        let index = self.parts.binary_search_by_key(&at, |part| part.at).ok()?;
        self.parts[index].end = self.at;
        Some(())
    }

    /// The part that begins here, up to the bracket that closes it: quotes and expansions inside are passed.
    fn bracket(&mut self, begin: usize, opening: usize, open: u8, close: u8) -> Option<()> {
        self.begin_part(begin);
        self.at = begin + opening;
        self.nested(|reader| reader.until(open, close))?;
        self.at += 1;
        self.end_part(begin)
    }

    pub(super) fn until(&mut self, open: u8, close: u8) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.byte(self.at)? {
                byte if byte == close && depth == 0 => return Some(()),
                byte if byte == open && depth >= DEEPEST => return None,
                b'\\' if self.byte(self.at + 1) == Some(b'\n') => return None,
                byte => {
                    depth = depth + usize::from(byte == open) - usize::from(byte == close);
                    self.piece(byte)?;
                }
            }
        }
    }

    /// `$(…)` or `<(…)`: a program of its own.
    fn substitution(&mut self) -> Option<()> {
        let begin = self.at;
        self.begin_part(begin);
        self.at += 2;
        let outer = std::mem::take(&mut self.parts);
        self.level += 1;
        if self.level >= PROGRAMS {
            return None;
        }
        let list = self.nested(|reader| {
            let list = if reader.text.as_bytes()[begin] == b'$' { reader.list() } else { reader.statements() };
            list.filter(|_| reader.pass(")"))
        })?;
        // The body of a here-document must stand before the bracket.
        if self.documents.is_some_and(|documents| documents.level == self.level) {
            return None;
        }
        self.level -= 1;
        self.parts = outer;
        self.end_part(begin)?;
        self.parts.last_mut()?.list = Some(list);
        Some(())
    }

    /// `${…}`
    fn parameter(&mut self, quoted: bool) -> Option<()> {
        let begin = self.at;
        self.begin_part(begin);
        self.at += 2;
        while self.byte(self.at).is_some_and(is_name_byte) {
            self.at += 1;
        }
        // `${ program; }` and `${| program; }`
        if self.at == begin + 2 && matches!(self.byte(self.at)?, b' ' | b'\t' | b'\n' | b'|' | b'(') {
            return None;
        }
        loop {
            match self.byte(self.at)? {
                b'}' => break,
                b'\\' if self.byte(self.at + 1) == Some(b'\n') => return None,
                b'\'' if quoted => self.ambiguous()?,
                b'$' => self.dollar(quoted)?,
                byte => self.piece(byte)?,
            }
        }
        self.at += 1;
        self.end_part(begin)
    }

    /// Single quotes in `"${x:-…}"` hide a bracket in bash, and are letters in other shells: both must come to the same.
    fn ambiguous(&mut self) -> Option<()> {
        self.at += 1;
        let close = self.find(b'\'')?;
        while self.at < close {
            match self.byte(self.at)? {
                b'}' | b'"' | b'\\' | b'`' => return None,
                b'$' => self.dollar(true)?,
                _ => self.at += 1,
            }
        }
        (self.at == close).then(|| self.at += 1)
    }
}
