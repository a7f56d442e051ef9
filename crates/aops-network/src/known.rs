//! Well-known hosts: those from which package managers fetch, and those that accept uploads from anybody.
//!
//! Pure. The data is in `data/hosts.txt`.

use crate::name::Name;

const DATA: &str = include_str!("../data/hosts.txt");

/// Files by which an ecosystem is recognised: a name, or the end of one.
const FILES: &[(&str, &[&str])] = &[
    ("dart", &["pubspec.yaml"]),
    ("deno", &["deno.json", "deno.jsonc", "deno.lock"]),
    ("dotnet", &[".csproj", ".fsproj", ".sln", "nuget.config", "packages.lock.json"]),
    ("elixir", &["mix.exs"]),
    ("go", &["go.mod"]),
    ("haskell", &[".cabal", "stack.yaml"]),
    ("java", &["build.gradle", "build.gradle.kts", "pom.xml", "settings.gradle", "settings.gradle.kts"]),
    (
        "npm",
        &[
            "bun.lock", "npm-shrinkwrap.json", "package.json", "package-lock.json", "pnpm-lock.yaml",
            "yarn.lock",
        ],
    ),
    ("php", &["composer.json", "composer.lock"]),
    (
        "python",
        &["Pipfile", "poetry.lock", "pyproject.toml", "requirements.txt", "setup.cfg", "setup.py", "uv.lock"],
    ),
    ("ruby", &["Gemfile", "Gemfile.lock"]),
    ("rust", &["Cargo.lock", "Cargo.toml"]),
];

/// The ecosystem to which a file of this name belongs.
pub fn ecosystem(file: &str) -> Option<&'static str> {
    let name = file.rsplit('/').next().unwrap_or_default();
    let is = |known: &&str| if known.starts_with('.') { name.ends_with(known) } else { name == *known };
    FILES.iter().find(|(_, files)| files.iter().any(is)).map(|(ecosystem, _)| *ecosystem)
}

/// The hosts from which an ecosystem's package managers fetch.
pub fn fetched_from(ecosystem: &str) -> impl Iterator<Item = &'static str> {
    rows().filter_map(move |row| match row[..] {
        ["fetch", of, host] if of == ecosystem => Some(host),
        _ => None,
    })
}

/// Anybody with an account can receive data through this host: as a gist, an issue, a bucket, a package.
pub fn takes_uploads(name: &Name) -> bool {
    let name = name.to_string();
    rows().any(|row| match row[..] {
        ["upload", host] => covers(host, &name),
        ["publish", host] => host == name,
        _ => false,
    })
}

/// It is this host, or a host below it. A label in the row that ends with `*` matches any label with that
/// beginning.
fn covers(host: &str, name: &str) -> bool {
    let mut labels = name.rsplit('.');
    host.rsplit('.').all(|known| {
        let is =
            |label: &str| known.strip_suffix('*').map_or(label == known, |begin| label.starts_with(begin));
        labels.next().is_some_and(is)
    })
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
                ["upload" | "publish", host] => &host.replace('*', "x"),
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
        assert!(!takes("registry.yarnpkg.com") && !takes("notgithub.com") && !takes("index.crates.io"));
    }

    /// Services where anybody can have an account, under any of their names.
    #[test]
    fn buckets_and_places_to_publish_take_uploads() {
        let takes = |text: &str| takes_uploads(&Name::of(text.as_bytes()).unwrap());
        for host in [
            "s3.eu-west-1.amazonaws.com",
            "my.bucket.s3.eu-west-1.amazonaws.com",
            "bucket.s3.dualstack.eu-west-1.amazonaws.com",
            "bucket.s3-us-west-2.amazonaws.com",
            "bucket.s3-accelerate.amazonaws.com",
            "s3.cn-north-1.amazonaws.com.cn",
            "account.blob.core.windows.net",
            "account.r2.cloudflarestorage.com",
            "crates.io",
            "upload.pypi.org",
            "hex.pm",
            "hackage.haskell.org",
            "plugins.gradle.org",
            "pub.dev",
            "ghcr.io",
            "npm.pkg.github.com",
            "registry-1.docker.io",
            "ssh.github.com",
            "bucket.oss-cn-hangzhou.aliyuncs.com",
            "x.webhook.office.com",
        ] {
            assert!(takes(host), "{host}");
        }
        for host in [
            "ec2.eu-west-1.amazonaws.com",
            "s3.amazonaws.com.example",
            "s3.a.b.amazonaws.com.example",
            "xs3.eu-west-1.amazonaws.com",
            "eu-west-1.amazonaws.com",
            "amazonaws.com",
            "core.windows.net",
            "cloudflarestorage.com",
            "static.crates.io",
            "repo.hex.pm",
            "codeload.github.com",
            "objects.githubusercontent.com",
            "index.rubygems.org.example",
            "pypi.org",
            "files.pythonhosted.org",
        ] {
            assert!(!takes(host), "{host}");
        }
        let fetched: Vec<&str> = fetched_from("rust").collect();
        assert_eq!(fetched, ["index.crates.io", "static.crates.io", "static.rust-lang.org"]);
    }
}
