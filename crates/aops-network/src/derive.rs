//! Finds hosts in files of a project or of a person: lock files, settings of package managers, remotes.
//!
//! Pure: reads lines. Invariant: in a lock file only the fields count that say where something is fetched
//! from; a funding link or a homepage does not.

use crate::list::{Pattern, USUAL_PORTS};
use crate::name::Name;

/// A project file, matched by name or suffix, and the text that must precede a URL for it to count.
pub const PROJECT_FILES: &[(&str, &[&str])] = &[
    (".cargo/config", &["index", "registry"]),
    (".cargo/config.toml", &["index", "registry"]),
    (".gitmodules", &["url"]),
    (".npmrc", &["registry"]),
    (".yarnrc", &["registry"]),
    (".yarnrc.yml", &["npmRegistryServer"]),
    ("Package.resolved", &["location"]),
    ("build.gradle", &["url"]),
    ("build.gradle.kts", &["url"]),
    ("bun.lock", &[""]),
    ("Cargo.lock", &["source"]),
    ("Cartfile.resolved", &["git", "binary"]),
    ("Chart.lock", &["repository:"]),
    ("composer.lock", &["\"url\""]),
    ("conda-lock.yml", &["url:"]),
    ("deno.lock", &[""]),
    ("flake.lock", &["\"url\""]),
    ("Gemfile.lock", &["remote:"]),
    ("gradle-wrapper.properties", &["distributionUrl"]),
    ("maven-wrapper.properties", &["distributionUrl", "wrapperUrl"]),
    ("mix.lock", &["{:git, "]),
    ("npm-shrinkwrap.json", &["\"resolved\""]),
    ("nuget.config", &["value"]),
    ("package-lock.json", &["\"resolved\""]),
    ("paket.lock", &["remote:"]),
    ("pdm.lock", &["url", "git"]),
    ("pip.conf", &["index-url", "find-links"]),
    ("Pipfile.lock", &["\"url\"", "\"git\""]),
    ("pixi.lock", &["url:", "conda:", "pypi:", "- "]),
    ("pnpm-lock.yaml", &["tarball:", "repo:"]),
    ("Podfile.lock", &[""]),
    ("poetry.lock", &["url"]),
    ("pubspec.lock", &["url:"]),
    ("pylock.toml", &["url", "index"]),
    ("pyproject.toml", &["url ="]),
    ("rebar.lock", &["{git,"]),
    ("renv.lock", &["\"URL\""]),
    ("requirements.txt", &["--index-url", "-i ", "--extra-index-url", "-f ", "--find-links", "git+", "@ "]),
    ("settings.gradle", &["url"]),
    ("settings.gradle.kts", &["url"]),
    ("shard.lock", &["git:"]),
    ("stack.yaml.lock", &["url:"]),
    ("uv.lock", &["registry", "url", "git"]),
    ("yarn.lock", &["resolved", "resolution:"]),
];

/// Settings of a person's package managers, relative to their home. Every URL in them counts.
pub const PERSONAL_FILES: &[&str] = &[
    ".bundle/config", ".cargo/config", ".cargo/config.toml", ".config/go/env", ".config/pip/pip.conf",
    ".config/uv/uv.toml", ".gemrc", ".gradle/init.gradle", ".m2/settings.xml", ".npmrc", ".pip/pip.conf",
    ".yarnrc", ".yarnrc.yml",
];

/// The hosts from which something is fetched according to this line of a project's file, which may be the
/// whole file.
pub fn of_project_line(path: &str, line: &str) -> Vec<Pattern> {
    let is = |file: &str| path == file || path.strip_suffix(file).is_some_and(|folder| folder.ends_with('/'));
    let Some((file, keys)) = PROJECT_FILES.iter().find(|(file, _)| is(file)) else { return Vec::new() };
    // `url = git@host:path`
    if *file == ".gitmodules" {
        let url = line.split_once('=').filter(|(key, _)| key.trim() == "url").map(|(_, url)| url.trim());
        return url.and_then(of_remote).into_iter().collect();
    }
    let mut found = Vec::new();
    let mut from = 0;
    for (at, sign) in line.match_indices("://") {
        let url =
            &line[at..line[at + sign.len()..].find("://").map_or(line.len(), |next| at + sign.len() + next)];
        let counts = keys.iter().any(|key| line[from..at].contains(key));
        // Composer uses the same field for homepages and funding.
        let ends = ["zipball", "tarball", ".git\"", ".zip\"", ".tar"];
        let fetched = *file != "composer.lock" || ends.iter().any(|end| url.contains(end));
        if counts && fetched {
            found.extend(of_text(&line[from..]));
        }
        from = at + sign.len();
    }
    found
}

/// The host in a person's setting.
pub fn of_setting(line: &str) -> Option<Pattern> {
    let line = line.trim_start();
    if line.starts_with(['#', ';']) || line.starts_with("//") { None } else { of_text(line) }
}

/// The host of a remote: a URL, or `user@host:path`.
pub fn of_remote(url: &str) -> Option<Pattern> {
    if url.contains("://") {
        return of_text(url);
    }
    let (host, path) = url.split_once(':')?;
    let is_path = host.contains('/') || path.starts_with("\\\\");
    let host = host.rsplit('@').next().filter(|_| !is_path)?;
    Name::of(host.as_bytes()).map(|name| Pattern { name, below: false, port: None })
}

/// The first URL in this text.
fn of_text(text: &str) -> Option<Pattern> {
    let (before, rest) = text.split_once("://")?;
    // `https\://` in a file of properties.
    let before = before.strip_suffix('\\').unwrap_or(before);
    let scheme =
        before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
    let usual: u16 = match scheme.as_str() {
        "http" | "ws" => 80,
        "https" | "wss" | "sparse" => 443,
        "ssh" | "sftp" => 22,
        "git" => 9418,
        _ => return None,
    };
    let end = |c: char| c.is_whitespace() || "/?#\"'<>,;)}]\\`|".contains(c);
    let host = rest.split(end).next()?.rsplit('@').next()?;
    let (name, port) = Name::with_port(host.as_bytes())?;
    let port = port.unwrap_or(usual);
    Some(Pattern { name, below: false, port: (!USUAL_PORTS.contains(&port)).then_some(port) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_says_where_it_is_fetched_from_and_nothing_else() {
        for (path, line, host) in [
            (
                "package-lock.json",
                "      \"resolved\": \"https://registry.a.test/x/-/x-1.tgz\",",
                Some("registry.a.test"),
            ),
            ("web/package-lock.json", "\"resolved\": \"http://a.test:4873/x.tgz\",", Some("a.test:4873")),
            ("package-lock.json", "        \"url\": \"https://fund.test/x\"", None),
            ("not-package-lock.json", "\"resolved\": \"https://a.test/x.tgz\"", None),
            ("yarn.lock", "  resolved \"https://a.test/x.tgz#1\"", Some("a.test")),
            ("Cargo.lock", "source = \"registry+https://a.test/index\"", Some("a.test")),
            ("Cargo.lock", "source = \"sparse+https://a.test/index/\"", Some("a.test")),
            ("Cargo.lock", "source = \"git+ssh://git@a.test/x?rev=1#1\"", Some("a.test")),
            ("poetry.lock", "url = \"https://a.test/simple\"", Some("a.test")),
            ("uv.lock", "source = { registry = \"https://a.test/simple\" }", Some("a.test")),
            ("Gemfile.lock", "  remote: https://a.test/", Some("a.test")),
            ("composer.lock", "\"url\": \"https://a.test/x/zipball/1\",", Some("a.test")),
            ("composer.lock", "\"url\": \"https://fund.test/me\",", None),
            ("requirements.txt", "--extra-index-url https://a.test/simple", Some("a.test")),
            ("requirements.txt", "# see https://a.test", None),
            ("composer.lock", "\"url\": \"https://a.test/dist/x.zip\",", Some("a.test")),
            (
                "bun.lock",
                "    \"x\": [\"x@1.0.0\", \"https://a.test/x.tgz\", {}, \"sha512-a\"],",
                Some("a.test"),
            ),
            (".gitmodules", "\turl = git@a.test:me/x.git", Some("a.test")),
            (".gitmodules", "\turl = https://a.test/x.git", Some("a.test")),
            (".gitmodules", "\tpath = a.test:x", None),
            ("requirements.txt", "-f https://a.test/wheels", Some("a.test")),
            ("pyproject.toml", "url = \"https://a.test/simple\"", Some("a.test")),
            ("pyproject.toml", "Homepage = \"https://a.test\"", None),
            ("deno.lock", "    \"https://a.test/std/x.ts\": \"0a\",", Some("a.test")),
            ("pubspec.lock", "      url: \"https://a.test\"", Some("a.test")),
            (".npmrc", "@scope:registry=https://user:pw@a.test/npm/", Some("a.test")),
            ("package-lock.json", "\"resolved\": \"https://10.0.0.1/x.tgz\"", None),
            ("package-lock.json", "\"resolved\": \"file:../x\"", None),
        ] {
            let found: Vec<String> = of_project_line(path, line).iter().map(ToString::to_string).collect();
            assert_eq!(found, Vec::from_iter(host), "{path}: {line}");
        }
        let whole = "{\"packages\":{\"a\":{\"resolved\":\"https://a.test/a.tgz\",\"funding\":{\"url\":\"https://fund.test\"}},\
            \"b\":{\"resolved\":\"https://b.test/b.tgz\"}}}";
        let found: Vec<String> =
            of_project_line("package-lock.json", whole).iter().map(ToString::to_string).collect();
        assert_eq!(found, ["a.test", "b.test"], "a file of one line");
    }

    #[test]
    fn lock_files_of_every_kind_name_hosts() {
        for (path, line, host) in [
            ("bun.lock", "    \"x\": [\"x@git+ssh://git@a.test/x.git#1\", {}, \"1\"],", Some("a.test")),
            ("Cartfile.resolved", "git \"https://a.test/x.git\" \"1.0\"", Some("a.test")),
            ("Chart.lock", "  repository: https://a.test/charts", Some("a.test")),
            ("conda-lock.yml", "  url: https://a.test/conda/x.conda", Some("a.test")),
            ("flake.lock", "        \"url\": \"https://a.test/x.git\"", Some("a.test")),
            (
                "gradle/wrapper/gradle-wrapper.properties",
                "distributionUrl=https\\://a.test/g.zip",
                Some("a.test"),
            ),
            (".mvn/wrapper/maven-wrapper.properties", "distributionUrl=https://a.test/m.zip", Some("a.test")),
            ("mix.lock", "  \"x\": {:git, \"https://a.test/x.git\", \"1\", []},", Some("a.test")),
            ("mix.lock", "  \"x\": {:hex, :x, \"1.0\", \"1\", [:mix], [], \"hexpm\"},", None),
            ("paket.lock", "  remote: https://a.test/v3/index.json", Some("a.test")),
            ("pdm.lock", "git = \"https://a.test/x\"", Some("a.test")),
            ("Pipfile.lock", "            \"git\": \"https://a.test/x.git\",", Some("a.test")),
            ("pixi.lock", "- conda: https://a.test/conda/x.conda", Some("a.test")),
            ("pnpm-lock.yaml", "    resolution: {tarball: https://a.test/x.tgz}", Some("a.test")),
            (
                "pnpm-lock.yaml",
                "    resolution: {commit: 1, repo: https://a.test/x, type: git}",
                Some("a.test"),
            ),
            ("pnpm-lock.yaml", "    deprecated: see https://a.test", None),
            ("Podfile.lock", "  https://a.test/specs.git:", Some("a.test")),
            ("pylock.toml", "url = \"https://a.test/x.whl\"", Some("a.test")),
            ("rebar.lock", " {<<\"x\">>,{git,\"https://a.test/x.git\",{ref,\"1\"}},0}].", Some("a.test")),
            ("renv.lock", "        \"URL\": \"https://a.test/cran\"", Some("a.test")),
            ("shard.lock", "    git: https://a.test/x.git", Some("a.test")),
            ("stack.yaml.lock", "    url: https://a.test/x.tar.gz", Some("a.test")),
            ("yarn.lock", "  resolution: \"x@https://a.test/x.tgz\"", Some("a.test")),
            ("yarn.lock", "# see https://a.test", None),
            ("go.sum", "a.test/x v1.0.0 h1:1=", None),
        ] {
            let found: Vec<String> = of_project_line(path, line).iter().map(ToString::to_string).collect();
            assert_eq!(found, Vec::from_iter(host), "{path}: {line}");
        }
    }

    #[test]
    fn settings_and_remotes_name_hosts() {
        for (line, host) in [
            ("registry=https://npm.a.test/", Some("npm.a.test")),
            ("  # registry=https://npm.a.test/", None),
            ("GOPROXY=https://go.a.test,direct", Some("go.a.test")),
            ("<url>https://maven.a.test/repo</url>", Some("maven.a.test")),
            ("deb http://deb.a.test/debian stable main", Some("deb.a.test")),
        ] {
            assert_eq!(of_setting(line).map(|one| one.to_string()).as_deref(), host, "{line}");
        }
        for (url, host) in [
            ("git@a.test:me/x.git", Some("a.test")),
            ("https://me@a.test/x.git", Some("a.test")),
            ("ssh://git@a.test:2222/x", Some("a.test:2222")),
            ("/srv/x.git", None),
            ("../x.git", None),
            ("file:///srv/x.git", None),
            ("./a:b", None),
        ] {
            assert_eq!(of_remote(url).map(|one| one.to_string()).as_deref(), host, "{url}");
        }
    }
}
