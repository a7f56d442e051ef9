use super::dialect::{Dialect, clean, field, holding, id, issues, recognise};
use super::queue::Queued;
use super::*;
use proptest::prelude::{any, prop_assert, proptest};
use std::fs;

fn recorded(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/bd");
    fs::read(folder.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

/// Each issue as one line: ID, title, status, priority, kind, what it waits for.
fn lines(name: &str) -> Vec<String> {
    let line = |i: Issue| {
        let priority = i.priority.map_or("?".to_owned(), |p| p.to_string());
        format!(
            "{} | {} | {} | {priority} | {} | {}",
            i.id,
            i.title,
            i.status,
            i.kind,
            i.blocked_by.join(" ")
        )
    };
    issues(&recorded(name)).unwrap_or_else(|e| panic!("{name}: {e}")).into_iter().map(line).collect()
}

#[test]
fn lists_of_every_version_are_read() {
    for (folder, ids) in
        [("1.0.3", ["demo-udt", "demo-7de", "demo-9c0"]), ("1.0.5", ["demo-bk0", "demo-oov", "demo-6g8"])]
    {
        let ready = [
            format!("{} | Deadline overrun in memory lookup | open | 0 | bug | ", ids[0]),
            format!("{} | Hook suite | open | 1 | epic | ", ids[1]),
            format!("{} | Write UserPromptSubmit loader | open | 1 | task | ", ids[2]),
        ];
        assert_eq!(lines(&format!("{folder}/ready.json")), ready);
        let waiting = format!("{}.1 | Record violations | open | 2 | task | {}", ids[1], ids[0]);
        assert_eq!(lines(&format!("{folder}/blocked.json")), std::slice::from_ref(&waiting));
        assert_eq!(
            lines(&format!("{folder}/show.json")),
            std::slice::from_ref(&waiting),
            "a parent is not in the way"
        );
        let open: Vec<String> = ready.into_iter().chain([waiting]).collect();
        assert_eq!(lines(&format!("{folder}/list_open.json")), open);
    }
    let busy = "demo-5fe | Reflect on session | in_progress | 3 | chore | ";
    assert_eq!(lines("1.0.5/list_active.json").last().unwrap(), busy);
    assert_eq!(lines("1.0.5/update_claim.json"), [busy]);
    assert_eq!(lines("1.0.5/close.json"), ["demo-457 | Old item | closed | 2 | task | "]);
}

#[test]
fn the_envelope_changes_nothing() {
    assert_eq!(lines("1.0.5/ready_envelope.json"), lines("1.0.5/ready.json"));
    assert_eq!(lines("1.0.5/create_envelope.json"), ["demo-qt4 | Envelope sample | open | 2 | task | "]);
}

#[test]
fn look_alikes_are_read() {
    let ready = [
        "demo-2 | Deadline overrun in memory lookup | open | 0 | bug | ",
        "demo-3 | Hook suite | open | 1 | epic | ",
    ];
    let waiting = "demo-4 | Record violations | open | 2 | task | demo-2";
    assert_eq!(lines("minibeads-0.25.0/ready.json"), ready);
    assert_eq!(lines("minibeads-0.25.0/blocked.json"), [waiting]);
    assert_eq!(lines("minibeads-0.25.0/show.json"), [waiting]);
    assert_eq!(lines("minibeads-0.25.0/list_open.json"), [ready[0], ready[1], waiting]);
    let other = [
        "demo-i0z | Write UserPromptSubmit loader | open | 1 | task | ",
        "demo-0pt | Deadline overrun | open | 0 | bug | ",
    ];
    assert_eq!(lines("beads-rs-0.1.26/ready.json"), other);
    assert_eq!(
        lines("beads-rs-0.1.26/blocked.json"),
        ["demo-ati | Record violations | open | 2 | task | demo-0pt"]
    );
    assert_eq!(lines("beads-rs-0.1.26/create_task.json"), [other[0]]);
}

#[test]
fn what_was_made_has_an_id() {
    for (name, made) in [
        ("1.0.3/create.json", "demo-9c0"),
        ("1.0.5/create.json", "demo-6g8"),
        ("1.0.5/create_envelope.json", "demo-qt4"),
        ("1.0.5/comment_add.json", "01a1dcdc-1801-70e3-a721-29c9b5f06a70"),
        ("1.0.5/audit_record.json", "int-4de33df422c134724f474566e9e6b281"),
        ("minibeads-0.25.0/create_task.json", "demo-1"),
        ("beads-rs-0.1.26/create_task.json", "demo-i0z"),
    ] {
        assert_eq!(id(&recorded(name)).as_deref(), Ok(made), "{name}");
    }
    assert_eq!(field(&recorded("1.0.5/where.json"), "path").as_deref(), Some("/repo/.beads"));
    let held = holding(&recorded("1.0.5/list_active.json"), "One violation per");
    assert_eq!(held, Ok(Some("demo-oov.1".to_owned())));
    assert_eq!(holding(&recorded("1.0.5/list_active.json"), "aops-key: 1"), Ok(None));
    let comments = br#"[{"id":"c1","issue_id":"x","text":"a\n\naops-key: 12"}]"#;
    assert_eq!(holding(comments, "aops-key: 12"), Ok(Some("c1".to_owned())));
}

#[test]
fn what_is_not_understood_is_an_error_and_no_empty_list() {
    let error = issues(&recorded("1.0.5/error_not_found.stdout.json"));
    assert_eq!(error, Err("no issues found matching the provided IDs".to_owned()));
    for odd in [
        "",
        "[",
        "{}",
        "3",
        "null",
        r#"[{"id":"a"}]"#,
        r#"[{"title":"a"}]"#,
        r#"[{"id":"","title":"a"}]"#,
        "[[]]",
    ] {
        assert!(issues(odd.as_bytes()).is_err(), "{odd}");
    }
    assert!(issues(&recorded("1.0.5/no_db.stderr")).is_err());
    assert_eq!(issues(b"[]"), Ok(Vec::new()), "an empty list is one");
}

#[test]
fn texts_come_out_short_and_plain() {
    let title = format!("a\u{1b}[31m\nb sk-ant-{} {}", "x".repeat(40), "é".repeat(500));
    let answer = serde_json::json!([{"id": "x", "title": title, "blocked_by": vec!["b"; 5000]}]).to_string();
    let issue = issues(answer.as_bytes()).unwrap().remove(0);
    assert!(
        issue.title.starts_with("a [31m b [redacted:anthropic-key] éé") && issue.title.ends_with('…'),
        "{issue:?}"
    );
    assert_eq!((issue.title.chars().count(), issue.blocked_by.len()), (160, 10));
    assert_eq!(clean("exact", 5), "exact");
    let deep = format!("[{}{}]", "[".repeat(100_000), "]".repeat(100_000));
    assert!(issues(deep.as_bytes()).is_err());
}

proptest! {
    #[test]
    fn no_answer_is_too_odd(bytes in any::<Vec<u8>>(), at in 0_usize..2000, byte in any::<u8>()) {
        let _ = (issues(&bytes), id(&bytes), holding(&bytes, "x"), field(&bytes, "path"));
        let mut bent = recorded("1.0.5/list_active.json");
        let at = at % bent.len();
        bent[at] = byte;
        for issue in issues(&bent).unwrap_or_default() {
            prop_assert!(issue.title.chars().count() <= 160 && !issue.id.is_empty());
        }
        bent.truncate(at);
        prop_assert!(issues(&bent).is_err(), "half an answer is none");
    }
}

#[test]
fn programs_are_told_apart_by_what_they_call_themselves() {
    for name in ["1.0.3", "1.0.5"] {
        let said = String::from_utf8(recorded(&format!("{name}/version.txt"))).unwrap();
        assert_eq!(recognise(&said), Ok((Dialect::Bd, format!("bd {name}"))));
    }
    assert_eq!(recognise("bd version 2.1.0 (abc)").unwrap().0, Dialect::Bd);
    assert_eq!(recognise("mb 0.25.0\nBuilt: today\n"), Ok((Dialect::Minibeads, "mb 0.25.0".to_owned())));
    for untold in ["", "\n", "[{\"id\":\"bd-1\"}]", "{\"data\":[]}"] {
        assert_eq!(recognise(untold).unwrap().0, Dialect::Bd, "its answers decide: {untold}");
    }
    for other in ["bd 0.1.26", "bd version 0.49.0 (x)", "bd", "bd version", "bd version next", "usage: bd"] {
        assert!(recognise(other).is_err(), "{other}");
    }
}

#[test]
fn what_comes_from_outside_is_never_an_option() {
    let dialects = [Dialect::Bd, Dialect::Minibeads];
    for line in dialects.map(|d| d.create("--force", "--x", "--y", 1, &["--z".to_owned()])) {
        assert!(
            line.iter().all(|word| !["--force", "--x", "--y", "--z"].contains(&word.as_str())),
            "{line:?}"
        );
    }
}

fn issue_item(title: &str) -> Item {
    let labels = vec!["aops".to_owned(), "a,b".to_owned()];
    Item::Issue {
        title: title.to_owned(),
        body: "body\0".to_owned(),
        kind: "task".to_owned(),
        priority: 9,
        labels,
    }
}

#[test]
fn a_key_is_what_an_item_says_and_where() {
    let key = |project: &str, item: Item| Queued::new(project, item, 0).unwrap().key;
    assert_eq!(key("/p", issue_item("a")), key("/p", issue_item("a\n")), "as it will be written");
    assert_ne!(key("/p", issue_item("a")), key("/p", issue_item("b")));
    assert_ne!(key("/p", issue_item("a")), key("/q", issue_item("a")));
    let Item::Issue { body, priority, labels, .. } = Queued::new("/p", issue_item("a"), 0).unwrap().item;
    assert_eq!((body.as_str(), priority, labels), ("body", 4, vec!["aops".to_owned(), "a b".to_owned()]));
    assert!(Queued::new("/p", issue_item(" \n"), 0).is_err());
}

#[test]
fn what_we_file_carries_our_label_and_is_known_again() {
    let unlabelled = Item::Issue {
        title: "Learning: a".to_owned(),
        body: String::new(),
        kind: "task".to_owned(),
        priority: 3,
        labels: vec!["aops-learning".to_owned()],
    };
    let Item::Issue { labels, .. } = Queued::new("/p", unlabelled, 0).unwrap().item;
    assert_eq!(labels, ["aops", "aops-learning"]);
    let rows = [
        (r#""title":"x","labels":["ui","aops"]"#, true),
        (r#""title":"x","labels":["aops-halt"]"#, true),
        (r#""title":"x","labels":["aops-ui"]"#, false),
        (r#""title":"Reflection: greets the world""#, true),
        (r#""title":"Learning: a","labels":null,"description":"s\n\naops-key: 12""#, true),
        (r#""title":"Halt: scope left","description":"""#, true),
        (r#""title":"Learning: how to teach","description":"a course for new people""#, false),
        (r#""title":"Halting: write the chapter""#, false),
    ];
    for (members, ours) in rows {
        let found = issues(format!(r#"[{{"id":"d-1",{members}}}]"#).as_bytes()).unwrap();
        assert_eq!(found[0].ours, ours, "{members}");
    }
}

#[test]
fn a_refused_item_waits_longer_each_time_then_goes_aside() {
    let home = tempfile::tempdir().unwrap();
    let mut env = Env { config: home.path().to_owned(), now_ms: 1000, ..Env::default() };
    let project = Path::new("/p");
    let key = enqueue(&env, project, issue_item("a")).unwrap();
    assert_eq!(enqueue(&env, project, issue_item("a")).unwrap(), key);
    assert_eq!(queue::waiting(&env, "/p").len(), 1, "the same item is one item");
    assert_eq!(queue::waiting(&env, "/q").len(), 0);
    let mut pauses = Vec::new();
    while let Some(queued) = queue::waiting(&env, "/p").pop() {
        queue::refuse(&env, queued, "label unknown").unwrap();
        if let Some(queued) = queue::waiting(&env, "/p").pop() {
            pauses.push((queued.next_ms - env.now_ms) / 1000);
            env.now_ms = queued.next_ms;
        }
    }
    assert_eq!(pauses, [15, 30, 60, 120, 240, 480, 960]);
    let aside = queue::list(&env, "aside", "/p");
    assert_eq!((aside[0].key.as_str(), aside[0].reason.as_deref()), (key.as_str(), Some("label unknown")));
    enqueue(&env, project, issue_item("a")).unwrap();
    assert_eq!(queue::waiting(&env, "/p").len(), 0, "what is set aside is not asked again");
}

#[test]
fn a_done_item_is_not_queued_again_and_a_broken_file_is_kept_aside() {
    let home = tempfile::tempdir().unwrap();
    let env = Env { config: home.path().to_owned(), ..Env::default() };
    let key = enqueue(&env, Path::new("/p"), issue_item("a")).unwrap();
    queue::finish(&env, &queue::waiting(&env, "/p")[0], "demo-1").unwrap();
    assert_eq!(enqueue(&env, Path::new("/p"), issue_item("a")).unwrap(), key);
    assert_eq!(queue::waiting(&env, "/p").len(), 0);
    let broken = format!("{}-{key}.json", project_hash("/p"));
    fs::write(folder(&env).join("queue").join(&broken), "{\"schema\":2}").unwrap();
    assert_eq!(queue::waiting(&env, "/p").len(), 0);
    assert_eq!(fs::read_to_string(folder(&env).join("aside").join(&broken)).unwrap(), "{\"schema\":2}");
}

#[test]
fn a_queue_has_an_end_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let env = Env { config: home.path().to_owned(), ..Env::default() };
    enqueue(&env, Path::new("/p"), issue_item("first")).unwrap();
    for n in 1..1000 {
        fs::write(folder(&env).join("queue").join(format!("{}-{n}.json", project_hash("/p"))), "").unwrap();
    }
    let full = enqueue(&env, Path::new("/p"), issue_item("last")).unwrap_err();
    assert!(full.what.contains("1000 items wait"), "{full}");
    enqueue(&env, Path::new("/q"), issue_item("of another project")).unwrap();
}

fn taken() -> Snapshot {
    let part = |name: &str| Part::of(issues(&recorded(name)).unwrap(), true);
    Snapshot {
        schema: SCHEMA,
        project: "/p".to_owned(),
        taken_ms: Some(1_000_000),
        tool: Some("bd 1.0.5".to_owned()),
        ready: part("1.0.5/ready.json"),
        blocked: part("1.0.5/blocked.json"),
        in_progress: part("1.0.5/update_claim.json"),
        ..Snapshot::default()
    }
}

#[test]
fn a_snapshot_says_what_there_is_and_how_old_it_is() {
    let words = "`bd 1.0.5`, as of 2 min ago: 3 ready, 1 blocked, 1 in progress";
    assert_eq!(taken().headline(1_125_000), words);
    let many = Part::of(vec![Issue::default(); 500], false);
    assert_eq!((many.total, many.issues.len()), (500, 20));
    let cut = Snapshot { ready: many, ..taken() };
    assert!(cut.headline(1_000_000).contains("500 or more ready"));
    let ours = Snapshot { ours: 2, ..taken() }.headline(1_125_000);
    assert_eq!(ours, format!("{words}; 2 filed by aops-hook left out"));
}

#[test]
fn a_failed_look_keeps_the_lists_unless_they_are_about_nothing() {
    let after = |why, words: &str| {
        taken().after(Trouble { at_ms: 1_050_000, why, words: words.to_owned() }, 2).headline(1_125_000)
    };
    let late = "`bd 1.0.5`, as of 2 min ago: 3 ready, 1 blocked, 1 in progress; trouble: late; 2 of our own still to be written";
    assert_eq!(after(Why::TimedOut, "late"), late);
    assert_eq!(after(Why::NoDatabase, "no issues yet"), "no issues yet; 2 of our own still to be written");
}

#[test]
fn a_snapshot_is_read_back_and_anything_else_is_none() {
    let home = tempfile::tempdir().unwrap();
    let env = Env { config: home.path().to_owned(), ..Env::default() };
    let none = |words: &str| Snapshot::none("/p", Why::NotYet, words);
    assert_eq!(snapshot(&env, Path::new("/p")), none("not asked yet"));
    keep(&env, &taken()).unwrap();
    assert_eq!(snapshot(&env, Path::new("/p")), taken());
    let file = snapshot_file(&env, "/p");
    let mut long = serde_json::to_string(&taken()).unwrap();
    long.push_str(&" ".repeat(100 << 10));
    fs::write(&file, &long).unwrap();
    assert_eq!(snapshot(&env, Path::new("/p")), taken(), "one that is longer than a read");
    let unreadable = none("the last snapshot cannot be read; the next one replaces it");
    for odd in [
        "",
        "{}",
        &long.replace("\"schema\":1", "\"schema\":2"),
        &long.replace("\"/p\"", "\"/q\""),
        &"[".repeat(300 << 10),
    ] {
        fs::write(&file, odd).unwrap();
        assert_eq!(snapshot(&env, Path::new("/p")), unreadable);
    }
}
