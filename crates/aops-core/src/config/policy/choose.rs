//! Writes a chosen mode, a danger rule's level, or a host into the text of a user's configuration, leaving
//! every other byte unchanged.
//!
//! Reads text, gives text. Invariants: the result is the same configuration except for the chosen value; a
//! text that is not TOML, or that has these keys in a form we do not know, gives `None`.

mod hosts;
mod unset;

pub use hosts::{add_host, remove_host};
pub use unset::{unset_danger, unset_folder_danger, unset_folder_mode};

use super::network::NetworkMode;
use super::{DangerLevel, Folder, ModeLevel, QuietLevel};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

type Entry<'a, 'i> = (&'a Spanned<Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

/// The text with this `[mode] level`. A contradicting `observe` is changed, too.
pub fn set_mode(text: &str, level: ModeLevel) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let word = quote(level.name());
    let Some((_, mode)) = entry(document.get_ref(), "mode") else {
        return Some(append(text, "[mode]", &[("level", &word)]));
    };
    let DeValue::Table(table) = mode.get_ref() else { return None };
    let observes = (level == ModeLevel::Observe).to_string();
    match (entry(table, "level"), entry(table, "observe")) {
        (Some((_, level)), None) => Some(splice(text, level.span(), &word)),
        (Some((_, level)), Some((_, observe))) => {
            let mut edits = [(level.span(), word), (observe.span(), observes)];
            edits.sort_by_key(|(span, _)| span.start);
            let [first, second] = edits;
            Some(splice(&splice(text, second.0, &second.1), first.0, &first.1))
        }
        (None, Some((key, value))) => {
            Some(splice(text, key.span().start..value.span().end, &format!("level = {word}")))
        }
        (None, None) => Some(add_key(text, table, &mode.span(), "level", &word)),
    }
}

/// The text with this mode for one folder: in the row that applies there if it is the folder's own, otherwise
/// in a new one.
pub fn set_folder_mode(text: &str, folder: Folder, level: ModeLevel) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let path = quote(&shorten(folder));
    let word = quote(level.name());
    let fields = [("path", path.as_str()), ("mode", word.as_str())];
    let Some((_, rows)) = entry(document.get_ref(), "project") else {
        return Some(append(text, "[[project]]", &fields));
    };
    let DeValue::Array(items) = rows.get_ref() else { return None };
    let covering = items.iter().filter_map(|item| row(item)).rfind(|(path, _)| folder.is_in(path));
    if let Some((path, mode)) = covering
        && [folder.path, &shorten(folder)].contains(&path)
    {
        return Some(splice(text, mode, &word));
    }
    Some(add_row(text, &rows.span(), items.iter().last().map(Spanned::span), &fields))
}

/// Adds one more row, in the style of the others.
fn add_row(text: &str, rows: &Range<usize>, last: Option<Range<usize>>, fields: &[(&str, &str)]) -> String {
    let inline: Vec<String> = fields.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    let inline = format!("{{ {} }}", inline.join(", "));
    match (text[rows.clone()].strip_prefix('['), last) {
        (Some(rest), Some(last)) if !rest.starts_with('[') => {
            splice(text, last.end..last.end, &format!(", {inline}"))
        }
        (Some(rest), None) if !rest.starts_with('[') => splice(text, rows.clone(), &format!("[{inline}]")),
        _ => append(text, "[[project]]", fields),
    }
}

/// The text with this level of a danger rule.
pub fn set_danger(text: &str, rule: &str, level: DangerLevel) -> Option<String> {
    set_key(text, "danger", rule, &quote(level.name()))
}

/// The text with this level of quiet, and with the programs that may use the network.
pub fn set_quiet(text: &str, level: QuietLevel, network: &[&str]) -> Option<String> {
    let names: Vec<String> = network.iter().map(|name| quote(name)).collect();
    let text = set_key(text, "quiet", "allow", &quote(level.name()))?;
    set_key(&text, "quiet", "network", &format!("[{}]", names.join(", ")))
}

/// The text with this `[network] mode`.
pub fn set_network_mode(text: &str, mode: NetworkMode) -> Option<String> {
    set_key(text, "network", "mode", &quote(mode.name()))
}

/// The text with these `[network] local` ports; unchanged without any.
pub fn set_network_local(text: &str, ports: &BTreeSet<u16>) -> Option<String> {
    let all: Vec<String> = ports.iter().map(u16::to_string).collect();
    if all.is_empty() {
        Some(text.to_owned())
    } else {
        set_key(text, "network", "local", &format!("[{}]", all.join(", ")))
    }
}

fn set_key(text: &str, name: &str, key: &str, word: &str) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    match entry(document.get_ref(), name) {
        None => Some(append(text, &format!("[{name}]"), &[(key, word)])),
        Some((_, table)) => put(text, table, key, word),
    }
}

/// The text with this level of a danger rule for one folder: in a separate row that sets no mode.
pub fn set_folder_danger(text: &str, folder: Folder, rule: &str, level: DangerLevel) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let path = quote(&shorten(folder));
    let word = quote(level.name());
    let switch = format!("danger.{rule}");
    let fields = [("path", path.as_str()), (switch.as_str(), word.as_str())];
    let Some((_, rows)) = entry(document.get_ref(), "project") else {
        return Some(append(text, "[[project]]", &fields));
    };
    let DeValue::Array(items) = rows.get_ref() else { return None };
    let own = items.iter().filter_map(|item| danger_row(item, folder)).next_back();
    match own {
        Some(table) => put(text, table, rule, &word),
        None => Some(add_row(text, &rows.span(), items.iter().last().map(Spanned::span), &fields)),
    }
}

/// The danger rules of a row that is for exactly this folder and sets no mode.
fn danger_row<'a, 'i>(item: &'a Spanned<DeValue<'i>>, folder: Folder) -> Option<&'a Spanned<DeValue<'i>>> {
    let DeValue::Table(table) = item.get_ref() else { return None };
    let DeValue::String(path) = entry(table, "path")?.1.get_ref() else { return None };
    let own = [folder.path, &shorten(folder)].contains(&path.as_ref());
    entry(table, "danger").filter(|_| own && entry(table, "mode").is_none()).map(|(_, table)| table)
}

/// Sets this key of a table.
fn put(text: &str, item: &Spanned<DeValue>, key: &str, word: &str) -> Option<String> {
    let DeValue::Table(table) = item.get_ref() else { return None };
    Some(match entry(table, key) {
        Some((_, value)) => splice(text, value.span(), word),
        None => add_key(text, table, &item.span(), key, word),
    })
}

/// A folder in the way people write it.
pub fn shorten(folder: Folder) -> String {
    let home = folder.home.trim_end_matches('/');
    match folder.path.strip_prefix(home).filter(|rest| !home.is_empty() && rest.starts_with('/')) {
        Some(rest) => format!("~{rest}"),
        None => folder.path.to_owned(),
    }
}

/// The path of a `[[project]]` row, and the position of its mode.
fn row<'a>(item: &'a Spanned<DeValue>) -> Option<(&'a str, Range<usize>)> {
    let DeValue::Table(table) = item.get_ref() else { return None };
    let (_, path) = entry(table, "path")?;
    let DeValue::String(path) = path.get_ref() else { return None };
    Some((path, entry(table, "mode")?.1.span()))
}

/// Adds a key to a table in the table's own notation.
fn add_key(text: &str, table: &DeTable, whole: &Range<usize>, key: &str, word: &str) -> String {
    let newline = newline(text);
    let Some(first) = table.iter().map(|(key, _)| key.span().start).min() else {
        if text[whole.start..].starts_with('{') {
            return splice(text, whole.clone(), &format!("{{ {key} = {word} }}"));
        }
        let end = text[whole.start..].find('\n').map(|at| whole.start + at + 1);
        let lead = if end.is_some() { "" } else { newline };
        let end = end.unwrap_or(text.len());
        return splice(text, end..end, &format!("{lead}{key} = {word}{newline}"));
    };
    let line = text[..first].rfind('\n').map_or(0, |at| at + 1);
    let lead = &text[line..first];
    match lead.trim_end().chars().next_back() {
        None => splice(text, first..first, &format!("{key} = {word}{newline}{lead}")),
        Some('{' | ',') => splice(text, first..first, &format!("{key} = {word}, ")),
        Some(_) => splice(text, line..line, &format!("{lead}{key} = {word}{newline}")),
    }
}

/// Adds a new table at the end, where it does not absorb a key of another table.
fn append(text: &str, header: &str, fields: &[(&str, &str)]) -> String {
    let newline = newline(text);
    let mut all = text.to_owned();
    if !all.is_empty() && !all.ends_with('\n') {
        all.push_str(newline);
    }
    if !all.trim().is_empty() {
        all.push_str(newline);
    }
    all.extend([header, newline]);
    for (name, value) in fields {
        all.extend([name, " = ", value, newline]);
    }
    all
}

fn entry<'a, 'i>(table: &'a DeTable<'i>, name: &str) -> Option<Entry<'a, 'i>> {
    table.iter().find(|(key, _)| key.get_ref() == name)
}

fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// JSON strings are valid TOML strings.
fn quote(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn splice(text: &str, span: Range<usize>, new: &str) -> String {
    [&text[..span.start], new, &text[span.end..]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::policy::{Source, read_for};

    const HERE: Folder = Folder { path: "/home/u/p", home: "/home/u" };

    fn level(text: &str) -> ModeLevel {
        let read = read_for(ModeLevel::Strict, HERE, None, Some(Source { file: "f", text }), None);
        read.unwrap_or_else(|problems| panic!("{problems:?}: {text}")).0.mode.level()
    }

    /// Every notation, and the resulting text.
    #[test]
    fn a_mode_is_set_in_place() {
        for (before, after) in [
            ("", "[mode]\nlevel = \"loop\"\n"),
            ("# mine\n", "# mine\n\n[mode]\nlevel = \"loop\"\n"),
            ("tracker.command = \"none\"", "tracker.command = \"none\"\n\n[mode]\nlevel = \"loop\"\n"),
            ("[mode]\nlevel = 'strict' # why\n", "[mode]\nlevel = \"loop\" # why\n"),
            ("mode.level = \"guard\"\r\n", "mode.level = \"loop\"\r\n"),
            ("mode = { level = \"guard\" }\n", "mode = { level = \"loop\" }\n"),
            ("[mode]\nobserve = true # old\n", "[mode]\nlevel = \"loop\" # old\n"),
            ("mode.observe = false\n", "mode.level = \"loop\"\n"),
            ("[mode]\nobserve = true\nlevel = \"observe\"\n", "[mode]\nobserve = false\nlevel = \"loop\"\n"),
            ("[mode]\n", "[mode]\nlevel = \"loop\"\n"),
            ("[mode] # empty", "[mode] # empty\nlevel = \"loop\"\n"),
            ("mode = {}\n", "mode = { level = \"loop\" }\n"),
            (
                "[mode]\n# which\n  rehearse = \"strict\"\n[gates]\nqa = \"off\"\n",
                "[mode]\n# which\n  level = \"loop\"\n  rehearse = \"strict\"\n[gates]\nqa = \"off\"\n",
            ),
            ("mode.rehearse = \"strict\"\n", "mode.level = \"loop\"\nmode.rehearse = \"strict\"\n"),
            ("mode = {rehearse = \"loop\"}\n", "mode = {level = \"loop\", rehearse = \"loop\"}\n"),
            ("[gates]\r\nqa = \"off\"\r\n", "[gates]\r\nqa = \"off\"\r\n\r\n[mode]\r\nlevel = \"loop\"\r\n"),
        ] {
            let now = set_mode(before, ModeLevel::Loop).unwrap();
            assert_eq!(now, after, "{before}");
            assert_eq!(level(&now), ModeLevel::Loop, "{now}");
            assert_eq!(set_mode(&now, ModeLevel::Loop).as_deref(), Some(after), "twice is once");
            let observe = set_mode(&now, ModeLevel::Observe).unwrap();
            assert_eq!(level(&observe), ModeLevel::Observe, "{observe}");
        }
        assert_eq!(set_mode("mode = ", ModeLevel::Loop), None);
        assert_eq!(set_mode("mode = 1", ModeLevel::Loop), None);
    }

    fn switched(text: &str) -> DangerLevel {
        let read = read_for(ModeLevel::Strict, HERE, None, Some(Source { file: "f", text }), None);
        let policy = read.unwrap_or_else(|problems| panic!("{problems:?}: {text}")).0;
        policy.danger_level(aops_shell::danger::rule("git-discard").unwrap())
    }

    #[test]
    fn a_danger_rule_is_switched_in_place() {
        for (before, after) in [
            ("", "[danger]\ngit-discard = \"off\"\n"),
            ("[danger]\ngit-discard = 'ask' # why\n", "[danger]\ngit-discard = \"off\" # why\n"),
            ("[danger]\ngit-clean = \"deny\"\n", "[danger]\ngit-discard = \"off\"\ngit-clean = \"deny\"\n"),
            ("danger.git-clean = \"deny\"\n", "danger.git-discard = \"off\"\ndanger.git-clean = \"deny\"\n"),
            (
                "danger = { git-clean = \"deny\" }\n",
                "danger = { git-discard = \"off\", git-clean = \"deny\" }\n",
            ),
            ("danger = {}\n", "danger = { git-discard = \"off\" }\n"),
            ("[danger]\n", "[danger]\ngit-discard = \"off\"\n"),
        ] {
            let now = set_danger(before, "git-discard", DangerLevel::Off).unwrap();
            assert_eq!(now, after, "{before}");
            assert_eq!(switched(&now), DangerLevel::Off, "{now}");
            let back = set_danger(&now, "git-discard", DangerLevel::Deny).unwrap();
            assert_eq!(switched(&back), DangerLevel::Deny, "{back}");
        }
        assert_eq!(set_danger("danger = 1", "git-discard", DangerLevel::Off), None);
    }

    #[test]
    fn a_danger_rule_is_switched_for_a_folder() {
        let own = "[[project]]\npath = \"~/p\"\ndanger.git-discard = \"off\"\n";
        let mode = "[[project]]\npath = \"~/p\"\nmode = \"guard\"\n";
        let deny = "[danger]\ngit-discard = \"deny\"\n";
        let clean = "danger.git-clean = \"deny\"\n";
        let inline = "project = [{ path = \"/x\", mode = \"loop\" }]\n";
        for (before, after) in [
            (String::new(), own.to_owned()),
            (deny.to_owned(), format!("{deny}\n{own}")),
            (mode.to_owned(), format!("{mode}\n{own}")),
            (own.replace("off", "deny"), own.to_owned()),
            (format!("[[project]]\npath = \"~/p\"\n{clean}"), format!("{own}{clean}")),
            (inline.to_owned(), inline.replace("}]", "}, { path = \"~/p\", danger.git-discard = \"off\" }]")),
        ] {
            let now = set_folder_danger(&before, HERE, "git-discard", DangerLevel::Off).unwrap();
            assert_eq!(now, after, "{before}");
            assert_eq!(switched(&now), DangerLevel::Off, "{now}");
            let elsewhere = Folder { path: "/home/u/q", home: "/home/u" };
            let read =
                read_for(ModeLevel::Strict, elsewhere, None, Some(Source { file: "f", text: &now }), None)
                    .unwrap();
            let rule = aops_shell::danger::rule("git-discard").unwrap();
            assert_ne!(read.0.danger_level(rule), DangerLevel::Off, "only there: {now}");
            let twice = set_folder_danger(&now, HERE, "git-discard", DangerLevel::Off);
            assert_eq!(twice, Some(now), "twice is once");
        }
        for bad in ["", "danger.frob = \"off\"\n", "danger.git-clean = 1\n", "danger = 1\n"] {
            let text = format!("[[project]]\npath = \"~/p\"\n{bad}");
            assert!(
                read_for(ModeLevel::Strict, HERE, None, Some(Source { file: "f", text: &text }), None)
                    .is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn quiet_is_set_in_every_form_of_the_table() {
        let whole = "[quiet]\nnetwork = [\"gh\"]\nallow = \"reading\"\n";
        for (before, after) in [
            (String::new(), whole.to_owned()),
            ("[gates]\nqa = \"off\"\n".to_owned(), format!("[gates]\nqa = \"off\"\n\n{whole}")),
            (whole.replace("reading", "off").replace("\"gh\"", ""), whole.to_owned()),
            (
                "quiet.allow = \"off\"\n".to_owned(),
                "quiet.network = [\"gh\"]\nquiet.allow = \"reading\"\n".to_owned(),
            ),
        ] {
            let now = set_quiet(&before, QuietLevel::Reading, &["gh"]).unwrap();
            assert_eq!(now, after, "{before}");
            let read = read_for(ModeLevel::Strict, HERE, None, Some(Source { file: "f", text: &now }), None)
                .unwrap();
            assert_eq!(
                (read.0.quiet.allow, read.0.quiet.network),
                (QuietLevel::Reading, vec!["gh".to_owned()])
            );
        }
        assert_eq!(set_quiet("quiet = 1", QuietLevel::Off, &[]), None);
        let text = set_network_mode("network.allow = [\"a.test\"]\n", NetworkMode::List).unwrap();
        assert_eq!(text, "network.mode = \"list\"\nnetwork.allow = [\"a.test\"]\n");
    }

    #[test]
    fn a_row_is_taken_out_and_the_rest_stays() {
        for before in
            ["", "# mine\n", "[gates]\nqa = \"off\"\n", "project = [{ path = \"/x\", mode = \"loop\" }]\n"]
        {
            let with = set_folder_mode(before, HERE, ModeLevel::Observe).unwrap();
            assert_eq!(unset_folder_mode(&with, HERE).as_deref(), Some(before), "{with}");
        }
        let first = "project = [{ path = \"~/p\", mode = \"loop\" }, { path = \"/x\", mode = \"loop\" }]\n";
        assert_eq!(
            unset_folder_mode(first, HERE).as_deref(),
            Some("project = [{ path = \"/x\", mode = \"loop\" }]\n")
        );
        let between = "[[project]]\npath = \"~/p\"\nmode = \"loop\" # here\n\n[gates]\nqa = \"off\"\n";
        assert_eq!(unset_folder_mode(between, HERE).as_deref(), Some("\n[gates]\nqa = \"off\"\n"));
        assert_eq!(
            unset_folder_mode("[[project]]\npath = \"~\"\nmode = \"loop\"\n", HERE),
            None,
            "not its own"
        );
    }

    #[test]
    fn a_folder_has_a_row_of_its_own() {
        let row = "[[project]]\npath = \"~/p\"\nmode = \"observe\"\n";
        let wide = "[[project]]\npath = \"~\"\nmode = \"strict\"\n";
        for (before, after) in [
            (String::new(), row.to_owned()),
            ("[gates]\nqa = \"off\"\n".to_owned(), format!("[gates]\nqa = \"off\"\n\n{row}")),
            (row.replace("observe", "guard") + "# end\n", format!("{row}# end\n")),
            (row.replace("~/p", "/home/u/p"), row.replace("~/p", "/home/u/p")),
            (wide.to_owned(), format!("{wide}\n{row}")),
            (format!("{row}\n{wide}"), format!("{row}\n{wide}\n{row}")),
            ("project = []\n".to_owned(), "project = [{ path = \"~/p\", mode = \"observe\" }]\n".to_owned()),
            (
                "project = [{path = \"/x\", mode = \"loop\"},]\n".to_owned(),
                "project = [{path = \"/x\", mode = \"loop\"}, { path = \"~/p\", mode = \"observe\" },]\n"
                    .to_owned(),
            ),
        ] {
            let now = set_folder_mode(&before, HERE, ModeLevel::Observe).unwrap();
            assert_eq!(now, after, "{before}");
            assert_eq!(level(&now), ModeLevel::Observe, "{now}");
            assert_eq!(set_folder_mode(&now, HERE, ModeLevel::Observe), Some(now.clone()), "twice is once");
            let gone = unset_folder_mode(&now, HERE).unwrap();
            assert!(
                unset_folder_mode(&gone, HERE).is_none() || before.matches("/p\"").count() == 1,
                "{gone}"
            );
            let _ = level(&gone);
        }
        assert_eq!(set_folder_mode("project = 1", HERE, ModeLevel::Loop), None);
        let odd = Folder { path: "/o \"d\\", home: "" };
        let now = set_folder_mode("", odd, ModeLevel::Guard).unwrap();
        let read =
            read_for(ModeLevel::Strict, odd, None, Some(Source { file: "f", text: &now }), None).unwrap();
        assert_eq!(read.0.mode.level(), ModeLevel::Guard, "{now}");
    }
}
