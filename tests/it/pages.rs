//! The site: every page is in `docs/SUMMARY.md`, every link leads somewhere, every command that a page shows
//! is run.

use crate::client::install;
use crate::coverage::has_test;
use crate::support::Sandbox;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn read(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Every markdown file below, by its path from the root.
fn pages(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![root().join(folder)];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(path).unwrap().map(|item| item.unwrap().path()));
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path.strip_prefix(root()).unwrap().display().to_string());
        }
    }
    found.sort();
    found
}

/// The text without its blocks of code.
fn prose(text: &str) -> String {
    let mut inside = false;
    let lines = text.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        !inside && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// What stands in the round brackets of every link and picture.
fn links(text: &str) -> Vec<String> {
    let text = prose(text);
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(|target| target.split(' ').next().unwrap().to_owned()).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text);
    let headings = headings.lines().filter(|line| line.starts_with('#'));
    let anchor = |line: &str| {
        let name = line.trim_start_matches('#').trim().to_lowercase();
        let kept = name.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut all = pages("docs");
    all.extend(
        ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "AGENTS.md"].map(str::to_owned),
    );
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for page in &all {
        let text = read(page);
        for link in
            links(&text).into_iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
        {
            seen += 1;
            let (file, anchor) =
                link.split_once('#').map_or((link.as_str(), None), |(file, name)| (file, Some(name)));
            let path = if file.is_empty() {
                root().join(page)
            } else {
                root().join(page).parent().unwrap().join(file)
            };
            let there = fs::read_to_string(&path);
            let found = match anchor {
                Some(anchor) => there.is_ok_and(|text| anchors(&text).contains(anchor)),
                None => path.exists(),
            };
            if !found {
                wrong.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(seen > 100, "the links were found: {seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_summary_names_every_page_once() {
    let mut named = links(&read("docs/SUMMARY.md"));
    let count = named.len();
    named.sort();
    named.dedup();
    assert_eq!(named.len(), count, "a page is named twice");
    let there: Vec<String> =
        pages("docs").iter().map(|page| page.strip_prefix("docs/").unwrap().to_owned()).collect();
    let there: Vec<_> = there.into_iter().filter(|page| page != "SUMMARY.md").collect();
    assert_eq!(named, there);
    assert!(read("book.toml").contains("src = \"docs\""));
}

/// Lines of other tools that pages show, and the test that runs each.
const RUN_ELSEWHERE: &[(&str, &str)] = &[
    ("./install.sh", "install.rs#the_script_installs_and_undoes_it_all"),
    ("./test", ""),
    (".ci/run", ""),
    ("tests/long-run", ""),
    ("packaging/build", "packages.rs#two_packings_give_the_same_bytes"),
    ("npx aops-hook demo", "packages.rs#npx_plays_the_demo"),
    ("aops-hook demo ", "demo.rs#plays_through_every_gate"),
    ("AOPS_MODE=guard claude -p", "real_client/ci.rs#a_job_that_did_its_work_is_green"),
];

/// Blocks of this language in a page.
pub(crate) fn blocks(text: &str, language: &str) -> Vec<String> {
    let fence = format!("```{language}\n");
    text.split(fence.as_str()).skip(1).map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

#[test]
fn every_line_of_another_tool_is_known() {
    for page in
        ["README.md", "docs/install.md", "docs/ci.md", "docs/team.md", "docs/upgrade.md", "docs/releasing.md"]
    {
        for line in blocks(&read(page), "sh").iter().flat_map(|block| block.lines()) {
            let known = RUN_ELSEWHERE.iter().find(|(known, _)| line.starts_with(known));
            let (_, by) = known.unwrap_or_else(|| panic!("{page}: no test runs `{line}`"));
            let (file, function) = by.split_once('#').unwrap_or_default();
            assert!(function.is_empty() || has_test(file, function), "{page}: no test {by}");
        }
    }
}

/// Every `aops-hook` line of the pages that guide people, in its order, says what the page says; `…` is
/// anything.
#[test]
fn the_pages_commands_work() {
    for page in ["install", "team", "ci", "upgrade", "data", "faq", "clients"] {
        let sandbox = Sandbox::new();
        sandbox.configure("tracker.command = \"none\"\n");
        let session = sandbox.session();
        let _ = session.start("startup");
        let _ = session.prompt("add a greeting");
        session.write("hello.txt").refused(&["hint: "]);
        let mut run = 0;
        for shown in blocks(&read(&format!("docs/{page}.md")), "console")
            .iter()
            .flat_map(|block| block.split("$ ").skip(1))
        {
            let (line, wanted) = shown.split_once('\n').unwrap();
            let mut words =
                split(line.strip_prefix("aops-hook ").unwrap_or_else(|| panic!("{page}: {line}")));
            if matches!(words[0].as_str(), "mode" | "waive" | "uninstall") {
                words.push("--yes".to_owned());
            }
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let said = sandbox.person(&words);
            assert_eq!(said.code, Some(0), "{page}: {line}: {said:?}");
            for part in
                wanted.lines().flat_map(|line| line.split('…')).map(str::trim).filter(|part| !part.is_empty())
            {
                assert!(said.out.contains(part), "{page}: {line}: no `{part}` in {}", said.out);
            }
            run += 1;
        }
        assert!(run > 0, "{page}: the commands were found");
    }
}

/// Words of a line; single quotes keep them together.
pub(crate) fn split(line: &str) -> Vec<String> {
    let parts = line.split('\'').enumerate();
    let words = |(n, part): (usize, &str)| -> Vec<String> {
        if n % 2 == 1 { vec![part.to_owned()] } else { part.split_whitespace().map(str::to_owned).collect() }
    };
    parts.flat_map(words).collect()
}

/// The tables of the clients are those of the code. `INSTA_UPDATE=always cargo nextest run page_of_clients`
/// writes them.
#[test]
#[expect(clippy::disallowed_methods, reason = "how a person asks a test to write")]
fn the_page_of_clients_is_current() {
    let (begin, end) = ("<!-- from crates/aops-core/src/host/table.rs -->\n", "<!-- to here -->\n");
    let text = read("docs/clients.md");
    let (before, rest) = text.split_once(begin).unwrap();
    let (there, after) = rest.split_once(end).unwrap();
    let wanted = format!("\n{}{}\n", aops_core::host::table::page(), aops_core::host::shown::page());
    if std::env::var("INSTA_UPDATE").is_ok_and(|asked| asked == "always") {
        return fs::write(root().join("docs/clients.md"), format!("{before}{begin}{wanted}{end}{after}"))
            .unwrap();
    }
    assert_eq!(there, wanted, "hint: run `INSTA_UPDATE=always cargo nextest run page_of_clients`");
}

/// Each test that the page names is there, and starts a client.
#[test]
fn what_was_shown_is_run() {
    for path in aops_core::host::shown::SCENARIOS
        .iter()
        .flat_map(|scenario| scenario.by)
        .filter(|by| !by.starts_with('('))
    {
        let (file, name) = path.rsplit_once("::").unwrap();
        let file = format!("tests/it/{}.rs", file.replace("::", "/"));
        assert!(read(&file).contains(&format!("#[test]\nfn {name}(")), "`{name}` is not in `{file}`");
    }
}

#[test]
fn pictures_are_made_and_shown() {
    let readme = read("README.md");
    let first: String = readme.lines().take(25).collect::<Vec<_>>().join("\n");
    assert!(
        first.contains("![") && first.contains("docs/pictures/guard.svg"),
        "a picture in the first screen"
    );
    assert!(read("docs/pictures/guard.svg").contains("@keyframes"), "it moves");
    let gallery = read("docs/pictures/README.md");
    for name in [
        "demo.svg", "guard.svg", "page.png", "refusal.svg", "report.png", "watch.svg", "workflow.svg",
        "workflow-tdd.svg",
    ] {
        let path: PathBuf = root().join("docs/pictures").join(name);
        assert!(fs::metadata(&path).is_ok_and(|file| file.len() > 2_000), "{name}");
        assert!(gallery.contains(name), "{name}");
    }
    assert!(gallery.contains(install::VERSION), "of which client");
}

/// One line for each change, at most 20 words, and what breaks first.
#[test]
fn a_version_is_read_at_a_glance() {
    let log = read("CHANGELOG.md");
    let mut versions = log.split("\n## ");
    assert_eq!(versions.next().unwrap().lines().filter(|line| line.starts_with("- ")).count(), 0);
    for version in versions {
        let mut areas = version.lines().filter(|line| line.starts_with("### "));
        assert!(areas.by_ref().skip(1).all(|area| area != "### Breaking"), "{version}");
        for line in version.lines().skip(1).filter(|line| !line.is_empty() && !line.starts_with("### ")) {
            assert!(line.starts_with("- ") && line.split_whitespace().count() <= 21, "{line}");
        }
    }
}
