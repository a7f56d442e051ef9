//! Hosts that are known by themselves: where package managers fetch from, and who takes uploads from anybody.
//!
//! Pure. The data lies beside the code, in `data/hosts.txt`.

use crate::name::Name;

const DATA: &str = include_str!("../data/hosts.txt");

/// Files by which an ecosystem is known: a name, or the end of one.
const FILES: &[(&str, &[&str])] = &[
    ("dart", &["pubspec.yaml"]),
    ("deno", &["deno.json", "deno.jsonc", "deno.lock"]),
    ("dotnet", &[".csproj", ".fsproj", ".sln", "nuget.config", "packages.lock.json"]),
    ("elixir", &["mix.exs"]),
    ("go", &["go.mod"]),
    ("haskell", &[".cabal", "stack.yaml"]),
    ("java", &["build.gradle", "build.gradle.kts", "pom.xml", "settings.gradle", "settings.gradle.kts"]),
    ("npm", &["package.json", "package-lock.json", "pnpm-lock.yaml", "yarn.lock"]),
    ("php", &["composer.json", "composer.lock"]),
    (
        "python",
        &["Pipfile", "poetry.lock", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py", "uv.lock"],
    ),
    ("ruby", &["Gemfile", "Gemfile.lock"]),
    ("rust", &["Cargo.lock", "Cargo.toml"]),
];

/// The ecosystems that a file of this name belongs to.
pub fn ecosystem(file: &str) -> Option<&'static str> {
    let name = file.rsplit('/').next().unwrap_or_default();
    let is = |known: &&str| if known.starts_with('.') { name.ends_with(known) } else { name == *known };
    FILES.iter().find(|(_, files)| files.iter().any(is)).map(|(ecosystem, _)| *ecosystem)
}

/// Where the package managers of an ecosystem fetch from.
pub fn fetched_from(ecosystem: &str) -> impl Iterator<Item = &'static str> {
    rows().filter_map(move |row| match row[..] {
        ["fetch", of, host] if of == ecosystem => Some(host),
        _ => None,
    })
}

/// Whoever has an account there can be sent something by this host: a gist, an issue, a bucket.
pub fn takes_uploads(name: &Name) -> bool {
    let covers =
        |host: &str| Name::of(host.as_bytes()).is_some_and(|known| *name == known || name.is_below(&known));
    rows().any(|row| matches!(row[..], ["upload", host] if covers(host)))
}

fn rows() -> impl Iterator<Item = Vec<&'static str>> {
    let lines = DATA.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| line.split(' ').collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_row_is_one_we_read_and_each_ecosystem_has_files_and_hosts() {
        let mut fetched = BTreeSet::new();
        for row in rows() {
            let host = match row[..] {
                ["fetch", of, host] => {
                    fetched.insert(of);
                    host
                }
                ["upload", host] => host,
                _ => panic!("{row:?}"),
            };
            assert_eq!(Name::of(host.as_bytes()).map(|name| name.to_string()).as_deref(), Some(host));
        }
        assert_eq!(fetched, FILES.iter().map(|(ecosystem, _)| *ecosystem).collect());
    }

    #[test]
    fn files_name_their_ecosystem_and_hosts_whether_they_take_uploads() {
        assert_eq!(ecosystem("web/package.json"), Some("npm"));
        assert_eq!(ecosystem("src/App.csproj"), Some("dotnet"));
        assert_eq!(ecosystem("README.md"), None);
        assert!(fetched_from("rust").any(|host| host == "static.crates.io"));
        let takes = |text: &str| takes_uploads(&Name::of(text.as_bytes()).unwrap());
        assert!(takes("gist.github.com") && takes("github.com") && takes("my.bucket.s3.amazonaws.com"));
        assert!(!takes("registry.npmjs.org") && !takes("notgithub.com") && !takes("index.crates.io"));
    }
}
