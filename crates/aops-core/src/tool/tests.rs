//! Tests tools and lines against the contract.

use super::effect::*;
use crate::model::call::Effect;
use aops_shell::class::{LineSetting, class};
use aops_shell::syntax::{Ground, cut};
use proptest::prelude::*;
use rustix::time::{ClockId, clock_gettime};
use std::fmt::Write as _;

const PLANS: &str = "/home/u/.claude/plans";
const PROJECT: &str = "/home/u/proj";

fn variables() -> Vec<(String, String)> {
    vec![("CLAUDE_PROJECT_DIR".to_owned(), PROJECT.to_owned())]
}

fn classed(line: &str) -> CallClass {
    told(line, &|_| None)
}

fn told(line: &str, listed: &dyn Fn(&str) -> Option<Effect>) -> CallClass {
    let variables = variables();
    let ground = Ground { cwd: PROJECT, home: "/home/u", variables: &variables };
    let setting = LineSetting { ground, project: Some(PROJECT), listed: &|program, _| listed(program) };
    class(&cut(line, &ground), &setting)
}

fn name(effect: Effect) -> &'static str {
    match effect {
        Effect::Read => "read",
        Effect::Write => "write",
        Effect::Close => "close",
        Effect::Tracker => "tracker",
        Effect::Control => "control",
        Effect::Spawn => "spawn",
    }
}

#[test]
fn every_line_of_the_corpus_is_classed_as_it_says() {
    let corpus = include_str!("../../../../tests/fixtures/effect/lines.txt");
    let rows = corpus.lines().filter(|row| !row.starts_with('#') && !row.is_empty());
    let mut count = 0;
    let mut wrong = String::new();
    for row in rows {
        let (wanted, line) = row.split_once('\t').expect(row);
        let said = classed(&line.replace('␤', "\n"));
        count += 1;
        if name(said.effect) != wanted {
            writeln!(wrong, "wanted {wanted}, said {} ({}): {line}", name(said.effect), said.why).unwrap();
        }
        assert_eq!(
            said.effect.is_write(),
            !said.why.is_empty(),
            "a write says why, nothing else does: {line}"
        );
        assert!(said.why.len() < 200 && !said.why.contains(char::is_control), "{}", said.why);
    }
    assert!(count >= 400, "{count} rows");
    assert!(wrong.is_empty(), "of {count} rows\n{wrong}");
}

#[test]
fn a_refusal_says_what_in_the_line_made_it_a_write() {
    let rows = [
        ("rm x", "`rm` may do more than read"),
        ("ls > out.txt", "it writes to `out.txt`"),
        ("sort -o a b", "`sort -o` may do more than read"),
        ("git checkout main", "`git checkout main` may do more than read"),
        ("echo \"", "the line cannot be read"),
        ("$x y", "it runs a program whose name is not in the line"),
        ("FOO=1 ls", "it sets `FOO`"),
        ("eval \"$x\"", "it runs a program put together when it runs"),
        ("sed -i s/a/b/ f", "`sed -i` may do more than read"),
        ("awk '{print > \"x\"}'", "the `awk` program may do more than read"),
        ("git commit -m x", "it changes the repository"),
    ];
    for (line, why) in rows {
        assert_eq!(classed(line).why, why, "{line}");
    }
}

#[test]
fn running_tests_is_not_touching_the_tree() {
    let rows = [
        (false, "cargo test"),
        (false, "npm test 2>&1 | tail -20"),
        (false, "make test > /tmp/out.log"),
        (false, "cd sub && pytest -x"),
        (false, "./run.sh && cat /tmp/x"),
        (false, "python3 -c 'print(1)'"),
        (false, "rm -rf /tmp/scratch"),
        (false, "cd /tmp && touch x"),
        (true, "cargo test > out.log"),
        (true, "cargo test > $x"),
        (true, "cargo test > /home/u/proj/../proj/out"),
        (true, "cd sub && ls > ../x"),
        (true, "cd /tmp; rm x"),
        (true, "rm src/main.rs"),
        (true, "sed -i s/a/b/ src/main.rs"),
        (true, "sort -o src/x src/x"),
        (true, "perl -pi -e s/a/b/ f"),
        (true, "ls | tee log"),
        (true, "git checkout main"),
        (true, "git commit -m x"),
        (true, "git add ."),
        (true, "git stash"),
        (true, "bash -c 'git reset --hard'"),
        (true, "eval \"$x\""),
        (true, "$x"),
        (true, "cargo fmt"),
        (true, "eslint --fix ."),
        (true, "find . -delete"),
        (true, "cp a b"),
        (true, "echo \"unclosed"),
    ];
    for (touches, line) in rows {
        let said = classed(line);
        assert!(said.effect.is_write(), "{line}");
        assert_eq!(said.touches_tree, touches, "{line}");
    }
    assert!(!classed("git status").touches_tree);
}

#[test]
fn the_users_lists_come_first() {
    let lists = |name: &str| match name {
        "frob" | "./check.sh" => Some(Effect::Read),
        "curl" => Some(Effect::Write),
        _ => None,
    };
    assert_eq!(told("frob -x && ./check.sh", &lists).effect, Effect::Read);
    assert_eq!(told("frob > out", &lists).effect, Effect::Write);
    assert_eq!(told("FOO=1 frob", &lists).effect, Effect::Write);
    assert_eq!(told("curl http://localhost", &lists).why, "your `[effects]` list `curl` under `write`");
}

fn tool(name: &str, input: &str, mode: Option<&str>, listed: &dyn Fn(&str) -> Option<Effect>) -> CallClass {
    let variables = variables();
    let ground = Ground { cwd: PROJECT, home: "/home/u", variables: &variables };
    let line = crate::tool::targets::line(name, input, &ground);
    let setting = LineSetting { ground, project: Some(PROJECT), listed: &|program, _| listed(program) };
    let around =
        CallSetting { is_planning: mode == Some("plan"), plans: PLANS, listed: listed(name), line: setting };
    of(name, input, line.as_ref(), &around)
}

/// The names in the contract, one by one.
const NAMED: &[(Effect, &str)] = &[
    (
        Effect::Read,
        "Read Grep Glob LS LSP NotebookRead WebFetch WebSearch ToolSearch ListMcpResources ReadMcpResource BashOutput \
         TaskOutput TaskGet TaskList ListMcpResourcesTool ReadMcpResourceTool ListAgents CronList",
    ),
    (
        Effect::Control,
        "AskUserQuestion EnterPlanMode ExitPlanMode TodoWrite TaskCreate TaskUpdate TaskStop KillShell Skill SlashCommand",
    ),
    (Effect::Spawn, "Agent Task"),
    (
        Effect::Write,
        "Write Edit MultiEdit NotebookEdit EnterWorktree Unheard read bash Bashed mcp mcp__ __ Task2",
    ),
    (
        Effect::Tracker,
        "mcp__memory__store_memory mcp__memory__recall mcp__memory__retrieve_memory mcp__memory__create_entities \
         mcp__bd__create mcp__bd__update_issue mcp__beads__claim mcp__beads__close mcp__beads__list mcp__beads__ready mcp__bd__comment \
         mcp__bd__add_comment mcp__memory__search_nodes mcp__memory__memory_search",
    ),
    (
        Effect::Read,
        "mcp__db__get_user mcp__db__getUserById mcp__db__list-items mcp__db__search mcp__db__read_file mcp__db__find \
         mcp__db__query mcp__db__retrieve mcp__db__fetch mcp__db__describe_table mcp__db__Get_User mcp__db__listHTTPRoutes \
         mcp__a_b__get_settings",
    ),
    (
        Effect::Write,
        "mcp__db__get_and_delete mcp__db__setUser mcp__db__frobnicate mcp__db__search__run mcp__db__create mcp__db__getset-put \
         mcp__db__list_then_send mcp__db__fetchAndMerge mcp__db__reader mcp__db__getter mcp__db__ mcp__db mcp__db__query_exec \
         mcp__db__user_get mcp__db__find_replace mcp__db__readWrite mcp__Memory__delete mcp__memory2__delete \
         mcp__memory__delete mcp__memory__shell mcp__bd__init mcp__beads__run mcp__memory__create_and_run mcp__bd__add",
    ),
];

#[test]
fn tools_by_name() {
    for (want, names) in NAMED {
        for name in names.split_whitespace() {
            let said = tool(name, "{}", None, &|_| None);
            assert_eq!(said.effect, *want, "{name}: {}", said.why);
            assert_eq!(said.effect.is_write(), !said.why.is_empty() && said.touches_tree, "{name}");
        }
    }
}

#[test]
fn tools_by_input() {
    let rows = [
        ("Write", Some("plan"), r#"{"file_path":"/home/u/.claude/plans/x.md"}"#, Effect::Control),
        ("Write", Some("plan"), r#"{"file_path":"/home/u/.claude/plans/../x.md"}"#, Effect::Write),
        ("Write", Some("plan"), r#"{"file_path":"/home/u/.claude/plans"}"#, Effect::Write),
        ("Write", Some("plan"), r#"{"file_path":"/home/u/.claude/plansx/a.md"}"#, Effect::Write),
        ("Write", Some("default"), r#"{"file_path":"/home/u/.claude/plans/x.md"}"#, Effect::Write),
        ("Write", None, r#"{"file_path":"/home/u/.claude/plans/x.md"}"#, Effect::Write),
        ("Edit", Some("plan"), r#"{"file_path":"/home/u/.claude/plans/x.md"}"#, Effect::Write),
        ("Write", Some("plan"), "{}", Effect::Write),
        ("Bash", None, r#"{"command":"ls"}"#, Effect::Read),
        ("Bash", None, r#"{"command":""}"#, Effect::Read),
        ("Bash", None, r#"{"command":"rm x"}"#, Effect::Write),
        ("Bash", None, r#"{"command":"ls","command":"rm x"}"#, Effect::Write),
        ("Bash", None, r#"{"command":"ls\ud800"}"#, Effect::Write),
        ("Bash", None, r#"{"command":["ls"]}"#, Effect::Write),
        ("Bash", None, "{}", Effect::Write),
        ("Bash", None, "no json", Effect::Write),
        ("Monitor", None, r#"{"command":"tail -f log | grep ERROR"}"#, Effect::Read),
        ("Monitor", None, r#"{"command":"rm x"}"#, Effect::Write),
        ("PowerShell", None, r#"{"command":"Get-Content x"}"#, Effect::Read),
        ("PowerShell", None, r#"{"command":"ls; rm x"}"#, Effect::Write),
        ("PowerShell", None, "{}", Effect::Write),
        ("mcp__postgres__query", None, r#"{"sql":"DELETE FROM users"}"#, Effect::Write),
        ("mcp__postgres__query", None, r#"{"sql":"SELECT 1"}"#, Effect::Read),
        ("mcp__db__search", None, r#"{"query":"DROP TABLE x"}"#, Effect::Write),
        ("mcp__docs__search", None, r#"{"query":"how to delete a user"}"#, Effect::Read),
        ("mcp__memory__shell", None, r#"{"command":"touch x"}"#, Effect::Write),
        ("Agent", None, r#"{"prompt":"x","isolation":"worktree"}"#, Effect::Write),
        ("Task", None, r#"{"prompt":"x","isolation":"remote"}"#, Effect::Write),
        ("Agent", None, r#"{"prompt":"isolation","isolation":null}"#, Effect::Spawn),
    ];
    for (name, mode, input, want) in rows {
        assert_eq!(tool(name, input, mode, &|_| None).effect, want, "{name} {mode:?} {input}");
    }
}

#[test]
fn tools_by_the_users_lists() {
    let read = |_: &str| Some(Effect::Read);
    let write = |_: &str| Some(Effect::Write);
    assert_eq!(tool("mcp__db__frob", "{}", None, &read).effect, Effect::Read);
    assert_eq!(tool("mcp__db__get", "{}", None, &write).effect, Effect::Write);
    assert_eq!(
        tool("Bash", r#"{"command":"ls > x"}"#, None, &read).effect,
        Effect::Write,
        "lines are judged"
    );
    assert_eq!(tool("Bash", r#"{"command":"ls"}"#, None, &write).effect, Effect::Write);
}

/// Text that is long, deep or full of what makes parsers slow.
fn hostile() -> Vec<(&'static str, String)> {
    let deep = |open: &str, close: &str| format!("{}ls{}", open.repeat(2_000), close.repeat(2_000));
    vec![
        ("words", format!("ls {}", "a ".repeat(50_000))),
        ("one word", format!("ls {}", "a".repeat(100_000))),
        ("options", format!("sort {}", "-n ".repeat(33_000))),
        ("commands", "ls;".repeat(33_000)),
        ("assignments", "x=1;".repeat(25_000)),
        ("names", (0..9_000).fold(String::new(), |all, n| all + &format!("x{n}=1;"))),
        ("functions", (0..6_000).fold(String::new(), |all, n| all + &format!("f{n}(){{ :;}}\n"))),
        ("uses", format!("x=a;{}", "ls $x;".repeat(16_000))),
        ("growing", format!("x=aaaa;{}find $x", "x=$x$x;".repeat(60))),
        ("braces", "ls {a,b}".to_owned() + &"{a,b}".repeat(20_000)),
        ("pipes", format!("ls{}", "|cat".repeat(25_000))),
        ("substitutions", deep("$(", ")")),
        ("subshells", deep("(", ")")),
        ("quotes", deep("\"$(", ")\"")),
        ("groups", deep("{ ", ";}")),
        ("tests", format!("[[ {} ]]", "( a ) && ".repeat(10_000))),
        ("documents", "cat <<E\nx\nE\n".repeat(8_000)),
        ("finds", format!("find . {}", "-name x -o ".repeat(9_000))),
        ("executes", format!("find . {}", "-exec ls {} \\; ".repeat(6_000))),
        ("sed", format!("sed '{}'", "s/a/b/;".repeat(14_000))),
        ("awk", format!("awk '{}'", "(a)/2;".repeat(16_000))),
        ("evals", "eval ".repeat(20_000) + "ls"),
        ("redirections", format!("ls {}", ">/dev/null ".repeat(9_000))),
        ("nuls", "\0".repeat(100_000)),
    ]
}

#[test]
fn hostile_lines_are_classed_with_little_work() {
    for (what, line) in hostile() {
        let begun = clock_gettime(ClockId::ThreadCPUTime);
        let said = classed(&line);
        let took = clock_gettime(ClockId::ThreadCPUTime) - begun;
        // Unoptimised: far above what any of them takes, far below an exponential time.
        assert!(took.tv_sec < 4, "{what}: {took:?}, {}", name(said.effect));
    }
}

proptest! {
    #[test]
    fn any_text_is_classed(line in "\\PC{0,200}") {
        let said = classed(&line);
        prop_assert_eq!(said.effect.is_write(), !said.why.is_empty());
    }

    #[test]
    fn any_bytes_are_classed(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let said = classed(&String::from_utf8_lossy(&bytes));
        prop_assert_eq!(said.effect.is_write(), !said.why.is_empty());
    }

    /// Shell words in any order: no panic, and a writing command among them is found wherever it runs.
    #[test]
    fn any_shell_is_classed(parts in proptest::collection::vec(prop::sample::select(PARTS), 0..24)) {
        let said = classed(&parts.join(" "));
        prop_assert_eq!(said.effect.is_write(), !said.why.is_empty());
    }

    /// Nothing before or after a plain `rm` in a list makes the line count as reading.
    #[test]
    fn a_writer_in_a_list_is_a_write(before in prop::sample::select(READING), after in prop::sample::select(READING), sign in prop::sample::select(SIGNS)) {
        let line = format!("{before} {sign} rm x {sign} {after}");
        prop_assert_eq!(classed(&line).effect, Effect::Write, "{}", line);
    }
}

const SIGNS: &[&str] = &[";", "&&", "||", "|", "&", "\n"];
const READING: &[&str] = &[
    "ls", "cat <<'E'\nx\nE\n", "echo 'a'", "x=1", "git status", "[ -f x ]", "echo \"$(pwd)\"", "(ls)",
    "bd list", "echo ${x:-y}",
];
const PARTS: &[&str] = &[
    "ls", "$x", "$(", ")", "(", "{", "}", "'", "\"", "`", "\\", ";", "&&", "||", "|", "&", "\n", "<<E", "E",
    ">", "<", "2>&1", "/dev/null", "x=", "if", "then", "fi", "for", "in", "do", "done", "while", "case",
    "esac", ";;", "[[", "]]", "((", "))", "find", "-exec", "{}", "\\;", "+", "sed", "s/a/b/", "awk",
    "{print}", "sort", "-o", "git", "log", "-c", "sudo", "env", "xargs", "-I", "sh", "-c", "eval", "${x:-",
    "$((", "*", "é", "#", "!",
];
