//! Package managers that link from their caches: in `work` they link as without the jail, in a throwaway
//! layer they copy.

use super::world::Jailed;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PNPM: &str = "pnpm@9.15.9";
const UV: &str = "uv==0.13.7";

/// A package and a wheel, as their registries would give them.
const PACKAGES: &str = r#"
import io, tarfile, zipfile
with tarfile.open("lib.tgz", "w:gz") as tar:
    for name, text in [("package.json", '{"name": "lib", "version": "1.0.0"}'), ("index.js", "module.exports = 1")]:
        info = tarfile.TarInfo("package/" + name)
        info.size = len(text)
        tar.addfile(info, io.BytesIO(text.encode()))
about = "demo-1.0.dist-info/"
files = {"demo.py": "x = 1\n", about + "METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
         about + "WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
with zipfile.ZipFile("demo-1.0-py3-none-any.whl", "w") as wheel:
    for name, text in files.items():
        wheel.writestr(name, text)
    wheel.writestr(about + "RECORD", "".join(name + ",,\n" for name in [*files, about + "RECORD"]))
"#;

/// The two programs, fetched if this target folder does not have them yet.
fn programs() -> [PathBuf; 2] {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let folder = target.join("package-managers");
    let found = [folder.join("pnpm/node_modules/.bin"), folder.join("uv/bin")];
    let lock = File::create(target.join("package-managers.lock")).unwrap();
    lock.lock().unwrap();
    if !found[0].exists() {
        let prefix = folder.join("pnpm").display().to_string();
        fetch(
            "npm",
            &[
                "install",
                "--no-audit",
                "--no-fund",
                "--prefix",
                &prefix,
                "--cache",
                &format!("{prefix}/cache"),
                PNPM,
            ],
        );
    }
    if !found[1].exists() {
        let place = folder.join("uv").display().to_string();
        fetch("python3", &["-m", "pip", "install", "-q", "--no-cache-dir", "--target", &place, UV]);
    }
    found
}

fn fetch(program: &str, arguments: &[&str]) {
    let output =
        assert_cmd::Command::new(program).args(arguments).timeout(Duration::from_mins(4)).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "`{program} {}` failed: {words}\nhint: run it by hand",
        arguments.join(" ")
    );
}

#[test]
#[ignore = "takes minutes: run `tests/long-run`"]
fn tools_of_npm_and_python_link_from_their_caches() {
    let mut world = Jailed::new();
    let [pnpm, uv] = programs();
    let path = world.sandbox.environment().into_iter().find(|(name, _)| name == "PATH").unwrap().1;
    let path = format!("{}:{}:{}", pnpm.display(), uv.display(), path.to_str().unwrap());
    world.sandbox = world.sandbox.with("PATH", path);
    world.sandbox.put("make.py", PACKAGES);
    world.sandbox.put(
        "package.json",
        r#"{"name": "x", "version": "1.0.0", "dependencies": {"lib": "file:./lib.tgz"}}"#,
    );
    world.sandbox.put(
        "try.sh",
        "set -e; rm -rf node_modules v; pnpm install --offline --silent; uv venv -q v; \
         uv pip install -q --offline -p v/bin/python ./demo-1.0-py3-none-any.whl 2> /dev/null; \
         stat -L -c %h node_modules/lib/index.js v/lib/python*/site-packages/demo.py\n",
    );
    let made = world.bare("python3 make.py");
    assert_eq!(made.code, Some(0), "{made:?}");
    let plain = world.bare("sh try.sh");
    assert_eq!((plain.code, plain.out.as_str()), (Some(0), "2\n2\n"), "without the jail: {plain:?}");
    let session = world.prompted();
    let ran = session.ran("sh try.sh");
    assert_eq!(
        (ran.profile().as_str(), ran.code, ran.out.as_str()),
        ("trial", Some(0), "1\n1\n"),
        "copied: {ran:?}"
    );
    session.inner.hydrate("minor-edit", "new");
    let ran = session.ran("sh try.sh");
    assert_eq!(
        (ran.profile().as_str(), ran.code, ran.out.as_str()),
        ("work", Some(0), "2\n2\n"),
        "linked: {ran:?}"
    );
    assert!(fs::exists(world.project().join("node_modules/lib/index.js")).unwrap());
}
