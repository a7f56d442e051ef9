//! Windows commands: a PowerShell line, and what `cmd` runs.

use super::Search;
use super::call::Call;
use super::processes;
use crate::syntax::Word;

/// PowerShell commands that lose something with any arguments.
#[rustfmt::skip]
const ALWAYS: &[&str] = &[
    "clear-disk", "clear-recyclebin", "disable-computerrestore", "diskpart", "format-volume", "iex", "initialize-disk",
    "invoke-expression", "remove-localuser", "remove-partition", "remove-vm", "restart-computer", "stop-computer",
];

/// Whether a PowerShell line contains words that lose something.
pub fn powershell_destroys(line: &str) -> bool {
    let lower = line.to_lowercase();
    lower.split([';', '|', '\n', '{', '}', '&']).any(|command| {
        let words: Vec<&str> =
            command.split_whitespace().map(|word| word.trim_matches(['(', ')', '"', '\''])).collect();
        let Some(name) = words.first() else { return false };
        let has =
            |wanted: &[&str]| words.iter().any(|word| wanted.iter().any(|known| word.starts_with(known)));
        if has(&["-whatif"]) {
            return false;
        }
        match *name {
            "remove-item" | "ri" | "rm" | "del" | "rd" | "rmdir" | "erase" => {
                let scratch =
                    has(&["$env:temp", "$env:tmp", "node_modules", ".\\node_modules", "dist", "build"]);
                (has(&["-recurse", "-r", "/s"]) || has(&["hklm:", "hkcu:"])) && !scratch
            }
            "format" => words.get(1).is_some_and(|word| word.len() == 2 && word.ends_with(':')),
            "vssadmin" | "wmic" | "reg" | "bcdedit" | "schtasks" | "sc" | "net" => {
                has(&["delete", "/delete"])
            }
            name => ALWAYS.contains(&name),
        }
    })
}

pub(super) fn powershell(search: &mut Search, call: &Call) {
    let line: Vec<String> = call
        .words
        .iter()
        .filter(|word| !word.is_option() || word.lossy().contains(' '))
        .map(Word::code)
        .collect();
    let switch = |word: &&crate::syntax::Word| {
        let text = word.lossy().to_lowercase();
        ["-c", "-nop", "-noni", "-noe", "-nol", "-exec", "-ep", "bypass", "-w", "hidden"]
            .iter()
            .any(|is| text.starts_with(is))
    };
    let whole: Vec<String> = call.words.iter().skip_while(switch).map(Word::code).collect();
    let encoded =
        call.options().any(|text| text.to_lowercase().starts_with("-enc") || text.eq_ignore_ascii_case("-e"));
    if encoded {
        search.add("decoded-code", call.simple);
    }
    let joined = [line.join(" "), whole.join(" ")];
    let secret = |text: &String| {
        let name = text.trim().to_lowercase().split_once("$env:").map(|(_, name)| name.to_uppercase());
        name.is_some_and(|name| super::masked::is_secret_name(&name))
    };
    if call.words.iter().map(Word::lossy).any(|text| secret(&text)) {
        search.add("secret-print", call.simple);
    }
    let inner = call.words.iter().map(Word::code).any(|text| powershell_destroys(&text));
    let reads =
        call.simple.script.is_none() && call.words.iter().all(|word| word.is_option() || word.is("-"));
    if reads && !call.simple.fed.is_empty() {
        search.add(super::remote::by_source(&call.simple.fed), call.simple);
    }
    if call
        .words
        .iter()
        .map(Word::code)
        .chain(joined.iter().cloned())
        .any(|text| processes::powershell_kills(&text))
    {
        search.add("kill-all", call.simple);
    }
    if inner || joined.iter().any(|text| powershell_destroys(text)) {
        search.add("windows-delete", call.simple);
    }
}

pub(super) fn command(search: &mut Search, call: &Call) {
    let has = |wanted: &[&str]| call.texts.iter().any(|text| wanted.contains(&text.to_lowercase().as_str()));
    let destroys = match call.name {
        "del" | "erase" | "rd" => has(&["/s", "/f", "/q"]),
        "format" => call.texts.first().is_some_and(|text| text.len() == 2 && text.ends_with(':')),
        "diskpart" => true,
        "cipher" => call.texts.iter().any(|text| text.to_lowercase().starts_with("/w")),
        _ => has(&["delete", "/delete"]),
    };
    if destroys {
        search.add("windows-delete", call.simple);
    }
}
