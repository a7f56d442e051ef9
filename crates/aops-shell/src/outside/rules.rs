//! Programs that need more than their verb to judge: whether they send something, and where to.

use super::{Call, LOOKS};

/// A shell or a message elsewhere; asking a program for its own settings stays on this machine.
pub(super) fn far(call: &Call) -> bool {
    let here = |word: &str| is_here(word.rsplit('@').next().unwrap_or(word));
    let asks = call.name == "ssh" && call.has(&["-V", "-G", "-Q"]);
    call.operands().first().is_some_and(|first| !here(first)) && !asks
}

/// `aws s3 cp`, `gcloud run deploy`: one of the first words says whether it only looks.
pub(super) fn cloud(call: &Call) -> bool {
    let operands = call.operands();
    let looks = |word: &&str| LOOKS.iter().any(|look| word.starts_with(look));
    !operands.is_empty() && !operands.iter().take(4).any(looks)
        || operands.is_empty() && call.name == "vercel"
}

/// What a forge's tool changes in pull requests, issues and releases; fetching does not count.
pub(super) fn forge(call: &Call) -> bool {
    let operands = call.operands();
    let first = operands.first().copied().unwrap_or_default();
    let second = operands.get(1).copied().unwrap_or_default();
    let local = ["alias", "browse", "extension", "ssh-key"];
    if first == "api" {
        let sends = |word: &String| {
            ["-f", "-F", "--field", "--raw-field", "--input"].iter().any(|o| word.starts_with(o))
        };
        return call.words.iter().any(sends) || method(&call.words).is_some_and(|verb| !is_look(&verb));
    }
    let looks = |word: &str| {
        LOOKS.iter().chain(&["checkout", "checks", "download"]).any(|look| word.starts_with(look))
    };
    !second.is_empty() && !looks(first) && !looks(second) && !local.contains(&first)
}

pub(super) fn image_pushed(call: &Call) -> bool {
    let operands = call.operands();
    let verb = operands.first().copied().unwrap_or_default();
    let nested =
        matches!(verb, "compose" | "image" | "manifest" | "buildx") && operands.get(1) == Some(&"push");
    verb == "push" || nested || matches!(verb, "build" | "buildx") && call.has(&["--push"])
}

/// `user@host:path`, `host::module`, `rsync://host/path`: the last operand is the destination.
pub(super) fn copied_away(call: &Call) -> bool {
    let operands = call.operands();
    let Some(to) = operands.last().filter(|_| operands.len() > 1) else { return false };
    let host = to.split_once(':').filter(|(host, _)| !host.contains('/')).map(|(host, _)| host);
    let named = host.map(|host| host.rsplit('@').next().unwrap_or(host));
    named.is_some_and(|host| !is_here(host))
}

/// The value of `-X`, `--request` or `--method`, glued or not.
fn method(words: &[String]) -> Option<String> {
    let names = ["-X", "--request", "--method"];
    let next = |at: usize| words.get(at + 1).cloned();
    words.iter().enumerate().find_map(|(at, word)| {
        if names.contains(&word.as_str()) {
            return next(at);
        }
        let glued = names.iter().find_map(|name| word.strip_prefix(name))?;
        Some(glued.trim_start_matches('=').to_owned())
    })
}

fn is_look(verb: &str) -> bool {
    ["GET", "HEAD", "OPTIONS", "TRACE"].iter().any(|look| verb.eq_ignore_ascii_case(look))
}

pub(super) fn curl_sends(call: &Call) -> bool {
    let data = ["--data", "--form", "--json", "--upload-file", "-F", "-T", "-d"];
    let sends = |word: &String| data.iter().any(|option| word.starts_with(option));
    let sent = call.words.iter().any(sends) && !call.has(&["-G", "--get"]);
    let told = method(&call.words).is_some_and(|verb| !is_look(&verb));
    (sent || told) && addressed_away(&call.words)
}

pub(super) fn wget_sends(call: &Call) -> bool {
    let sends = |word: &String| ["--post-", "--body-"].iter().any(|option| word.starts_with(option));
    let told = method(&call.words).is_some_and(|verb| !is_look(&verb));
    (call.words.iter().any(sends) || told) && addressed_away(&call.words)
}

/// `http POST host a=b`, or fields without a verb.
pub(super) fn http_sends(call: &Call) -> bool {
    let operands = call.operands();
    let verb = operands.first().filter(|verb| verb.len() > 2 && verb.chars().all(|c| c.is_ascii_uppercase()));
    let fields = operands.iter().skip(1).any(|word| word.contains('=') && !word.contains("=="));
    verb.map_or(fields, |verb| !is_look(verb)) && addressed_away(&call.words)
}

/// Whether some address is another machine's; if no address can be read, it may be.
pub(super) fn addressed_away(words: &[String]) -> bool {
    let mut hosts = words.iter().filter_map(|word| host(word)).peekable();
    hosts.peek().is_none() || hosts.any(|host| !is_here(host))
}

fn host(word: &str) -> Option<&str> {
    let local = ["localhost", "127.", "[::1]", "0.0.0.0", ":"].iter().any(|known| word.starts_with(known));
    let rest = match word.split_once("://") {
        Some((scheme, rest)) if !scheme.contains(['=', '"', '{']) => rest,
        _ if local => word,
        _ => return None,
    };
    let host = rest.split(['/', '?', '#']).next()?;
    Some(host.rsplit('@').next().unwrap_or(host))
}

fn is_here(host: &str) -> bool {
    let name = if host.starts_with('[') { host.split_inclusive(']').next() } else { host.split(':').next() };
    let name = name.unwrap_or_default();
    matches!(name, "" | "localhost" | "0.0.0.0" | "[::1]")
        || name.starts_with("127.")
        || name.ends_with(".localhost")
}
