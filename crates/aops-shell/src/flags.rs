//! Which options a command is given, as git and GNU programs read them: letters in a bundle, long names that
//! are cut short, `--no-…` that takes an option back.

/// Options of their own, although longer ones begin like them.
const WHOLE: &[&str] = &[
    "--config", "--exec", "--force", "--include", "--index", "--pre", "--raw", "--read", "--rm", "--set",
    "--show", "--with",
];

/// `-xf` holds `-f`; `--force=yes` and `--forc` are `--force`.
pub fn is_option(text: &str, option: &str) -> bool {
    if let Some(letter) = option.strip_prefix('-').filter(|rest| rest.chars().count() == 1) {
        return text.starts_with('-') && !text.starts_with("--") && text[1..].contains(letter);
    }
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    text == option || name == option || is_cut_short(name, option)
}

fn is_cut_short(name: &str, option: &str) -> bool {
    let is_long = name.len() > 2 && name.starts_with("--");
    is_long && !option.contains('=') && option.starts_with(name) && !WHOLE.contains(&name)
}

/// Whether one of these options is given, and no later `--no-…` takes it back.
pub fn holds<'t>(texts: impl Iterator<Item = &'t str>, wanted: &[&str]) -> bool {
    let gives = |text: &str| wanted.iter().any(|option| is_option(text, option));
    texts.fold(false, |is, text| !takes_back(text, wanted) && (is || gives(text)))
}

/// `--no-dry-run`, also cut short.
pub fn takes_back(text: &str, wanted: &[&str]) -> bool {
    let rest = text.strip_prefix("--no-").filter(|rest| !rest.is_empty());
    rest.is_some_and(|rest| wanted.iter().any(|option| option.trim_start_matches('-').starts_with(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_may_be_cut_short() {
        for (text, option) in [
            ("-xf", "-f"),
            ("--force", "--force"),
            ("--forc", "--force"),
            ("--d", "--delete"),
            ("--targ=/etc", "--target-directory"),
            ("--update=none", "--update=none"),
        ] {
            assert!(is_option(text, option), "{text} {option}");
        }
        for (text, option) in [
            ("--", "--force"),
            ("-", "-f"),
            ("--force-with-lease", "--force"),
            ("--force", "--force-create"),
            ("--rm", "--rmi"),
            ("--update", "--update=none"),
            ("-auto", "-auto-approve"),
            ("--fx", "-f"),
        ] {
            assert!(!is_option(text, option), "{text} {option}");
        }
    }

    #[test]
    fn a_later_option_takes_an_earlier_one_back() {
        let is = |line: &str| holds(line.split(' '), &["-n", "--dry-run"]);
        for line in ["-n", "--dry-run", "--no-dry-run -n", "-fn --no-verify", "--dry"] {
            assert!(is(line), "{line}");
        }
        for line in ["-f", "-n --no-dry-run", "--dry-run --no-dry", "-n --no-n"] {
            assert!(!is(line), "{line}");
        }
    }
}
