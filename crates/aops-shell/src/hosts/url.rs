//! The host of a URL or an address, as different programs read it.
//!
//! Pure.

/// A host as it is written, and the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub port: u16,
}

/// Schemes and their usual ports.
const SCHEMES: &[(&str, u16)] = &[
    ("amqp", 5672),
    ("amqps", 5671),
    ("clickhouse", 9000),
    ("dict", 2628),
    ("docker", 443),
    ("ftp", 21),
    ("ftps", 990),
    ("git", 9418),
    ("gopher", 70),
    ("hkp", 11371),
    ("hkps", 443),
    ("http", 80),
    ("https", 443),
    ("imap", 143),
    ("imaps", 993),
    ("ldap", 389),
    ("ldaps", 636),
    ("mariadb", 3306),
    ("mongodb", 27017),
    ("mqtt", 1883),
    ("mqtts", 8883),
    ("mssql", 1433),
    ("mysql", 3306),
    ("nats", 4222),
    ("oci", 443),
    ("pop3", 110),
    ("pop3s", 995),
    ("postgres", 5432),
    ("postgresql", 5432),
    ("redis", 6379),
    ("rediss", 6379),
    ("rsync", 873),
    ("rtsp", 554),
    ("scp", 22),
    ("sftp", 22),
    ("smb", 445),
    ("smtp", 25),
    ("smtps", 465),
    ("socks4", 1080),
    ("socks4a", 1080),
    ("socks5", 1080),
    ("socks5h", 1080),
    ("sparse", 443),
    ("sqlserver", 1433),
    ("ssh", 22),
    ("svn", 3690),
    ("telnet", 23),
    ("ws", 80),
    ("wss", 443),
];

/// The host of a URL, if its scheme is known.
pub fn of_url(text: &str) -> Option<Host> {
    let (scheme, rest) = text.split_once("://")?;
    // `git+ssh` is SSH, and `mongodb+srv` is MongoDB.
    let usual = scheme.rsplit('+').find_map(|part| {
        SCHEMES.iter().find(|(known, _)| part.eq_ignore_ascii_case(known)).map(|(_, usual)| *usual)
    });
    of_authority(rest, usual?)
}

/// The hosts of all URLs in a text, such as the code of a program. One in the path of another is not reached.
pub(super) fn of_text(text: &str) -> Vec<Host> {
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    let ends = |c: char| c.is_whitespace() || "'\"`<>|;,)}]\\".contains(c);
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let from = rest[..at].trim_end_matches(is_scheme).len();
        let to = rest[at + 3..].find(ends).map_or(rest.len(), |end| at + 3 + end);
        found.extend(of_url(&rest[from..to]));
        rest = &rest[to..];
    }
    found
}

/// The host that a client's own tool would contact for this URL, read as the URL standard says: with blanks
/// around it, any number of slashes of either kind, percent-encoded characters. An invalid host name is
/// returned as it is; `None` for URLs of other kinds.
pub fn of_fetch(text: &str) -> Option<Host> {
    let text = text.trim_matches(|c: char| c <= ' ').replace(['\t', '\n', '\r'], "");
    let (scheme, rest) = text.split_once(':')?;
    let usual = match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" => 80,
        "https" | "wss" => 443,
        _ => return of_url(&text),
    };
    let authority = rest.trim_start_matches(['/', '\\']).split(['/', '\\', '?', '#']).next()?;
    let host = authority.rsplit('@').next()?;
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, ""),
    };
    let port = if port.is_empty() { usual } else { port.parse().unwrap_or_default() };
    let name = dotted(name).to_lowercase();
    Some(Host { name: name.trim_end_matches('.').to_owned(), port })
}

/// The host that a server's tool would contact for the value of an address field. Browsers take a bare name
/// too, and put `https://` before it.
pub fn of_address(text: &str) -> Option<Host> {
    let text = text.trim_matches(|c: char| c <= ' ' || matches!(c, '"' | '\'' | '<' | '>'));
    let shown = text.get(..VIEWED.len()).is_some_and(|start| start.eq_ignore_ascii_case(VIEWED));
    let text = if shown { &text[VIEWED.len()..] } else { text };
    of_fetch(text).or_else(|| of_any_scheme(text)).or_else(|| {
        let text = if text.starts_with("//") { text.trim_start_matches('/') } else { text };
        let authority = text.split(['/', '\\', '?', '#']).next()?;
        // `data:…`, `about:blank` and paths name no host.
        let name = dotted(authority.split(':').next()?);
        // Other letters may become dots or ASCII letters: then the name is invalid, and no list has it.
        let is_name = (name.contains('.') || !name.is_ascii())
            && !name.starts_with('.')
            && !authority.contains(char::is_whitespace);
        let is_host = is_name || name == "localhost" || has_port(authority) || authority.starts_with('[');
        is_host.then(|| of_fetch(&format!("https://{text}")))?
    })
}

/// `jdbc:mysql://a.test/db`, `tcp://a.test:2375`. The authority of `notes://today` is not a host.
fn of_any_scheme(text: &str) -> Option<Host> {
    let (schemes, rest) = text.split_once("://")?;
    let authority = rest.split(['/', '\\', '?', '#']).next()?;
    let inner = schemes.rsplit(':').next()?;
    let outer = schemes.split('+').next()?;
    let known = |scheme: &str| of_fetch(&format!("{scheme}://{rest}"));
    let name = dotted(authority);
    let is_host = name.contains('.') || !name.is_ascii() || has_port(authority) || authority.starts_with('[');
    known(inner).or_else(|| known(outer)).or_else(|| is_host.then(|| known("https"))?)
}

/// `a:8080`
fn has_port(authority: &str) -> bool {
    let port = authority.rsplit_once(':').filter(|(name, _)| !name.is_empty()).map(|(_, port)| port);
    port.is_some_and(|port| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

const VIEWED: &str = "view-source:";

/// A host name with its percent-encoded characters read, and with the dots of other scripts as dots.
fn dotted(name: &str) -> String {
    unescaped(name).replace(['\u{3002}', '\u{ff0e}', '\u{ff61}'], ".")
}

/// `%65` is `e`.
fn unescaped(text: &str) -> String {
    let mut all = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((byte, behind)) = rest.split_first() {
        let digits = behind.get(..2).filter(|_| *byte == b'%').and_then(|two| str::from_utf8(two).ok());
        let meant = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        all.push(meant.unwrap_or(*byte));
        rest = if meant.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&all).into_owned()
}

/// Whether this is a usual way to write this machine.
pub fn is_this_machine(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let is_loopback =
        parts.len() == 4 && parts[0] == "127" && parts.iter().all(|part| part.parse::<u8>().is_ok());
    name == "localhost" || name.ends_with(".localhost") || name == "[::1]" || is_loopback
}

/// Parses `user@host:port` at the start of the text.
pub(super) fn of_authority(text: &str, usual: u16) -> Option<Host> {
    let authority = text.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?;
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !name.ends_with(':') && !name.starts_with('[') => (name, port.parse().ok()?),
        _ => (host, usual),
    };
    (!name.is_empty()).then(|| Host { name: name.trim_end_matches('.').to_ascii_lowercase(), port })
}
