//! Sorts a command's arguments into options, their values, and operands.

use crate::shell::syntax::Word;

/// Arguments, sorted.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// Options as given, without their values.
    pub(super) options: Vec<String>,
    /// Option and its value.
    pub(super) values: Vec<(String, Word)>,
    pub(super) operands: Vec<Word>,
}

/// Sort arguments; `valued` are the options that take a value, long ones also with `=`, short ones also glued.
pub(super) fn sort(arguments: &[Word], valued: &[&str]) -> Sorted {
    let mut sorted = Sorted::default();
    let mut at = 0;
    let mut only_operands = false;
    while let Some(word) = arguments.get(at) {
        at += 1;
        if only_operands || !word.is_option() {
            sorted.operands.push(word.clone());
            continue;
        }
        let text = word.lossy();
        if text == "--" {
            only_operands = true;
        } else if valued.iter().any(|name| means(&text, name)) {
            if let Some(value) = arguments.get(at) {
                sorted.values.push((text.clone(), value.clone()));
                at += 1;
            }
            sorted.options.push(text);
        } else if let Some((name, _)) = text.split_once('=').filter(|(name, _)| name.starts_with("--")) {
            let value = word.past('=').unwrap_or_default();
            sorted.values.push((name.to_owned(), value));
            sorted.options.push(name.to_owned());
        } else if let Some(glued) = glued(&text, valued) {
            // `-xvfFILE`, `-oFILE`: the value begins after the letter that takes one, or is the next word.
            let rest = word.after(glued + 1);
            let letter = format!("-{}", text.chars().nth(glued).unwrap_or_default());
            let value = if rest.bits.is_empty() { arguments.get(at).cloned() } else { Some(rest.clone()) };
            at += usize::from(rest.bits.is_empty());
            sorted.values.extend(value.map(|value| (letter, value)));
            sorted.options.push(text.chars().take(glued + 1).collect());
        } else {
            sorted.options.push(text);
        }
    }
    sorted
}

/// The option as written is this one: letter by letter, or a long one cut short.
fn means(written: &str, name: &str) -> bool {
    written == name || written.len() > 2 && written.starts_with("--") && name.starts_with(written)
}

/// Where, in a bundle of short options, the first that takes a value stands.
fn glued(text: &str, valued: &[&str]) -> Option<usize> {
    if text.starts_with("--") {
        return None;
    }
    let letters = text.chars().enumerate().skip(1).take(8);
    letters
        .filter(|(_, c)| c.is_ascii_alphabetic())
        .find(|(_, c)| valued.contains(&format!("-{c}").as_str()))
        .map(|(at, _)| at)
}

impl Sorted {
    /// Any of these options, short ones also bundled.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.options.iter().any(|option| {
            names.iter().any(|name| {
                let letter = name.strip_prefix('-').filter(|rest| rest.chars().count() == 1);
                means(option, name)
                    || letter.is_some_and(|letter| !option.starts_with("--") && option.contains(letter))
            })
        })
    }

    /// The values of these options.
    pub(super) fn given(&self, names: &[&str]) -> Vec<Word> {
        self.values
            .iter()
            .filter(|(name, _)| names.iter().any(|known| means(name, known)))
            .map(|(_, value)| value.clone())
            .collect()
    }
}
