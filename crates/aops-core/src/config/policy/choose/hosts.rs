//! Adds hosts to the lists of `[network]`, or of a folder's own `[[project]]` row, and removes them.

use super::{add_row, append, entry, put, quote, set_key, shorten};
use crate::config::policy::Folder;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// The text with this host in the list `allow` or `deny`, for one folder or everywhere.
pub fn add_host(text: &str, folder: Option<Folder>, key: &str, host: &str) -> Option<String> {
    let mut hosts = listed(text, folder, key)?;
    if hosts.iter().any(|known| known == host) {
        return Some(text.to_owned());
    }
    hosts.push(host.to_owned());
    set(text, folder, key, &hosts)
}

/// The text without this host in that list.
pub fn remove_host(text: &str, folder: Option<Folder>, key: &str, host: &str) -> Option<String> {
    let mut hosts = listed(text, folder, key)?;
    let before = hosts.len();
    hosts.retain(|known| known != host);
    if hosts.len() == before { Some(text.to_owned()) } else { set(text, folder, key, &hosts) }
}

/// The present list, in lower case, as hosts are compared.
fn listed(text: &str, folder: Option<Folder>, key: &str) -> Option<Vec<String>> {
    let document = DeTable::parse(text).ok()?;
    let table = match folder {
        None => entry(document.get_ref(), "network").map(|(_, table)| table),
        Some(folder) => own_row(document.get_ref(), folder)?,
    };
    let Some(table) = table else { return Some(Vec::new()) };
    let DeValue::Table(table) = table.get_ref() else { return None };
    let word = |item: &Spanned<DeValue>| match item.get_ref() {
        DeValue::String(host) => Some(host.to_ascii_lowercase()),
        _ => None,
    };
    match entry(table, key).map(|(_, value)| value) {
        None => Some(Vec::new()),
        Some(value) => match value.get_ref() {
            DeValue::Array(items) => items.iter().map(word).collect(),
            _ => word(value).map(|host| vec![host]),
        },
    }
}

fn set(text: &str, folder: Option<Folder>, key: &str, hosts: &[String]) -> Option<String> {
    let quoted: Vec<String> = hosts.iter().map(|host| quote(host)).collect();
    let list = format!("[{}]", quoted.join(", "));
    let Some(folder) = folder else { return set_key(text, "network", key, &list) };
    let document = DeTable::parse(text).ok()?;
    if let Some(row) = own_row(document.get_ref(), folder)? {
        return put(text, row, key, &list);
    }
    let path = quote(&shorten(folder));
    let fields = [("path", path.as_str()), (key, list.as_str())];
    let Some((_, rows)) = entry(document.get_ref(), "project") else {
        return Some(append(text, "[[project]]", &fields));
    };
    let DeValue::Array(items) = rows.get_ref() else { return None };
    Some(add_row(text, &rows.span(), items.iter().last().map(Spanned::span), &fields))
}

/// The row that is for exactly this folder and sets only hosts, if there is one; the outer `None` means that
/// the rows cannot be read.
#[expect(clippy::option_option, reason = "no such row is no problem")]
fn own_row<'a, 'i>(document: &'a DeTable<'i>, folder: Folder) -> Option<Option<&'a Spanned<DeValue<'i>>>> {
    let Some((_, rows)) = entry(document, "project") else { return Some(None) };
    let DeValue::Array(items) = rows.get_ref() else { return None };
    let is_own = |item: &&Spanned<DeValue>| {
        let DeValue::Table(table) = item.get_ref() else { return false };
        let path = entry(table, "path").and_then(|(_, path)| path.get_ref().as_str());
        let own = path.is_some_and(|path| [folder.path, &shorten(folder)].contains(&path));
        own && ["mode", "danger"].iter().all(|other| entry(table, other).is_none())
    };
    Some(items.iter().rev().find(is_own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::policy::{ModeLevel, Policy, Source, read_for};

    const HERE: Folder = Folder { path: "/home/u/p", home: "/home/u" };
    const ELSEWHERE: Folder = Folder { path: "/home/u/q", home: "/home/u" };

    fn read(text: &str, folder: Folder) -> Policy {
        let read = read_for(ModeLevel::Strict, folder, None, Some(Source { file: "f", text }), None);
        read.unwrap_or_else(|problems| panic!("{problems:?}: {text}")).0
    }

    #[test]
    fn a_host_is_added_everywhere_and_taken_out_again() {
        for (before, after) in [
            ("", "[network]\nallow = [\"a.test\"]\n"),
            ("[network]\nallow = \"b.test\" # why\n", "[network]\nallow = [\"b.test\", \"a.test\"] # why\n"),
            ("network.mode = \"ask\"\n", "network.allow = [\"a.test\"]\nnetwork.mode = \"ask\"\n"),
            ("[network]\nallow = [\"A.test\"]\n", "[network]\nallow = [\"A.test\"]\n"),
        ] {
            let now = add_host(before, None, "allow", "a.test").unwrap();
            assert_eq!(now, after, "{before}");
            assert!(
                read(&now, ELSEWHERE).network.allow.iter().any(|host| host.eq_ignore_ascii_case("a.test")),
                "{now}"
            );
            let gone = remove_host(&now, None, "allow", "a.test").unwrap();
            assert!(!read(&gone, HERE).network.allow.contains(&"a.test".to_owned()), "{gone}");
        }
        assert_eq!(add_host("network = 1", None, "allow", "a.test"), None);
        assert_eq!(add_host("[network]\nallow = 1\n", None, "allow", "a.test"), None);
    }

    #[test]
    fn a_host_of_one_folder_is_in_a_row_of_its_own() {
        let row = "[[project]]\npath = \"~/p\"\nallow = [\"a.test\"]\n";
        let mode = "[[project]]\npath = \"~/p\"\nmode = \"guard\"\n";
        let global = "[network]\nmode = \"list\"\nallow = [\"g.test\"]\n";
        let two = "[[project]]\npath = \"~/p\"\nallow = [\"b.test\", \"a.test\"]\n";
        for (before, after) in [
            (String::new(), row.to_owned()),
            (mode.to_owned(), format!("{mode}\n{row}")),
            (global.to_owned(), format!("{global}\n{row}")),
            (format!("{row}\n{global}"), format!("{row}\n{global}")),
            (two.replace(", \"a.test\"", ""), two.to_owned()),
        ] {
            let now = add_host(&before, Some(HERE), "allow", "a.test").unwrap();
            assert_eq!(now, after, "{before}");
            assert!(read(&now, HERE).network.allow.contains(&"a.test".to_owned()), "{now}");
            assert!(!read(&now, ELSEWHERE).network.allow.contains(&"a.test".to_owned()), "only there: {now}");
            let denied = add_host(&now, Some(HERE), "deny", "x.test").unwrap();
            assert_eq!(read(&denied, HERE).network.deny, ["x.test"], "{denied}");
            let gone = remove_host(&denied, Some(HERE), "deny", "x.test").unwrap();
            assert_eq!(read(&gone, HERE).network, read(&now, HERE).network);
        }
        assert_eq!(add_host("project = 1", Some(HERE), "allow", "a.test"), None);
    }
}
