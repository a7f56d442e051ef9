//! Whatever plain text is read into, the grammar reads into the same.

use super::super::grammar::by_grammar;
use super::parse;
use proptest::prelude::*;

/// A tree as text, without places in the line.
fn shown(tree: &brush_parser::ast::Program) -> String {
    let text = format!("{tree:?}");
    let mut parts = text.split("SourceSpan {");
    let mut shown = parts.next().unwrap().to_owned();
    for part in parts {
        // Two positions, each in braces, and the brace that closes both.
        shown.push('_');
        shown.push_str(part.splitn(4, '}').nth(3).unwrap());
    }
    shown.replace("loc: Some(_)", "loc: _").replace("loc: None", "loc: _")
}

/// Whether the text is plain; it must then be the grammar's.
fn agrees(text: &str) -> bool {
    let Some(tree) = parse(text) else { return false };
    let Some(other) = by_grammar(text) else { panic!("the grammar does not read `{text}`") };
    assert_eq!(shown(&tree), shown(&other), "{text}");
    true
}

#[test]
fn plain_lines_are_read_as_the_grammar_reads_them() {
    let plain = [
        "",
        "\n\n",
        "ls",
        "ls -l; pwd &",
        "a && b || c\n\nd; e\n",
        "cat x | grep -v y |\n wc -l",
        "A=1 B+=2 env C=3 D",
        "A=",
        "> x",
        "echo 2>&1 >x 2 > y 3<z <>w >|v &>u &>>t <&- >&2 n>o",
        "echo 'a b' \"c $d \\\" e\" f\\ g $h ${i:-j} \"${k##*/}\" $(ls -l | wc; x 'y)' \"$(z)\")",
        "for f in *; do echo $f; done",
        "for f in a b\ndo\nx &\ny\n\ndone > z 2>&1 | cat",
        "for f\nin; do x; done",
        "while read x; do if a; then b; elif c; then d; else e; fi; done; until a; do b; done",
        "if a; then for x in y; do z; done fi",
        "echo a#b é \u{a0} \r",
        "[ -f x ] && echo y",
        "(cd x && ls); (a; b &) > c 2>&1 | (d\ne\n)",
        "{ a; b; } > c; { { d; }; e; }",
        "f() { ls \"$1\"; }; g () (ls)\nh ( )\n\nif a; then b; fi > c",
        "if (a); then { b; } fi",
        "echo `ls -l | wc` \"`a \\`b\\``\" $(`c`)",
        "cp a{b,c}d ~/x @ ^ % !x",
        "echo \"it's $ 'fine'\" $\"x\" $ \"$\"",
    ];
    for text in plain {
        assert!(agrees(text), "plain: {text}");
    }
}

#[test]
fn what_is_not_plain_is_left_to_the_grammar() {
    let other = [
        "cat <<E\nx\nE",
        "cat <<<x",
        "((1 + 2))",
        "( (ls) )",
        "(ls",
        "ls)",
        "()",
        "f() ls",
        "f= () { ls; }",
        "function f { ls; }",
        "echo (ls)",
        "cat <(ls)",
        "echo `ls",
        "{ echo }",
        "{ ls }",
        "echo $((1+2))",
        "echo $[1]",
        "echo $'a\\'b'",
        "echo \\$'a'",
        "echo ${x:-a  b}",
        "echo $(ls <x)",
        "echo $(a\tb)",
        "echo $(a # b\n)",
        "echo @(a|b)",
        "ls # all",
        "time ls",
        "! ls",
        "x=(a b)",
        "x[1]=2",
        "ls a[0-9]",
        "[[ a == b ]]",
        "case x in y) z;; esac",
        "echo a\\\nb",
        "a |& b",
        "echo if",
        "for x; do y; done",
        "for x in y; do z > w done",
        "echo 12345678901 > x",
        "> 12345678901 < x",
        "; ls",
        "ls &&",
        "ls | ",
        "ls; ; pwd",
        "if a; then; fi",
        "echo 'a",
        "echo \"a",
        "echo a\\",
        "echo >",
        "done",
    ];
    for text in other {
        assert!(parse(text).is_none(), "not plain: {text}");
    }
}

/// However deep it goes, where it goes deeper than the grammar is given, the grammar's bounds say so.
#[test]
fn depth_agrees() {
    let nests = [("(", ")"), ("{ ", "; }"), ("if a; then ", "; fi"), ("(f() { ", "; })"), ("echo $(", ")")];
    for ((open, close), n) in nests.iter().flat_map(|nest| (0..40).map(move |n| (nest, n))) {
        for inner in ["ls", "f() { ls; }", "(ls)"] {
            let text = format!("{}{inner}{}", format!("{open} ").repeat(n), close.repeat(n));
            assert!(agrees(&text) || n > 0, "{text}");
        }
    }
}

#[test]
fn every_line_of_the_corpora_agrees() {
    let corpora = [
        include_str!("../../../../tests/fixtures/effect/lines.txt"),
        include_str!("../../../../tests/fixtures/guard/lines.txt"),
    ];
    let rows = corpora.iter().flat_map(|corpus| corpus.lines()).filter_map(|row| row.split_once('\t'));
    let plain = rows.filter(|(_, line)| agrees(&line.replace('␤', "\n"))).count();
    assert!(plain > 500, "{plain} lines are plain");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2048))]

    #[test]
    fn any_text_agrees(text in "[ -~\\n\\té]{0,40}") {
        agrees(&text);
    }

    #[test]
    fn any_letters_of_the_shell_agree(text in "[a1` \\n\\t;&|<>'\"$(){}#=+*?!\\\\\\[-]{0,24}") {
        agrees(&text);
    }

    #[test]
    fn any_words_of_the_shell_agree(parts in proptest::collection::vec(prop::sample::select(PARTS), 0..24), blanks in any::<u32>()) {
        let blank = |n: usize| if blanks >> (n % 32) & 1 == 0 { " " } else { "" };
        let text: String = parts.iter().enumerate().flat_map(|(n, part)| [*part, blank(n)]).collect();
        agrees(&text);
    }

    /// Mostly well-formed, so that deep trees are reached.
    #[test]
    fn any_list_agrees(parts in proptest::collection::vec((prop::sample::select(COMMANDS), prop::sample::select(JOINS)), 0..12)) {
        let text: String = parts.iter().flat_map(|(command, join)| [*command, *join]).collect();
        agrees(&text);
    }
}

const COMMANDS: &[&str] = &[
    "(",
    ")",
    "{ ",
    "}",
    "f() ",
    "g ()\n",
    "echo `a b`",
    "ls",
    "a=1",
    "a=1 b+=2 c d=3",
    "echo 'x y' \"$z\" w\\ v",
    "x 2>&1 >y",
    "< x cat",
    "for i in $a $(b c) ${d}; do ",
    "while ",
    "until ",
    "if ",
    "then ",
    "elif ",
    "else ",
    "fi",
    "do ",
    "done",
    "done >x",
    "echo fi",
];
const JOINS: &[&str] = &["; ", "; ", "; ", "\n", " && ", " || ", " | ", " & ", " ", ""];
const PARTS: &[&str] = &[
    "ls",
    "x",
    "1",
    "22",
    "9999999999",
    "=",
    "x=",
    "x+=",
    "x[",
    "]",
    "$x",
    "$(",
    ")",
    "(",
    "{",
    "}",
    "${",
    "${x",
    ":-",
    "'",
    "\"",
    "`",
    "\\",
    ";",
    ";;",
    "&&",
    "||",
    "|",
    "&",
    "\n",
    "<<",
    "<",
    ">",
    ">>",
    "&>",
    ">&",
    "<&",
    ">|",
    "<>",
    "-",
    "if",
    "then",
    "else",
    "elif",
    "fi",
    "for",
    "in",
    "do",
    "done",
    "while",
    "until",
    "case",
    "esac",
    "[[",
    "]]",
    "time",
    "!",
    "#",
    "*",
    "@",
    "?",
    "é",
    "\t",
    "$",
    "~",
    "/",
];
