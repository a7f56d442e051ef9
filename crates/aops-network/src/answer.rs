//! The head of a server's answer to a plain request, told to end the connection after it.
//!
//! Pure. A server was asked to close, and need not say that it does; a client that does not know it sends its
//! next request where nobody reads it.

/// Longer heads are passed on as they are.
const LONGEST_HEAD: usize = 1 << 16;

/// The beginning of what a server sends, as we pass it on.
#[derive(Debug, PartialEq, Eq)]
pub struct Head {
    pub ours: Vec<u8>,
    /// Number of the server's bytes that it replaces.
    pub length: usize,
    /// Another one follows, as after `100 Continue`.
    pub is_interim: bool,
}

/// `None` while it is incomplete. Anything but HTTP/1, and a head that is too long, is passed on unchanged.
pub fn head(bytes: &[u8]) -> Option<Head> {
    let known = bytes.len().min(b"HTTP/1.".len());
    if bytes[..known] != b"HTTP/1."[..known] || bytes.len() > LONGEST_HEAD {
        return Some(Head { ours: bytes.to_vec(), length: bytes.len(), is_interim: false });
    }
    let length = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let whole = &bytes[..length];
    if whole.get(9) == Some(&b'1') {
        return Some(Head { ours: whole.to_vec(), length, is_interim: true });
    }
    let name = |line: &[u8]| line.split(|byte| *byte == b':').next().unwrap_or_default().to_ascii_lowercase();
    let lines = whole[..length - 2].split_inclusive(|byte| *byte == b'\n');
    let kept = lines.filter(|line| !matches!(&name(line)[..], b"connection" | b"keep-alive"));
    let ours = kept.chain([&b"Connection: close\r\n\r\n"[..]]).flatten().copied().collect();
    Some(Head { ours, length, is_interim: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(bytes: &[u8]) -> Option<(String, usize, bool)> {
        head(bytes).map(|head| (String::from_utf8(head.ours).unwrap(), head.length, head.is_interim))
    }

    #[test]
    fn the_client_is_told_that_no_other_answer_follows() {
        let begin = b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nconnection: keep-alive\r\nContent-Length: 2\r\n\r\n";
        let told = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n";
        assert_eq!(passed(&[begin, &b"ok"[..]].concat()), Some((told.to_owned(), begin.len(), false)));
        for cut in 0..begin.len() {
            assert_eq!(head(&begin[..cut]), None, "{cut}");
        }
        let short = b"HTTP/1.0 204 No\r\n\r\n";
        assert_eq!(passed(short).unwrap().0, "HTTP/1.0 204 No\r\nConnection: close\r\n\r\n");
        let interim = b"HTTP/1.1 100 Continue\r\n\r\n";
        assert_eq!(
            passed(&[interim, &short[..]].concat()),
            Some((String::from_utf8_lossy(interim).into_owned(), interim.len(), true))
        );
    }

    #[test]
    fn what_is_no_answer_is_passed_on_as_it_is() {
        assert_eq!(passed(b"nonsense"), Some(("nonsense".to_owned(), 8, false)));
        let long = [&b"HTTP/1.1 200 OK\r\nX: "[..], &vec![b'x'; LONGEST_HEAD]].concat();
        assert_eq!(head(&long).unwrap().length, long.len());
    }
}
