use super::*;
use crate::cli::log::told::Told;
use crate::cli::watch::model::{Checkpoint, Host, News};
use crate::cli::watch::row::{Life, Question};
use std::path::PathBuf;

fn with(rows: Vec<Row>) -> Model {
    let mut model = Model { size: (24, 80), ..Model::default() };
    model.learn(News::Rows(rows));
    model.learn(News::Ready);
    model
}

fn row(id: &str) -> Row {
    let path = PathBuf::from(format!("/s/{id}"));
    let root = PathBuf::from("/p");
    Row { id: id.to_owned(), began: id.to_owned(), path, root, life: Life::Live, ..Row::default() }
}

/// Presses each key; a word in `<>` is a named key. Returns the last requests.
fn press_all(model: &mut Model, keys: &str) -> Vec<Wish> {
    let mut wishes = Vec::new();
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let named = [("<enter>", KeyCode::Enter), ("<esc>", KeyCode::Esc), ("<down>", KeyCode::Down)];
        let (code, long) = named
            .into_iter()
            .find(|(name, _)| rest.starts_with(name))
            .map_or((KeyCode::Char(c), c.len_utf8()), |(name, code)| (code, name.len()));
        wishes = press(model, KeyEvent::new(code, KeyModifiers::NONE));
        rest = &rest[long..];
    }
    wishes
}

fn line(wishes: &[Wish]) -> String {
    match wishes {
        [Wish::CarryOut(order) | Wish::Show(order) | Wish::Preview(order)] => order.line(),
        other => format!("{other:?}"),
    }
}

#[test]
fn what_changes_something_is_asked_about() {
    let mut model = with(vec![row("1")]);
    assert!(press_all(&mut model, "bwrong branch<enter>").is_empty());
    assert!(matches!(&model.dialog, Some(Dialog::Sure { order, .. }) if order.line().contains("block 1")));
    assert!(press_all(&mut model, "n").is_empty() && model.dialog.is_none(), "any other key is no");
    assert_eq!(line(&press_all(&mut model, "bstop<enter>y")), "aops-hook block 1 --reason stop");
    assert!(press_all(&mut model, "b<enter>y").is_empty(), "no reason, no block");
    let waive = "aops-hook waive qa --for 10m --reason 'a typo' --session 1";
    assert_eq!(line(&press_all(&mut model, "vqa 10m a typo<enter>y")), waive);
    assert!(press_all(&mut model, "vqa 10m<enter>y").is_empty(), "no reason, no waiver");
}

#[test]
fn a_block_is_cleared_after_its_reason_was_shown() {
    let mut model = with(vec![Row { blocked: Some("the wrong branch".to_owned()), ..row("1") }]);
    assert!(press_all(&mut model, "u").is_empty());
    let shown =
        matches!(&model.dialog, Some(Dialog::Sure { lines, .. }) if lines[0].contains("the wrong branch"));
    assert!(shown);
    assert_eq!(line(&press_all(&mut model, "y")), "aops-hook clear-block 1");
    let mut model = with(vec![row("1")]);
    assert!(press_all(&mut model, "uy").is_empty());
}

#[test]
fn a_run_is_decided_with_a_note_or_without() {
    let question =
        Question { checkpoint_id: "CP_1_build".to_owned(), words: "may I?".to_owned(), open: true };
    let mut model = with(vec![Row { question: Some(question), ..row("1") }]);
    assert_eq!(line(&press_all(&mut model, "a<enter>y")), "aops-hook resolve CP_1_build --approve");
    let reject = "aops-hook resolve CP_1_build --reject --note 'not today'";
    assert_eq!(line(&press_all(&mut model, "xnot today<enter>y")), reject);
    let mut model = with(vec![row("1")]);
    assert!(press_all(&mut model, "a<enter>y").is_empty(), "nothing waits");
}

#[test]
fn the_timeline_is_filtered_and_left() {
    let mut model = with(vec![row("1"), row("2")]);
    let wishes = press_all(&mut model, "<down><enter>");
    assert_eq!(wishes, [Wish::Follow(Some((PathBuf::from("/s/1"), "/p".to_owned())))]);
    let told =
        |tool: &str, text: &str| Told { tool: tool.to_owned(), text: text.to_owned(), ..Told::default() };
    let lines = vec![told("Bash", "Bash ls"), Told { refused: true, ..told("Write", "Write a.txt") }];
    model.learn(News::Lines { path: "/s/1".into(), lines, open: Vec::new(), fresh: true });
    press_all(&mut model, "r");
    assert_eq!(model.timeline.shown, [1]);
    press_all(&mut model, "rtbash<enter>");
    assert_eq!(model.timeline.shown, [0]);
    press_all(&mut model, "<esc>/a.txt<enter>");
    assert_eq!(
        (model.timeline.shown.as_slice(), model.timeline.filters()),
        (&[1][..], "text `a.txt`".to_owned())
    );
    assert_eq!(press_all(&mut model, "<esc><esc>"), [Wish::Follow(None)]);
    assert!(matches!(model.view, View::Sessions));
}

#[test]
fn checkpoints_are_compared_and_rolled_back_to() {
    let mut model = with(vec![row("1")]);
    assert_eq!(press_all(&mut model, "c"), [Wish::Checkpoints("/p".into())]);
    let rows = ["a/2", "a/1"].map(|id| Checkpoint { id: id.to_owned(), ..Checkpoint::default() });
    model.learn(News::Checkpoints(Ok(rows.to_vec())));
    assert_eq!(line(&press_all(&mut model, "d")), "aops-hook checkpoint diff a/2");
    let wishes = press_all(&mut model, "jR");
    assert_eq!(line(&wishes), "aops-hook checkpoint rollback a/1");
    let [Wish::Preview(order)] = &wishes[..] else { panic!("{wishes:?}") };
    model.learn(News::Sure { order: order.clone(), text: "it would\nremove".to_owned() });
    assert_eq!(press_all(&mut model, "y"), [Wish::CarryOut(order.clone())]);
}

#[test]
fn the_way_out_is_everywhere_but_in_a_line() {
    for keys in ["q", "?q", "<enter>q", "cq"] {
        let mut model = with(vec![row("1")]);
        press_all(&mut model, keys);
        assert!(model.done, "{keys}");
    }
    let mut model = with(vec![row("1")]);
    press_all(&mut model, "bq");
    assert!(!model.done);
    press(&mut model, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
    assert!(model.done);
}

#[test]
fn a_host_is_allowed_or_denied_after_its_command_was_shown() {
    let mut model = with(vec![row("1")]);
    assert!(press_all(&mut model, "n").is_empty(), "no host is judged there");
    assert!(matches!(&model.said, Some((words, _)) if words == NO_NETWORK));
    let mut model = with(vec![Row { network: Some("list · 1 host".to_owned()), ..row("1") }]);
    assert_eq!(press_all(&mut model, "n"), [Wish::Hosts(Some("/s/1".into()))]);
    assert!(press_all(&mut model, "ay").is_empty(), "there is none yet");
    let host = |rule: &str| Host { rule: rule.to_owned(), ..Host::default() };
    model.learn(News::Hosts(vec![host("a.test"), host("b.test:5432"), host("localhost:3000")]));
    assert_eq!(line(&press_all(&mut model, "ay")), "aops-hook network allow a.test");
    assert_eq!(line(&press_all(&mut model, "<down>dy")), "aops-hook network deny b.test:5432");
    // Other hosts arrive: the chosen one stays chosen.
    model.learn(News::Hosts(vec![
        host("c.test"),
        host("a.test"),
        host("b.test:5432"),
        host("localhost:3000"),
    ]));
    assert_eq!(line(&press_all(&mut model, "dy")), "aops-hook network deny b.test:5432");
    assert!(press_all(&mut model, "<down>dy").is_empty(), "a server of this machine is not a host");
    assert_eq!(press_all(&mut model, "<esc>"), [Wish::Hosts(None)]);
    assert!(matches!(model.view, View::Sessions));
}
