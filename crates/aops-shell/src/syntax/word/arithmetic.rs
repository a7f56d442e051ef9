//! What an arithmetic text evaluates.
//!
//! The shell evaluates a variable's value repeatedly, and an index in it may run a program. So only numbers,
//! operators and names of variables are known here; whether a variable always holds a number is decided over
//! the whole line. Anything else makes the text odd.

use crate::syntax::tree::{Raw, is_name_byte};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Terms {
    /// Variables whose value is evaluated.
    pub(super) names: Vec<String>,
    /// Variables that it assigns: `x = 1`.
    pub(super) sets: Vec<String>,
    /// It contains something other than numbers, operators, names and substitutions.
    pub(super) is_odd: bool,
}

/// The names and assignments between these bytes.
pub(super) fn terms(raw: &Raw, from: usize, to: usize) -> Terms {
    let mut all = Terms::default();
    // `@` and `*` mean all elements of an array, and are not evaluated.
    if !matches!(&raw.text[from..to], "@" | "*") {
        all.read(raw, from, to);
    }
    all
}

impl Terms {
    fn read(&mut self, raw: &Raw, from: usize, to: usize) {
        let bytes = &raw.text.as_bytes()[..to];
        let name_end = |from: usize| (from..to).find(|&at| !is_name_byte(bytes[at])).unwrap_or(to);
        let mut at = from;
        while at < to {
            at = match bytes[at] {
                b'$' => self.dollar(raw, at, to),
                byte if byte.is_ascii_digit() => {
                    let end = name_end(at);
                    // `16#ff`
                    if bytes.get(end) == Some(&b'#') { name_end(end + 1) } else { end }
                }
                byte if is_name_byte(byte) => {
                    let end = name_end(at);
                    self.name(&raw.text[at..end], &raw.text[end..to]);
                    end
                }
                byte => {
                    self.is_odd |= !b" \t\n+-*/%<>=!&|^~?:,();.\"`".contains(&byte);
                    at + 1
                }
            };
        }
    }

    fn name(&mut self, name: &str, rest: &str) {
        self.names.push(name.to_owned());
        let rest = rest.trim_start();
        if rest.starts_with('=') && !rest.starts_with("==") {
            self.sets.push(name.to_owned());
        }
        self.is_odd |= rest.starts_with('[');
    }

    /// Reads what a `$` begins. Returns the position after it.
    fn dollar(&mut self, raw: &Raw, at: usize, to: usize) -> usize {
        let next = raw.text.as_bytes()[..to].get(at + 1).copied().unwrap_or_default();
        match (next, raw.part(at).filter(|(_, end)| *end <= to)) {
            // A program: its output is examined where it runs.
            (b'(', Some((part, end))) if part.list.is_some() => end,
            (b'(', Some((_, end))) => {
                self.read(raw, at + 3, end - 2);
                end
            }
            (b'[', Some((_, end))) => {
                self.read(raw, at + 2, end - 1);
                end
            }
            (b'{', Some((_, end))) => {
                self.braced(&raw.text[at + 2..end - 1]);
                end
            }
            (b'#' | b'?' | b'$' | b'!', _) => at + 2,
            (b'@' | b'*' | b'0'..=b'9', _) => {
                self.names.push(char::from(next).to_string());
                at + 2
            }
            (byte, _) => {
                self.is_odd |= !is_name_byte(byte);
                at + 1
            }
        }
    }

    /// `${x}` or `${#x}`.
    fn braced(&mut self, inside: &str) {
        let is_name = |text: &str| !text.is_empty() && text.bytes().all(is_name_byte);
        match inside.strip_prefix('#') {
            Some(rest) => {
                let name = rest.trim_end_matches("[@]").trim_end_matches("[*]");
                self.is_odd |= !(rest.is_empty() || matches!(rest, "@" | "*") || is_name(name));
            }
            None if is_name(inside) => self.names.push(inside.to_owned()),
            None => self.is_odd = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_are_told_from_all_else() {
        let read = |text: &str| terms(&Raw::plain(text), 0, text.len());
        let names = |text: &str| read(text).names.join(" ");
        assert_eq!(names("1 + 0x1F * (16#ff - 2)"), "");
        assert_eq!(names("i < n && $1 > \"x\""), "i n 1 x");
        assert_eq!(read("i = 1, j == 2").sets, ["i"]);
        for odd in ["a[0]", "x[$y]", "'x'", "a\\b", "é", "${x:-1}", "@{"] {
            assert!(read(odd).is_odd, "{odd}");
        }
        for even in ["@", "*", "$# + $?", "i++", "x ? 1 : 2", ""] {
            assert!(!read(even).is_odd, "{even}");
        }
    }
}
