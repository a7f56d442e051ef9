//! Servers that the client starts (MCP, over their streams): they start, and their tools work, with us installed.

use crate::client::Client;
use crate::model::{Model, Turn};
use crate::support::Sandbox;
use serde_json::json;
use std::fs;

const SERVER: &str = r#"
import json, sys
text = {"type": "string"}
def tool(name, **fields):
    return {"name": name, "description": name, "inputSchema": {"type": "object", "properties": fields}}
tools = [tool("read_file", path=text), tool("note", path=text, text=text)]
def answer(number, result):
    print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, number, given = asked.get("method"), asked.get("id"), asked.get("params", {})
    if method == "initialize":
        about = {"name": "files", "version": "1"}
        answer(number, {"protocolVersion": given["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": about})
    elif method == "tools/list":
        answer(number, {"tools": tools})
    elif method == "tools/call":
        words = given["arguments"]
        if given["name"] == "note":
            with open(words["path"], "a") as file:
                file.write(words["text"])
        answer(number, {"content": [{"type": "text", "text": open(words["path"]).read()}]})
    elif number is not None:
        answer(number, {})
"#;

/// The configuration in which the client finds a server of files.
pub(super) fn server(sandbox: &Sandbox) -> String {
    let folder = sandbox.project().parent().unwrap().join("served files");
    fs::create_dir_all(&folder).unwrap();
    let script = folder.join("server.py");
    fs::write(&script, SERVER).unwrap();
    let server = json!({"type": "stdio", "command": "python3", "args": [script]});
    let path = folder.join("mcp.json");
    fs::write(&path, json!({"mcpServers": {"files": server}}).to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn a_server_of_the_client_starts_and_works_in_every_mode() {
    for mode in ["observe", "guard", "loop", "strict"] {
        let sandbox = Sandbox::repository("0").with("ENABLE_TOOL_SEARCH", "false");
        sandbox.configure(&format!("mode.level = \"{mode}\"\ntracker.command = \"none\"\n"));
        sandbox.put("hello.txt", "hello\n");
        let path = sandbox.project().join("hello.txt");
        let model = Model::new([
            Turn::call("mcp__files__read_file", json!({"path": path})),
            Turn::call("mcp__files__note", json!({"path": path, "text": "noted\n"})),
            Turn::text("Noted."),
        ]);
        let client = Client::guarded(&sandbox, &model);
        let allowed = ["--allowedTools", "mcp__files", "--mcp-config", &server(&sandbox)];
        client.start(". note it", &allowed).ended("Noted.");
        let said: Vec<String> = model.tool_results().into_iter().map(|result| result.text).collect();
        assert!(said[0].contains("hello") && said[1].contains("noted"), "{mode}: {said:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "hello\nnoted\n", "{mode}");
    }
}
