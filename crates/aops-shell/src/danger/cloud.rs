//! Databases, and requests that delete something on another machine.

use super::Search;
use super::call::{Call, is_among_tests, is_trial, is_unknown};
use super::place::Fed;
use super::table::FORMS;
use super::{forms, outgoing, printed, remote, secret, sql};
use crate::flags::is_option;
use crate::syntax::Word;

/// A program in the table of forms.
pub(super) fn formed(search: &mut Search, call: &Call) {
    for (id, names, all) in FORMS {
        if !names.contains(&call.name) || !all.iter().any(|form| forms::is(call, form)) {
            continue;
        }
        match *id {
            "database-drop" if is_among_tests(call) => {}
            "container-wipe" | "cluster-delete" | "database-drop" if is_all_trial(call) => {}
            "cloud-delete" | "cluster-delete" | "publish-release" if is_local(call) => {}
            // The secret may go to another command, and is then not shown.
            "secret-print" if call.simple.silent => {}
            "secret-print" if !printed::is_kept(call.simple) => search.shown.push(call.simple.clone()),
            id => search.add(id, call.simple),
        }
    }
}

/// Whether everything it names, apart from its verbs, is for tests.
fn is_all_trial(call: &Call) -> bool {
    #[rustfmt::skip]
    const VERBS: &[&str] = &[
        "clean", "cluster", "clusters", "compose", "container", "delete", "destroy", "down", "drop", "image", "kill", "network",
        "reset", "rm", "rmi", "stop", "volume", "remove", "database", "db",
    ];
    let named: Vec<String> = call.operands().into_iter().map(|(_, word)| word.lossy()).collect();
    let mut named = named.iter().filter(|text| !VERBS.contains(&text.as_str())).peekable();
    named.peek().is_some() && named.all(|text| is_trial(text))
}

/// Whether it acts on a local stand-in for a cloud, a cluster or a registry.
fn is_local(call: &Call) -> bool {
    let here = |text: &str| {
        let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
        ["localhost", "127.0.0.1", "0.0.0.0", "host.docker.internal"]
            .iter()
            .any(|host| rest.starts_with(host))
    };
    let cluster = |text: &str| {
        ["kind-", "k3d-"].iter().any(|begin| text.starts_with(begin))
            || matches!(text, "minikube" | "docker-desktop" | "rancher-desktop" | "orbstack" | "colima")
    };
    call.texts.iter().enumerate().any(|(at, text)| {
        let (option, value) = match text.split_once('=') {
            Some((option, value)) if option.starts_with("--") => (option, value),
            _ => (if at > 0 { call.texts[at - 1].as_str() } else { "" }, text.as_str()),
        };
        option == "--endpoint-url" && here(value)
            || matches!(option, "--context" | "--kube-context") && cluster(value)
            || matches!(option, "push" | "-t" | "--tag") && here(value)
    })
}

/// A SQL client: statements in its arguments and on its standard input.
pub(super) fn sql(search: &mut Search, call: &Call) {
    formed(search, call);
    if remote::any(&call.simple.fed, remote::DOWNLOADERS) && call.simple.script.is_none() {
        search.add("remote-code", call.simple);
    }
    let given = call.texts.iter().chain(&call.simple.script).flat_map(|text| text.lines());
    for text in given {
        // `COPY t TO PROGRAM 'line'`
        let program =
            text.split_once("PROGRAM '").map(|(_, line)| line.split('\'').next().unwrap_or_default());
        if let Some(line) = shell_line(text).or(program) {
            search.text(line, call.simple);
        }
    }
    // A `:memory:` database of `sqlite3` exists only during the call.
    if call.texts.iter().any(|text| text == ":memory:") || is_trial_database(search, call) {
        return;
    }
    if let Some(file) = replaced_database(call) {
        super::content::replaced(search, call.simple, &file);
    }
    let words = call.words.iter().map(Word::code);
    let glued = call.texts.iter().filter_map(|text| Some(text.split_once('=')?.1.to_owned()));
    let given: Vec<String> = words.chain(glued).chain(call.simple.script.clone()).collect();
    let short = call
        .texts
        .iter()
        .filter(|text| text.starts_with("-e") || text.starts_with("-c"))
        .map(|text| &text[2..]);
    let files = files(search, call);
    let is_unread = files.contains(&Fed::TooLong);
    let texts =
        files.into_iter().filter_map(|file| if let Fed::Text(text) = file { Some(text) } else { None });
    let given: Vec<String> = given.into_iter().chain(texts).collect();
    if is_unread
        || given.iter().any(|text| sql::destroys(text) || sql::drops_documents(text))
        || short.into_iter().any(sql::destroys)
    {
        search.add("sql-destroy", call.simple);
    }
}

/// `\\! line` of `psql` and `mysql`, `.shell line` of `sqlite3`.
fn shell_line(text: &str) -> Option<&str> {
    // `.sh` is enough for `sqlite3`.
    let signs =
        ["\\!", ".sh ", ".she ", ".shel ", ".shell ", ".sys ", ".syst ", ".syste ", ".system ", "system "];
    signs.iter().find_map(|sign| text.trim_start().strip_prefix(sign)).filter(|line| !line.trim().is_empty())
}

/// `sqlite3 app.db '.restore old.db'`, `sqlite3 new.db '.backup app.db'`: the database that is overwritten.
fn replaced_database(call: &Call) -> Option<Word> {
    let first = || call.operands().first().map(|(_, word)| (*word).clone());
    let backup = call.texts.iter().find_map(|text| text.trim_start().strip_prefix(".backup "));
    let restores = call.texts.iter().any(|text| text.trim_start().starts_with(".restore "));
    backup
        .map(|rest| Word::of(rest.trim().rsplit(' ').next().unwrap_or_default()))
        .or_else(|| first().filter(|_| restores))
}

/// Whether the database it works on is one for tests.
fn is_trial_database(search: &Search, call: &Call) -> bool {
    let options = ["-d", "--dbname", "-D", "--database", "--db"];
    let is_value =
        |at: usize| at > 0 && call.texts[at - 1].starts_with('-') && !call.texts[at - 1].contains('=');
    let operands =
        call.operands().into_iter().filter(|(at, word)| !is_value(*at) && !word.lossy().contains([' ', '(']));
    let glued = call.words.iter().filter(|word| word.starts_with("--d")).filter_map(|word| word.past('='));
    let named =
        call.values(&options).cloned().chain(glued).chain(operands.take(1).map(|(_, word)| word.clone()));
    let named: Vec<Word> = named.collect();
    let last = |word: &Word| {
        word.lossy().split('?').next().unwrap_or_default().rsplit('/').next().unwrap_or_default().to_owned()
    };
    let scratch = |word: &Word| call.name.starts_with("sqlite") && search.place.is_scratch(call.simple, word);
    is_among_tests(call) || named.iter().any(|word| is_trial(&last(word)) || scratch(word))
}

/// The files it runs: `psql -f x.sql`, `mysql < x.sql`. A missing file holds nothing; one that is too long to
/// read may hold anything.
fn files(search: &Search, call: &Call) -> Vec<Fed> {
    let Some(read) = search.place.disk.map(|disk| disk.read) else { return Vec::new() };
    let here = Word::of(search.place.cwd);
    let folder = call.simple.folders.first().unwrap_or(&here);
    let glued =
        call.words.iter().filter(|word| word.starts_with("--file=")).filter_map(|word| word.past('='));
    let fed = call.simple.arriving.iter().filter(|_| call.simple.fed.is_empty()).cloned();
    let named = call.values(&["-f", "--file", "-i", "--input-file"]).cloned().chain(glued).chain(fed);
    let paths = named.filter_map(|word| word.from_folder(folder).tidied().literal());
    paths.filter_map(|path| read(&path)).collect()
}

/// Keys that one `redis-cli` finds and another deletes.
pub(super) fn redis(search: &mut Search, call: &Call) {
    formed(search, call);
    // Deleting one named key does not wipe the store.
    let many = |word: &Word| word.is_several() || word.several || is_unknown(word);
    let deletes = call.texts.iter().any(|text| matches!(text.to_lowercase().as_str(), "del" | "unlink"));
    if deletes && (call.words.iter().any(many) || !call.simple.fed.is_empty()) {
        search.add("database-drop", call.simple);
    }
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
    let glued =
        call.words.iter().filter(|word| word.starts_with("--command=")).filter_map(|word| word.past('='));
    for line in call.values(&["--command"]).cloned().chain(glued) {
        search.perhaps(&line.code(), call.simple);
    }
    let copying = [
        "cp", "sync", "mv", "copy", "copyto", "put", "upload", "upload-file", "upload-batch", "move",
        "moveto",
    ];
    let copies = call.texts.iter().take(3).any(|text| copying.contains(&text.as_str()));
    if copies {
        secret::sends(search, call);
    }
}

/// `curl` and similar: a request that deletes on another machine, a secret that is sent, a download into a
/// system folder.
pub(super) fn request(search: &mut Search, call: &Call) {
    let is_delete = |text: &str| text.eq_ignore_ascii_case("delete");
    let names_method = |text: &str| is_option(text, "--request") || is_option(text, "--method");
    let method = call.texts.windows(2).any(|pair| {
        (pair[0] == "-X" || !pair[0].contains('=') && names_method(&pair[0])) && is_delete(&pair[1])
    });
    let glued = call.texts.iter().any(|text| {
        text.eq_ignore_ascii_case("-xdelete")
            || text.split_once('=').is_some_and(|(name, value)| names_method(name) && is_delete(value))
            || is_delete(text) && call.name != "curl"
    });
    if (method || glued) && remote::is_addressed_away(call) {
        search.add("http-delete", call.simple);
    }
    let changes = call.texts.iter().any(|text| {
        matches!(
            text.to_lowercase().trim_start_matches("-x").trim_start_matches("--request="),
            "post" | "put"
        )
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
        super::content::replaced(search, call.simple, word);
    }
    secret::sends(search, call);
    outgoing::sends(search, call);
}
