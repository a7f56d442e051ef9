//! What runs without asking us: paths of executable configuration, and commands that start or bring it.

use super::protected;
use crate::gate::guard::executable::{Executable, of_target};
use crate::gate::guard::{Protected, asked};
use crate::tool::targets::{self, Act, Target, Targets, line};
use aops_shell::syntax::{Bit, Ground, Word};

fn at(path: &str, act: Act) -> Option<Executable> {
    let bits = path.chars().map(|c| if c == '*' { Bit::Star } else { Bit::Char(c) }).collect();
    let path = Word { bits, ..Word::default() };
    of_target(&protected(), &Target { path, act, real: None, stands: None })
}

#[test]
fn paths_are_known_by_their_names() {
    let texts = [
        "/p/.claude/skills/x/SKILL.md",
        "/p/.claude/commands/a/b.md",
        "/home/u/.claude/agents/x.md",
        "/p/.claude/skills/x/*",
    ];
    for path in texts {
        assert_eq!(at(path, Act::Write), Some(Executable::Text), "{path}");
        assert_eq!(at(path, Act::Whole), None, "taken away: {path}");
    }
    for (path, act) in
        [("/p/.claude/skills", Act::Merge), ("/p/.claude/agents/x", Act::Become), ("/p/.claude/commands", Act::Into)]
    {
        assert_eq!(at(path, act), Some(Executable::Text), "{path}");
    }
    assert_eq!(at("/p/.claude/skills/x/run.sh", Act::Write), Some(Executable::Beside(4)));
    for path in [
        "/p/.mcp.json",
        "/p/.git/hooks/pre-commit",
        "/p/.git/config",
        "/p/.git/worktrees/w/config.worktree",
        "/p/.husky/pre-push",
        "/home/u/.gitconfig",
        "/home/u/.config/git/config",
        "/home/u/.bashrc",
        "/home/u/.config/fish/config.fish",
        "/home/u/.claude/plugins/x",
        "/home/u/.claude/shell-snapshots/s.sh",
        "/home/u/.claude/session-env/s/hook-1.sh",
        "/p/.claude/hooks/x.sh",
        "/p/.claude/skills/x/hooks/hooks.json",
    ] {
        assert!(matches!(at(path, Act::Write), Some(Executable::Always(_))), "{path}");
    }
    for path in [
        "/",
        "/p/x.md",
        "/p/.claude/rules/x.md",
        "/p/.claude/skills",
        "/p/.claude/hooks",
        "/p/config",
        "/p/hooks/x",
        "/p/.bashrc",
        "/p/.git/index",
        "/p/.claude",
        "/home/u/.claude/CLAUDE.md",
        "/home/u",
    ] {
        assert_eq!(at(path, Act::Write), None, "{path}");
    }
    assert_eq!(at("/p/.mcp.json", Act::Copy), None, "read");
    let linked = Target { path: Word::of("/p/x"), act: Act::Write, real: Some(Word::of("/p/.mcp.json")), stands: None };
    assert!(of_target(&Protected::default(), &linked).is_some());
}

fn why(text: &str) -> Option<String> {
    let ground = Ground { cwd: "/home/u/proj", home: "/home/u", variables: &[] };
    let input = serde_json::json!({ "command": text }).to_string();
    let line = line("Bash", &input, &ground);
    asked(&targets::of("Bash", &input, line.as_ref(), &ground))
}

#[test]
fn commands_are_known_by_what_they_start() {
    for (text, words) in [
        ("codex exec x", "starts another agent"),
        ("/opt/bin/gemini -p x", "starts another agent"),
        ("goose session", "starts another agent"),
        ("npx -y @openai/codex@latest x", "starts another agent"),
        ("npm exec opencode-ai run x", "starts another agent"),
        ("uvx aider-chat", "starts another agent"),
        ("git config alias.x '!y'", "git runs by itself"),
        ("git config alias.x '-c core.pager=y log'", "git runs by itself"),
        ("git config alias.x \"$y\"", "git runs by itself"),
        ("git config alias.x 'fetch --upload-pack=y'", "git runs by itself"),
        ("git config alias.x status core.pager y", "git runs by itself"),
        ("git config core.hooksPath h", "git runs by itself"),
        ("git config protocol.ext.allow always", "git runs by itself"),
        ("git config core.attributesFile ~/x", "git runs by itself"),
        ("git config filter.x.clean y", "git runs by itself"),
        ("git config diff.x.textconv y", "git runs by itself"),
        ("claude mcp add x -- y", "brings programs"),
        ("claude plugin marketplace add x", "brings programs"),
    ] {
        assert!(why(text).is_some_and(|said| said.contains(words)), "{text}: {:?}", why(text));
    }
    for text in [
        "ls",
        "codex --version",
        "goose up",
        "npm install codex",
        "npx eslint .",
        "git config user.name x",
        "git config --global alias.st status",
        "git config alias.lg 'log --oneline --graph'",
        "git config diff.renames true",
        "git status",
        "claude mcp list",
        "claude plugin list",
        "x=1",
    ] {
        assert_eq!(why(text), None, "{text}");
    }
    assert_eq!(asked(&Targets::default()), None);
}
