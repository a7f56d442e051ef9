use super::*;
use crate::cli::log::told::Told;
use crate::cli::watch::keys::press;
use crate::cli::watch::model::{Host, News};
use crate::cli::watch::row::{Life, Question};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

fn screen(model: &Model, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(model, frame)).unwrap();
    terminal.backend().to_string()
}

fn model() -> Model {
    let first = Row {
        id: "3f2a1b0c-0000".to_owned(),
        path: "/s/1".into(),
        place: "~/src/greet".to_owned(),
        project: "greet".to_owned(),
        life: Life::Live,
        mode: "strict",
        phase: "execute",
        cost: Some(0.417),
        refusal: Some("Write hello.txt".to_owned()),
        prompt: "add a greeting to the page that everybody sees first".to_owned(),
        began: "2".to_owned(),
        ..Row::default()
    };
    let question = Question { words: "`touch danger`?".to_owned(), open: true, ..Question::default() };
    let second = Row {
        id: "77aa0000-1111".to_owned(),
        path: "/s/2".into(),
        project: "run".to_owned(),
        question: Some(question),
        damage: Some("STATE_CHECKSUM_MISMATCH".to_owned()),
        refusal: None,
        ..first.clone()
    };
    let mut model = Model { size: (24, 80), color: true, ..Model::default() };
    model.learn(News::Rows(vec![first, second]));
    model.learn(News::Ready);
    model
}

fn key(model: &mut Model, code: KeyCode) {
    let _ = press(model, KeyEvent::new(code, KeyModifiers::NONE));
}

#[test]
fn the_list_has_all_there_is_to_know_on_the_smallest_screen() {
    let shown = screen(&model(), 80, 24);
    for words in [
        "2 sessions, 2 live, 1 waits for you",
        "> live  run",
        "live  greet",
        "execute",
        "you: `touch …",
        "$0.42",
        "Write hello.…",
        "BAD add",
        "ok  add a greet…",
        "DAMAGED: STATE_CHECKSUM_MISMATCH",
        "waits for you: `touch danger`?",
        "? keys",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

#[test]
fn a_screen_that_is_too_small_says_so() {
    for (width, height) in [(79, 24), (80, 23), (20, 40)] {
        let shown = screen(&model(), width, height);
        assert!(shown.contains("needs 80 x") || shown.contains("needs"), "{shown}");
        assert!(!shown.contains("greet"), "{shown}");
    }
}

#[test]
fn every_key_is_told_and_a_question_shows_its_command() {
    let mut model = model();
    key(&mut model, KeyCode::Char('?'));
    assert!(screen(&model, 100, 50).contains("clear its block, after its reason was shown"));
    key(&mut model, KeyCode::Esc);
    key(&mut model, KeyCode::Char('b'));
    for c in "stop".chars() {
        key(&mut model, KeyCode::Char(c));
    }
    assert!(screen(&model, 80, 24).contains("> stop"));
    key(&mut model, KeyCode::Enter);
    let shown = screen(&model, 80, 24);
    assert!(shown.contains("$ aops-hook block 77aa0000-1111 --reason stop"), "{shown}");
    assert!(shown.contains("y does it, any other key does not"), "{shown}");
}

#[test]
fn a_timeline_shows_the_chosen_line_whole() {
    let mut model = model();
    key(&mut model, KeyCode::Enter);
    let told = Told {
        seq: 5,
        ts: "2026-01-13T10:00:00.000Z".to_owned(),
        word: "refused".to_owned(),
        text: "Write hello.txt  [sandbox]".to_owned(),
        reason: Some(
            "Blocked: this task has no plan yet\nhint: start the agent `prompt-hydrator`".to_owned(),
        ),
        refused: true,
        tone: Tone::Bad,
        ..Told::default()
    };
    model.learn(News::Lines { path: "/s/2".into(), lines: vec![told], open: Vec::new(), fresh: true });
    let shown = screen(&model, 80, 24);
    for words in [
        "77aa0000  run  live  phase execute",
        ">     5 ",
        "refused   Write hello.txt",
        "hint: start the agent",
        "? keys",
    ] {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
}

/// No style of any cell has a colour; the chosen line is still reversed.
#[test]
fn without_colours_there_is_none() {
    let model = Model { color: false, ..model() };
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| draw(&model, frame)).unwrap();
    let cells = &terminal.backend().buffer().content;
    assert!(cells.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
    assert!(cells.iter().any(|cell| cell.modifier.contains(Modifier::REVERSED)));
}

#[test]
fn hosts_are_listed_with_what_went_there_and_how_to_answer() {
    let mut model = model();
    let row = Row { network: Some("list · 1 host, 40 MB in".to_owned()), ..model.rows[0].clone() };
    model.learn(News::Rows(vec![row]));
    key(&mut model, KeyCode::Char('n'));
    assert!(screen(&model, 80, 24).contains("reading …"));
    let host = |rule: &str, by: &str, what: &str| Host {
        rule: rule.to_owned(),
        by: by.to_owned(),
        what: what.to_owned(),
        wanted: by == "refused",
    };
    let refused = host("paste.test", "refused", "refused 2×, it is not on this project's list");
    model.learn(News::Hosts(vec![refused, host("registry.test", "built-in", "212×, 40 MB in, 61 kB out")]));
    let shown = screen(&model, 80, 24);
    for words in
        ["list · 1 host, 40 MB in", "> paste.test", "refused 2×", "built-in", "40 MB in, 61 kB", "d never"]
    {
        assert!(shown.contains(words), "{words}\n{shown}");
    }
    key(&mut model, KeyCode::Char('d'));
    assert!(screen(&model, 80, 24).contains("$ aops-hook network deny paste.test"));
}
