//! Tests what runs without asking us: paths of executable configuration, and commands that start or bring it.

use super::protected;
use crate::gate::guard::executable::{Executable, of_target};
use crate::gate::guard::{Protected, asked, judge};
use crate::model::client::Client;
use crate::model::verdict::Ruling;
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
    for (path, act) in [
        ("/p/.claude/skills", Act::Merge),
        ("/p/.claude/agents/x", Act::Become),
        ("/p/.claude/commands", Act::Into),
    ] {
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
    let linked = Target {
        path: Word::of("/p/x"),
        act: Act::Write,
        real: Some(Word::of("/p/.mcp.json")),
        stands: None,
    };
    assert!(of_target(&Protected::default(), &linked).is_some());
}

fn why(text: &str) -> Option<String> {
    let ground = Ground { cwd: "/home/u/proj", home: "/home/u", variables: &[] };
    let input = serde_json::json!({ "command": text }).to_string();
    let line = line("Bash", &input, &ground);
    asked(&Protected::default(), &targets::of("Bash", &input, line.as_ref(), &ground)).map(|(words, _)| words)
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
    assert_eq!(asked(&Protected::default(), &Targets::default()), None);
}

/// A client with our hooks may be started without special options; so may Claude Code from another client.
#[test]
fn a_hooked_client_is_started_plainly() {
    let ground = Ground { cwd: "/p", home: "/h", variables: &[] };
    let said = |host: Client, hooked: &[Client], text: &str| {
        let input = serde_json::json!({ "command": text }).to_string();
        let line = line("Bash", &input, &ground);
        let targets = targets::of("Bash", &input, line.as_ref(), &ground);
        let protected = Protected { host, hooked: hooked.to_vec(), ..Protected::default() };
        asked(&protected, &targets).map(|(words, hint)| format!("{words} {}", hint.unwrap_or_default()))
    };
    let codex = |text: &str| said(Client::Claude, &[Client::Codex], text);
    for text in ["codex exec 'do it'", "cd x && codex exec --json \"fix $it\"", "/opt/codex e -s read-only x"]
    {
        assert_eq!(codex(text), None, "{text}");
    }
    for text in [
        "codex x",
        "codex cloud x",
        "codex exec --ignore-user-config x",
        "codex exec -c features.hooks=false x",
        "codex -cfeatures.hooks=false exec x",
        "codex exec --profile=x y",
        "CODEX_HOME=/x codex exec x",
        "HOME=/x codex exec x",
        "codex exec $x",
        "codex exec \"$x\"",
        "echo x | xargs codex exec",
    ] {
        assert!(
            codex(text).is_some_and(|words| words.contains("may leave our hooks out")),
            "{text}: {:?}",
            codex(text)
        );
    }
    assert!(
        codex("npx @openai/codex exec x").is_some_and(|words| words.contains("which our hooks do not see"))
    );
    let unhooked = said(Client::Claude, &[], "codex exec x").unwrap();
    assert!(
        unhooked.contains("Codex CLI, which our hooks")
            && unhooked.contains("`aops-hook install --client codex`")
    );
    let claude = said(Client::Codex, &[], "claude -p x").unwrap();
    assert!(
        claude.contains("Claude Code, which our hooks") && claude.contains("`aops-hook install` in"),
        "{claude}"
    );
    assert_eq!(said(Client::Codex, &[Client::Claude], "claude -p x"), None);
    assert_eq!(said(Client::Claude, &[], "claude -p x"), None, "its own rules hold");
}

/// The files of a client in which we are registered are guarded in every session.
#[test]
fn files_of_another_client_are_guarded_where_we_are_registered() {
    let registered = Protected { clients: vec![(Client::Codex, "/home/u/.codex".to_owned())], ..protected() };
    let deny = |protected: &Protected, text: &str| {
        let ground = Ground { cwd: "/home/u/proj", home: "/home/u", variables: &[] };
        let input = serde_json::json!({ "command": text }).to_string();
        let line = line("Bash", &input, &ground);
        judge(protected, &targets::of("Bash", &input, line.as_ref(), &ground)).ruling == Ruling::Deny
    };
    for text in [
        "echo > ~/.codex/hooks.json",
        "rm -r ~/.codex",
        "echo >> ~/.codex/config.toml",
        "rm ~/.codex/agents/critic.toml",
        "echo > .codex/config.toml",
        "python3 -c \"open(h + '/.codex/hooks.json', 'w')\"",
        "python3 -c \"open(environ['CODEX_HOME'] + '/config.toml', 'w')\"",
    ] {
        assert!(deny(&registered, text), "{text}");
    }
    for text in [
        "cat ~/.codex/hooks.json",
        "echo > ~/.codex/AGENTS.md",
        "python3 -c \"open('.codex/prompts/x', 'w')\"",
    ] {
        assert!(!deny(&registered, text), "{text}");
    }
    let unregistered = protected();
    assert!(!deny(&unregistered, "echo > ~/.codex/config.toml"));
}
