//! One tab of a headless Chromium, driven by the browser's own protocol over two pipes.

use crate::brought::axe;
use crate::world::{Running, World, until};
use aops_proof::text::from_base64;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_mins(1);

const OPTIONS: [&str; 10] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

pub(crate) struct Tab {
    _browser: Running,
    to: File,
    from: BufReader<File>,
    session: Value,
    number: u64,
    /// What the page wrote to its console, and what it asked elsewhere for.
    pub(crate) complaints: Vec<String>,
}

fn program() -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let found = std::env::split_paths(&path).flat_map(|folder| names.map(|name| folder.join(name)));
    let found = found.into_iter().find(|path| path.is_file());
    found.expect("no Chromium on PATH: install the package `chromium`").to_str().unwrap().to_owned()
}

impl Tab {
    pub(crate) fn open(world: &World) -> Self {
        let folder = world.at("browser");
        fs::create_dir(&folder).unwrap();
        let [to, from] = ["to", "from"].map(|name| folder.join(name));
        assert!(Command::new("mkfifo").args([&to, &from]).status().unwrap().success());
        let browser = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "sh", "-c", r#"exec "$@" 3<"$TO" 4>"$FROM""#, "sh"])
            .arg(program())
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg("--remote-debugging-pipe")
            .env_clear()
            .envs(world.variables(&folder))
            .envs([("TO", &to), ("FROM", &from)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = File::options().write(true).open(to).unwrap();
        let from = BufReader::new(File::open(from).unwrap());
        let mut tab = Self {
            _browser: Running::new(browser),
            to,
            from,
            session: Value::Null,
            number: 0,
            complaints: Vec::new(),
        };
        let target = tab.call("Target.createTarget", &json!({"url": "about:blank"}))["targetId"].clone();
        let attached = tab.call("Target.attachToTarget", &json!({"targetId": target, "flatten": true}));
        tab.session = attached["sessionId"].clone();
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            tab.call(domain, &json!({}));
        }
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
            let words = match said["method"].as_str().unwrap_or_default() {
                "Log.entryAdded" => said["params"]["entry"]["text"].to_string(),
                "Runtime.exceptionThrown" => said["params"]["exceptionDetails"].to_string(),
                _ => continue,
            };
            self.complaints.push(words);
        }
    }

    /// The size of its window, and whether the person wants it dark.
    pub(crate) fn be(&mut self, width: u32, is_dark: bool) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if is_dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", &features);
    }

    pub(crate) fn go(&mut self, url: &str) {
        // The same page with another `#` would not be loaded again.
        self.call("Page.navigate", &json!({"url": "about:blank"}));
        self.call("Page.navigate", &json!({"url": url}));
    }

    /// What an expression, or its promise, gives in the page that is open.
    pub(crate) fn eval(&mut self, code: &str) -> Value {
        let asked = json!({"expression": code, "awaitPromise": true, "returnByValue": true});
        let said = self.call("Runtime.evaluate", &asked);
        assert!(said["exceptionDetails"].is_null(), "{code}: {said}");
        said["result"]["value"].clone()
    }

    pub(crate) fn text(&mut self) -> String {
        let shown = "document.readyState == 'complete' ? document.body.innerText : ''";
        self.eval(shown).as_str().unwrap_or_default().to_owned()
    }

    /// Waits until this holds for what the page shows.
    #[track_caller]
    fn wait(&mut self, what: &str, holds: impl Fn(&str) -> bool) -> String {
        let began = Instant::now();
        loop {
            let text = self.text();
            if holds(&text) {
                return text;
            }
            assert!(began.elapsed() < PATIENCE, "never: {what}: {text}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    #[track_caller]
    pub(crate) fn shows(&mut self, words: &str) -> String {
        self.wait(words, |text| text.contains(words))
    }

    #[track_caller]
    pub(crate) fn hides(&mut self, words: &str) {
        self.wait(&format!("no {words}"), |text| !text.contains(words));
    }

    /// A key, as a keyboard sends it.
    pub(crate) fn key(&mut self, key: &str) {
        let text = match key {
            "Enter" => "\r",
            " " => " ",
            _ => "",
        };
        let number = match key {
            "Enter" => 13,
            "Tab" => 9,
            " " => 32,
            "Escape" => 27,
            _ => 0,
        };
        let mut down = json!({"type": "keyDown", "key": key, "code": if key == " " { "Space" } else { key },
            "windowsVirtualKeyCode": number});
        if !text.is_empty() {
            down["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", &down);
        down["type"] = json!("keyUp");
        self.call("Input.dispatchKeyEvent", &down);
    }

    pub(crate) fn write(&mut self, text: &str) {
        self.call("Input.insertText", &json!({"text": text}));
    }

    /// Tab, until the focus is on what has these words.
    #[track_caller]
    pub(crate) fn tab_to(&mut self, words: &str) {
        let focus = "(() => { const one = document.activeElement; return (one.innerText || '') + '|' + (one.labels?.[0]?.innerText || '') + '|' + (one.ariaLabel || ''); })()";
        for _ in 0..60 {
            if self.eval(focus).as_str().unwrap().split('|').any(|text| text.trim() == words) {
                return;
            }
            self.key("Tab");
        }
        panic!("no `{words}` by the Tab key: {}", self.text());
    }

    /// By mouse, as it were: the button or link with these words.
    #[track_caller]
    pub(crate) fn press(&mut self, words: &str) {
        let code = format!(
            "(() => {{ const one = [...document.querySelectorAll('dialog[open] button, button, a')].find((one) => one.innerText.trim() == {words:?} && one.checkVisibility()); one?.click(); return !!one; }})()"
        );
        until(words, || self.eval(&code) == true);
    }

    /// What axe finds, and targets that a finger misses.
    #[track_caller]
    pub(crate) fn is_usable(&mut self, what: &str) {
        if self.eval("typeof axe") != "object" {
            self.eval(&format!("{}; 1", axe()));
        }
        let found = self.eval(
            "axe.run(document, {resultTypes: ['violations']}).then((said) => JSON.stringify(said.violations.map((one) => [one.id, one.nodes.map((node) => node.html + ' ' + node.failureSummary)])))",
        );
        assert_eq!(found, "[]", "{what}: axe");
        let small = self.eval(
            "[...document.querySelectorAll('a, button, input, textarea')].filter((one) => one.checkVisibility() && !one.matches('.skip')).map((one) => [one.outerHTML, one.getBoundingClientRect()]).filter(([, box]) => box.width < 44 || box.height < 44).map(([html, box]) => `${html} ${box.width}x${box.height}`).join()",
        );
        assert_eq!(small, "", "{what}: smaller than 44 pixels");
        let wide = self.eval("document.documentElement.scrollWidth - innerWidth");
        assert!(wide.as_i64().unwrap() <= 0, "{what}: {wide} pixels too wide");
    }

    pub(crate) fn photograph(&mut self, to: &Path) {
        self.eval("scrollTo(0, 0)");
        let mut clip = self.call("Page.getLayoutMetrics", &json!({}))["cssContentSize"].clone();
        clip["scale"] = json!(1);
        let whole = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        let said = self.call("Page.captureScreenshot", &whole);
        fs::write(to, from_base64(said["data"].as_str().unwrap()).unwrap()).unwrap();
    }
}
