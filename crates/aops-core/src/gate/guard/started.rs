//! One table of the files that a session manager, a shell, an editor, git or the client starts by itself, or
//! that name programs for them to run.
//!
//! Compares a path, or a pattern of paths, with names; reads nothing. Invariants: a file that people edit
//! every day is listed only with the words that make something run; removing a file starts nothing.

use super::path::pattern::{ends_as, fits, named};
use super::path::{Component, Protected, names};
use crate::tool::targets::Act;
use Root::{Anywhere, Home, System};
use aops_shell::syntax::Bit;

/// Where the paths of a row begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Root {
    /// The home folder.
    Home,
    /// `/`.
    System,
    /// Any folder, including a project.
    Anywhere,
}

/// Files of one kind.
#[derive(Debug, PartialEq, Eq)]
pub struct Row {
    root: Root,
    /// What the files are, as the end of a sentence after `is`.
    pub what: &'static str,
    /// If not empty: asks only if the new text has a new line with one of these.
    pub words: &'static [&'static str],
    /// A last part `*` is any name, `**` anything below.
    paths: &'static [&'static str],
}

const fn always(root: Root, what: &'static str, paths: &'static [&'static str]) -> Row {
    Row { root, what, words: &[], paths }
}

const SHELL: &str = "what each shell runs when it starts";
const SESSION: &str = "what the session manager starts by itself";
const LOGIN: &str = "what ssh runs, or who may log in with it";
const EDITOR: &str = "what an editor runs by itself";
const TOOL: &str = "what a tool runs when it starts";
const HOOKS: &str = "a list of programs that git runs by itself";
const FOLDER: &str = "what runs when you enter the folder";

#[rustfmt::skip]
pub(super) static ROWS: &[Row] = &[
    always(Home, SHELL, &[
        ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
        ".zprofile", ".zlogin", ".zlogout", ".inputrc", ".bash_completion", ".config/zsh/**", ".kshrc", ".mkshrc", ".cshrc", ".tcshrc", ".login", ".logout",
        ".config/fish/config.fish", ".config/fish/conf.d/*", ".config/fish/functions/*", ".config/nushell/*",
        ".config/powershell/*", ".oh-my-zsh/custom/**",
    ]),
    always(System, SHELL, &[
        "etc/profile", "etc/profile.d/*", "etc/bash.bashrc", "etc/bashrc", "etc/zshrc", "etc/zshenv", "etc/zprofile",
        "etc/zsh/**", "etc/fish/**", "etc/environment",
    ]),
    always(Home, SESSION, &[
        ".config/systemd/**", ".local/share/systemd/**", ".config/autostart/*", ".config/autostart-scripts/*",
        ".config/environment.d/*", ".config/plasma-workspace/**", ".config/user-tmpfiles.d/*",
        ".config/i3/config", ".config/sway/**", ".config/hypr/**", ".local/share/gnome-shell/extensions/**",
        ".local/share/dbus-1/services/*", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment",
        "library/launchagents/**", "library/launchdaemons/**",
    ]),
    always(System, SESSION, &[
        "etc/systemd/**", "lib/systemd/**", "usr/lib/systemd/**", "usr/local/lib/systemd/**", "run/systemd/**", "etc/init.d/*",
        "etc/init/*", "etc/rc.local", "etc/inittab", "etc/crontab", "etc/anacrontab", "etc/cron.d/*", "etc/cron.hourly/*",
        "etc/cron.daily/*", "etc/cron.weekly/*", "etc/cron.monthly/*", "var/spool/cron/**", "etc/xdg/autostart/*",
        "etc/x11/xsession.d/*", "etc/udev/rules.d/*", "etc/ld.so.preload", "etc/ld.so.conf.d/*", "etc/pam.d/*",
        "etc/sudoers", "etc/sudoers.d/*", "library/launchagents/**", "library/launchdaemons/**",
    ]),
    always(Home, LOGIN, &[".ssh/rc", ".ssh/environment", ".ssh/authorized_keys", ".ssh/authorized_keys2"]),
    always(System, LOGIN, &["etc/ssh/**"]),
    Row { root: Home, what: LOGIN, paths: &[".ssh/config", ".ssh/config.d/*"],
        words: &["proxycommand", "localcommand", "knownhostscommand", "match ", "include "] },
    always(Home, "the configuration of git", &[".gitconfig", ".config/git/config", ".config/git/hooks/**"]),
    always(Anywhere, HOOKS, &[
        ".husky/**", ".githooks/**", ".lefthook/**", "lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json",
        ".lefthook.yml", ".lefthook.yaml", "lefthook-local.yml", ".pre-commit-config.yaml", ".pre-commit-config.yml",
        ".overcommit.yml", ".huskyrc", ".huskyrc.json", ".huskyrc.js", ".simple-git-hooks.json", ".simple-git-hooks.cjs",
        ".simple-git-hooks.js",
    ]),
    always(Anywhere, "a list of prompts that the client sends by itself", &[".claude/scheduled_tasks.json"]),
    always(Anywhere, EDITOR, &[
        ".vscode/tasks.json", ".vscode/launch.json", ".idea/runconfigurations/*", ".idea/startup.xml", ".zed/tasks.json", ".exrc", ".nvimrc",
        ".nvim.lua", ".lvimrc",
    ]),
    always(Home, EDITOR, &[
        ".local/share/nvim/site/**", ".config/code/user/tasks.json", ".vimrc", ".vim/vimrc", ".vim/plugin/**", ".vim/after/**", ".vim/autoload/**", ".config/nvim/**", ".emacs",
        ".emacs.d/init.el", ".emacs.d/early-init.el", ".config/emacs/init.el", ".config/emacs/early-init.el",
    ]),
    Row { root: Anywhere, what: EDITOR, paths: &[".vscode/settings.json"], words: &[
        "terminal.integrated.profiles", "terminal.integrated.automation", "terminal.integrated.shell",
        "terminal.integrated.env", "terminal.integrated.defaultprofile", "allowautomatictasks", "\"git.path\"",
        "workspace.trust",
    ] },
    Row { root: Anywhere, what: EDITOR, paths: &[".idea/workspace.xml", ".dir-locals.el"],
        words: &["startup", "eval"] },
    Row { root: Anywhere, what: "what runs when a container of this project is made",
        paths: &[".devcontainer.json", ".devcontainer/**"],
        words: &["initializecommand", "oncreatecommand", "updatecontentcommand", "postcreatecommand", "poststartcommand",
            "postattachcommand", "entrypoint"] },
    always(Anywhere, FOLDER, &[".envrc"]),
    always(Home, FOLDER, &[".direnvrc", ".config/direnv/**"]),
    Row { root: Anywhere, what: FOLDER,
        paths: &[".mise.toml", "mise.toml", ".mise/config.toml", ".config/mise.toml", ".config/mise/config.toml", "mise.local.toml"],
        words: &["[hooks", "hooks.", "_.source", "exec(", "[env", "[plugins"] },
    Row { root: Home, what: FOLDER, paths: &[".asdfrc"], words: &["pre_", "post_"] },
    always(Anywhere, TOOL, &[
        "sitecustomize.py", "usercustomize.py", ".gdbinit", ".lldbinit", ".rprofile", ".pnpmfile.cjs", ".pdbrc",
    ]),
    always(Home, TOOL, &[
        ".irbrc", ".pryrc", ".pythonrc", ".pythonrc.py", ".psqlrc", ".sqliterc", ".ghci", ".mailcap", ".forward",
        ".lessfilter", ".gradle/init.d/*", ".julia/config/startup.jl", ".docker/cli-plugins/*",
        ".gnupg/gpg-agent.conf", ".gnupg/gpg.conf",
    ]),
    Row { root: Home, what: TOOL, paths: &[".config/gh/config.yml"], words: &["!", "editor", "pager", "browser"] },
    Row { root: Home, what: "the program of the client", paths: &[".local/bin/claude", ".local/share/claude/**"], words: &[] },
    Row { root: Home, what: TOOL, paths: &[".tmux.conf", ".config/tmux/tmux.conf", ".screenrc"],
        words: &["run", "if-shell", "default-command", "default-shell", "exec", "source", "screen ", "shell"] },
    Row { root: Anywhere, what: TOOL, paths: &[".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml"],
        words: &["script-shell", "node-options", "node_options", "init-module", "yarn-path", "yarnpath", "plugins", "preload"] },
    Row { root: Anywhere, what: TOOL, paths: &[".cargo/config", ".cargo/config.toml"],
        words: &["wrapper", "runner", "linker", "rustc", "rustdoc", "credential"] },
];

/// Names in the table that do not begin with a dot, in any folder.
const PLAIN: [&str; 10] = [
    "lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json", "lefthook-local.yml", "mise.toml",
    "mise.local.toml", "bunfig.toml", "sitecustomize.py", "usercustomize.py",
];
/// Folders in the root folder that contain some of the files.
const SYSTEM: [&str; 6] = ["etc", "lib", "usr", "var", "run", "library"];

pub(super) fn row(protected: &Protected, path: &[Component], act: Act) -> Option<&'static Row> {
    if !may_be_listed(path) {
        return None;
    }
    let home = names(&protected.home);
    let in_home = !home.is_empty()
        && path.len() > home.len()
        && home.iter().zip(path).all(|(name, part)| fits(part, name));
    // Removing a shell's or git's files loses a person's settings.
    let removes = act.goes_below();
    ROWS.iter().filter(|row| !removes || row.what == SHELL).find(|row| {
        row.paths.iter().any(|pattern| match row.root {
            Home => in_home && meets(&path[home.len()..], pattern, act),
            System => meets(path, pattern, act),
            Anywhere => ends_with(path, pattern, act),
        })
    })
}

/// The names in the table that may lie in any folder.
pub(super) fn loose() -> impl Iterator<Item = &'static str> {
    let rows = ROWS.iter().filter(|row| row.root == Anywhere);
    rows.flat_map(|row| row.paths.iter().copied()).filter(|path| !path.contains('/'))
}

/// A cheap test first, for the many paths of everyday calls.
fn may_be_listed(path: &[Component]) -> bool {
    let hidden = |part: &Component| !matches!(part.first(), Some(Bit::Char(c)) if *c != '.');
    let any = |part: Option<&Component>, known: &[&str]| {
        part.is_some_and(|part| known.iter().any(|name| fits(part, name)))
    };
    path.iter().any(hidden)
        || any(path.first(), &SYSTEM)
        || any(path.last(), &PLAIN)
        || any(path.iter().rev().nth(1), &["launchagents", "launchdaemons"])
}

/// The whole path matches this pattern; or something is put into a folder that may match it.
fn meets(path: &[Component], pattern: &str, act: Act) -> bool {
    let fills = matches!(act, Act::Into | Act::Merge | Act::Become);
    let mut parts = pattern.split('/');
    for (n, part) in path.iter().enumerate() {
        match parts.next() {
            Some("**") => return true,
            Some("*") => return n + 1 == path.len(),
            Some(name) if named(part, name) => {}
            _ => return false,
        }
    }
    match (parts.next(), parts.next()) {
        (None, _) => true,
        (Some("*" | "**"), None) => fills,
        (Some(_), None) => fills && path.len() > 1,
        _ => false,
    }
}

/// The end of the path matches this pattern.
fn ends_with(path: &[Component], pattern: &str, act: Act) -> bool {
    let first = pattern.split('/').next().unwrap_or(pattern);
    (0..path.len()).rev().any(|at| ends_as(&path[..=at], first) && meets_from(path, at, pattern, act))
}

fn meets_from(path: &[Component], at: usize, pattern: &str, act: Act) -> bool {
    let fills = matches!(act, Act::Into | Act::Merge | Act::Become);
    let is_folder = at + 1 == path.len() && pattern.contains('/');
    meets(&path[at..], pattern, act) || is_folder && fills && pattern.split('/').count() == 2
}

#[cfg(test)]
mod tests {
    use super::super::path::components;
    use super::*;
    use aops_shell::syntax::Word;

    fn what(path: &str, act: Act) -> Option<&'static str> {
        let protected = Protected { home: "/home/u".into(), ..Protected::default() };
        row(&protected, &components(&Word::of(path).bits), act).map(|row| row.what)
    }

    #[test]
    fn what_starts_by_itself_is_listed() {
        for (path, wanted) in [
            ("/home/u/.config/systemd/user/x.service", SESSION),
            ("/home/u/.config/systemd/user/default.target.wants/x.service", SESSION),
            ("/home/u/.config/autostart/x.desktop", SESSION),
            ("/home/u/.config/environment.d/x.conf", SESSION),
            ("/home/u/Library/LaunchAgents/x.plist", SESSION),
            ("/etc/systemd/system/x.service", SESSION),
            ("/etc/cron.d/x", SESSION),
            ("/var/spool/cron/crontabs/root", SESSION),
            ("/home/u/.profile", SHELL),
            ("/home/u/.config/fish/conf.d/x.fish", SHELL),
            ("/home/u/.ssh/rc", LOGIN),
            ("/home/u/p/.vscode/tasks.json", EDITOR),
            ("/srv/p/sub/.vscode/tasks.json", EDITOR),
            ("/srv/p/.envrc", FOLDER),
            ("/srv/p/.claude/scheduled_tasks.json", "a list of prompts that the client sends by itself"),
            ("/srv/p/lefthook.yml", HOOKS),
            ("/srv/p/.husky/_/pre-commit", HOOKS),
            ("/srv/p/lib/sitecustomize.py", TOOL),
            ("/home/u/.bash_completion", SHELL),
            ("/home/u/.config/zsh/.zshrc", SHELL),
            ("/home/u/.config/sway/config", SESSION),
            ("/home/u/.local/share/nvim/site/plugin/a.lua", EDITOR),
            ("/home/u/.config/Code/User/tasks.json", EDITOR),
            ("/srv/p/.zed/tasks.json", EDITOR),
            ("/home/u/.psqlrc", TOOL),
            ("/home/u/.gradle/init.d/a.gradle", TOOL),
            ("/home/u/.docker/cli-plugins/docker-x", TOOL),
            ("/home/u/.local/bin/claude", "the program of the client"),
        ] {
            assert_eq!(what(path, Act::Write), Some(wanted), "{path}");
        }
        for (folder, act) in [
            ("/home/u/.config/systemd/user", Act::Merge),
            ("/home/u/.config/autostart", Act::Into),
            ("/srv/p/.vscode", Act::Merge),
            ("/etc/cron.d", Act::Become),
        ] {
            assert!(what(folder, act).is_some() && what(folder, Act::Whole).is_none(), "{folder}");
        }
    }

    #[test]
    fn everyday_files_are_not() {
        for path in [
            "/home/u/p/src/main.rs",
            "/home/u/p/.gitignore",
            "/home/u/p/.github/workflows/ci.yml",
            "/home/u/p/.env.example",
            "/home/u/p/.vscode/extensions.json",
            "/home/u/p/profile",
            "/home/u/p/.profile",
            "/srv/etc/systemd/x.service",
            "/home/u/p/.config/autostart.md",
            "/home/u/.config/app/settings.json",
            "/home/u/p/package.json",
            "/tmp/x",
        ] {
            assert_eq!(what(path, Act::Write), None, "{path}");
        }
        assert_eq!(what("/srv/p/.vscode/tasks.json", Act::Whole), None, "taken away");
        let paths = |root: Root| ROWS.iter().filter(move |row| row.root == root).flat_map(|row| row.paths);
        assert!(PLAIN.iter().all(|name| paths(Anywhere).any(|path| path == name)));
        assert!(paths(Anywhere).all(|path| path.starts_with('.') || PLAIN.contains(path)));
        assert!(paths(System).all(|path| SYSTEM.contains(&path.split('/').next().unwrap())));
        let all = || ROWS.iter().flat_map(|row| row.paths.iter().chain(row.words));
        assert!(all().all(|text| text.to_lowercase() == **text), "texts are compared in lower case");
    }
}
