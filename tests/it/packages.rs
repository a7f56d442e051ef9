//! `packaging/build`: every package is packed from the program of these tests, installed in a throwaway root
//! without network and without Rust, and run there. `tests/long-run.d/packages` does the same with the
//! release build.

use crate::install::{Home, Said};
use crate::support::BINARY;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// A folder for packages, and a root that holds nothing.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("aops-packages-").tempdir().unwrap();
        for name in ["out", "root/tmp", "root/proc", "root/home", "home"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command that knows our home and the system's tools, and nothing of Rust.
    #[expect(clippy::disallowed_methods, reason = "runs what a person would run")]
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin").env("HOME", self.path("home"));
        command.env("LC_ALL", "C.UTF-8").current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    fn done(&self, program: &str, arguments: &[&str]) -> String {
        done(self.command(program).args(arguments))
    }

    /// The program of these tests without its debugging symbols, as a package holds it; or the one in
    /// `AOPS_PROGRAM`.
    fn stripped(&self) -> PathBuf {
        let path = self.path("aops-hook");
        if !path.exists() {
            let program = built();
            self.done(
                "strip",
                &["--remove-section=.comment", "-o", path.to_str().unwrap(), program.to_str().unwrap()],
            );
        }
        path
    }

    /// Packs these kinds; gives the file whose name ends so.
    fn pack(&self, kind: &str, ending: &str) -> PathBuf {
        let mut build = build(self);
        done(build.arg("--binary").arg(self.stripped()).args(["--level", "1", "--out", "out", kind]));
        self.packed(ending)
    }

    fn packed(&self, ending: &str) -> PathBuf {
        let items = fs::read_dir(self.path("out")).unwrap().map(|item| item.unwrap().path());
        let mut found: Vec<_> = items.filter(|path| path.to_str().unwrap().ends_with(ending)).collect();
        found.sort();
        found.pop().unwrap_or_else(|| panic!("no package `{ending}`"))
    }

    /// A command without network.
    fn unplugged(&self, program: &str) -> Command {
        let mut command = self.command("unshare");
        command.args(rootless()).args(["--net", program]);
        command
    }

    /// A command in the root, which has nothing but the package, `/proc`, `/tmp` and a home; without network.
    fn inside(&self, arguments: &[&str]) -> String {
        let mut command = self.command("unshare");
        command.args(rootless()).args(["--net", "--mount", "--pid", "--fork", "--mount-proc", "--root"]);
        command.arg(self.path("root")).args(arguments).env("HOME", "/home");
        done(&mut command)
    }

    /// The program in the root plays its demonstration, registers itself and finds all well.
    fn works_inside(&self, program: &str) {
        assert_eq!(self.inside(&[program, "--version"]), format!("aops-hook {VERSION}\n"));
        assert!(self.inside(&[program, "demo"]).contains("act 2"));
        let said = self.inside(&[program, "install"]);
        assert!(said.contains("registered for 30 events"), "{said}");
        let said = self.inside(&[program, "doctor"]);
        assert!(said.contains("all is well") && said.contains(program), "{said}");
    }
}

#[expect(clippy::disallowed_methods, reason = "the long run names its release build")]
fn built() -> PathBuf {
    std::env::var_os("AOPS_PROGRAM").map_or_else(|| BINARY.into(), PathBuf::from)
}

fn rootless() -> Option<&'static str> {
    (!rustix::process::getuid().is_root()).then_some("--map-root-user")
}

fn build(bench: &Bench) -> Command {
    bench.command(concat!(env!("CARGO_MANIFEST_DIR"), "/packaging/build"))
}

#[track_caller]
fn done(command: &mut Command) -> String {
    let tool = command.get_program().display().to_string();
    let output =
        command.output().unwrap_or_else(|error| panic!("`{tool}` cannot be run: {error}\nhint: install it"));
    let said = Said::of(output);
    assert_eq!(said.code, 0, "{command:?}: {}{}", said.out, said.err);
    said.out
}

/// The toolchain, for the one kind that asks cargo.
#[expect(clippy::disallowed_methods, reason = "the toolchain is where the real home says")]
fn with_cargo(command: &mut Command) -> &mut Command {
    let real = crate::support::real_home().unwrap();
    let of = |name: &str, default: PathBuf| std::env::var_os(name).map_or(default, PathBuf::from);
    let cargo = Path::new(env!("CARGO")).parent().unwrap().display().to_string();
    command.env("PATH", format!("{cargo}:/usr/bin:/bin"));
    command.env("CARGO_HOME", of("CARGO_HOME", real.join(".cargo")));
    command.env("RUSTUP_HOME", of("RUSTUP_HOME", real.join(".rustup")))
}

/// The first bytes of a program for a Mac with Apple's own processor.
const MACH_O_ARM64: [u8; 16] = [0xcf, 0xfa, 0xed, 0xfe, 0x0c, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0];

/// A person with a Mac finds out with one command what works; it says so of a program that works and of one
/// that does not.
#[test]
fn a_program_for_a_mac_is_packed_as_never_run() {
    let bench = Bench::new();
    fs::write(bench.path("mach-o"), MACH_O_ARM64).unwrap();
    let for_mac = |kind: &str| {
        let mut build = build(&bench);
        build
            .args(["--binary", "mach-o", "--level", "1", "--out", "out", "--speaker"])
            .arg(bench.stripped())
            .arg(kind);
        Said::of(build.output().unwrap())
    };
    let refused = for_mac("wheel");
    assert!(refused.code != 0 && refused.err.contains("its only kind is `tarball`"), "{}", refused.err);
    assert_eq!(for_mac("tarball").code, 0);

    let archive = bench.packed(&format!("aops-hook-{VERSION}-macos-arm64-never-run.tar.gz"));
    bench.done("tar", &["xzf", archive.to_str().unwrap(), "--strip-components=1", "-C", "root"]);
    assert_eq!(fs::read(bench.path("root/aops-hook")).unwrap(), MACH_O_ARM64);
    assert!(bench.path("root/NEVER-RUN.md").exists());

    let script = bench.path("root/first-run.sh");
    let said = done(bench.unplugged(script.to_str().unwrap()).arg(bench.stripped()));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.last(), Some(&"all of it works here"), "{said}");
    assert!(lines[..lines.len() - 1].iter().all(|line| line.starts_with("ok ")), "{said}");
    let said = Said::of(bench.command(script.to_str().unwrap()).output().unwrap());
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(said.out.contains("bad  version") && said.out.contains("did not work\nhint:"), "{}", said.out);
    let left = fs::read_dir(bench.path("home")).unwrap().count();
    assert_eq!(left, 0, "the home of who tries it is not touched");
}

/// Worker and gateway of the engine have an archive of their own, with what starts and watches them.
#[test]
fn the_program_of_the_engine_is_packed_apart() {
    let bench = Bench::new();
    let fleet = Path::new(BINARY).with_file_name("aops-fleet");
    assert!(fleet.exists(), "`aops-fleet` is not built\nhint: run the tests of the whole workspace");
    let mut build = build(&bench);
    build.arg("--binary").arg(bench.stripped()).arg("--fleet").arg(fleet);
    done(build.args(["--level", "1", "--out", "out", "fleet"]));
    let archive = bench.packed(".tar.gz");
    bench.done("tar", &["xzf", archive.to_str().unwrap(), "--strip-components=1", "-C", "root"]);
    assert_eq!(bench.inside(&["/aops-fleet", "--version"]), format!("aops-fleet {VERSION}\n"));
    for file in [
        "systemd/aops-fleet-worker.service",
        "systemd/aops-hook-policy.timer",
        "observe/alarms.yaml",
        "helm/aops-fleet/templates/worker.yaml",
        "container/Containerfile",
        "LICENSE",
    ] {
        assert!(bench.path("root").join(file).exists(), "{file}");
    }
}

#[test]
fn the_archive_installs_without_rust() {
    let bench = Bench::new();
    let archive = bench.pack("tarball", "-x64.tar.gz");
    bench.done("tar", &["xzf", archive.to_str().unwrap(), "-C", "root"]);
    let name = format!("aops-hook-{VERSION}-linux-x64");
    bench.works_inside(&format!("/{name}/aops-hook"));
    let shared = ["share/man/man1/aops-hook.1.gz", "share/zsh/vendor-completions/_aops-hook"];
    for file in ["README.md", "LICENSE", "ci/action.yml", "ci/verify-commit.sh"].iter().chain(&shared) {
        assert!(bench.path("root").join(&name).join(file).exists(), "{file}");
    }

    let script = bench.path("root").join(&name).join("install.sh");
    let said = done(bench.unplugged(script.to_str().unwrap()).args(["--mode", "loop"]));
    assert!(!said.contains("building") && said.contains("all is well"), "{said}");
    let program = bench.path("home/.local/bin/aops-hook");
    assert!(fs::read(&program).unwrap() == fs::read(bench.stripped()).unwrap());
    let said = done(bench.unplugged(script.to_str().unwrap()).args(["--uninstall", "--yes"]));
    assert!(said.contains("removed") && !program.exists(), "{said}");
}

#[test]
fn the_deb_installs_in_an_empty_root() {
    let bench = Bench::new();
    let deb = bench.pack("deb", ".deb");
    let (deb, root) = (deb.to_str().unwrap(), bench.path("root"));
    fs::create_dir_all(root.join("var/lib/dpkg/updates")).unwrap();
    fs::create_dir_all(root.join("var/lib/dpkg/info")).unwrap();
    fs::write(root.join("var/lib/dpkg/status"), "").unwrap();
    fs::write(root.join("var/lib/dpkg/available"), "").unwrap();
    let log = format!("--log={}", bench.path("log").display());
    let asked = [
        "--force-not-root",
        "--force-architecture",
        &log,
        "--root",
        root.to_str().unwrap(),
        "--install",
        deb,
    ];
    done(bench.unplugged("dpkg").args(asked));
    bench.works_inside("/usr/bin/aops-hook");
    let page =
        bench.done("zcat", &[root.join("usr/share/man/man1/aops-hook-checkpoint.1.gz").to_str().unwrap()]);
    assert!(page.starts_with(".TH ") && page.contains("rollback"), "{page}");
    for place in ["bash-completion/completions/aops-hook", "zsh/vendor-completions/_aops-hook"] {
        assert!(root.join("usr/share").join(place).exists(), "{place}");
    }
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn the_rpm_installs_in_an_empty_root() {
    let bench = Bench::new();
    let rpm = bench.pack("rpm", ".rpm");
    let root = bench.path("root");
    let asked =
        ["--root", root.to_str().unwrap(), "--dbpath", "/var/lib/rpm", "--install", rpm.to_str().unwrap()];
    done(bench.unplugged("rpm").args(asked));
    let listed = done(bench.command("rpm").args([
        "--root",
        root.to_str().unwrap(),
        "--dbpath",
        "/var/lib/rpm",
        "-qa",
    ]));
    assert!(listed.contains(&format!("aops-hook-{VERSION}-1")), "{listed}");
    bench.works_inside("/usr/bin/aops-hook");
}

/// No container engine is wanted: the blobs are looked at as a runtime does, and the one layer is the root.
#[test]
fn the_image_is_whole_and_runs() {
    let bench = Bench::new();
    let image = bench.pack("image", ".tar");
    fs::create_dir(bench.path("image")).unwrap();
    bench.done("tar", &["xf", image.to_str().unwrap(), "-C", "image"]);
    let read = |name: &str| fs::read(bench.path("image").join(name)).unwrap();
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let blob = |about: &Value| {
        let digest = about["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let bytes = read(&format!("blobs/sha256/{digest}"));
        assert_eq!(aops_core::text::sha256::sha256(&[&bytes]), digest);
        assert_eq!(about["size"], bytes.len());
        bytes
    };
    assert_eq!(json(&read("oci-layout"))["imageLayoutVersion"], "1.0.0");
    let manifest = json(&blob(&json(&read("index.json"))["manifests"][0]));
    let config = json(&blob(&manifest["config"]));
    let layer = bench.path("layer.tar.gz");
    fs::write(&layer, blob(&manifest["layers"][0])).unwrap();
    bench.done("tar", &["xzf", "layer.tar.gz", "-C", "root"]);
    assert_eq!(config["config"]["Entrypoint"], json!(["/aops-hook"]));
    let names: Vec<_> =
        fs::read_dir(bench.path("root")).unwrap().map(|item| item.unwrap().file_name()).collect();
    assert!(names.len() == 6, "nothing but the program: {names:?}");
    bench.works_inside("/aops-hook");
}

/// A registry on loopback that knows our packages and no other.
struct Registry(Child, String);

impl Drop for Registry {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Registry {
    fn serve(bench: &Bench) -> Self {
        let folder = bench.path("registry");
        fs::create_dir(&folder).unwrap();
        let code = "import http.server, functools, sys\n\
            handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=sys.argv[1])\n\
            server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler)\n\
            print(server.server_port, flush=True)\nserver.serve_forever()";
        let mut python = bench.command("python3");
        let mut child = python
            .args(["-c", code])
            .arg(&folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self(child, format!("http://127.0.0.1:{}", port.trim()))
    }

    fn publish(&self, bench: &Bench, package: &Path) {
        let held = bench.done("tar", &["xzOf", package.to_str().unwrap(), "package/package.json"]);
        let mut about: Value = serde_json::from_str(&held).unwrap();
        let (name, file) =
            (about["name"].as_str().unwrap().to_owned(), package.file_name().unwrap().to_str().unwrap());
        about["dist"] = json!({"tarball": format!("{}/{file}", self.1)});
        let page = json!({"name": name, "dist-tags": {"latest": VERSION}, "versions": {VERSION: about}});
        fs::write(bench.path("registry").join(&name), page.to_string()).unwrap();
        fs::copy(package, bench.path("registry").join(file)).unwrap();
    }
}

/// As a person types it, in an empty folder, with a registry that has nothing else.
#[test]
fn npx_plays_the_demo() {
    let bench = Bench::new();
    bench.pack("npm", ".tgz");
    let registry = Registry::serve(&bench);
    let [small, held] =
        ["", "-linux-x64"].map(|name| bench.path("out").join(format!("aops-hook{name}-{VERSION}.tgz")));
    assert!(fs::metadata(&small).unwrap().len() < 20_000, "the small package holds no program");
    for package in [&small, &held] {
        registry.publish(&bench, package);
    }
    let npm = |tool: &str, arguments: &[&str]| {
        let mut command = bench.command(tool);
        command.env("npm_config_registry", &registry.1).env("npm_config_update_notifier", "false");
        Said::of(command.args(arguments).output().unwrap_or_else(|error| {
            panic!("`{tool}` cannot be run: {error}\nhint: install Node.js with npm")
        }))
    };
    let said = npm("npx", &["--yes", "aops-hook", "demo"]);
    assert!(said.code == 0 && said.out.contains("act 2"), "{}{}", said.out, said.err);

    // What npx keeps may be gone tomorrow, and a hook that is gone would stop every call.
    let said = npm("npx", &["--yes", "aops-hook", "install"]);
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(
        said.err.contains("cache of `npx`") && said.err.contains("npm install --global aops-hook"),
        "{}",
        said.err
    );
    assert!(!bench.path("home/.claude").exists());

    let prefix = bench.path("prefix").display().to_string();
    let said =
        npm("npm", &["install", "--global", "--prefix", &prefix, "--no-audit", "--no-fund", "aops-hook"]);
    assert_eq!(said.code, 0, "{}", said.err);
    let program = format!("{prefix}/bin/aops-hook");
    let exit = bench.command(&program).args(["status", "--nonsense"]).output().unwrap().status.code();
    assert_eq!(exit, Some(2), "the program's exit code is the command's");
    let said = done(bench.unplugged(&program).arg("install"));
    assert!(said.contains("registered for 30 events"), "{said}");
    let settings = fs::read_to_string(bench.path("home/.claude/settings.json")).unwrap();
    assert!(
        settings.contains("aops-hook-linux-x64/bin/aops-hook\""),
        "the program, not the script: {settings}"
    );
    assert!(done(bench.unplugged(&program).arg("doctor")).contains("all is well"));
}

#[test]
fn npm_installs_from_files_without_network() {
    let bench = Bench::new();
    bench.pack("npm", ".tgz");
    let [small, held] = ["", "-linux-x64"].map(|name| format!("./out/aops-hook{name}-{VERSION}.tgz"));
    let mut npm = bench.unplugged("npm");
    npm.args(["install", "--offline", "--no-audit", "--no-fund", "--prefix", "prefix", &small, &held]);
    done(&mut npm);
    let program = bench.path("prefix/node_modules/.bin/aops-hook");
    assert!(done(bench.unplugged(program.to_str().unwrap()).arg("demo")).contains("act 2"));
    // Without the package for this machine it says what is missing.
    fs::remove_dir_all(bench.path("prefix/node_modules/aops-hook-linux-x64")).unwrap();
    let said = Said::of(bench.command(program.to_str().unwrap()).arg("demo").output().unwrap());
    assert!(said.code == 1 && said.err.contains("`aops-hook-linux-x64` is not installed"), "{}", said.err);
    assert!(said.err.contains("hint: "), "{}", said.err);
}

#[test]
fn the_wheel_installs_without_network() {
    let bench = Bench::new();
    let wheel = bench.pack("wheel", ".whl");
    let mut pip = bench.unplugged("python3");
    pip.env("PATH", python_first()).args(["-m", "pip", "install", "--no-index", "--no-warn-script-location"]);
    done(pip.args(["--disable-pip-version-check", "--target", "root/python"]).arg(&wheel));
    bench.works_inside("/python/bin/aops-hook");
}

/// The Python that has pip is not always the system's.
#[expect(clippy::disallowed_methods, reason = "where Python is, is not ours to know")]
fn python_first() -> std::ffi::OsString {
    std::env::var_os("PATH").unwrap_or_default()
}

#[test]
fn the_crates_hold_what_a_build_needs() {
    let bench = Bench::new();
    done(
        with_cargo(&mut build(&bench))
            .arg("--binary")
            .arg(tiny(&bench))
            .args(["--speaker", BINARY])
            .args(["--out", "out", "crate"]),
    );
    let list =
        bench.done("tar", &["tzf", bench.packed(&format!("aops-hook-{VERSION}.crate")).to_str().unwrap()]);
    let folder = format!("aops-hook-{VERSION}");
    for file in
        ["Cargo.lock", "build.rs", "src/main.rs", "agents/critic.md", "prices.json", "LICENSE", "README.md"]
    {
        assert!(list.contains(&format!("{folder}/{file}\n")), "{file}: {list}");
    }
    // Every text that the program is built with.
    for (file, text) in crate::tidy::rust_files("src") {
        for name in text.split("include_str!(\"").skip(1).map(|rest| rest.split('"').next().unwrap()) {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(&file).parent().unwrap().join(name);
            let path = path.canonicalize().unwrap();
            let path = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string();
            let tests = path.starts_with("tests/") || path.starts_with("docs/");
            assert!(tests || list.contains(&format!("{folder}/{path}\n")), "{file} includes {path}");
        }
    }
}

/// The beginning of the program: packed in no time.
fn tiny(bench: &Bench) -> PathBuf {
    let path = bench.path("tiny");
    fs::write(&path, &fs::read(BINARY).unwrap()[..1 << 16]).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Another folder, umask, time zone and moment give the same bytes.
#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn two_packings_give_the_same_bytes() {
    let bench = Bench::new();
    let tiny = tiny(&bench);
    let pack = |out: &str, umask: &str, zone: &str| {
        let line = format!("umask {umask}; exec \"$0\" \"$@\"");
        let mut shell = bench.command("sh");
        with_cargo(&mut shell).env("TZ", zone).args(["-c", &line]);
        shell
            .arg(build(&bench).get_program())
            .arg("--binary")
            .arg(&tiny)
            .args(["--speaker", BINARY, "--out", out]);
        done(&mut shell);
        fs::read_to_string(bench.path(out).join("SHA256SUMS")).unwrap()
    };
    let (one, two) = (pack("out", "022", "UTC"), pack("elsewhere/out", "077", "Asia/Tokyo"));
    assert_eq!(one, two);
    assert_eq!(one.lines().count(), 13, "{one}");
    done(
        bench.command("sha256sum").args(["--check", "--quiet", "SHA256SUMS"]).current_dir(bench.path("out")),
    );
}

#[test]
#[ignore = "lintian takes long to install; tests/long-run runs this"]
fn lintian_finds_nothing() {
    let bench = Bench::new();
    let deb = bench.pack("deb", ".deb");
    let mut lintian = bench.command("lintian");
    lintian.args(["--allow-root", "--fail-on", "error,warning,info", "--display-info", "--pedantic"]);
    let said = done(lintian.arg(deb));
    assert_eq!(said, "");
}

#[test]
fn what_cannot_be_packed_is_refused() {
    let bench = Bench::new();
    let refused = |arguments: &[&str], words: &[&str]| {
        let said = Said::of(build(&bench).args(arguments).output().unwrap());
        assert_eq!(said.code, 1, "{arguments:?}: {}", said.out);
        for word in words {
            assert!(said.err.contains(word), "{arguments:?}: {}", said.err);
        }
    };
    refused(&["--binary", "/bin/sh", "--out", "out", "tarball"], &["packaging/build: ", "hint: "]);
    refused(&["--binary", BINARY, "--out", "out", "floppy"], &["no kind `floppy`", "hint: kinds are "]);
    fs::write(bench.path("text"), "#!/bin/sh\n").unwrap();
    refused(&["--binary", "text", "--out", "out", "tarball"], &["is no program that we pack"]);
}

/// `install.sh` beside a source, with a toolchain that only says what it was asked.
struct Toolchain {
    home: Home,
}

impl Toolchain {
    /// `cc` fails for a static program, unless `statics`; `musl`: that target is installed.
    fn new(version: &str, statics: bool, musl: bool) -> Self {
        let home = Home::new();
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        fs::create_dir(home.root().join("source")).unwrap();
        for name in ["install.sh", "Cargo.toml"] {
            fs::copy(here.join(name), home.root().join("source").join(name)).unwrap();
        }
        let put = |name: &str, text: &str| {
            let path = home.root().join("bin").join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        let libraries = if musl { "--print*-musl) echo /;;" } else { "" };
        let rustc = format!(
            "case $* in -vV) echo 'host: x86_64-unknown-linux-gnu';; --version) echo 'rustc {version} (0000)';; {libraries} *) exit 1;; esac"
        );
        put("rustc", &rustc);
        put(
            "cc",
            if statics { "exit 0" } else { "case $* in *-static*) echo cannot find -lc >&2; exit 1;; esac" },
        );
        let making = format!(
            "echo \"cargo $* [${{RUSTFLAGS:-}}]\"; while [ \"$1\" != --target ]; do shift; done; mkdir -p {0}/$2/release; ln -s {BINARY} {0}/$2/release/aops-hook",
            home.root().join("source/target").display()
        );
        put("cargo", &making);
        Self { home }
    }

    fn install(&self) -> Said {
        let script = self.home.root().join("source/install.sh");
        Said::of(self.home.command(&script).output().unwrap())
    }
}

#[test]
fn without_a_static_library_the_script_links_dynamically_and_says_so() {
    let said = Toolchain::new("1.91.0", false, false).install();
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(
        said.out.contains("no static C library here") && said.out.contains("glibc-static"),
        "{}",
        said.out
    );
    assert!(
        said.out.contains("[ -C target-feature=-crt-static]") && said.out.contains("all is well"),
        "{}",
        said.out
    );

    let said = Toolchain::new("1.91.0", false, true).install();
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(
        !said.out.contains("no static C library") && said.out.contains("--target x86_64-unknown-linux-musl "),
        "{}",
        said.out
    );

    // With the host's library a hook is faster than with musl.
    let said = Toolchain::new("2.0.0-nightly", true, true).install();
    assert_eq!(said.code, 0, "{}{}", said.out, said.err);
    assert!(!said.out.contains("musl"), "{}", said.out);
    assert!(
        !said.out.contains("no static C library") && said.out.contains("--bin aops-hook"),
        "{}",
        said.out
    );
    assert!(said.out.contains(" []\n"), "the flags are the configuration's: {}", said.out);
}

#[test]
fn a_rust_that_is_too_old_is_told_with_the_way_out() {
    for old in ["1.63.0", "1.90.9", "0.12.0"] {
        let toolchain = Toolchain::new(old, true, false);
        let before = toolchain.home.tree();
        let said = toolchain.install();
        assert_eq!((said.code, said.out.as_str()), (1, ""), "{}", said.err);
        let (short, _) = old.rsplit_once('.').unwrap();
        assert!(
            said.err.contains(&format!("Rust {short} is too old: aops-hook needs 1.91 or newer")),
            "{}",
            said.err
        );
        assert!(
            said.err.contains("hint: run `rustup update`") && said.err.contains("needs no Rust"),
            "{}",
            said.err
        );
        assert_eq!(toolchain.home.tree(), before);
    }
    let toolchain = Toolchain::new("1.91.0", true, false);
    for tool in ["cargo", "rustc"] {
        fs::remove_file(toolchain.home.root().join("bin").join(tool)).unwrap();
    }
    let said = toolchain.install();
    assert!(
        said.code == 1 && said.err.contains("no cargo found") && said.err.contains("needs no Rust"),
        "{}",
        said.err
    );
}

#[test]
fn the_script_takes_the_program_beside_it() {
    let toolchain = Toolchain::new("1.63.0", true, false);
    let program = toolchain.home.root().join("source/aops-hook");
    symlink(BINARY, &program).unwrap();
    let said = toolchain.install();
    assert!(
        said.code == 0 && said.out.contains("all is well") && !said.out.contains("cargo"),
        "{}{}",
        said.out,
        said.err
    );
    fs::remove_file(&program).unwrap();
    fs::write(&program, "of another machine").unwrap();
    let said = toolchain.install();
    assert!(
        said.code == 1 && said.err.contains("does not run here") && said.err.contains("hint: "),
        "{}",
        said.err
    );
}
