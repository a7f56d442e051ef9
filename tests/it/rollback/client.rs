//! In the real client: a file edited by Edit, by Bash and by a subagent; rolled back, the tree is what it
//! was, and the session hears of it.

use super::{furnish, picture, same, told};
use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::{Sandbox, Session};
use serde_json::json;
use std::fs;
use std::sync::{Arc, Mutex};

#[test]
fn what_edit_bash_and_a_subagent_did_is_undone() {
    let sandbox = Arc::new(Sandbox::new());
    sandbox.configure("danger.rm-source = \"off\"\n");
    furnish(&sandbox);
    let words =
        "---\nname: maker\ndescription: makes files\n---\nYou are the one who makes files in this test.\n";
    sandbox.put(".claude/agents/maker.md", words);
    let (before, worked) = (picture(&sandbox.project()), Arc::new(Mutex::new(None)));
    let a = sandbox.project().join("a.txt");
    let (outside, seen) = (Arc::clone(&sandbox), Arc::clone(&worked));
    let undo = move || {
        *seen.lock().unwrap() = Some(picture(&outside.project()));
        told(&outside, &["rollback", "PRE_execute_v1", "--yes"]);
    };
    let model = Model::new([
        Turn::call("Read", json!({"file_path": a})),
        Turn::call("Edit", json!({"file_path": a, "old_string": "first", "new_string": "edited"})),
        Turn::call("Bash", json!({"command": "rm -r src && echo made > made.txt && chmod 700 run.sh"})),
        Turn::call(
            "Agent",
            json!({"subagent_type": "maker", "description": "d", "prompt": "make one", "run_in_background": false}),
        ),
        Turn::call("Read", json!({"file_path": a})).after(undo),
        Turn::text("All is as before."),
    ])
    .agent(
        "the one who makes files in this test",
        [Turn::call("Bash", json!({"command": "mkdir -p deep/er && echo sub > deep/er/sub.txt"})), Turn::text("Made.")],
    );
    let run = Client::guarded(&sandbox, &model).run(". change a few things");
    run.ended("All is as before.");

    let worked = worked.lock().unwrap().clone().expect("the rollback happened while the model thought");
    let read = |name: &str| {
        worked.get(name.as_bytes()).map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
    };
    assert_eq!(read("a.txt").as_deref(), Some("edited\n"), "Edit did its part");
    assert_eq!(read("made.txt").as_deref(), Some("made\n"), "Bash did its part");
    assert_eq!(read("deep/er/sub.txt").as_deref(), Some("sub\n"), "the subagent did its part");
    same(&before, &picture(&sandbox.project()), "rolled back");

    let session = Session::new(&sandbox, run.session_id());
    let heard = model.requests().last().unwrap().body["messages"].to_string();
    assert!(heard.contains("a person rolled the working tree back"), "{heard}");
    assert!(
        session.entries().iter().any(|entry| entry["type"] == "rollback" && entry["with"]["stage"] == "told")
    );
    // Each message of the scripted model uses as much as any other.
    let told = |id: &str| told(&sandbox, &["show", id])["agents"][0]["tokens"].as_u64().unwrap();
    assert_eq!(told("PRE_execute_v1"), 0);
    assert!(told("POST_execute_v2") >= 5 * 1160, "{}", told("POST_execute_v2"));
    assert!(
        (1..told("POST_execute_v2")).contains(&told("POST_execute_v1")),
        "the archive, named for what it holds"
    );
    sandbox.person(&["verify", run.session_id()]).said(&[""]);
    assert!(!fs::exists(sandbox.project().join("deep")).unwrap());
}
