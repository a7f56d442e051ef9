//! `report`: one page that needs nothing else, opened in a real browser.

pub(crate) mod browser;

use crate::insights::{lay_transcript, whole_loop};
use crate::support::{BINARY, Sandbox};
use browser::Browser;
use serde_json::json;
use std::fs;

/// A few sessions with everything the page shows.
pub(crate) fn history(sandbox: &Sandbox) {
    let good = whole_loop(sandbox);
    lay_transcript(sandbox, &good.id);
    good.stop("Done.").silent();
    let halted = sandbox.session();
    let _ = halted.start("startup");
    let _ = halted.prompt("<script>alert(1)</script> & \"more\"");
    let plan = r#"{"workflow": "feature-dev", "intent": "<b>bold</b>", "task": "new", "acceptance_criteria": [], "steps": []}"#;
    halted.agent("prompt-hydrator", plan).silent();
    let _ = halted.agent("critic", r#"{"verdict": "HALT", "acceptance_criteria": [], "problems": ["no"]}"#);
    let _ = halted.write("x.txt");
    let _ = halted.stop("Halted.");
    let _ = sandbox.session().start("startup");
}

#[test]
fn the_page_has_the_right_numbers_and_asks_for_nothing() {
    let sandbox = Sandbox::new();
    history(&sandbox);
    let file = sandbox.project().join("report.html");
    sandbox.person(&["report", "-o", "report.html"]).said(&["wrote ", "report.html (3 sessions)"]);
    let html = fs::read_to_string(&file).unwrap();
    assert!(!html.contains("<script>alert") && !html.contains("<b>bold"), "escaped");
    assert!(html.contains("prefers-color-scheme") && !html.contains("http:") && !html.contains("https:"));
    let page = Browser::open(&sandbox, &file);
    assert_eq!(page.complaints(), [""; 0]);
    assert_eq!(page.requests(), [""; 0]);
    let dom = page.dom();
    assert!(dom.contains(r#"data-success="1" data-partial="1" data-failure="1""#), "{dom}");
    let figure = |id: &str| {
        let from = dom.find(&format!("<figure id=\"{id}\"")).unwrap_or_else(|| panic!("no {id}"));
        dom[from..from + dom[from..].find("</figure>").unwrap()].to_owned()
    };
    let row = |id: &str, name: &str| {
        let figure = figure(id);
        let at =
            figure.find(&format!("<bdi>{name}</bdi>")).unwrap_or_else(|| panic!("no {name} in {figure}"));
        let from = figure[..at].rfind("<tr data-n=\"").unwrap() + 12;
        figure[from..].split('"').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!((row("refusals", "sandbox"), row("refusals", "qa")), (2, 1));
    assert_eq!((row("tools", "Write"), row("tools", "Bash")), (3, 1));
    assert_eq!((row("models", "claude-opus-5-5"), row("agents", "checker")), (2171, 671));
    assert_eq!((row("files", "src/hello.rs"), row("audits", "critic HALT")), (1, 1));
    assert!(figure("models").contains("$0.01"));
    assert_eq!(dom.matches("<details class=\"session\"").count(), 3);
    assert!(dom.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp;"), "the prompt is in its timeline");
    // The same sums for programs.
    let sums = sandbox.person(&["report", "--json"]).json();
    assert_eq!(sums["outcomes"], json!({"success": 1, "partial": 1, "failure": 1}));
    assert_eq!((&sums["refusals"], &sums["cost_usd"]), (&json!({"sandbox": 2, "qa": 1}), &json!(0.00767)));
    assert_eq!(sums["followed"]["qa"], json!({"agent": 1, "worked": 0, "again": 0, "ended": 0}));
    assert_eq!(sums["followed"]["sandbox"], json!({"agent": 1, "worked": 0, "again": 0, "ended": 1}));
}

#[test]
fn finding_a_session_works_without_a_mouse() {
    let sandbox = Sandbox::new();
    history(&sandbox);
    let file = sandbox.tmp().join("report.html");
    sandbox.person(&["report", "--output", file.to_str().unwrap()]).said(&["3 sessions"]);
    // As if typed: the page's own script hides what does not match.
    let typed = "<script>const f=document.getElementById('find');f.value='failure hydrator';f.dispatchEvent(new Event('input'));</script></body>";
    let html = fs::read_to_string(&file).unwrap().replace("</body>", typed);
    fs::write(&file, html).unwrap();
    let page = Browser::open(&sandbox, &file);
    assert_eq!(page.complaints(), [""; 0]);
    assert!(page.dom().contains(">1 of 3</span>"), "{}", page.dom());
    assert_eq!(page.dom().matches("hidden=\"\"").count(), 2);
}

#[test]
fn one_session_no_session_and_a_terminal() {
    let sandbox = Sandbox::new();
    sandbox.person(&["report", "-o", "-"]).said(&["<!doctype html>", "0 sessions", "There is none yet."]);
    history(&sandbox);
    let session = sandbox.session();
    let _ = session.start("startup");
    sandbox.person(&["report", &session.id, "-o", "-"]).said(&["<title>aops report: 1 session</title>"]);
    sandbox.person(&["report", "--since", "2099-01-01", "-o", "-"]).said(&["0 sessions since 2099-01-01"]);
    // A pipe, a terminal or a log gets words, a file that is named for it the page.
    let words = [
        "sessions  4",
        "outcomes  failure 1, partial 2, success 1",
        "halted    1 session: ",
        "refusals  qa 1, sandbox 2",
        "report -o report.html",
    ];
    sandbox.person(&["report"]).said(&words);
    assert!(sandbox.on_terminal("report --color=never", "").out.contains("sessions  4"));
    let line = format!("{BINARY} report > page.html && head -c 15 page.html");
    assert_eq!(sandbox.command("sh").args(["-c", &line]).output().unwrap().stdout, b"<!doctype html>");
    let line = format!("{BINARY} report > notes.txt && cat notes.txt");
    let notes = sandbox.command("sh").args(["-c", &line]).output().unwrap().stdout;
    assert_eq!(String::from_utf8(notes).unwrap(), sandbox.person(&["report"]).out);
    sandbox.person(&["report", "-o", "/nowhere/at/all.html"]).failed(1, &["/nowhere/at/all.html"]);
}

/// A thousand sessions: the page stays small. How fast it is made is measured with the release build.
#[test]
fn a_thousand_sessions_stay_below_three_megabytes() {
    let sandbox = Sandbox::new();
    let one = whole_loop(&sandbox);
    for n in 0..15 {
        let _ = one.prompt(&format!("prompt {n}: {}", "words ".repeat(60)));
    }
    one.stop("Done.").silent();
    let ledger = fs::read_to_string(one.folder().join("ledger.jsonl")).unwrap();
    for n in 0..1000 {
        let folder = sandbox.sessions().join(format!("20260113-{n:08x}"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("ledger.jsonl"), ledger.replace(&one.id, &format!("session-{n}"))).unwrap();
    }
    let output = sandbox
        .command(BINARY)
        .args(["report", "-o", "report.html"])
        .timeout(std::time::Duration::from_mins(5))
        .output();
    let said = String::from_utf8(output.unwrap().stdout).unwrap();
    assert!(said.contains("1001 sessions"), "{said}");
    let long = fs::metadata(sandbox.project().join("report.html")).unwrap().len();
    assert!((500_000..3_000_000).contains(&long), "{long}");
}

/// Who blocked, what is owed, where the record is damaged, when it was here; grouped by project on demand.
#[test]
fn the_page_tells_blocks_debts_damage_and_projects() {
    let sandbox = Sandbox::new().with("TZ", "AAA-5:30");
    sandbox.configure(crate::support::NO_TRACKER);
    let session = sandbox.working();
    assert_eq!(session.write("a.txt").code, Some(0));
    session.stop("Done.").refused(&["qa-verifier"]);
    sandbox.person(&["block", "--reason", "let me look"]).said(&["blocked"]);
    let damaged = sandbox.session();
    let _ = damaged.start("startup");
    let _ = damaged.prompt("add a greeting");
    let ledger = damaged.folder().join("ledger.jsonl");
    fs::write(&ledger, fs::read_to_string(&ledger).unwrap().replace("add a greeting", "add a GREETING"))
        .unwrap();
    let sums = sandbox.person(&["report", "--json"]).json();
    assert_eq!((&sums["blocks"], &sums["blocks_by"]), (&json!(1), &json!({"a person": 1})));
    assert_eq!(sums["damaged"], 1);
    let file = sandbox.tmp().join("report.html");
    sandbox.person(&["report", "-o", file.to_str().unwrap()]).said(&["2 sessions"]);
    let typed = "<script>const o=document.getElementById('order');o.value='project';o.dispatchEvent(new Event('change'));</script></body>";
    let html = fs::read_to_string(&file).unwrap().replace("</body>", typed);
    fs::write(&file, html).unwrap();
    let page = Browser::open(&sandbox, &file);
    assert_eq!(page.complaints(), [""; 0]);
    let dom = page.dom();
    for words in [
        "owed at Stop: still owes qa-verifier, framework",
        "<bdi>blocks by a person</bdi>",
        "1 damaged ledger",
        "damaged: STATE_CHECKSUM_MISMATCH",
        "<dd>intact</dd>",
        "(+05:30)",
        "a refusal, an audit drawn",
        &format!("{} (2)</h3>", sandbox.project().display()),
    ] {
        assert!(dom.contains(words), "`{words}` is not on the page: {dom}");
    }
}
