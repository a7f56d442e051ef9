//! Finds the end of a word, through quotes and expansions; parses the programs of substitutions on the way.

use super::{DEEPEST, PROGRAMS, Part, Raw, Reader, ends_word, is_name_byte};

impl<'a> Reader<'a> {
    /// Reads text with expansions, and keeps its parts.
    pub(super) fn gather(
        &mut self,
        begin: usize,
        read: impl FnOnce(&mut Self) -> Option<()>,
    ) -> Option<Raw<'a>> {
        let outer = std::mem::take(&mut self.parts);
        let result = read(self);
        let parts = std::mem::replace(&mut self.parts, outer);
        result?;
        // Here-documents begin after the line feed, so a word must not extend over it.
        if self
            .documents
            .is_some_and(|documents| documents.level == self.level && self.at > documents.line_end)
        {
            return None;
        }
        Some(Raw::new(self.text.get(begin..self.at)?, begin, parts))
    }

    pub(super) fn pass_word(&mut self) -> Option<()> {
        // The position after a sign that turns a bracket into a pattern.
        let mut pattern = None;
        while let Some(byte) = self.byte(self.at) {
            if byte == b'(' && pattern == Some(self.at) {
                self.bracket(1, b'(', ")")?;
            } else if self.at_process() {
                self.substitution()?;
            } else if ends_word(byte) {
                break;
            } else if byte == b'\\' && self.byte(self.at + 1) == Some(b'\n') {
                // Between words a continuation counts as a blank; inside a word it may hide a keyword or a
                // name, so it is refused.
                let end = self.at;
                while self.byte(self.at) == Some(b'\\') && self.byte(self.at + 1) == Some(b'\n') {
                    self.at += 2;
                }
                if self.byte(self.at).is_some_and(|byte| !ends_word(byte) || byte == b'(') {
                    return None;
                }
                self.at = end;
                break;
            } else {
                self.piece(false)?;
                pattern = b"@!?+*".contains(&byte).then_some(self.at);
            }
        }
        Some(())
    }

    /// Whether `<(` or `>(` begins here.
    pub(super) fn at_process(&self) -> bool {
        matches!(self.byte(self.at), Some(b'<' | b'>')) && self.byte(self.at + 1) == Some(b'(')
    }

    /// Skips one character, quoted text or expansion. With `quoted` (double quotes or a here-document),
    /// quotes are ordinary characters.
    pub(super) fn piece(&mut self, quoted: bool) -> Option<()> {
        match self.byte(self.at)? {
            b'\\' if quoted && self.byte(self.at + 1) == Some(b'\n') => self.continued(),
            // The rest of a longer character is like any other letter.
            b'\\' => self.skip(2),
            b'\'' if !quoted => self.single(),
            b'"' if !quoted => self.double(),
            b'$' => self.dollar(quoted),
            b'`' => self.escaping(1, b'`'),
            _ => self.skip(1),
        }
    }

    pub(super) fn skip(&mut self, count: usize) -> Option<()> {
        (self.at + count <= self.text.len()).then(|| self.at += count)
    }

    /// A line continuation inside quotes; refused if a name or operator would continue after it.
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
                reader.piece(true)?;
            }
            reader.skip(1)
        })
    }

    /// Skips backquotes or `$'…'` with an opening of this length; a backslash escapes the next character.
    fn escaping(&mut self, opening: usize, close: u8) -> Option<()> {
        self.at += opening;
        loop {
            match self.byte(self.at)? {
                byte if byte == close => return self.skip(1),
                b'\\' => self.skip(2)?,
                _ => self.at += 1,
            }
        }
    }

    fn dollar(&mut self, quoted: bool) -> Option<()> {
        match self.byte(self.at + 1) {
            Some(b'(') if self.byte(self.at + 2) == Some(b'(') => self.bracket(3, b'(', "))"),
            Some(b'(') => self.substitution(),
            Some(b'[') => self.bracket(2, b'[', "]"),
            Some(b'{') => self.nested(|reader| reader.part(|reader| reader.parameter(quoted))),
            Some(b'\'') if !quoted => self.escaping(2, b'\''),
            Some(b'\\') if self.byte(self.at + 2) == Some(b'\n') => None,
            // Prevents `$?(` from being read as a pattern.
            next => self.skip(1 + usize::from(next.is_some_and(|byte| b"@*#?-$!".contains(&byte)))),
        }
    }

    /// Records the start and end of the part that `read` skips.
    fn part<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let at = self.at;
        let index = self.parts.len();
        self.parts.push(Part { at, end: at, list: None });
        let read = read(self)?;
        self.parts[index].end = self.at;
        Some(read)
    }

    /// Skips the part that begins here up to its closing brackets, including quotes and expansions inside.
    fn bracket(&mut self, opening: usize, open: u8, closing: &str) -> Option<()> {
        self.part(|reader| {
            reader.at += opening;
            reader.nested(|reader| reader.until(open, closing.as_bytes()[0]))?;
            reader.text.get(reader.at..)?.starts_with(closing).then(|| reader.at += closing.len())
        })
    }

    pub(super) fn until(&mut self, open: u8, close: u8) -> Option<()> {
        let mut depth = 0usize;
        loop {
            match self.byte(self.at)? {
                byte if byte == close && depth == 0 => return Some(()),
                byte if byte == open && depth >= DEEPEST => return self.too_deep(),
                b'\\' if self.byte(self.at + 1) == Some(b'\n') => return None,
                byte => {
                    depth = depth + usize::from(byte == open) - usize::from(byte == close);
                    self.piece(false)?;
                }
            }
        }
    }

    /// `$(…)` or `<(…)`: a program of its own.
    fn substitution(&mut self) -> Option<()> {
        let is_process = self.byte(self.at) != Some(b'$');
        let list = self.part(|reader| {
            reader.at += 2;
            let outer = std::mem::take(&mut reader.parts);
            reader.level += 1;
            if reader.level >= PROGRAMS {
                return reader.too_deep();
            }
            let list = reader.nested(|reader| {
                let list = if is_process { reader.statements() } else { reader.list() };
                list.filter(|_| reader.pass(")"))
            })?;
            // The body of a here-document must come before the closing bracket.
            if reader.documents.is_some_and(|documents| documents.level == reader.level) {
                return None;
            }
            reader.level -= 1;
            reader.parts = outer;
            Some(list)
        })?;
        self.parts.last_mut()?.list = Some(list);
        Some(())
    }

    /// `${…}`
    fn parameter(&mut self, quoted: bool) -> Option<()> {
        let begin = self.at + 2;
        self.at = begin;
        while self.byte(self.at).is_some_and(is_name_byte) {
            self.at += 1;
        }
        // `${ program; }` and `${| program; }`
        if self.at == begin && matches!(self.byte(self.at)?, b' ' | b'\t' | b'\n' | b'|' | b'(') {
            return None;
        }
        loop {
            match self.byte(self.at)? {
                b'}' => return self.skip(1),
                b'\\' if self.byte(self.at + 1) == Some(b'\n') => return None,
                b'\'' if quoted => self.ambiguous()?,
                b'$' => self.dollar(quoted)?,
                _ => self.piece(false)?,
            }
        }
    }

    /// In `"${x:-…}"`, bash lets single quotes hide a bracket, while other shells treat them as ordinary
    /// characters. Refused unless both readings agree.
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
