//! `curl` and `wget`: fetching reads, as long as nothing is sent and nothing is kept.

use super::line::{Said, is_nowhere};
use super::table::Command;
use crate::model::call::Effect;
use crate::shell::syntax::Word;

const CURL: &str = "-0123456fgGhiIjkLlMnNqRsSvVZ -A= -b= -e= -E= -H= -m= -o= -r= -u= -w= -x= -X= -y= -Y= -z= -C= -d= \
    --silent --show-error --fail --fail-with-body --location --head --include --insecure --verbose --compressed --get \
    --globoff --no-buffer --no-progress-meter --progress-bar --ipv4 --ipv6 --http1.0 --http1.1 --http2 --http3 --tlsv1.2 \
    --tlsv1.3 --retry-connrefused --retry-all-errors --path-as-is --version --help --no-keepalive --raw --parallel \
    --user-agent= --cookie= --referer= --header= --max-time= --output= --range= --user= --write-out= --proxy= --request= \
    --connect-timeout= --retry= --retry-delay= --retry-max-time= --max-redirs= --max-filesize= --resolve= --connect-to= \
    --interface= --cacert= --capath= --cert= --key= --url= --data-urlencode= --data= --limit-rate= --unix-socket= --noproxy= --oauth2-bearer= --url-query=";

/// Prints what an address holds.
pub(super) fn curl(command: &Command) -> Said {
    let sorted = command.sorted(&[CURL])?;
    if sorted.values(&["-o", "--output"]).any(|word| !is_nowhere(word) && !word.is("-")) {
        return Err(command.refused("-o"));
    }
    let asks = |word: &Word| word.is("GET") || word.is("HEAD") || word.is("OPTIONS");
    if let Some(verb) = sorted.values(&["-X", "--request"]).find(|word| !asks(word)) {
        return Err(command.refused(&format!("-X {}", verb.lossy())));
    }
    // With `-G` data goes into the address; else it is sent.
    let sends = ["-d", "--data", "--data-urlencode"];
    if sorted.has(&sends) && !sorted.has(&["-G", "--get"]) {
        return Err(command.refused("-d"));
    }
    let files = sorted.values(&sends).any(|word| word.lossy().contains('@'));
    // `%output{file}` writes, and a format may come from a file.
    let writes = |word: &Word| word.lossy().contains("%output") || !word.is_firm() || word.starts_with("@");
    if files || sorted.values(&["-w", "--write-out"]).any(writes) {
        return Err(command.refused("-w"));
    }
    addresses(command, sorted.operands.iter().copied().chain(sorted.values(&["--url"])))
}

/// Prints what an address holds; by default it keeps it.
pub(super) fn wget(command: &Command) -> Said {
    let sorted = command.sorted(&[
        "-qSv46 -O= -T= -t= -U= --quiet --spider --server-response --no-verbose --timeout= --tries= --header= --output-document= --user-agent= --no-check-certificate --method= --version --help",
    ])?;
    let nowhere = |word: &Word| word.is("-") || is_nowhere(word);
    let mut kept = sorted.values(&["-O", "--output-document"]).peekable();
    let prints =
        kept.peek().is_some() && kept.all(nowhere) || sorted.has(&["--spider", "--version", "--help"]);
    let asks = sorted.values(&["--method"]).all(|word| word.is("GET") || word.is("HEAD"));
    if !prints || !asks {
        return Err(command.refused(""));
    }
    addresses(command, sorted.operands.iter().copied())
}

/// Addresses of the web, or without a scheme.
fn addresses<'a>(command: &Command, words: impl Iterator<Item = &'a Word>) -> Said {
    for word in words {
        let text = word.lossy();
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if !matches!(scheme.as_deref(), None | Some("http" | "https" | "file")) {
            return Err(command.refused(&text));
        }
    }
    Ok(Effect::Read)
}
