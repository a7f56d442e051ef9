//! What a command of a line sees, against bash: for generated lines every command that bash runs is one that
//! was judged.
#![allow(clippy::unwrap_used)] // tests may unwrap, their tools too
#![expect(clippy::disallowed_methods, reason = "a test starts the shell that it compares with")]

use aops_shell::syntax::{Bit, Ground, Line, Simple, Word, cut};
use std::fmt::Write;
use std::process::{Command, Stdio};

/// Generated lines.
const LINES: usize = 3000;

/// The same numbers in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn one<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const NAMES: [&str; 3] = ["a", "b", "c"];
const CONDITIONS: [&str; 6] = ["true", "false", "[ \"$a\" = x ]", "[ -z \"$b\" ]", "[[ $c == y ]]", "! true"];

fn value(dice: &mut Dice) -> String {
    let name = dice.one(&NAMES);
    match dice.below(10) {
        0 => format!("${name}"),
        // A variable that may not be set counts as set in quotes and inside of a longer word: this one always
        // is.
        1 => "\"${c}z\"".to_owned(),
        2 => "$(echo y)".to_owned(),
        3 => "$(printf '%s' z)".to_owned(),
        4 => "''".to_owned(),
        5 => "'x y'".to_owned(),
        _ => dice.one(&["x", "y", "z"]).to_owned(),
    }
}

/// A command that tells what it was given.
fn probe(dice: &mut Dice) -> String {
    let one = dice.one(&NAMES);
    match dice.below(8) {
        0 => "probe \"$c\"".to_owned(),
        1 => format!("probe ${{{one}}} k"),
        2 => format!("probe ${one} \"$c\""),
        3 => format!("probe k$({})", assignment(dice)),
        4 => "probe $1 k".to_owned(),
        5 => "probe \"$@\"".to_owned(),
        _ => format!("probe ${one}"),
    }
}

fn assignment(dice: &mut Dice) -> String {
    let name = dice.one(&NAMES);
    let value = value(dice);
    match dice.below(16) {
        0 => format!("{name}+={value}"),
        1 => format!("export {name}={value}"),
        2 => format!("unset {}", dice.one(&["a", "b"])),
        3 => format!("eval '{name}=x'"),
        4 => format!("read -r {name} <<< {value}"),
        5 => format!("set -- {value}"),
        6 => format!(": ${{{name}:=y}}"),
        7 => format!("{name}=x true"),
        8 => format!("printf -v {name} %s {value}"),
        _ => format!("{name}={value}"),
    }
}

fn statement(dice: &mut Dice, deep: usize) -> String {
    if deep == 0 || dice.below(3) == 0 {
        return if dice.below(3) == 0 { probe(dice) } else { assignment(dice) };
    }
    let deep = deep - 1;
    let condition = dice.one(&CONDITIONS);
    let name = dice.one(&NAMES);
    let inner = list(dice, deep);
    let other = list(dice, deep);
    match dice.below(19) {
        0 => format!("if {condition}; then {inner}; fi"),
        1 => format!("if {condition}; then {inner}; else {other}; fi"),
        2 => format!("if {condition}; then {inner}; elif {}; then {other}; fi", dice.one(&CONDITIONS)),
        3 => format!("for {name} in x 'y z'; do {inner}; done"),
        4 => format!("for i in 1 2 3; do {inner}; done"),
        5 => format!("for i in ${name}; do {inner}; done"),
        6 => format!("while false; do {inner}; done"),
        7 => format!("until {condition}; do {inner}; break; done"),
        8 => format!("case ${name} in x) {inner};; y) {other};; esac"),
        9 => format!("case ${name} in x) {inner};& *) {other};; esac"),
        10 => format!("{condition} && {{ {inner}; }}"),
        11 => format!("{condition} || {{ {inner}; }}"),
        12 => format!("{condition} && {{ {inner}; }} || {{ {other}; }}"),
        13 => format!("( {inner})"),
        14 => format!("{{ {inner}; }} & wait"),
        15 => format!("{{ {inner}; }} | {{ {other}; }}"),
        16 => format!("f() {{ {inner}; }}; {other}; f"),
        17 => format!("g() {{ local {name}={}; {inner}; }}; g {}", value(dice), value(dice)),
        _ => format!("while read -r {name}; do {inner}; done <<< {}", value(dice)),
    }
}

fn list(dice: &mut Dice, deep: usize) -> String {
    let all: Vec<String> = (0..=dice.below(2)).map(|_| statement(dice, deep)).collect();
    all.join("; ").replace("& wait; ", "& wait\n").replace("& wait;", "& wait\n")
}

fn line(dice: &mut Dice) -> String {
    let all: Vec<String> = (0..3).map(|_| statement(dice, 2)).collect();
    format!("c=z\n{}\nprobe $a $b\nprobe \"$c\"", all.join("\n"))
}

/// What each line gave to its probes, in bash.
fn run(lines: &[String]) -> Vec<Vec<Vec<String>>> {
    // One write for each probe: some run beside one another.
    let mut script = "probe() { local IFS=$'\\x1f'; printf '%s\\n' \"probe${1+$IFS}$*\"; } >&3\n".to_owned();
    for text in lines {
        let quoted = text.replace('\'', "'\\''");
        writeln!(
            script,
            "echo line >&3; ( set --; unset a b c; eval '{quoted}' ) < /dev/null > /dev/null 2>&1"
        )
        .unwrap();
    }
    let script_path = std::env::temp_dir().join(format!("aops-shell-values-{}", std::process::id()));
    std::fs::write(&script_path, script).unwrap();
    let said = Command::new("bash")
        .args(["-c", "exec 3>&1; . \"$0\""])
        .arg(&script_path)
        .stderr(Stdio::null())
        .output();
    std::fs::remove_file(&script_path).unwrap();
    let said = String::from_utf8(said.unwrap().stdout).unwrap();
    let mut all: Vec<Vec<Vec<String>>> = Vec::new();
    for row in said.lines() {
        match row.split('\u{1f}').collect::<Vec<_>>().as_slice() {
            ["line"] => all.push(Vec::new()),
            ["probe", rest @ ..] => {
                all.last_mut().unwrap().push(rest.iter().map(|word| (*word).to_owned()).collect());
            }
            other => panic!("{other:?}"),
        }
    }
    all
}

/// Which beginnings of the text these bits may be, by their length.
fn letters_fit(bits: &[Bit], text: &str) -> bool {
    let letters: Vec<char> = text.chars().collect();
    let mut ends = vec![false; letters.len() + 1];
    ends[0] = true;
    for bit in bits {
        let reached = ends.iter().position(|end| *end).unwrap_or(ends.len());
        ends = (0..ends.len())
            .map(|at| match bit {
                Bit::Char(c) => at > 0 && ends[at - 1] && letters[at - 1] == *c,
                _ => at >= reached,
            })
            .collect();
    }
    ends[letters.len()]
}

/// The words that were given are words that were judged. One that is not known may be several, or none.
fn words_fit(judged: &[Word], given: &[String]) -> bool {
    let Some((first, rest)) = judged.split_first() else { return given.is_empty() };
    let is_open = first.bits.contains(&Bit::Any);
    let one = given.first().is_some_and(|text| letters_fit(&first.bits, text));
    one && words_fit(rest, &given[1..])
        || is_open && (words_fit(rest, given) || !given.is_empty() && words_fit(judged, &given[1..]))
}

fn is_judged(line: &Line, given: &[String]) -> bool {
    let probes = line.commands.iter().filter(|simple: &&std::rc::Rc<Simple>| simple.name() == Some("probe"));
    line.beyond || probes.into_iter().any(|simple| words_fit(&simple.words[1..], given))
}

#[test]
fn whatever_bash_gives_a_command_was_judged() {
    let mut dice = Dice(7);
    let lines: Vec<String> = (0..LINES).map(|_| line(&mut dice)).collect();
    let given = run(&lines);
    assert_eq!(given.len(), lines.len(), "bash did not come to its end");
    let ground = Ground { cwd: "/p", home: "/h", variables: &[] };
    let read: Vec<Line> = lines.iter().map(|line| cut(line, &ground)).collect();
    let missed: Vec<String> = (0..LINES)
        .filter_map(|at| {
            let missed = given[at].iter().find(|given| !is_judged(&read[at], given))?;
            Some(format!("{}\n  bash: {missed:?}", lines[at]))
        })
        .collect();
    let mut shown = missed.clone();
    shown.sort_by_key(String::len);
    shown.truncate(8);
    assert!(missed.is_empty(), "{} lines, such as\n{}", missed.len(), shown.join("\n\n"));
    // The test says something only where commands run and lines are read whole.
    assert!(given.iter().map(Vec::len).sum::<usize>() > 3 * LINES);
    assert!(read.iter().filter(|line| line.beyond).count() < LINES / 50);
    // And what is judged is mostly known.
    let is_known = |simple: &&std::rc::Rc<Simple>| simple.words.iter().all(|word| word.literal().is_some());
    let all = || read.iter().flat_map(|line| &line.commands).filter(|simple| simple.name() == Some("probe"));
    assert!(all().filter(is_known).count() * 2 > all().count());
}
