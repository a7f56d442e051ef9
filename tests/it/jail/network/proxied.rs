//! The proxy of the person's own environment. Run in a machine of its own, like `inside`.

use super::inside::{hello, put_script, working, world_of};
use super::outside::Outside;
use crate::jail::world::Jailed;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// The variables with which a person started this very process, which stands for the client: `run_inside`
/// sets them.
pub(super) const VARIABLES: [(&str, [(&str, &str); 3]); 2] = [
    (
        "a_persons_proxy_is_gone_through_by_name_and_with_the_same_list",
        [("https_proxy", LOGIN), ("HTTP_PROXY", LOGIN), ("no_proxy", "plain.test")],
    ),
    (
        "with_a_proxy_that_is_not_supported_nothing_is_reached",
        [("all_proxy", "socks5://10.9.8.7:1080"), ("", ""), ("", "")],
    ),
];
const LOGIN: &str = "http://me:secret@10.9.8.7:3130";

fn world(network: &str) -> Jailed {
    world_of(|text| Jailed { sandbox: Jailed::with(text).sandbox.of_client(std::process::id()) }, network)
}

const PROXY: (&str, u16) = ("10.9.8.7", 3130);

/// The company's proxy: what it was asked for, by first line and login.
fn serve_proxy() -> Arc<Mutex<Vec<String>>> {
    let listener = TcpListener::bind(PROXY).unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    std::thread::spawn(move || listener.incoming().flatten().for_each(|one| answer(one, &log)));
    asked
}

fn answer(mut one: TcpStream, log: &Mutex<Vec<String>>) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && one.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let login = head.lines().find_map(|line| line.strip_prefix("Proxy-Authorization: ")).unwrap_or("nobody");
    log.lock().unwrap().push(format!("{} {login}", head.lines().next().unwrap_or_default()));
    if head.starts_with("CONNECT ") {
        let _ = one.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n");
        let _ = one.read(&mut [0; 4096]);
        let _ = one.write_all(b"answered behind the proxy");
    } else {
        let _ = one.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Length: 17\r\nConnection: close\r\n\r\nseen by the proxy",
        );
    }
}

/// By name: the proxy looks it up. The list is the same, also for programs that know the proxy themselves.
#[test]
#[ignore = "needs a machine of its own"]
fn a_persons_proxy_is_gone_through_by_name_and_with_the_same_list() {
    let world = world("mode = \"list\"\nallow = [\"far.test\", \"plain.test\"]\n");
    let outside = Outside::new(&world.root().join("sink.sock"));
    let asked = serve_proxy();
    let (far, evil) = (hello("far.test"), hello("evil.test"));
    let request = "b'GET /x HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n'";
    let script = format!(
        "far, evil = bytes.fromhex('{far}'), bytes.fromhex('{evil}')\n\
         def tunnel(to, data):\n\
         \x20   one = socket.create_connection({PROXY:?})\n\
         \x20   one.sendall(b'CONNECT %s:443 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' % to)\n\
         \x20   said = one.recv(100)\n\
         \x20   if b' 200 ' not in said: return said[:12]\n\
         \x20   one.sendall(data)\n\
         \x20   return one.recv(100)\n\
         print(reach('far.test', 443, far))\n\
         print(reach('far.test', 80, {request} % b'far.test', 9999).endswith(b'seen by the proxy'))\n\
         print(b'seen plain.test' in reach('plain.test', 80, {request} % b'plain.test', 9999))\n\
         print(reach('evil.test', 443, evil), tunnel(b'evil.test', evil), tunnel(b'far.test', far))\n\
         print(b' 403 ' in reach('evil.test', 80, {request} % b'evil.test', 9999))\n"
    );
    put_script(&world, "reach.py", &script);
    let session = working(&world);
    let ran = session.ran("python3 reach.py");
    let behind = "b'answered behind the proxy'";
    let denied = "b'\\x15\\x03\\x03\\x00\\x02\\x021'";
    let wanted = format!("{behind}\nTrue\nTrue\n{denied} b'HTTP/1.1 403' {behind}\nTrue\n");
    assert_eq!((ran.code, ran.out), (Some(0), wanted), "{}", ran.err);
    let me = "Basic bWU6c2VjcmV0";
    let (tunnel, plain) =
        (format!("CONNECT far.test:443 HTTP/1.1 {me}"), format!("GET http://far.test/x HTTP/1.1 {me}"));
    assert_eq!(*asked.lock().unwrap(), [tunnel.clone(), plain, tunnel]);
    assert_eq!((outside.asked(), outside.escaped()), (vec!["plain.test".to_owned()], Vec::new()));
}

/// A proxy that we cannot speak to is no reason to go around it.
#[test]
#[ignore = "needs a machine of its own"]
fn with_a_proxy_that_is_not_supported_nothing_is_reached() {
    let world = world("mode = \"observe\"\n");
    let outside = Outside::new(&world.root().join("sink.sock"));
    let session = working(&world);
    let ran = session.ran("env -i PATH=\"$PATH\" curl -s -m 5 http://plain.test/");
    let said = "`plain.test:80` cannot be reached, `all_proxy` names a proxy that is not supported";
    assert!(ran.out.contains(said), "{ran:?}");
    assert_eq!(outside.asked(), [""; 0]);
}
