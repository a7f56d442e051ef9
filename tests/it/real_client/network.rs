//! The network of a session in the real client: a refused host, the person's answer, the same command again;
//! a server over two calls. In a machine of its own, like the tests below `jail::network`.

use super::whole_loop::bash;
use crate::client::{Client, install};
use crate::jail::network::{outside::Outside, run_inside};
use crate::model::{Model, Turn};
use crate::report::browser;
use crate::support::Sandbox;
use serde_json::json;

#[test]
#[ignore = "a long run, in a machine of its own"]
fn a_person_at_the_real_client_allows_a_host_and_sees_a_server() {
    // In a machine of its own nothing can be fetched.
    let _ = install::program();
    let failed = run_inside(
        false,
        "real_client::network::inside_the_real_client_hosts_are_asked_for_and_servers_seen",
    );
    assert_eq!(failed, None);
}

#[test]
#[ignore = "needs a machine of its own"]
fn inside_the_real_client_hosts_are_asked_for_and_servers_seen() {
    // The client's own variables name its model as a proxy, and the network of a session goes through a
    // person's.
    let sandbox = Sandbox::repository("0").with("no_proxy", "127.0.0.1,plain.test");
    sandbox.configure("tracker.command = \"none\"\nmode.level = \"guard\"\n[network]\nmode = \"list\"\n");
    sandbox.put(".claude/settings.local.json", &json!({"permissions": {"allow": ["Bash"]}}).to_string());
    let outside = Outside::new(&sandbox.tmp().join("sink.sock"));
    // The client's own variables name its model as a proxy, which commands do not reach.
    let line = "curl --noproxy '*' -s -m 5 http://plain.test/x";
    let serve = json!({"command": "python3 -m http.server 8300 --bind 127.0.0.1", "run_in_background": true});
    let ask = "curl --noproxy '*' -s -o /dev/null -w 'said %{http_code}' --retry 9 --retry-connrefused http://127.0.0.1:8300/";
    let turns = [
        bash(line),
        Turn::text("It was refused."),
        bash(line),
        Turn::text("It was reached."),
        Turn::call("Bash", serve),
        bash(ask),
        Turn::text("It is served."),
    ];
    let model = Model::new(turns);
    let client = Client::guarded(&sandbox, &model);
    let terminal = client.sit_down(&["--permission-mode", "default"]);
    terminal.type_prompt("fetch it");
    terminal.shows(&["● It was refused."]);
    sandbox.person(&["network", "allow", "plain.test", "--yes"]).said(&["1 running session took it up"]);
    terminal.type_prompt("once more");
    terminal.shows(&["● It was reached."]);
    terminal.type_prompt("serve it");
    terminal.shows(&["● It is served."]);
    let results: Vec<String> = model.tool_results().into_iter().map(|result| result.text).collect();
    assert!(results[0].contains("aops-hook network allow plain.test"), "{results:#?}");
    assert!(results[1].contains("seen plain.test"), "{results:#?}");
    assert!(results[3].contains("said 200"), "{results:#?}");
    let page = browser::show(&sandbox, &sandbox.tmp().join("profile"), "http://localhost:8300/");
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("Directory listing for /"), "{page}");
    assert_eq!(outside.escaped(), [""; 0]);
}
