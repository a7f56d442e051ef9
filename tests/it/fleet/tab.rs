//! One tab of a headless Chromium, driven by the browser's own protocol over two pipes.

#![expect(clippy::disallowed_methods, reason = "a browser that the test starts")]

use crate::report::browser::{ALONE, program};
use crate::support::Sandbox;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_mins(1);

pub(super) struct Tab {
    browser: Child,
    to: File,
    from: BufReader<File>,
    session: Value,
    number: u64,
}

impl Tab {
    pub(super) fn open(sandbox: &Sandbox) -> Self {
        let [to, from] = ["to", "from"].map(|name| sandbox.tmp().join(name));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        let browser = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "sh", "-c", r#"exec "$@" 3<"$TO" 4>"$FROM""#, "sh"])
            .arg(program(sandbox))
            .args(ALONE)
            // Here it knows this machine alone.
            .arg("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost")
            .arg(format!("--user-data-dir={}", sandbox.tmp().join("profile").display()))
            .arg("--remote-debugging-pipe")
            .env_clear()
            .envs(sandbox.environment())
            .envs([("TO", &to), ("FROM", &from)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let mut tab = Self { browser, to, from, session: Value::Null, number: 0 };
        let target = tab.call("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].clone();
        tab.session =
            tab.call("Target.attachToTarget", &json!({"targetId": target, "flatten": true}))["sessionId"]
                .clone();
        tab
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.number += 1;
        let mut asked = json!({"id": self.number, "method": method, "params": params});
        if !self.session.is_null() {
            asked["sessionId"] = self.session.clone();
        }
        write!(self.to, "{asked}\0").unwrap();
        loop {
            let mut said = Vec::new();
            self.from.read_until(0, &mut said).unwrap();
            let said: Value = serde_json::from_slice(said.strip_suffix(b"\0").unwrap()).unwrap();
            if said["id"] == self.number {
                return said["result"].clone();
            }
        }
    }

    pub(super) fn go(&mut self, url: &str) {
        // The same page with another `#` would not be loaded again.
        self.call("Page.navigate", &json!({"url": "about:blank"}));
        self.call("Page.navigate", &json!({"url": url}));
    }

    /// What an expression gives in the page that is open.
    pub(super) fn eval(&mut self, code: &str) -> Value {
        self.call("Runtime.evaluate", &json!({"expression": code}))["result"]["value"].clone()
    }

    /// Waits until the page is there as a whole and shows these words, and returns all it shows.
    pub(super) fn shows(&mut self, words: &str) -> String {
        let end = Instant::now() + PATIENCE;
        let shown = "document.readyState == 'complete' ? document.body.innerText : ''";
        loop {
            let text = self.eval(shown).as_str().unwrap_or_default().to_owned();
            if text.contains(words) {
                return text;
            }
            assert!(Instant::now() < end, "no `{words}` in {text}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// The key, in the first field like this.
    pub(super) fn enter(&mut self, field: &str) {
        self.eval(&format!("document.querySelector({field:?}).focus()"));
        let key = json!({"type": "keyDown", "key": "Enter", "code": "Enter", "text": "\r",
            "windowsVirtualKeyCode": 13});
        self.call("Input.dispatchKeyEvent", &key);
        self.call("Input.dispatchKeyEvent", &json!({"type": "keyUp", "key": "Enter", "code": "Enter"}));
    }

    /// Presses the button with this value in the first row that has these words.
    pub(super) fn press(&mut self, row: &str, button: &str) {
        let pressed = self.eval(&format!(
            "const row = [...document.querySelectorAll('tr, body > form')].find((one) => one.outerHTML.includes('{row}')); \
             row.querySelector('input[name=note]').value = 'a note'; row.querySelector('button[value={button}]').click(); 1"
        ));
        assert_eq!(pressed, 1, "`{button}` of `{row}` was pressed");
    }
}

impl Drop for Tab {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}
