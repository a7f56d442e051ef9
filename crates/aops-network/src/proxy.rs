//! The proxy in the person's own environment: which hosts are reached through it, and what we send to it.
//!
//! Pure. Invariants: a proxy setting that we do not understand is an error, never a reason to bypass the
//! proxy; a proxy is asked for the name that was judged, and only after that.

use crate::name::{Name, port};
use std::fmt;

/// A proxy that speaks HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy {
    /// A name or an address.
    pub host: String,
    pub port: u16,
    /// The value of `Proxy-Authorization`, if the URL contains a user.
    login: Option<String>,
}

/// Which hosts are reached through which proxy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For TLS.
    tls: Option<Proxy>,
    /// For plain requests.
    plain: Option<Proxy>,
    /// Names that are reached without a proxy; `*` means all.
    direct: Vec<String>,
}

/// The protocol of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    Tls,
    Plain,
}

/// Why the environment does not name a usable proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadProxy(String);

impl fmt::Display for BadProxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` names a proxy that is not supported: only `http://` ones are", self.0)
    }
}

impl Proxies {
    /// Reads these variables as programs do: each in lower case first.
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Result<Self, BadProxy> {
        let named = |name: &str| {
            let found = [name.to_owned(), name.to_ascii_uppercase()].into_iter();
            found
                .filter_map(|name| variable(&name).map(|value| (name, value)))
                .find(|(_, value)| !value.is_empty())
        };
        let proxy = |name: &str| match named(name).or_else(|| named("all_proxy")) {
            Some((name, value)) => Proxy::of(&value).map(Some).ok_or(BadProxy(name)),
            None => Ok(None),
        };
        let direct = named("no_proxy").map(|(_, value)| value).unwrap_or_default();
        let direct =
            direct.split([',', ' ']).filter(|one| !one.is_empty()).map(str::to_ascii_lowercase).collect();
        Ok(Self { tls: proxy("https_proxy")?, plain: proxy("http_proxy")?, direct })
    }

    /// The proxy for this host; `None` if it is reached directly.
    pub fn of_host(&self, name: &Name, port: u16, speech: Speech) -> Option<&Proxy> {
        let proxy = if speech == Speech::Tls { &self.tls } else { &self.plain };
        proxy.as_ref().filter(|_| !self.direct.iter().any(|entry| covers(entry, name, port)))
    }

    pub fn all(&self) -> impl Iterator<Item = &Proxy> {
        self.tls.iter().chain(&self.plain)
    }
}

/// `*`, `host`, `.host`, `*.host`, each with or without a port; a host covers all names below it.
fn covers(entry: &str, name: &Name, at: u16) -> bool {
    let (host, wanted) = match entry.rsplit_once(':') {
        Some((host, number)) => (host, Some(number)),
        None => (entry, None),
    };
    let host = host.trim_start_matches("*.").trim_start_matches('.');
    let known = || Name::of(host.as_bytes()).is_some_and(|known| *name == known || name.is_below(&known));
    wanted.is_none_or(|number| number == at.to_string()) && (host == "*" || known())
}

impl Proxy {
    /// `http://user:password@host:port/`, also without a scheme.
    fn of(url: &str) -> Option<Self> {
        let rest = match url.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some(_) => return None,
            None => url,
        };
        let place = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let (login, place) = match place.rsplit_once('@') {
            Some((login, place)) => (Some(base64(&unescape(login)?)), place),
            None => (None, place),
        };
        let (host, number) =
            place.rsplit_once(':').map_or((place, None), |(host, number)| (host, Some(number)));
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:".contains(&byte);
        let port = number.map_or(Some(80), |number| port(number.as_bytes()))?;
        let fits = !host.is_empty() && host.bytes().all(is_plain);
        fits.then(|| Self { host: host.to_ascii_lowercase(), port, login })
    }

    fn login(&self) -> String {
        self.login.as_ref().map(|login| format!("Proxy-Authorization: Basic {login}\r\n")).unwrap_or_default()
    }

    /// Asks for a tunnel to the host.
    pub fn ask(&self, name: &Name, port: u16) -> Vec<u8> {
        format!("CONNECT {name}:{port} HTTP/1.1\r\nHost: {name}:{port}\r\n{}\r\n", self.login()).into_bytes()
    }

    /// The head of a request in the form for a proxy: with the host in its first line. `head`: with only the
    /// path.
    pub fn spell(&self, head: &[u8], name: &Name, port: u16) -> Vec<u8> {
        let Some(at) = head.iter().position(|byte| *byte == b' ') else { return head.to_vec() };
        let (method, rest) = head.split_at(at + 1);
        // `OPTIONS *` asks the server as a whole.
        let rest = rest.strip_prefix(b"* ").map_or_else(|| rest.to_vec(), |rest| [b" ", rest].concat());
        let shown = if port == 80 { name.to_string() } else { format!("{name}:{port}") };
        let end = rest.windows(2).position(|two| two == b"\r\n").map_or(rest.len(), |end| end + 2);
        let (line, fields) = rest.split_at(end);
        [method, b"http://", shown.as_bytes(), line, self.login().as_bytes(), fields].concat()
    }
}

/// A proxy's answer to the request for a tunnel; `None` while it is incomplete.
pub fn is_open(answer: &[u8]) -> Option<Result<(), String>> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n");
    if end.is_none() && answer.len() < LONGEST_ANSWER {
        return None;
    }
    let words: Vec<&[u8]> = answer.split(|byte| *byte == b' ' || *byte == b'\r').take(2).collect();
    let status = match words[..] {
        [version, status] if version.starts_with(b"HTTP/1.") => str::from_utf8(status).unwrap_or_default(),
        _ => "",
    };
    let is_number = status.len() == 3 && status.bytes().all(|byte| byte.is_ascii_digit());
    Some(match end {
        Some(_) if is_number && status.starts_with('2') => Ok(()),
        Some(_) if is_number => Err(format!("cannot be reached, your proxy answers {status}")),
        _ => Err("cannot be reached, your proxy's answer is not understood".to_owned()),
    })
}

const LONGEST_ANSWER: usize = 1 << 14;

/// Decodes `%40` and the like.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut all = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            all.push(*byte);
            continue;
        }
        let digits = str::from_utf8(rest.get(..2)?).ok()?;
        all.push(u8::from_str_radix(digits, 16).ok()?);
        rest = &rest[2..];
    }
    Some(all)
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = three.iter().chain(&[0, 0]).take(3).fold(0, |all, byte| (all << 8) | usize::from(*byte));
        let letters = [18, 12, 6, 0].map(|shift| char::from(LETTERS[(number >> shift) & 63]));
        text.extend(letters.into_iter().take(three.len() + 1));
        text.extend(std::iter::repeat_n('=', 3 - three.len()));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Name {
        Name::of(text.as_bytes()).unwrap()
    }

    fn proxies(all: &[(&str, &str)]) -> Result<Proxies, BadProxy> {
        Proxies::of(|wanted| {
            all.iter().find(|(name, _)| *name == wanted).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn each_kind_of_speech_has_its_variable_and_some_hosts_have_none() {
        let all = [
            ("HTTPS_PROXY", "http://wrong.test:1"),
            ("https_proxy", "http://Proxy.test:3130/"),
            ("http_proxy", "10.1.2.3"),
            ("no_proxy", "inner.test, .corp.test,db.test:5432"),
        ];
        let found = proxies(&all).unwrap();
        let of =
            |host: &str, port, speech| found.of_host(&name(host), port, speech).map(|one| one.host.clone());
        assert_eq!(of("a.test", 443, Speech::Tls).as_deref(), Some("proxy.test"));
        assert_eq!(of("a.test", 80, Speech::Plain).as_deref(), Some("10.1.2.3"));
        for direct in ["inner.test", "below.inner.test", "corp.test", "git.corp.test"] {
            assert_eq!(of(direct, 443, Speech::Tls), None, "{direct}");
        }
        assert!(of("notinner.test", 443, Speech::Tls).is_some() && of("db.test", 443, Speech::Tls).is_some());
        assert_eq!(of("db.test", 5432, Speech::Tls), None);
        assert_eq!(found.all().map(|one| one.port).collect::<Vec<_>>(), [3130, 80]);
        let all = proxies(&[("ALL_PROXY", "proxy.test:8080"), ("NO_PROXY", "*")]).unwrap();
        assert!(all.of_host(&name("a.test"), 443, Speech::Tls).is_none() && all.all().count() == 2);
        assert_eq!(proxies(&[("https_proxy", "")]).unwrap(), Proxies::default());
    }

    #[test]
    fn a_proxy_that_is_not_understood_is_an_error() {
        for url in [
            "socks5://p.test:1080", "https://p.test:443", "http://", "http://p.test:0x1", "http://p q.test:1",
        ] {
            let said = proxies(&[("https_proxy", url)]).unwrap_err().to_string();
            assert!(said.contains("`https_proxy`") && !said.contains("p.test"), "{url}: {said}");
        }
    }

    #[test]
    fn it_is_asked_for_the_host_that_was_judged() {
        let proxy = Proxy::of("http://me:p%40ss@proxy.test:3130").unwrap();
        let asked = String::from_utf8(proxy.ask(&name("a.test"), 443)).unwrap();
        let login = "Proxy-Authorization: Basic bWU6cEBzcw==\r\n";
        assert_eq!(asked, format!("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n{login}\r\n"));
        let spelt = |head: &str, port| {
            String::from_utf8(proxy.spell(head.as_bytes(), &name("a.test"), port)).unwrap()
        };
        let fields = "Host: a.test\r\n\r\n";
        let said = spelt(&format!("GET /x HTTP/1.1\r\n{fields}"), 80);
        assert_eq!(said, format!("GET http://a.test/x HTTP/1.1\r\n{login}{fields}"));
        let said = spelt(&format!("OPTIONS * HTTP/1.1\r\n{fields}"), 8080);
        assert_eq!(said, format!("OPTIONS http://a.test:8080 HTTP/1.1\r\n{login}{fields}"));
        let plain = Proxy::of("proxy.test").unwrap();
        assert!(!String::from_utf8(plain.ask(&name("a.test"), 443)).unwrap().contains("Authorization"));
        assert_eq!([&b""[..], b"a", b"ab", b"abc"].map(base64), ["", "YQ==", "YWI=", "YWJj"]);
    }

    #[test]
    fn only_a_whole_answer_that_says_yes_opens_a_tunnel() {
        assert_eq!(is_open(b"HTTP/1.1 200 OK\r\nVia: x\r\n"), None);
        assert_eq!(is_open(b"HTTP/1.1 200 OK\r\nVia: x\r\n\r\n"), Some(Ok(())));
        assert_eq!(is_open(b"HTTP/1.0 200\r\n\r\n"), Some(Ok(())));
        let refused = is_open(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n").unwrap().unwrap_err();
        assert!(refused.ends_with("your proxy answers 407"), "{refused}");
        for odd in
            [&b"SSH-2.0-x\r\n\r\n"[..], b"HTTP/1.1 2000 OK\r\n\r\n", b"\r\n\r\n", &[b'x'; LONGEST_ANSWER]]
        {
            assert!(is_open(odd).unwrap().is_err());
        }
    }
}
