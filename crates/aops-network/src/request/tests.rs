use super::*;
use proptest::prelude::*;

fn direct(text: &str) -> Result<Request, BadRequest> {
    read(text.as_bytes(), Way::Direct(80)).expect("the head is whole")
}

fn proxy(text: &str) -> Result<Request, BadRequest> {
    read(text.as_bytes(), Way::Proxy).expect("the head is whole")
}

fn plain(request: Result<Request, BadRequest>) -> Plain {
    match request {
        Ok(Request::Plain(plain)) => plain,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_is_passed_on_in_our_own_words() {
    let text = "POST /a?b HTTP/1.1\r\nhOsT: Plain.Test\r\nX-A:  b\r\nConnection: keep-alive\r\nUpgrade: h2c\r\n\
                Content-Length: 3\r\n\r\nabcGET / HTTP/1.1";
    let request = plain(direct(text));
    assert_eq!((request.name.as_str(), request.port), ("plain.test", 80));
    assert_eq!(&text[request.head..request.head + 3], "abc");
    assert_eq!(request.body, Body::Length(3));
    let ours =
        "POST /a?b HTTP/1.1\r\nHost: plain.test\r\nX-A: b\r\nContent-Length: 3\r\nConnection: close\r\n\r\n";
    assert_eq!(String::from_utf8(request.ours).unwrap(), ours);
}

#[test]
fn a_proxys_request_names_its_host_in_the_target() {
    let request = plain(proxy("GET http://plain.test:8080/x HTTP/1.0\r\nHost: plain.test:8080\r\n\r\n"));
    assert_eq!((request.name.as_str(), request.port), ("plain.test", 8080));
    assert!(request.ours.starts_with(b"GET /x HTTP/1.0\r\nHost: plain.test:8080\r\n"));
    assert!(
        plain(proxy("GET http://plain.test HTTP/1.1\r\nHost: plain.test\r\n\r\n"))
            .ours
            .starts_with(b"GET / HTTP/1.1")
    );
    assert_eq!(proxy("GET /x HTTP/1.1\r\nHost: plain.test\r\n\r\n"), Err(BadRequest::Place));
    let connect = proxy("CONNECT Tls.Test:443 HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(
        matches!(connect, Ok(Request::Connect { name, port: 443, head: 42 }) if name.as_str() == "tls.test")
    );
    assert_eq!(direct("CONNECT tls.test:443 HTTP/1.1\r\nHost: x\r\n\r\n"), Err(BadRequest::Place));
}

#[test]
fn no_way_to_write_an_address_is_a_host() {
    for target in [
        "127.0.0.1:18099",
        "127.1:18099",
        "2130706433:18099",
        "0x7f000001:18099",
        "017700000001:18099",
        "[::1]:18099",
        "[::ffff:127.0.0.1]:18099",
        "tls.test@evil.test:443",
        "tls.test:443@evil.test:1",
        "evil.test#.tls.test:443",
        "evil%2etest:443",
        "tls.test",
        "tls.test:",
        "tls.test:https",
    ] {
        let said = proxy(&format!("CONNECT {target} HTTP/1.1\r\nHost: tls.test\r\n\r\n"));
        assert_eq!(said, Err(BadRequest::Host), "{target}");
    }
    for target in ["http://plain.test@evil.test/", "http://127.0.0.1/", "http:///x", "http://[::1]/"] {
        let said = proxy(&format!("GET {target} HTTP/1.1\r\nHost: plain.test\r\n\r\n"));
        assert_eq!(said, Err(BadRequest::Host), "{target}");
    }
}

#[test]
fn two_hosts_are_none() {
    for (text, bad) in [
        ("GET / HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n", BadRequest::Host),
        ("GET / HTTP/1.1\r\nHost: a.test\r\nHost: a.test\r\n\r\n", BadRequest::Host),
        ("GET / HTTP/1.1\r\n\r\n", BadRequest::Host),
        ("GET / HTTP/1.1\r\nHost:\r\n\r\n", BadRequest::Host),
        ("GET / HTTP/1.1\r\nHost: a.test b.test\r\n\r\n", BadRequest::Host),
        ("GET / HTTP/1.1\r\nHost: a.test, b.test\r\n\r\n", BadRequest::Host),
        ("GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n", BadRequest::Differs),
        ("GET http://a.test:81/ HTTP/1.1\r\nHost: a.test:81\r\n\r\n", BadRequest::Differs),
        ("GET / HTTP/1.1\r\nHost: a.test:81\r\n\r\n", BadRequest::Differs),
    ] {
        assert_eq!(direct(text), Err(bad), "{text:?}");
    }
}

#[test]
fn what_two_servers_could_read_in_two_ways_is_refused() {
    let host = "Host: plain.test\r\n";
    for text in [
        format!("GET / HTTP/1.1\n{host}\r\n"),
        format!("GET / HTTP/1.1\r\nX: a\n{host}\r\n"),
        format!("GET / HTTP/1.1\r\nX: a\r{host}\r\n"),
        format!("GET / HTTP/1.1\r\n{host} folded: x\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{host}\tfolded\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{host}X : a\r\n\r\n"),
        format!("GET / HTTP/1.1\r\n{host}no colon\r\n\r\n"),
        format!("GET  / HTTP/1.1\r\n{host}\r\n"),
        format!("GET / HTTP/2.0\r\n{host}\r\n"),
        format!("GET /\r\n{host}\r\n"),
        format!("GET /\u{e9} HTTP/1.1\r\n{host}\r\n"),
        format!("G(T / HTTP/1.1\r\n{host}\r\n"),
        format!("GET x HTTP/1.1\r\n{host}\r\n"),
        "GET http://plain.test?x HTTP/1.1\r\nHost: plain.test\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nHost: evil.test\0.plain.test\r\n\r\n".to_owned(),
        "PRI * HTTP/2.0\r\n\r\n".to_owned(),
        "\r\n\r\n".to_owned(),
    ] {
        assert_eq!(direct(&text), Err(BadRequest::Form), "{text:?}");
    }
    for fields in [
        "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        "Content-Length: 4\r\nContent-Length: 4\r\n",
        "Content-Length: +4\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: 4, 4\r\n",
        "Content-Length: 0x4\r\n",
        "Content-Length:\r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
    ] {
        assert_eq!(
            direct(&format!("POST / HTTP/1.1\r\n{host}{fields}\r\n")),
            Err(BadRequest::Body),
            "{fields:?}"
        );
    }
    assert_eq!(
        plain(direct(&format!("POST / HTTP/1.1\r\n{host}transfer-encoding: Chunked\r\n\r\n"))).body,
        Body::CHUNKED
    );
}

#[test]
fn what_cannot_become_a_request_is_not_waited_for() {
    assert_eq!(read(b"GET / HTTP/1.1\r\nHost: a", Way::Direct(80)), None);
    assert_eq!(read(b"GET \0", Way::Direct(80)), Some(Err(BadRequest::Form)));
    assert_eq!(read(&vec![b'a'; LONGEST_HEAD + 1], Way::Proxy), Some(Err(BadRequest::Form)));
}

#[test]
fn a_refusal_says_the_next_step() {
    let said =
        String::from_utf8(refusal(FORBIDDEN, "evil.test", "refused, it is not on the list", "hint: ask\n"))
            .unwrap();
    let (head, body) = said.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("HTTP/1.1 403 Forbidden\r\n")
            && head.ends_with(&format!("Content-Length: {}", body.len()))
    );
    assert_eq!(body, "aops-hook: `evil.test` refused, it is not on the list\nhint: ask\n");
}

proptest! {
    #[test]
    fn what_we_pass_on_is_one_request_for_the_same_host(
        method in "[A-Z]{3,7}", path in "/[a-z?=&/%.]{0,20}", host in "[a-z]{1,8}\\.test",
        fields in proptest::collection::vec(("[A-Za-z-]{1,12}", "[ -~]{0,20}"), 0..5),
    ) {
        let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let fields = fields.concat();
        let text = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n");
        if let Some(Ok(Request::Plain(first))) = read(text.as_bytes(), Way::Direct(80)) {
            prop_assert_eq!(first.name.as_str(), host);
            let Some(Ok(Request::Plain(again))) = read(&first.ours, Way::Direct(80)) else {
                return Err(TestCaseError::fail(String::from_utf8_lossy(&first.ours).into_owned()));
            };
            prop_assert_eq!(again.head, first.ours.len());
            prop_assert_eq!((again.name, again.body, again.ours), (first.name, first.body, first.ours));
        }
    }

    #[test]
    fn any_bytes_are_a_request_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200), proxied in any::<bool>()) {
        let way = if proxied { Way::Proxy } else { Way::Direct(80) };
        let _ = read(&bytes, way);
        let _ = read(&[&bytes[..], b"\r\n\r\n"].concat(), way);
        let _ = read(&[b"GET / HTTP/1.1\r\nHost: a.test\r\n", &bytes[..], b"\r\n\r\n"].concat(), way);
    }
}
