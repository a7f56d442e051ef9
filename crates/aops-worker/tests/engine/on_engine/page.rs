//! The gateway's page in a real browser: what it shows, what it does, and for whom.

use crate::tab::Tab;
use crate::world::{World, until};
use serde_json::{Value, json};

const EVIL: &str = "<img src=x onerror=\"document.title='owned'\"><script>document.title = 'owned'</script>";

/// A call that waits: an edit, with everything that a person must see.
fn edit() -> Value {
    json!({
        "step": "build", "trigger": "ASK_USER", "tool": "Edit", "call": "/project/src/main.rs",
        "diff": format!("--- a\n+++ b\n@@ -1,2 +1,2 @@\n fn main() {{\n-    old();\n+    new(\"{EVIL}\");\n"),
        "more": "{\n  \"replace_all\": false\n}", "gate": "rules", "rule": "ask-first",
        "why": "sources are not to be edited lightly\nhint: ask", "four_eyes": false, "wants_words": false
    })
}

/// A world with a machine whose runs ask this, and people: bob answers and blocks, ann submits, eve reads.
fn world(asked: &Value) -> (World, crate::machines::Machine) {
    // A run that asks takes no place of its repository.
    let world = World::new(&["true"], &["--per-repository", "1"]);
    world.set_tokens(&[("ann", "submit", ""), ("bob", "approve,operate", ""), ("eve", "read", "")]);
    let machine = world.acting("a", asked);
    (world, machine)
}

fn asks(world: &World, run: &str) {
    world.send(run, &[]);
    until("a person is asked", || world.status(run)["state"] == "asks");
}

fn enter(tab: &mut Tab, world: &World, path: &str, token: &str) {
    tab.go(&format!("{}{path}#token={token}", world.address()));
    tab.shows("Log out");
}

/// At both widths, in light and dark: every view is usable by all.
#[test]
fn every_view_is_usable_in_light_and_dark_on_a_desk_and_a_phone() {
    let (world, _a) = world(&edit());
    for n in 0..22 {
        asks(&world, &format!("r{n}"));
    }
    let mut tab = Tab::open(&world);
    for (width, is_dark) in [(1280, false), (1280, true), (390, false), (390, true)] {
        let what = |view: &str| format!("{view} at {width}, dark: {is_dark}");
        tab.be(width, is_dark);
        tab.go(&world.address());
        tab.shows("Log in");
        tab.is_usable(&what("log in"));
        enter(&mut tab, &world, "/", "bobbob");
        tab.shows("Page 1 of 2, 22 runs");
        tab.is_usable(&what("list"));
        tab.press("Over");
        tab.shows("There are no such runs.");
        tab.is_usable(&what("empty list"));
        enter(&mut tab, &world, "/runs/r3", "bobbob");
        tab.shows("What happens");
        tab.is_usable(&what("question"));
        tab.press("Reject");
        tab.shows("A rejection needs a reason");
        tab.is_usable(&what("refused rejection"));
        tab.press("Approve");
        tab.shows("Cancel");
        tab.is_usable(&what("second step"));
        tab.press("Cancel");
        tab.press("Block the run");
        tab.eval("document.getElementById('sure-yes').click()");
        tab.shows("Undo");
        tab.is_usable(&what("undo"));
        tab.press("Undo");
        tab.shows("Undone: nothing was sent.");
        tab.press("Log out");
        tab.shows("You are logged out.");
    }
    assert_eq!(tab.complaints, [""; 0]);
    assert_eq!(world.status("r3")["state"], "asks");
}

/// What a person needs to decide is there, as text, and in full.
#[test]
fn a_question_shows_the_call_the_rule_and_what_happens() {
    let (world, _a) = world(&edit());
    asks(&world, "r1");
    let mut tab = Tab::open(&world);
    enter(&mut tab, &world, "/runs/r1", "bobbob");
    let shown = tab.shows("What happens");
    let commit = &world.order("r1", &[])["run"]["commit"].as_str().unwrap()[..12].to_owned();
    for words in [
        "make it so",
        "ann",
        &world.bare(),
        &format!("aops/r1 from {commit}"),
        "build",
        "rules: ask-first",
        "sources are not to be edited lightly",
        "/project/src/main.rs",
        "-    old();",
        EVIL,
        "\"replace_all\": false",
        "The run continues and makes exactly this call, once, on a.",
        "The run ends as BLOCKED, the call is not made, and the client learns it.",
        "The run ends now, whatever it is doing, and nothing of its step is left running.",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert_eq!(tab.eval("document.title"), "(1) make it so · aops fleet");
    assert_eq!(tab.eval("location.href + document.cookie"), format!("{}/runs/r1", world.address()));
    assert_eq!(world.acts("read").len(), 1);
    // Whoever may only read sees it and has no button.
    enter(&mut tab, &world, "/", "eveeve");
    enter(&mut tab, &world, "/runs/r1", "eveeve");
    tab.shows("You may read this question, and not answer it.");
    assert_eq!(tab.eval("[...document.querySelectorAll('main button')].length"), 0);
    assert_eq!(tab.complaints, [""; 0]);
}

/// By keyboard alone: log in, open the question, write a note, approve in a second step.
#[test]
fn a_person_answers_by_keyboard() {
    let (world, _a) = world(&edit());
    asks(&world, "r1");
    let mut tab = Tab::open(&world);
    tab.be(1280, false);
    tab.go(&world.address());
    tab.shows("Log in");
    tab.tab_to("Token");
    tab.write("wrong");
    tab.key("Enter");
    tab.shows("This token is not known here.");
    tab.tab_to("Token");
    tab.write("bobbob");
    tab.key("Enter");
    tab.shows("Questions (1)");
    assert_eq!(tab.eval("document.title"), "(1) aops fleet");
    tab.tab_to("make it so");
    tab.key("Enter");
    tab.shows("What happens");
    // Enter in the note is a new line, and no answer.
    tab.tab_to("Note (a rejection needs a reason)");
    tab.write("looks");
    tab.key("Enter");
    tab.write("right");
    assert_eq!(tab.eval("document.querySelector('#note').value"), "looks\nright");
    assert_eq!(tab.eval("document.querySelector('dialog').open"), false);
    tab.tab_to("Approve");
    tab.key("Enter");
    tab.shows("Cancel");
    assert_eq!(tab.eval("document.activeElement.innerText"), "Cancel", "Enter twice approves nothing");
    let words = tab.eval("document.querySelector('dialog').innerText");
    assert!(words.as_str().unwrap().contains("makes exactly this call, once, on a."), "{words}");
    tab.key("Enter");
    assert_eq!(tab.eval("document.querySelector('dialog').open"), false);
    assert_eq!(world.status("r1")["state"], "asks");
    tab.tab_to("Approve");
    tab.key("Enter");
    tab.shows("Cancel");
    tab.key("Tab");
    tab.key("Tab");
    tab.tab_to("Approve");
    tab.key("Enter");
    tab.shows("Approved: run r1.");
    world.end("r1");
    let shown = tab.shows("PASS: every step passed");
    for words in [
        "approved by bob, page at 127.0.0.1: looks",
        "Cost: $12.34, 4321 tokens",
        "build",
        "1.5 s",
        "runs on a",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let answer = &world.acts("answer")[0];
    assert_eq!((&answer["who"], &answer["from"]), (&json!("bob"), &json!("page at 127.0.0.1")));
    assert_eq!(answer["with"]["note"], "looks\nright");
}

/// Ten seconds of undo for reject and block; whoever leaves the page means it.
#[test]
fn a_rejection_wants_a_reason_and_can_be_undone() {
    let (world, _a) = world(&edit());
    for run in ["r1", "r2", "r3"] {
        asks(&world, run);
    }
    let mut tab = Tab::open(&world);
    enter(&mut tab, &world, "/runs/r1", "bobbob");
    tab.shows("What happens");
    let confirm = |tab: &mut Tab, button: &str| {
        tab.press(button);
        tab.shows("Cancel");
        tab.eval("document.getElementById('sure-yes').click()");
    };
    tab.press("Reject");
    tab.shows("A rejection needs a reason");
    tab.write("not today");
    confirm(&mut tab, "Reject");
    tab.shows("Run r1 will be rejected.");
    tab.press("Undo");
    tab.shows("Undone: nothing was sent.");
    // It goes on counting on another view of the page, and is sent at its end.
    confirm(&mut tab, "Reject");
    tab.press("All runs");
    tab.shows("Questions (3)");
    tab.shows("Run r1 will be rejected.");
    assert_eq!(world.acts("answer").len(), 0, "nothing was sent so far");
    let (code, end) = world.end("r1");
    assert_eq!((code, &end["reason"]), (200, &json!("bob rejected it")), "{end}");
    tab.shows("Questions (2)");
    // Blocked, and the page is left.
    enter(&mut tab, &world, "/runs/r2", "bobbob");
    tab.shows("What happens");
    confirm(&mut tab, "Block the run");
    tab.shows("Run r2 will be blocked.");
    tab.go("about:blank");
    assert_eq!(world.end("r2").0, 409);
    assert_eq!(world.status("r3")["state"], "asks");
    assert_eq!((world.acts("answer").len(), world.acts("block").len()), (1, 1));
}

/// The page is live, finds and pages, and says when nothing waits and when the server is away.
#[test]
fn the_page_is_live_and_says_when_the_server_is_away() {
    let (mut world, _a) = world(&edit());
    let mut tab = Tab::open(&world);
    enter(&mut tab, &world, "/", "bobbob");
    tab.shows("Nothing waits for you.");
    assert_eq!(tab.eval("document.title"), "aops fleet");
    asks(&world, "first");
    asks(&world, "second");
    tab.shows("Questions (2)");
    until("the title counts", || tab.eval("document.title") == "(2) aops fleet");
    tab.tab_to("Search");
    tab.write("SECOND");
    tab.hides("first · asked by ann");
    tab.shows("second · asked by ann");
    tab.write("x");
    tab.shows("Nothing matches.");
    // Somebody else answers while it is open.
    enter(&mut tab, &world, "/runs/first", "bobbob");
    tab.shows("What happens");
    tab.eval("document.querySelector('#note').value = 'half'");
    let answer = json!({"about": world.status("first")["about"], "approve": true});
    assert_eq!(world.act("first", "answer", &answer).0, 200);
    tab.shows("approved by bob, terminal at 127.0.0.1");
    tab.hides("What happens");
    world.kill_server();
    tab.shows("The engine does not answer.");
    world.start_server();
    tab.hides("The engine does not answer.");
    world.kill_gateway();
    tab.shows("The gateway cannot be reached.");
    world.start_gateway();
    tab.hides("The gateway cannot be reached.");
    // A token that is removed shows nothing any more.
    world.set_tokens(&[("ann", "submit", "")]);
    tab.shows("Log in");
    assert!(!tab.text().contains("make it so"));
}

/// Nothing comes from elsewhere, and nothing is shown without a token.
#[test]
fn the_page_is_strict() {
    let (world, _a) = world(&edit());
    asks(&world, "r1");
    let head = |path: &str, token: &str| world.raw("GET", path, token);
    for path in ["/", "/runs/r1", "/page.js", "/ask.js", "/style.css", "/v1/me"] {
        let said = head(path, "");
        for held in [
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'",
            "frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'",
            "x-content-type-options: nosniff",
            "cache-control: no-store",
        ] {
            assert!(said.contains(held), "{path} {held}: {said}");
        }
        assert!(!said.contains("make it so") && !said.to_lowercase().contains("set-cookie"), "{path}");
    }
    for path in ["/v1/me", "/v1/events", "/metrics", "/runs/-x", "/runs/a/b", "/page"] {
        assert!(head(path, "").starts_with("HTTP/1.1 401"), "{path}");
    }
    for act in ["look", "question", "status"] {
        assert_eq!(world.post("", "POST", &format!("/v1/runs/r1/{act}"), &Value::Null).0, 401);
    }
    let page = head("/", "");
    assert!(!page.contains("style=") && !page.contains("onclick"), "no script or style in the text");
}

/// For `docs/pictures/make`.
#[test]
#[ignore = "docs/pictures/make takes it"]
fn picture() {
    let folder = std::env::var_os("AOPS_PICTURES").expect("hint: run `docs/pictures/make`");
    let mut asked = edit();
    asked["call"] = json!("deploy/values.yaml");
    asked["diff"] = json!(
        "--- deploy/values.yaml\n+++ deploy/values.yaml\n@@ -3,3 +3,3 @@\n cart:\n-  limit: 20\n+  limit: 50\n   retries: 3\n"
    );
    asked["rule"] = json!("deploy");
    asked["why"] = json!("what is deployed is looked at by two people");
    let (world, _a) = world(&asked);
    let mut order = world.order("r1", &[]);
    order["run"]["repository"] = json!("git@forge.example:team/shop.git");
    order["run"]["run"]["task"] = json!("raise the limit of the cart");
    assert_eq!(world.post("annann", "POST", "/v1/runs/20260113-1f3a9c02", &order).0, 202);
    until("a person is asked", || world.status("20260113-1f3a9c02")["state"] == "asks");
    let mut tab = Tab::open(&world);
    tab.be(1000, false);
    enter(&mut tab, &world, "/runs/20260113-1f3a9c02", "bobbob");
    tab.shows("What happens");
    tab.photograph(&std::path::Path::new(&folder).join("page.png"));
}
