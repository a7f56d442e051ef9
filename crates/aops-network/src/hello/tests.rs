use super::*;
use proptest::prelude::*;

fn long(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat()
}

fn extension(kind: u16, content: &[u8]) -> Vec<u8> {
    [&kind.to_be_bytes()[..], &long(content)].concat()
}

fn server_name(name: &[u8]) -> Vec<u8> {
    extension(0, &long(&[&[0], &long(name)[..]].concat()))
}

/// The message without its records.
fn message(extensions: &[u8]) -> Vec<u8> {
    let body = [&[3, 3][..], &[7; 32], &[0], &long(&[0x13, 1]), &[1, 0], &long(extensions)].concat();
    let length = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&[1][..], &length[1..], &body].concat()
}

fn records(message: &[u8], size: usize) -> Vec<u8> {
    message.chunks(size).flat_map(|part| [&[22, 3, 1][..], &long(part)].concat()).collect()
}

fn hello(extensions: &[u8]) -> Vec<u8> {
    records(&message(extensions), 1 << 14)
}

fn said(bytes: &[u8]) -> String {
    match read(bytes) {
        None => "more".to_owned(),
        Some(Ok(hello)) => format!("{}{}", hello.name, if hello.hides_one { " and another" } else { "" }),
        Some(Err(bad)) => bad.to_string(),
    }
}

#[test]
fn exactly_one_name() {
    let one = server_name(b"tls.test");
    assert_eq!(said(&hello(&one)), "tls.test");
    assert_eq!(said(&hello(&[extension(21, &[0; 500]), one.clone()].concat())), "tls.test");
    assert_eq!(said(&hello(&[])), "the TLS hello names no host");
    let bad = "the TLS hello does not name one host";
    for two in [
        [one.clone(), server_name(b"evil.test")].concat(),
        [one.clone(), one.clone()].concat(),
        extension(0, &long(&[&[0], &long(b"a.test")[..], &[0], &long(b"b.test")].concat())),
        extension(0, &long(&[&[1], &long(b"a.test")[..]].concat())),
        extension(0, &[long(&[&[0], &long(b"a.test")[..]].concat()), vec![0]].concat()),
        extension(0, &[]),
        server_name(b""),
        server_name(b"127.0.0.1"),
        server_name(b"evil.test\0.tls.test"),
    ] {
        assert_eq!(said(&hello(&two)), bad);
    }
}

#[test]
fn a_hidden_name_is_seen() {
    for kind in ENCRYPTED {
        let both = [server_name(b"tls.test"), extension(kind, &[0; 8])].concat();
        assert_eq!(said(&hello(&both)), "tls.test and another");
    }
}

#[test]
fn what_is_no_hello_is_told_at_once() {
    for bytes in [
        &b"SSH-2.0-x\r\n"[..],
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x80\x2e\x01\x03\x01",
        b"\x16\x02",
        b"\x16\x03\x01\0\0",
    ] {
        assert_eq!(said(bytes), "this is not TLS", "{bytes:?}");
    }
    // An alert's record, and another handshake message.
    assert_eq!(said(&[21, 3, 3, 0, 2, 2, 49]), "this is not TLS");
    assert_eq!(said(&records(&[2, 0, 0, 0], 4)), "this is not TLS");
    // A second message in the same record; a message that is longer than its extensions.
    let mut two = message(&server_name(b"tls.test"));
    two.extend([11, 0, 0, 0]);
    assert_eq!(said(&records(&two, 1 << 14)), "this is not TLS");
    let mut longer = message(&server_name(b"tls.test"));
    longer.push(0);
    longer[3] += 1;
    assert_eq!(said(&records(&longer, 1 << 14)), "this is not TLS");
    // A message that never ends.
    let endless = records(&[&[1, 0xff, 0xff, 0xff][..], &vec![0; 1 << 17]].concat(), 1 << 14);
    assert_eq!(said(&endless), "this is not TLS");
}

proptest! {
    #[test]
    fn pieces_change_nothing(name in "[a-z]{1,20}\\.test", size in 1usize..300, cut in 0usize..2000) {
        let whole = message(&[extension(10, &[0, 2, 0, 29]), server_name(name.as_bytes())].concat());
        let bytes = records(&whole, size);
        prop_assert_eq!(said(&bytes), name.clone());
        let cut = cut % bytes.len();
        prop_assert_eq!(said(&bytes[..cut]), "more");
        // Bytes after it belong to the connection.
        prop_assert_eq!(said(&[&bytes[..], &[23, 3, 3, 0, 1, 9]].concat()), name);
    }

    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..400), at in 0usize..200, byte in any::<u8>()) {
        let _ = read(&bytes);
        let mut changed = hello(&server_name(b"tls.test"));
        let at = at % changed.len();
        changed[at] = byte;
        if let Some(Ok(hello)) = read(&changed) {
            // A changed name is read as changed; nothing else turns into a name.
            prop_assert!(hello.name.as_str() == "tls.test" || changed.windows(hello.name.as_str().len())
                .any(|part| part.eq_ignore_ascii_case(hello.name.as_str().as_bytes())));
        }
    }
}
