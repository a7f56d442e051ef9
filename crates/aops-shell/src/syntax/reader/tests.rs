//! Checks the grammar against bash itself, against a list of what each construct runs, and against its own
//! bounds.

use super::{DEEPEST, LOOKS, Unread, parse};
use crate::syntax::{Ground, cut};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Reads texts that end with a NUL. `set -n` keeps bash from running what it reads.
const ACCEPTS: &str = r#"
shopt -s extglob
while IFS= read -r -d '' text; do
    if (eval "set -n
$text") 2>/dev/null; then echo 1; else echo 0; fi
done"#;

/// Whether bash accepts each text.
#[expect(clippy::disallowed_methods, reason = "bash is the judge here")]
fn bash_accepts(texts: &[String]) -> Vec<bool> {
    let mut bash = Command::new("bash")
        .args(["--norc", "-c", ACCEPTS])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test compares our grammar with bash: install it");
    let mut stdin = bash.stdin.take().unwrap();
    let input: String = texts.iter().flat_map(|text| [text.as_str(), "\0"]).collect();
    let feeder = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = bash.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    let said: Vec<bool> =
        output.stdout.split(|b| *b == b'\n').filter(|l| !l.is_empty()).map(|l| l == b"1").collect();
    assert_eq!(said.len(), texts.len(), "bash answers for each text");
    said
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// What each line runs, in order; `-` for lines that bash accepts and we refuse.
const LINES: &[(&str, &str)] = &[
    ("", ""),
    ("\n\n", ""),
    ("# only a comment", ""),
    ("ls # a comment; rm x", "ls"),
    ("ls #", "ls"),
    ("a; b & c && d || e | f |& g", "a b c d e f g"),
    ("a &&\n\n b ||\n c |\n d", "a b c d"),
    ("! a; ! ! b; time c; time -p d | e; time ! f", "a b c d e f"),
    ("a \\\n b; c\\\n d", "a c"),
    ("echo a\\\nb", "-"),
    ("echo \"a\\\nb $(c)\"", "c echo"),
    ("echo \"$a\\\nb\"", "-"),
    ("(a; b); { c; d; }", "a b c d"),
    ("((1 + (2 * 3) + $(a)))", "a"),
    ("((a); b)", "-"),
    ("( (a) )", "a"),
    ("if a; then b; elif c; then d; else e; fi", "a b c d e"),
    ("while a; do b; done; until c; do d; done", "a b c d"),
    ("for x in $(a) b; do c; done", "a c"),
    ("for x; do c; done; for y\ndo d; done; for z\nin a\ndo e; done", "c d e"),
    ("for ((i = $(a); i < 3; i++)); do b; done; for ((;;)) { c; }", "a b c"),
    ("select x in $(a); do b; done", "a b"),
    ("case $(a) in b|c) d;; (e) f;& *) g;;& esac", "a d f g"),
    ("case x in\n a)\n ;;\n b) c\nesac", "c"),
    ("case x in esac", ""),
    ("case x in $(a)) b;; esac", "a b"),
    ("f() { a; }; g () (b)\nh ( )\n\nif c; then d; fi > e", "a b c d "),
    ("function f { a; }; function g() { b; }; function h\n{ c; }", "a b c"),
    ("[[ -f $(a) && ! ( $(b) == c* || d =~ ^(e|f)[$(g)]$ ) ]]", "a b g"),
    ("[[ a < b\n && c > d ]] && e", "e"),
    ("[[ $x -eq $(a) ]]", "a a"),
    ("a=(b $(c)\n# d\n [e]=f [1 + 2]=g); h", "-"),
    ("a=(b $(c)\n# d\n [e]=f); h", "c  h"),
    ("a[1]=2 b; a[$(c)]+=3; d+=(e); f=; g=1 h=2 i", "b c    i"),
    ("declare -a x=(a $(b)); export y=(c)", "b declare export"),
    ("cat <(a | b) >(c) --x=<(d) < <(e) > >(f)", "a b c d e f cat"),
    ("a > b 2>&1 >> c < d <> e >| f &> g &>> h <&- 2<&1 {i}> j", "a"),
    ("> a < b", ""),
    ("cat <<E; b\n$(a) `c` \\$(d)\nE\ne", "a c cat b e"),
    ("cat <<'E' && b\n$(a) it's\nE\ne", "cat b e"),
    ("cat <<\"E F\"\n$(a)\nE F\ncat <<\\E\n$(b)\nE", "cat cat"),
    ("cat <<-E\n\t$(a)\n\tE\nb", "a cat b"),
    ("cat <<A <<B\n$(a)\nA\n$(b)\nB\nc", "a b cat c"),
    ("cat <<E\na\\\nE\nb\nE\nc", "-"),
    ("cat <<E\nx", "-"),
    ("cat <<E \"a\nE\nb\"", "-"),
    ("cat <<< \"$(a)\"; b", "a cat b"),
    ("echo \"$(cat <<'E'\nit's (\nE\n)\" b", "cat echo"),
    ("echo $(a; case b in c) d;; esac; # )\n e) f", "a d e echo"),
    ("echo $(a $(b \"$(c 'x)')\")) `d \\`e\\``", "c b a e d echo"),
    ("echo $() $( ) $(<a)", "   echo"),
    ("echo ${a:-$(b)} \"${c#'d'}\" ${e/\"$(f)\"/g} ${g%'$(h)'} ${i[$(j)]}", "b f h j echo"),
    ("echo \"${c:-'$(d)'}\"", "d echo"),
    ("echo \"${c#'}'}\"", "-"),
    ("echo $((1 + $(a))) $[2 + $(b)] $(($x + (3)))", "a b echo"),
    ("echo $((a); b)", "-"),
    ("echo $'a\\'b $(c)' $\"d $(e)\" '$(f)' \\$\\(g\\)", "e echo"),
    ("echo @(a|$(b)) !(c) x*(d) ?(e)", "b echo"),
    ("echo if then fi { } [[ ]] ! time", "echo"),
    ("echo a#b é \u{a0} {a,b} $ \"$\" $? $$ $! $# $@ $*", "echo"),
    ("[ -f x ] && a[0-9]", "["),
    ("ls a[0-9]* [a-z]", "ls"),
];

#[test]
fn every_construct_runs_what_it_should() {
    let ground = Ground { cwd: "/w", home: "/h", variables: &[] };
    let mut wrong = Vec::new();
    for (line, wanted) in LINES {
        if parse(line).is_err() || *wanted == "-" {
            wrong.extend((parse(line).is_ok() || *wanted != "-").then(|| format!("{line}: wanted {wanted}")));
            continue;
        }
        let mut runs: Vec<String> =
            cut(line, &ground).commands.iter().map(|c| c.name().unwrap_or_default().to_owned()).collect();
        let mut wanted: Vec<&str> = wanted.split(' ').collect();
        // Assignments and redirections without a command have no name, and count once.
        wanted.retain(|name| !name.is_empty());
        runs.retain(|name| !name.is_empty());
        wanted.dedup();
        runs.dedup();
        wrong.extend((runs != wanted).then(|| format!("{line}: {runs:?}, wanted {wanted:?}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// bash does not accept these either.
#[rustfmt::skip]
const MALFORMED: &[&str] = &[
    "(ls", "ls)", "()", "f() ls", "{ ls }", "{ }", "echo (ls)", "echo `ls", "echo 'a", "echo \"a", "; ls", "ls &&", "ls |",
    "ls; ; pwd", "ls ;; pwd", "if a; then; fi", "if a; then b", "echo >", "echo < > a", "done", "for",
    "for x in a; ls; done", "while a; b; done", "case x in a) b", "case x a) b;; esac", "[[ a", "[[ a b ]]", "[[ ]]",
    "[[ -f ]]", "((1", "for ((1; 2)); do a; done", "x=(a", "echo ${a", "echo $(a", "echo $((1)", "select x in a; b; done",
    "function { a; }", "& a", "a & & b", "a | | b", "a && || b", "cat <<", "cat <<<", "esac", "}", "then", "a=(b;c)",
    "echo <(a", "echo @(a", "echo \"${a:-it's}\"",
];

#[test]
fn what_is_malformed_is_refused_by_both() {
    let said = bash_accepts(&owned(MALFORMED));
    let wrong: Vec<_> =
        MALFORMED.iter().zip(said).filter(|(text, bash)| *bash || parse(text).is_ok()).collect();
    assert!(wrong.is_empty(), "accepted by bash (true) or by us: {wrong:#?}");
}

#[test]
fn bash_reads_and_does_not_run() {
    assert_eq!(bash_accepts(&owned(&["exit 7", "false", "ls )", "kill -9 $$"])), [true, true, false, true]);
}

#[test]
fn bash_accepts_the_lines_above() {
    let lines: Vec<String> = LINES.iter().map(|(line, _)| (*line).to_owned()).collect();
    let wrong: Vec<_> = lines.iter().zip(bash_accepts(&lines)).filter(|(_, accepted)| !accepted).collect();
    assert!(wrong.is_empty(), "bash refuses: {wrong:#?}");
}

#[test]
fn both_accept_the_same_lines_of_the_corpora() {
    let corpora = [
        include_str!("../../../../../tests/fixtures/effect/lines.txt"),
        include_str!("../../../../../tests/fixtures/guard/lines.txt"),
    ];
    let rows = corpora.iter().flat_map(|corpus| corpus.lines()).filter(|row| !row.starts_with('#'));
    let lines: Vec<String> =
        rows.filter_map(|row| row.split_once('\t')).map(|(_, line)| line.replace('␤', "\n")).collect();
    assert!(lines.len() > 1500, "{} lines", lines.len());
    let mut wrong = Vec::new();
    for (line, bash) in lines.iter().zip(bash_accepts(&lines)) {
        let ours = parse(line).is_ok();
        // A coprocess sets variables that the line does not name; `${(e)x}` belongs to zsh.
        let refused = line.starts_with("coproc ") || line.contains("${(");
        if ours != bash && !refused {
            wrong.push(format!("bash {bash}, ours {ours}: {line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Lines made of these parts; most are not valid shell, which checks that we do not accept too much.
fn generated() -> Vec<String> {
    let mut runner = TestRunner::deterministic();
    let parts = proptest::collection::vec(
        (prop::sample::select(PARTS), prop::sample::select(&["", " ", " "][..])),
        0..20,
    );
    let lists =
        proptest::collection::vec((prop::sample::select(COMMANDS), prop::sample::select(JOINS)), 0..9);
    let letters = "[a1` \\n\\t;&|<>'\"$(){}#=+*?!\\\\\\[\\]-]{0,20}";
    let join = |parts: Vec<(&str, &str)>| {
        parts.into_iter().flat_map(|(part, join)| [part, join]).collect::<String>()
    };
    let any = prop_oneof![parts.prop_map(join), lists.prop_map(join), letters];
    (0..12_000).map(|_| any.new_tree(&mut runner).unwrap().current()).collect()
}

#[test]
fn bash_accepts_whatever_we_accept() {
    let ours: Vec<String> = generated().into_iter().filter(|text| parse(text).is_ok()).collect();
    assert!(ours.len() > 800, "{} generated lines are shell", ours.len());
    let wrong: Vec<_> =
        ours.iter().zip(bash_accepts(&ours)).filter(|(_, bash)| !bash).map(|(text, _)| text).collect();
    assert!(wrong.is_empty(), "bash refuses {} of {}: {wrong:#?}", wrong.len(), ours.len());
}

/// Long texts of one construct each; the middle part is repeated.
const LONG: &[(&str, &str, &str)] = &[
    ("echo ", "word ", ""),
    ("echo ", "x", ""),
    ("", "a; ", "b"),
    ("a", " | b", ""),
    ("a", " && b", ""),
    ("", "x=1 ", "a"),
    ("a ", "> b ", ""),
    ("a ", "'b c' ", ""),
    ("a ", "\"b $c\" ", ""),
    ("a \"", "b $c ${d} `e` \\\n", "\""),
    ("a ", "$(b c) ", ""),
    ("a ", "$(b \"$(c $(d))\") ", ""),
    ("a ", "`b` ", ""),
    ("a ", "${b:-c} ", ""),
    ("a ", "$((1 + (2))) ", ""),
    ("((", "1 + (2) + ", "3))"),
    ("a ", "<(b) ", ""),
    ("a ", "@(b|c) ", ""),
    ("a=(", "b [c]=d ", ")"),
    ("", "a[b]=c ", "d"),
    ("", "cat <<E\nb $(c) d\nE\n", ""),
    ("cat <<'E'\n", "b\n", "E"),
    ("cat <<E\n", "b \\\n$c\n", "E"),
    ("cat <<E\n", "`b` $(c) ${d}\n", "E"),
    ("", "(a); ", "b"),
    ("", "{ a; }; ", "b"),
    ("", "((((((((((((((((((((a", ""),
    ("", "if a; then b; else c; fi; ", "d"),
    ("", "for x in a b; do c; done; ", "d"),
    ("", "for ((;;)); do c; done; ", "d"),
    ("", "while a; do b; done; ", "c"),
    ("case x in ", "a|b) c;; ", "esac"),
    ("", "[[ a == b && c =~ (d) ]]; ", "e"),
    ("[[ a", " && b", " ]]"),
    ("", "f() { a; }; ", "b"),
    ("", "# comment\n", "a"),
    ("a ", "\\\n ", "b"),
    ("", "! ", "a"),
    ("", "$(", ""),
    ("", "((", ""),
    ("", "${x:-", ""),
    ("", "\"$(", ""),
    ("", "[[ ( ", ""),
    ("", "a <<E ", ""),
    ("", "a <<E\n", ""),
    ("", "a $'", ""),
];

/// How many bytes are looked at while a text is parsed.
fn looks(text: &str) -> usize {
    LOOKS.with(std::cell::Cell::take);
    let _ = parse(text);
    LOOKS.with(std::cell::Cell::take)
}

#[test]
fn no_byte_is_looked_at_often() {
    for (before, again, after) in LONG {
        for size in [1_000, 60_000] {
            let text = [*before, &again.repeat(size / again.len()), after].concat();
            let looks = looks(&text);
            assert!(
                looks <= 12 * text.len() + 100,
                "{looks} looks at {} bytes of {before}{again}{after}",
                text.len()
            );
        }
    }
}

#[test]
fn depth_is_bounded() {
    let nests = [
        ("(", ")"),
        ("{ ", ";}"),
        ("if a; then ", ";fi"),
        ("f() { ", ";}"),
        ("$(", ")"),
        ("\"$(", ")\""),
        ("<(", ")"),
        ("case a in b) ", ";;esac"),
        ("for a in b; do ", ";done"),
        ("x=${y:-$(", ")}"),
    ];
    for (open, close) in nests {
        let text = |depth: usize| {
            format!("{}a{}", format!("{open} ").repeat(depth), format!(" {close}").repeat(depth))
        };
        assert!(parse(&text(DEEPEST / 4)).is_ok(), "{}", text(DEEPEST / 4));
        for depth in [DEEPEST + 1, 2_000] {
            assert_eq!(parse(&text(depth)).err(), Some(Unread::Beyond), "{open} {depth} deep");
        }
    }
    let test = |depth: usize| format!("[[ {} a {} ]]", "( ".repeat(depth), " )".repeat(depth));
    assert!(parse(&test(8)).is_ok() && parse(&test(100)).is_err());
}

#[rustfmt::skip]
const COMMANDS: &[&str] = &[
    "(", ")", "{ ", "}", "f() ", "g ()\n", "function h ", "echo `a b`", "ls", "a=1", "a=1 b+=2 c d=3", "a=(b c)", "a[1]=2",
    "echo 'x y' \"$z\" w\\ v", "x 2>&1 >y", "< x cat", "for i in $a $(b c) ${d}; do ", "for ((;;)); do ", "select x in y; do ",
    "while ", "until ", "if ", "then ", "elif ", "else ", "fi", "do ", "done", "done >x", "echo fi", "case x in ", "a|b) ",
    "(c) ", ";;", "esac", "[[ a == b* ]]", "[[ ! -f x && ( a =~ (b|c) ) ]]", "((1 + 2))", "cat <<E\nx $(y)\nE\n",
    "cat <<'E' | a\n'\nE\n", "cat <<<x", "coproc ", "time ", "echo $((1)) ${a:-'b'} \"${c#'}'}\"", "cat <(a) > >(b)",
    "# x\n", "echo @(a|b)", "declare a=(b)", "\\\n",
];
const JOINS: &[&str] = &["; ", "; ", "; ", "\n", " && ", " || ", " | ", " |& ", " & ", " ", ""];
const PARTS: &[&str] = &[
    "ls", "x", "1", "22", "=", "x=", "x+=", "x[", "]", "$x", "$(", "$((", "((", "))", ")", "(", "{", "}",
    "${", "${x", ":-", "'", "\"", "`", "\\", ";", ";;", ";&", "&&", "||", "|", "|&", "&", "\n", "<<E",
    "\nE\n", "<<-E", "<<<", "<", ">", ">>", "&>", ">&", "<&", ">|", "<>", "<(", "-", "if", "then", "else",
    "elif", "fi", "for", "in", "do", "done", "while", "until", "case", "esac", "select", "function",
    "coproc", "[[", "]]", "==", "=~", "-f", "time", "!", "#", "*", "@", "@(", "?", "é", "\t", "$", "$'",
    "$\"", "~", "/", "\\\n",
];
