//! Databases, and requests that delete something elsewhere.

use super::Search;
use super::call::Call;
use super::table::FORMS;
use super::{forms, outgoing, remote, secret, sql};
use crate::syntax::Word;

/// A program of the table of forms.
pub(super) fn formed(search: &mut Search, call: &Call) {
    for (id, names, all) in FORMS {
        if names.contains(&call.name) && all.iter().any(|form| forms::is(call, form)) {
            search.add(id, call.simple);
        }
    }
}

/// A shell of SQL: statements among its arguments and on its standard input.
pub(super) fn sql(search: &mut Search, call: &Call) {
    formed(search, call);
    // Nothing of `sqlite3 :memory:` is there before or after.
    if call.texts.iter().any(|text| text == ":memory:") {
        return;
    }
    let words = call.words.iter().map(Word::code);
    let glued = call.texts.iter().filter_map(|text| Some(text.split_once('=')?.1.to_owned()));
    let given: Vec<String> = words.chain(glued).chain(call.simple.script.clone()).collect();
    let short =
        call.texts.iter().filter(|text| text.starts_with("-e") || text.starts_with("-c")).map(|text| &text[2..]);
    let given: Vec<String> = given.into_iter().chain(files(search, call)).collect();
    if given.iter().any(|text| sql::destroys(text) || sql::drops_documents(text))
        || short.into_iter().any(sql::destroys)
    {
        search.add("sql-destroy", call.simple);
    }
}

/// What is in the files that it runs: `psql -f x.sql`, `mysql < x.sql`. One that is not there is nothing.
fn files(search: &Search, call: &Call) -> Vec<String> {
    let Some(read) = search.place.read else { return Vec::new() };
    let here = Word::of(search.place.cwd);
    let folder = call.simple.folders.first().unwrap_or(&here);
    let glued = call.words.iter().filter(|word| word.starts_with("--file=")).filter_map(|word| word.past('='));
    let fed = call.simple.arriving.iter().filter(|_| call.simple.fed.is_empty()).cloned();
    let named = call.values(&["-f", "--file", "-i", "--input-file"]).cloned().chain(glued).chain(fed);
    let paths = named.filter_map(|word| word.from_folder(folder).tidied().literal());
    paths.filter_map(|path| read(&path)).collect()
}

/// Keys found by one `redis-cli` and deleted by another.
pub(super) fn redis(search: &mut Search, call: &Call) {
    formed(search, call);
    let flushes = call.simple.script.as_ref().is_some_and(|text| sql::destroys(text));
    if flushes {
        search.add("database-drop", call.simple);
    }
}

pub(super) fn aws(search: &mut Search, call: &Call) {
    formed(search, call);
    if call.texts.iter().any(|text| sql::destroys(text.trim_start_matches("QueryString="))) {
        search.add("sql-destroy", call.simple);
    }
    let copies = call.texts.iter().take(3).any(|text| matches!(text.as_str(), "cp" | "sync" | "mv"));
    if copies {
        secret::sends(search, call);
    }
}

/// `curl` and its kin: a deleting request to another machine, a secret sent, a download into a place of the system.
pub(super) fn request(search: &mut Search, call: &Call) {
    let method = call.texts.windows(2).any(|pair| {
        matches!(pair[0].as_str(), "-X" | "--request" | "--method") && pair[1].eq_ignore_ascii_case("delete")
    });
    let glued = call.texts.iter().any(|text| {
        let text = text.to_lowercase();
        matches!(text.as_str(), "-xdelete" | "--request=delete" | "--method=delete")
            || text == "delete" && call.name != "curl"
    });
    if (method || glued) && remote::is_addressed_away(call) {
        search.add("http-delete", call.simple);
    }
    let changes = call.texts.iter().any(|text| {
        matches!(text.to_lowercase().trim_start_matches("-x").trim_start_matches("--request="), "post" | "put")
    });
    let body = call.texts.iter().any(|text| {
        let text = text.to_lowercase();
        let path = text.split('?').next().unwrap_or_default();
        let ends = ["/dodelete", "/delete", "/delete-batch", "/_close", "/_cluster/settings"];
        changes && ends.iter().any(|end| path.ends_with(end))
            || text.contains("mutation") && text.contains("delete")
            || text.contains("_delete_by_query")
            || text.contains("delete_series")
    });
    if body {
        search.add("http-delete", call.simple);
    }
    for word in call.values(&["-o", "--output", "-O", "--output-document", "-P", "--directory-prefix"]) {
        super::files::written(search, call.simple, word);
    }
    secret::sends(search, call);
    outgoing::sends(search, call);
}
