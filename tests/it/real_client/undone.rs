//! Undo at a terminal: each kind of loss happens in the real client without a dialog, is told on the screen,
//! and a person at another terminal brings it back.

use super::whole_loop::bash;
use crate::client::Client;
use crate::jail::lost::{furnish, sweep};
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use crate::undo::brought;
use crate::undo::hand::World;

const LINES: [&str; 9] = [
    "rm -rf notes src",
    "echo X > .env",
    "truncate -s 0 app.db",
    "git checkout -- .",
    "git reset --hard HEAD~1",
    "git clean -fdx -e .claude",
    "git stash drop",
    "git branch -D topic",
    "cp b.txt .env && rm -f app.db",
];

/// The number that the person reads behind this prompt.
fn told(screen: &str, prompt: &str) -> Option<u64> {
    let behind = screen.rsplit_once(prompt)?.1;
    behind.split_once("kept as ")?.1.split_once(':')?.0.parse().ok()
}

#[test]
fn each_kind_of_loss_is_told_on_the_screen_and_comes_back() {
    let sandbox = Sandbox::new();
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\n");
    furnish(&sandbox);
    let turns = LINES
        .iter()
        .enumerate()
        .flat_map(|(n, line)| [bash(line), Turn::text(&format!("That was number {n}."))]);
    let model = Model::new(turns.collect::<Vec<_>>());
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "acceptEdits", "--allowedTools", "Bash"]);
    for (n, line) in LINES.iter().enumerate() {
        let was = World::of(&sandbox);
        let prompt = format!("lose number {n}");
        terminal.type_prompt(&prompt);
        terminal.shows(&[&format!("● That was number {n}.")]);
        let screen = terminal.screen();
        let number = told(&screen, &prompt).unwrap_or_else(|| panic!("{line}: nothing is told:\n{screen}"));
        assert_ne!(World::of(&sandbox), was, "{line} takes something away");
        sweep(&sandbox);
        if n == 0 {
            // As a person does it: the newest, after a look and a yes.
            let answer = sandbox.on_terminal("undo", "y\n");
            assert_eq!(answer.code, Some(0), "{line}: {answer:?}");
        } else {
            brought(&sandbox, number);
        }
        was.same(&World::of(&sandbox), line);
    }
    let failed: Vec<_> = model.tool_results().into_iter().filter(|result| result.is_error).collect();
    assert!(failed.is_empty(), "{failed:#?}");
}
