//! What holds for every client that is registered by name, asked of each row of the list: what `install`
//! writes, what comes back, what `doctor` says. What is peculiar to one is in its own file.

use crate::support::Sandbox;
use aops_core::host::agents;
use aops_core::host::table::{adapter, host};
use aops_core::model::client::Client;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

/// Hooks of somebody else, as most clients write them.
const FOREIGN: &str = "{\n  \"theme\": \"dark\",\n  \"hooks\": {\"SessionEnd\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"true\"}]}]}\n}\n";

/// One client in a home of its own.
struct One {
    client: Client,
    sandbox: Sandbox,
}

impl One {
    fn each(tried: impl Fn(&Self)) {
        for client in Client::default().others_by_name() {
            tried(&Self { client, sandbox: Sandbox::new() });
        }
    }

    fn folder(&self) -> PathBuf {
        let [_, usual, below] = self.client.row().folder;
        [usual, below]
            .iter()
            .filter(|part| !part.is_empty())
            .fold(self.sandbox.home(), |path, part| path.join(part))
    }

    fn registration(&self) -> PathBuf {
        self.folder().join(host(self.client).registration)
    }

    fn put(&self, text: &str) {
        fs::create_dir_all(self.registration().parent().unwrap()).unwrap();
        fs::write(self.registration(), text).unwrap();
    }

    fn text(&self) -> String {
        fs::read_to_string(self.registration()).unwrap_or_default()
    }

    /// Others write into that file too.
    fn is_shared(&self) -> bool {
        adapter(self.client).register(FOREIGN, "/bin/aops-hook").unwrap().contains("\"theme\"")
    }

    fn install(&self, words: &[&str]) {
        self.sandbox.person(&["install", "--client", self.client.name()]).said(words);
    }

    fn uninstall(&self, words: &[&str]) {
        self.sandbox.person(&["uninstall", "--client", self.client.name(), "--yes"]).said(words);
    }

    /// What `doctor` says of it.
    fn doctor(&self) -> Vec<Value> {
        let rows: Value = self.sandbox.person(&["doctor", "--json"]).json_of_any_exit();
        let own: Vec<Value> = rows
            .as_array()
            .unwrap()
            .iter()
            .filter(|row| row["check"] == self.client.name())
            .cloned()
            .collect();
        assert!(!own.is_empty(), "nothing is said of {}", self.client);
        own
    }

    fn is_well(&self) {
        let rows = self.doctor();
        assert!(rows.iter().all(|row| row["ok"] == true), "{rows:#?}");
    }
}

/// A dry run writes nothing; installing twice changes nothing; what was there comes back to the byte, and
/// nothing else is left.
#[test]
fn what_was_there_stays_and_comes_back() {
    One::each(|one| {
        one.put(FOREIGN);
        let before = one.sandbox.files();
        let dry = one.sandbox.person(&["install", "--client", one.client.name(), "--dry-run"]);
        assert!(dry.out.contains("aops-hook") && dry.out.contains('+'), "{dry:?}");
        assert_eq!(one.sandbox.files(), before, "{}: nothing is written", one.client);
        one.install(&["registered for", host(one.client).title]);
        let with = one.text();
        assert_eq!(with.contains("\"theme\": \"dark\""), one.is_shared(), "{with}");
        one.install(&["already registered"]);
        assert_eq!(one.text(), with);
        one.is_well();
        one.uninstall(&["removed"]);
        assert_eq!(one.text(), FOREIGN, "{}", one.client);
        assert!(!one.folder().join("agents").exists(), "{}", one.client);
    });
}

/// Where nothing was, nothing is left.
#[test]
fn a_fresh_folder_is_left_as_found() {
    One::each(|one| {
        one.install(&["registered for"]);
        one.uninstall(&["removed"]);
        assert!(!one.registration().exists(), "{}: {}", one.client, one.text());
    });
}

/// An edit between two installations is a person's, and no uninstallation takes it back.
#[test]
fn what_was_edited_between_two_installations_stays() {
    One::each(|one| {
        if !one.is_shared() {
            return;
        }
        one.put(FOREIGN);
        one.install(&["registered for"]);
        fs::write(one.registration(), one.text().replace("dark", "light")).unwrap();
        one.install(&["already registered"]);
        one.uninstall(&["removed"]);
        assert_eq!(one.text(), FOREIGN.replace("dark", "light"), "{}", one.client);
    });
}

/// Half a registration is told, and an installation mends it.
#[test]
fn a_registration_that_is_not_whole_is_told_and_mended() {
    One::each(|one| {
        one.install(&["registered for"]);
        let whole = one.text();
        fs::write(one.registration(), whole.replacen("SessionStart", "SessionStarted", 1)).unwrap();
        let rows = one.doctor();
        let words = format!("not registered in {} for every event", host(one.client).title);
        let tells = |row: &Value| row["ok"] == false && row.to_string().contains(&words);
        assert!(rows.iter().any(tells), "{rows:#?}");
        one.install(&["registered for"]);
        one.is_well();
    });
}

/// A foreign agent of our name is not written over, and an edited one of ours stays.
#[test]
fn agents_of_others_are_never_written_over() {
    One::each(|one| {
        let files = agents::files(one.client);
        let Some((name, _)) = files.first() else { return };
        let path = one.folder().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "mine").unwrap();
        let file = path.file_name().unwrap().to_str().unwrap();
        let refused = one.sandbox.person(&["install", "--client", one.client.name()]);
        refused.failed(1, &[file, "not from aops-hook", "hint: "]);
        assert!(!one.registration().exists() && fs::read_to_string(&path).unwrap() == "mine");
        fs::remove_file(&path).unwrap();
        one.install(&["registered for", &format!("wrote {} agents", files.len())]);
        fs::write(&path, "mine now").unwrap();
        one.uninstall(&["removed", &format!("{} agents", files.len() - 1), "it was edited"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine now");
    });
}
