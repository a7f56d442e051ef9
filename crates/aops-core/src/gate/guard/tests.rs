//! Tests the guard against a corpus of lines, and against tools.

mod corners;
mod unasked;

use super::{PlacesOnDisk, Protected, judge};
use crate::model::verdict::Ruling;
use crate::tool::targets::{self, line};
use aops_shell::syntax::Ground;

fn protected() -> Protected {
    Protected {
        home: "/home/u".into(),
        config: "/home/u/.claude".into(),
        user_config: "/home/u/.config/aops".into(),
        project: "/home/u/proj".into(),
        binaries: vec!["/opt/bin/aops-hook".into()],
        pids: vec!["4242".into()],
        ..Protected::default()
    }
}

fn ruling(tool: &str, input: &str) -> Ruling {
    ruling_of(&protected(), tool, input)
}

fn ruling_of(protected: &Protected, tool: &str, input: &str) -> Ruling {
    let variables = [
        ("CLAUDE_CONFIG_DIR", "/home/u/.claude"),
        ("CLAUDE_PROJECT_DIR", "/home/u/proj"),
        ("XDG_CONFIG_HOME", "/home/u/.config"),
    ];
    let variables: Vec<(String, String)> = variables.map(|(name, value)| (name.into(), value.into())).into();
    let ground = Ground { cwd: "/home/u/proj", home: "/home/u", variables: &variables };
    let line = line(tool, input, &ground);
    let verdict = judge(protected, &targets::of(tool, input, line.as_ref(), &ground));
    let said = &verdict.reason;
    assert!(said.chars().count() < 500, "{} characters: {said}", said.chars().count());
    assert_eq!(verdict.ruling == Ruling::Deny, said.contains("\nhint: "), "{said}");
    verdict.ruling
}

fn bash(line: &str) -> Ruling {
    ruling("Bash", &serde_json::json!({ "command": line }).to_string())
}

/// In mode `observe`.
#[test]
fn what_is_ours_alone_is_held_where_nothing_else_is() {
    let registered = vec!["/home/u/.claude/settings.json".to_owned()];
    let own = Protected { own_alone: true, registered, ..protected() };
    let of = |line: &str| ruling_of(&own, "Bash", &serde_json::json!({ "command": line }).to_string());
    for line in [
        "echo x > .claude/settings.json",
        "rm -rf .claude",
        "cp -r x .claude",
        "kill 4242",
        "claude --bare -p x",
        "python3 -c \"open('.claude/settings.local.json','w')\"",
        "rm -rf .claude/checkpoints",
        "echo x > .aops/config.toml",
    ] {
        assert_eq!((of(line), bash(line)), (Ruling::Pass, Ruling::Deny), "{line}");
    }
    for line in [
        "echo x > ~/.claude/settings.json",
        "rm -rf ~/.claude",
        "echo x > ~/.claude/aops/keys/note.key",
        "echo x > ~/.config/aops/config.toml",
        "cp x /opt/bin/aops-hook",
        "aops-hook clear-block --yes",
        "python3 -c \"open('ledger.jsonl','w')\"",
        "python3 -c \"open('/home/u/.claude/settings.json','w')\"",
    ] {
        assert_eq!(of(line), Ruling::Deny, "{line}");
    }
}

/// A word that the line does not spell out may be the option or the verb that only a person may use.
#[test]
fn a_verb_of_ours_that_is_not_said_needs_a_person() {
    for line in [
        "aops-hook verify $(echo --quarantine)",
        "aops-hook verify $(cat option)",
        "aops-hook verify \"$X\"",
        "aops-hook checkpoint $(cat verb)",
        "aops-hook insights $X",
        "o=--quarantine; if false; then o=--json; fi; aops-hook verify $o",
        "aops-hook $(echo clear-block) --yes",
    ] {
        assert_eq!(bash(line), Ruling::Deny, "{line}");
    }
    for line in [
        "aops-hook log $ID",
        "aops-hook status \"$ID\"",
        "aops-hook verify abc",
        "aops-hook checkpoint list $X",
    ] {
        assert_eq!(bash(line), Ruling::Pass, "{line}");
    }
}

#[test]
fn every_line_of_the_corpus_is_judged_as_it_says() {
    let corpus = include_str!("../../../../../tests/fixtures/guard/lines.txt");
    let rows = corpus.lines().filter(|row| !row.starts_with('#') && !row.is_empty());
    let mut count = 0;
    let mut wrong = Vec::new();
    for row in rows {
        let (wanted, line) = row.split_once('\t').expect(row);
        let said = bash(&line.replace('␤', "\n")).name();
        count += 1;
        if said != wanted {
            wrong.push(format!("wanted {wanted}, said {said}: {line}"));
        }
    }
    assert!(count >= 250, "{count} rows");
    assert!(wrong.is_empty(), "{} of {count} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn tools_are_judged_by_what_they_write() {
    let rows: &[(&str, &str, &str)] = &[
        ("deny", "Write", r#"{"file_path":"/home/u/.claude/settings.json","content":""}"#),
        ("deny", "Write", r#"{"file_path":"/home/u/proj/.claude/../.aops/config.toml","content":""}"#),
        ("deny", "Write", r#"{"file_path":".aops/config.toml","content":""}"#),
        ("deny", "Edit", r#"{"file_path":"/home/u/.CLAUDE.json","old_string":"a","new_string":"b"}"#),
        ("deny", "MultiEdit", r#"{"file_path":"/home/u/.claude/agents/critic.md","edits":[]}"#),
        ("deny", "NotebookEdit", r#"{"notebook_path":"/x/.aops/a.ipynb","new_source":""}"#),
        ("deny", "Write", r#"{"file_path":"/tmp/x","file_path":"/home/u/.claude/settings.json"}"#),
        ("deny", "Write", r#"{"content":"\ud800","file_path":"/home/u/.claude/settings.json"}"#),
        ("deny", "Bash", r#"{"command":"rm .aops/config.toml","description":"\udfff"}"#),
        ("deny", "Bash", r#"{"command":"rm .aops/config.toml\ud800"}"#),
        ("deny", "Monitor", r#"{"command":"rm .aops/config.toml"}"#),
        ("deny", "PowerShell", r#"{"command":"Remove-Item .aops/config.toml"}"#),
        ("deny", "PowerShell", r#"{"command":"aops-hook uninstall"}"#),
        ("deny", "PowerShell", r#"{"command":"rm -r -fo /home/u/.claude"}"#),
        ("pass", "PowerShell", r#"{"command":"Set-Content .claude/commands/a.md x"}"#),
        ("pass", "PowerShell", r#"{"command":"aops-hook status"}"#),
        ("deny", "mcp__fs__write_file", r#"{"path":"/home/u/.claude/settings.json"}"#),
        ("deny", "mcp__fs__edit", r#"{"a":[{"b":["file:///home/u/.claude/settings.json"]}]}"#),
        ("deny", "mcp__fs__move_file", r#"{"source":"/home/u/.claude","destination":"/tmp/x"}"#),
        ("deny", "mcp__fs__get_and_delete", r#"{"path":".aops"}"#),
        ("deny", "mcp__fs__deleteTree", r#"{"path":"~/.claude"}"#),
        ("deny", "mcp__shell__run", r#"{"command":"cd ~/.claude && rm settings.json"}"#),
        ("deny", "mcp__shell__run", r#"{"argv":["rm","-rf",".aops"]}"#),
        ("deny", "SomethingNew", r#"{"where":{"is":"/home/u/.claude/settings.local.json"}}"#),
        ("deny", "SomethingNew", r#"{"where":"/home/u/.claude/settings.local.json","odd":"\ud800"}"#),
        // A path that begins with a device's name is not exempt.
        ("deny", "Write", r#"{"file_path":"/dev/../home/u/.claude/settings.json"}"#),
        ("deny", "Edit", r#"{"file_path":"/dev/shm/../../home/u/.claude/settings.json"}"#),
        ("deny", "mcp__fs__write", r#"{"path":"/dev/fd/../../home/u/.claude/settings.json"}"#),
        ("pass", "Write", r#"{"file_path":"/dev/shm/x"}"#),
        // Fields that only together name a path, other spellings of a path, JSON in a string.
        ("deny", "mcp__fs__put", r#"{"directory":"/home/u/.claude","filename":"settings.json"}"#),
        ("deny", "mcp__fs__put", r#"{"a":{"dir":"~/.claude","name":"settings.json","mode":"w"}}"#),
        ("deny", "mcp__fs__put", r#"{"uri":"file:///home/u/.claude/settings%2Ejson"}"#),
        ("deny", "mcp__fs__put", r#"{"uri":"FILE://localhost/home/u/.config/aops/config.toml"}"#),
        ("deny", "mcp__fs__put", r#"{"path":"$HOME/.config/aops/config.toml"}"#),
        ("deny", "mcp__fs__put", r#"{"path":"${XDG_CONFIG_HOME}/aops/config.toml"}"#),
        ("deny", "mcp__fs__put", r#"{"path":"/home/u/.claude/settings.json\n"}"#),
        ("deny", "mcp__fs__put", r#"{"arguments":"{\"path\":\"/home/u/.claude/settings.json\"}"}"#),
        ("deny", "mcp__x__start", r#"{"command":"aops-hook","args":["uninstall"]}"#),
        ("deny", "mcp__x__start", r#"{"command":["aops-hook","uninstall"]}"#),
        ("deny", "mcp__x__start", r#"{"commands":["ls","aops-hook uninstall"]}"#),
        ("deny", "mcp__x__type", r#"{"keys":"aops-hook uninstall\n"}"#),
        ("deny", "mcp__x__go", r#"{"source":"open('/home/u/.claude/settings.json','w')"}"#),
        ("deny", "mcp__x__get_and_save", r#"{"path":"/home/u/.claude/settings.json"}"#),
        ("deny", "mcp__x__fetch_to_file", r#"{"path":"/home/u/.claude/settings.json"}"#),
        ("deny", "mcp__x__delete", r#"{"path":"~"}"#),
        ("deny", "mcp__x__delete", r#"{"path":"/"}"#),
        ("deny", "mcp__fs__apply", r#"{"diff":"*** Update File: .claude/settings.json\n+x"}"#),
        (
            "deny",
            "mcp__fs__apply_patch",
            r#"{"content":"--- a/.aops/config.toml\n+++ b/.aops/config.toml\n"}"#,
        ),
        ("deny", "mcp__x__go", r#"{"patch":"diff --git a/x b/.claude/settings.local.json"}"#),
        ("deny", "mcp__term__send_text", r#"{"content":"aops-hook clear-block --yes"}"#),
        ("deny", "mcp__tmux__send", r#"{"text":"rm ~/.claude/settings.json"}"#),
        ("deny", "mcp__fs__write_file", r#"{"path":["/home/u/.claude","settings.json"]}"#),
        ("deny", "mcp__fs__write_file", r#"{"path":["/","home","u",".claude","settings.json"]}"#),
        ("deny", "mcp__fs__write_file", r#"{"root":"/home/u","dir":".claude","name":"settings.json"}"#),
        ("deny", "mcp__db__query", r#"{"sql":"COPY x TO '/home/u/.claude/settings.json'"}"#),
        ("pass", "mcp__slack__post", r#"{"text":"--- a/.claude/settings.json"}"#),
        ("pass", "mcp__slack__send_message", r#"{"text":"aops-hook clear-block --yes"}"#),
        ("pass", "mcp__x__delete_thing", r#"{"id":"."}"#),
        ("pass", "mcp__x__delete_thing", r#"{"id":".."}"#),
        ("pass", "mcp__x__move_card", r#"{"to":"/"}"#),
        ("pass", "mcp__x__remove_label", r#"{"id":"~"}"#),
        ("pass", "mcp__slack__post", r#"{"text":"we now read /home/u/.claude/settings.json"}"#),
        ("pass", "mcp__fs__put", r#"{"directory":"/home/u/proj","filename":"settings.json"}"#),
        ("pass", "mcp__x__start", r#"{"command":"npm","args":["run","build"]}"#),
        ("pass", "Read", r#"{"file_path":"/home/u/.claude/settings.json"}"#),
        ("pass", "Grep", r#"{"pattern":"hooks","path":"/home/u/.claude"}"#),
        ("pass", "Glob", r#"{"pattern":"**/.aops/**"}"#),
        ("pass", "Agent", r#"{"prompt":"rm .aops/config.toml"}"#),
        ("pass", "TodoWrite", r#"{"todos":[{"content":".aops/config.toml"}]}"#),
        ("pass", "Write", r#"{"file_path":"/home/u/proj/src/a.rs","content":"rm ~/.claude/settings.json"}"#),
        ("pass", "Write", r#"{"file_path":"/home/u/proj/a.md","content":"\ud800 a"}"#),
        ("pass", "Write", r#"{"file_path":"/home/u/.claude/plans/a.md","content":""}"#),
        ("pass", "Write", r#"{"file_path":"/home/u/proj/.claude/commands/a.md","content":""}"#),
        (
            "pass",
            "Edit",
            r#"{"file_path":"/home/u/proj/.vscode/settings.json","old_string":".aops","new_string":""}"#,
        ),
        ("pass", "PowerShell", r#"{"command":"Get-Content .aops/config.toml"}"#),
        ("pass", "mcp__fs__read_file", r#"{"path":"/home/u/.claude/settings.json"}"#),
        ("pass", "mcp__fs__listDirectory", r#"{"path":"/home/u/.claude"}"#),
        ("pass", "mcp__fs__write_file", r#"{"path":"/home/u/proj/a.md","content":"see .aops/config.toml"}"#),
        ("pass", "mcp__git__commit", r#"{"repo":"/home/u/proj","message":"guard"}"#),
        ("pass", "mcp__fs__directory_tree", r#"{"path":"/home/u/proj"}"#),
        ("pass", "Bash", r#"{"command":"ls"}"#),
        ("pass", "Bash", "{}"),
        ("pass", "SomethingNew", "null"),
    ];
    let wrong: Vec<_> =
        rows.iter().filter(|(wanted, tool, input)| ruling(tool, input).name() != *wanted).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_text_is_too_much() {
    let open = "((".repeat(500);
    let texts = [
        "a".repeat(100_000),
        "(".repeat(1_000),
        format!("{open}x{}", "))".repeat(500)),
        format!("echo {}x{}", "$(".repeat(1_000), ")".repeat(1_000)),
        format!("echo {}", "$(".repeat(50_000)),
        format!("echo {}", "\"$(".repeat(30_000)),
        format!("echo {}", "${a:-".repeat(20_000)),
        format!("echo {}", "`".repeat(100_000)),
        format!("echo {}", "{".repeat(100_000)),
        format!("echo {}", "{a,b}".repeat(20_000)),
        format!("echo {}", "{a,".repeat(30_000)),
        format!("echo {}", "a[".repeat(50_000)),
        format!("a[{}", "$((".repeat(40)),
        format!("a[{}", "(".repeat(40)),
        format!("[[ a =~ {}", "(".repeat(40)),
        format!("{} true", "! ".repeat(40_000)),
        "if true; then ".repeat(7_000),
        "case x in x) ".repeat(7_000),
        "while ".repeat(20_000),
        "if ".repeat(20_000),
        "coproc ".repeat(20_000),
        "function f ".repeat(10_000),
        format!("{} {}", "( ".repeat(8), "a ".repeat(10_000)),
        format!("{} {}", "( ".repeat(8), "a; ".repeat(10_000)),
        format!("(( {} {}", "( a ".repeat(6), "a ".repeat(10_000)),
        format!("[[ a =~ {} {} ]]", "( ".repeat(8), "a ".repeat(10_000)),
        format!("[[ {} {} ]]", "( ".repeat(8), "a || ".repeat(10_000)),
        format!("case x in {} esac", "x) case x in x) a ".repeat(2).repeat(2)),
        format!("case x in {}", "x) a;; ".repeat(10_000)),
        "{ ".repeat(50_000),
        "x=$x$x;".repeat(10_000),
        "a|".repeat(50_000),
        "rm a;".repeat(20_000),
        "cd a;".repeat(20_000),
        "x=(a b c);".repeat(9_000),
        "f() { rm a; };".repeat(6_000),
        "for x in a b; do rm $x; done;".repeat(3_000),
        "f() { ".repeat(5_000),
        "cat <<A\n".repeat(10_000),
        "rm ~/*".repeat(10_000),
        format!("rm /{}", "*a".repeat(40_000)),
        format!("rm /{}", "**/".repeat(30_000)),
        format!("rm /{}settings.json", "**/".repeat(40)),
        "9999999999999999>x".to_owned(),
        "rm ~99999999999999999999".to_owned(),
        "echo {99999999999999999999..1}".to_owned(),
        "rm \\".to_owned(),
        "rm '".to_owned(),
        "rm \"$(".to_owned(),
        "$'\\x".to_owned(),
        "$'\\UFFFFFFFF'".to_owned(),
        "\0".to_owned(),
        "sh -c 'sh -c \"sh -c x\"'".repeat(2_000),
        format!("eval {} rm x", "eval ".repeat(200)),
        format!("{} rm .aops/x", "sudo ".repeat(2_000)),
    ];
    for text in texts {
        let began = std::time::Instant::now();
        bash(&text);
        let took = began.elapsed();
        let shown: String = text.chars().take(40).collect();
        // Far above any honest time, even unoptimised and on a busy machine: this only finds code that is not
        // linear.
        assert!(took.as_secs() < 30, "{shown}: {took:?}");
    }
}

#[test]
fn what_is_nested_too_deep_is_judged_by_its_text() {
    let deep = |inner: &str| format!("{}{inner}{}", "(".repeat(1_000), ")".repeat(1_000));
    assert_eq!(bash(&deep("rm .aops/config.toml")), Ruling::Deny);
    assert_eq!(bash(&deep("rm a")), Ruling::Pass);
    let sudo = format!("{} rm .aops/x", "sudo ".repeat(2_000));
    assert_eq!(bash(&sudo), Ruling::Deny);
    let json = format!("{}\"/home/u/.claude/settings.json\"{}", "[".repeat(5_000), "]".repeat(5_000));
    assert_eq!(ruling("mcp__fs__write", &json), Ruling::Deny);
}

#[test]
fn what_is_too_long_or_too_much_is_refused_and_soon() {
    let settings = "/home/u/.claude/settings.json";
    let path = |tool: &str, path: String| ruling(tool, &serde_json::json!({ "file_path": path }).to_string());
    for long in [
        format!("/{}{settings}", "./".repeat(2_100)),
        format!("{}{settings}", "/".repeat(4_200)),
        format!("{}{settings}", "/a/..".repeat(1_000)),
    ] {
        assert_eq!(path("Write", long.clone()), Ruling::Deny);
        assert_eq!(path("mcp__fs__write", long.clone()), Ruling::Deny);
        assert_eq!(bash(&format!("echo > {long}")), Ruling::Deny);
        assert_eq!(
            bash(&format!("cd {}; rm settings.json", long.replace("/settings.json", ""))),
            Ruling::Deny
        );
    }
    assert_eq!(path("Write", "/a".repeat(4_000)), Ruling::Deny, "no system takes it");
    assert_eq!(path("mcp__fs__write", "a b ".repeat(4_000)), Ruling::Pass, "content on one line");
    let many = |n: usize, text: &dyn Fn(usize) -> String| -> Vec<String> { (0..n).map(text).collect() };
    let keys: serde_json::Map<_, _> = (0..30_000).map(|n| (format!("k{n}"), 1.into())).collect();
    let inputs = [
        serde_json::json!({ "x": many(30_000, &|n| format!("p{n}")) }),
        serde_json::json!({ "command": many(4_000, &|n| format!("rm a{n} b{n}")) }),
        serde_json::json!({ "command": many(300, &|n| format!("rm a{n} {}", "b ".repeat(10_000))) }),
        serde_json::json!({ "x": keys }),
    ];
    for input in inputs {
        let began = std::time::Instant::now();
        let said = ruling("mcp__a__write", &input.to_string());
        assert_eq!(said, Ruling::Deny, "{:.60}", input.to_string());
        assert!(began.elapsed().as_secs() < 30, "{:?}: {:.60}", began.elapsed(), input.to_string());
    }
    let some = serde_json::json!({ "x": many(5_000, &|n| format!("p{n}")) });
    assert_eq!(ruling("mcp__a__write", &some.to_string()), Ruling::Pass, "what a smaller call holds");
}

/// Threads have two mebibytes of stack and the main thread eight; we allow half of the smaller size.
#[test]
fn no_text_goes_deep() {
    let rm = "rm .aops/config.toml";
    let nested = |n: usize| {
        (0..n).fold(rm.to_owned(), |inner, _| {
            format!("{}echo $({inner}){}", "if a; then ".repeat(30), "; fi".repeat(30))
        })
    };
    let texts = [
        format!("[[ {}a ]]; {rm}", "! ".repeat(8_000)),
        format!("[[ {}a ]]; {rm}", "a && ".repeat(20_000)),
        format!("[[ {}a ]]; {rm}", "a && ]] && ".repeat(8_000)),
        format!("[[ {}a ]]; {rm}", "! ]] || ".repeat(8_000)),
        format!("{}{rm}{}", "if echo }; then ".repeat(3_000), "; fi".repeat(3_000)),
        format!("{}{rm}{}", "while echo done; do ".repeat(3_000), "; done".repeat(3_000)),
        format!("{}{rm}{}", "case x in\nesac) ".repeat(1_000), ";; esac".repeat(1_000)),
        format!(
            "{}{rm}{}",
            "case x in\nx) { case x in\n}) ".repeat(1_000),
            ";; esac; };; esac".repeat(1_000)
        ),
        format!("{}{rm}{}", "{ ".repeat(47), "; }".repeat(47)),
        format!("{}{rm}{}", "if a; then ".repeat(30), "; fi".repeat(30)),
        nested(11),
        nested(40),
    ];
    let judged = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        for text in texts {
            let shown: String = text.chars().take(40).collect();
            assert_eq!(bash(&text), Ruling::Deny, "{shown}");
        }
    });
    judged.unwrap().join().unwrap();
}

proptest::proptest! {
    #[test]
    fn any_text_is_judged(line in "\\PC{0,120}") {
        bash(&line);
        ruling("mcp__a__b", &line);
    }

    #[test]
    fn any_shell_soup_is_judged(parts in proptest::collection::vec(0usize..SOUP.len(), 0..40)) {
        bash(&parts.iter().map(|n| SOUP[*n]).collect::<String>());
    }

    #[test]
    fn a_quoted_name_is_the_same_name(marks in proptest::collection::vec(0usize..4, 18)) {
        let quoted = |(c, mark): (char, &usize)| match mark {
            0 => format!("'{c}'"),
            1 => format!("\"{c}\""),
            2 => format!("\\{c}"),
            _ => c.to_string(),
        };
        let name: String = ".aops/config.toml_".chars().zip(&marks).map(quoted).collect();
        proptest::prop_assert_eq!(bash(&format!("rm {name}")), Ruling::Deny);
    }
}

/// Pieces with a meaning for a shell.
const SOUP: [&str; 48] = [
    "rm ", "echo ", "$(", ")", "`", "'", "\"", "\\", "{", "}", ",", ";", "&&", "||", "|", "&", "<", ">",
    ">>", "<<", "<<<", "\n", "EOF", " ", "~", "/", ".aops", "${", ":-", "#", "*", "?", "[", "]", "((", "))",
    "if ", "then ", "fi", "for x in ", "do ", "done", "case x in ", "esac", "x=", "$x", "$'", "99999999999",
];
