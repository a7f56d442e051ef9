//! A page in headless Chromium: its document as it ended up, what it complained about, what it asked for.

use crate::support::Sandbox;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

pub(super) struct Browser {
    dom: String,
    complaints: Vec<String>,
    requests: Vec<String>,
}

/// Has the page tell, at its end, what it asked for.
const PROBE: &str = "<script>addEventListener('load', () => setTimeout(() => {
  const asked = performance.getEntriesByType('resource').map((one) => one.name);
  document.documentElement.dataset.asked = asked.join(' ') || 'nothing';
}, 300))</script>";

/// Where it is; a machine without one cannot run these tests.
pub(crate) fn program(sandbox: &Sandbox) -> PathBuf {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let path = sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    let found = std::env::split_paths(&path)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|p| p.is_file());
    found.expect("no Chromium on PATH: install the package `chromium` (as root, `.ci/run` does)")
}

/// A browser without a screen that leaves its vendor alone.
pub(crate) const ALONE: [&str; 8] = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
];

/// The document at this address, which must be on this machine.
pub(crate) fn show(sandbox: &Sandbox, profile: &Path, address: &str) -> Output {
    let mut browser = sandbox.command(program(sandbox).to_str().unwrap());
    browser
        .args(ALONE)
        .args(["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost", "--proxy-server=127.0.0.1:9"])
        .arg(format!("--user-data-dir={}", profile.display()))
        .args(["--enable-logging=stderr", "--virtual-time-budget=5000", "--dump-dom", address])
        .timeout(std::time::Duration::from_mins(3))
        .output()
        .unwrap()
}

impl Browser {
    pub(super) fn open(sandbox: &Sandbox, page: &Path) -> Self {
        let (copy, profile) = (sandbox.tmp().join("opened.html"), sandbox.tmp().join("profile"));
        let html = fs::read_to_string(page).unwrap();
        fs::write(&copy, html.replace("</body>", &format!("{PROBE}</body>"))).unwrap();
        let output = show(sandbox, &profile, &format!("file://{}", copy.display()));
        let dom = String::from_utf8_lossy(&output.stdout).into_owned();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && dom.contains("</html>"), "{output:?}");
        let complaints = said.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect();
        let asked = dom.split("data-asked=\"").nth(1).and_then(|rest| rest.split('"').next());
        let asked = asked.expect("the page ran to its end");
        let requests = asked.split_whitespace().filter(|url| *url != "nothing").map(str::to_owned).collect();
        Self { dom, complaints, requests }
    }

    pub(super) fn dom(&self) -> &str {
        &self.dom
    }

    /// What it wrote to its console.
    pub(super) fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// Addresses it asked for, other than its own file.
    pub(super) fn requests(&self) -> &[String] {
        &self.requests
    }
}
