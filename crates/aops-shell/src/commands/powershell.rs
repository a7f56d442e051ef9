//! A PowerShell line: reading cmdlets joined by pipes only read; everything else is a write.

use super::command::{Class, unknown};
use crate::effect::Effect;

/// Cmdlets that only read, and their short names. Sorted.
static READERS: &[&str] = &[
    "cat", "cd", "compare-object", "dir", "echo", "format-list", "format-table", "gc", "gci",
    "get-childitem", "get-command", "get-content", "get-date", "get-filehash", "get-help", "get-item",
    "get-itemproperty", "get-location", "get-process", "get-service", "gl", "join-path", "ls",
    "measure-object", "out-string", "pwd", "resolve-path", "select-object", "select-string", "set-location",
    "sls", "sort-object", "split-path", "test-path", "type",
];

/// Characters with which a line does more than name cmdlets and their arguments.
const SIGNS: [char; 12] = [';', '>', '<', '&', '\n', '\r', '`', '$', '(', ')', '{', '}'];

pub fn class(line: &str) -> Class {
    if line.contains(SIGNS) {
        return Err("it is more than reading cmdlets".to_owned());
    }
    for stage in line.split('|') {
        let first = stage.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        if READERS.binary_search(&first.as_str()).is_err() {
            return Err(unknown(&first));
        }
    }
    Ok(Effect::Read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cmdlets() {
        assert!(READERS.is_sorted());
        let rows = [
            ("Get-Content x.txt", Effect::Read),
            ("Get-ChildItem -Recurse | Select-String foo | Measure-Object", Effect::Read),
            ("Remove-Item x", Effect::Write),
            ("Get-Content x; Remove-Item x", Effect::Write),
            ("Get-Content x | Set-Content y", Effect::Write),
            ("ls (Remove-Item x)", Effect::Write),
            ("echo @(Remove-Item x)", Effect::Write),
            ("echo hi > x", Effect::Write),
            ("", Effect::Write),
        ];
        for (line, want) in rows {
            assert_eq!(class(line).unwrap_or(Effect::Write), want, "{line}");
        }
    }
}
