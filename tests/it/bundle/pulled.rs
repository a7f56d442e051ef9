//! Bundles at a URL: pulled, staged in rings, revoked; and what a server in the middle cannot do.

use super::{Admin, Machine, NAME, config};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

/// Serves the files of a folder, as any server does.
struct Shelf {
    folder: PathBuf,
    url: String,
}

impl Shelf {
    fn new(folder: PathBuf) -> Self {
        fs::create_dir_all(&folder).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let served = folder.clone();
        thread::spawn(move || listener.incoming().flatten().for_each(|stream| answer(&served, stream)));
        Self { folder, url }
    }

    fn put(&self, name: &str, file: &Path) {
        let path = self.folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::copy(file, path).unwrap();
    }

    fn at(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("{}/{name}", self.url))
    }
}

fn answer(folder: &Path, mut stream: TcpStream) {
    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
    let path = lines.next().unwrap_or_default().split(' ').nth(1).unwrap_or("/").to_owned();
    let _ = lines.find(String::is_empty);
    let (status, body) = match fs::read(folder.join(path.trim_start_matches('/'))) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", b"not here".to_vec()),
    };
    let _ = write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
    let _ = stream.write_all(&body);
}

/// A new version reaches the canary first; the rest pull it when it is put there, and what is older never
/// comes back.
#[test]
fn a_new_version_is_pulled_ring_by_ring() {
    let (admin, stranger) = (Admin::new(), Admin::new());
    admin.put("config.toml", &config("first"));
    let first = admin.version(1);
    admin.put("config.toml", &config("second"));
    let second = admin.version(2);
    let shelf = Shelf::new(admin.0.tmp().join("shelf"));
    for ring in ["canary", "all"] {
        shelf.put(&format!("{ring}/policy.bundle"), &first);
    }
    let (canary, other) = (Machine::new(), Machine::new());
    let pull =
        |machine: &Machine, ring: &str| machine.install(&shelf.at(&format!("{ring}/policy.bundle")), &[]);
    canary.install(&shelf.at("canary/policy.bundle"), &["--key", &admin.key()]).said(&["this machine runs"]);
    other.install(&shelf.at("all/policy.bundle"), &["--key", &admin.key()]).said(&["this machine runs"]);
    pull(&canary, "canary").said(&["this machine already runs `admin.example/policy` 1"]);
    shelf.put("canary/policy.bundle", &second);
    canary
        .0
        .person(&["bundle", "diff", shelf.at("canary/policy.bundle").to_str().unwrap()])
        .said(&["+reason = "]);
    pull(&canary, "canary").said(&["this machine runs `admin.example/policy` 2"]);
    pull(&other, "all").said(&["already runs"]);
    assert_eq!((canary.runs().1, other.runs().1), (2, 1));
    shelf.put("all/policy.bundle", &second);
    pull(&other, "all").said(&["this machine runs `admin.example/policy` 2"]);
    other.tries("deploy now").refused(&["second"]);
    // Whoever has the server can neither forge a policy nor bring an old one back.
    shelf.put("all/policy.bundle", &first);
    pull(&other, "all").failed(2, &["version 1 is older than `admin.example/policy` 2"]);
    stranger.put("config.toml", &config("mine"));
    shelf.put("all/policy.bundle", &stranger.version(3));
    pull(&other, "all").failed(4, &["it is not signed by a key that is trusted here"]);
    fs::remove_file(shelf.folder.join("all/policy.bundle")).unwrap();
    pull(&other, "all").failed(2, &["nothing is there", "hint: "]);
    assert_eq!(other.runs(), (NAME.to_owned(), 2), "what is installed stays in force");
    let elsewhere = Path::new("http://policy.example/policy.bundle");
    assert_ne!(other.install(elsewhere, &[]).code, Some(0), "no name is proven without TLS");
    other
        .install(Path::new("http://127.0.0.1:1/policy.bundle"), &[])
        .failed(2, &["stays in force", "hint: "]);
}

/// The list beside a bundle adds to the list of the machine, and takes nothing away.
#[test]
fn what_is_revoked_is_pulled_too() {
    let admin = Admin::new();
    admin.put("config.toml", &config("first"));
    let (first, second) = (admin.version(1), admin.version(2));
    let shelf = Shelf::new(admin.0.tmp().join("shelf"));
    shelf.put("policy.bundle", &first);
    let machine = Machine::new();
    let bundle = shelf.at("policy.bundle");
    machine.install(&bundle, &["--key", &admin.key()]).said(&["this machine runs"]);
    let digest = machine.0.person(&["bundle", "status", "--json"]).json()["bundle"]["digest"].clone();
    let digest = digest.as_str().unwrap();
    let own = machine.root("etc/aops-hook/revoked");
    let known = "0".repeat(64);
    fs::write(&own, format!("{known} # by hand")).unwrap();
    fs::write(shelf.folder.join("revoked"), format!("{digest} # a rule was wrong\n")).unwrap();
    machine.install(&bundle, &["--dry-run"]).said(&[]);
    assert!(!fs::read_to_string(&own).unwrap().contains(digest), "a trial changes nothing");
    machine.install(&bundle, &[]).failed(2, &["it was revoked"]);
    let said = machine.0.person(&["bundle", "status"]);
    assert!(said.code == Some(1) && said.out.contains("it was revoked, and holds until"), "{said:?}");
    shelf.put("policy.bundle", &second);
    machine.install(&bundle, &[]).said(&["this machine runs `admin.example/policy` 2"]);
    fs::write(shelf.folder.join("revoked"), "").unwrap();
    machine.install(&bundle, &[]).said(&["already runs"]);
    let list = fs::read_to_string(&own).unwrap();
    assert_eq!(list, format!("{known} # by hand\n{digest}\n"), "nothing is taken back");
    fs::write(shelf.folder.join("revoked"), "nonsense\n").unwrap();
    machine.install(&bundle, &[]).failed(2, &["`nonsense` is not the digest of a bundle"]);
    assert_eq!(machine.runs().1, 2);
}
