//! `curl` and `wget`: fetching is a read, as long as nothing is sent and nothing is saved.

use super::command::{Act, Class, Files, Invocation, Touched, all, is_nowhere};
use super::options::Sorted;
use crate::effect::Effect;
use crate::syntax::Word;

pub(super) const CURL: &str = "-0123456fgGhiIjkLlMnNqRsSvVZ -A= -b= -e= -E= -H= -m= -o= -r= -u= -w= -x= -X= -y= -Y= -z= -C= -d= \
    --silent --show-error --fail --fail-with-body --location --head --include --insecure --verbose --compressed --get \
    --globoff --no-buffer --no-progress-meter --progress-bar --ipv4 --ipv6 --http1.0 --http1.1 --http2 --http3 --tlsv1.2 \
    --tlsv1.3 --retry-connrefused --retry-all-errors --path-as-is --version --help --no-keepalive --raw --parallel \
    --user-agent= --cookie= --referer= --header= --max-time= --output= --range= --user= --write-out= --proxy= --request= \
    --connect-timeout= --retry= --retry-delay= --retry-max-time= --max-redirs= --max-filesize= --resolve= --connect-to= \
    --interface= --cacert= --capath= --cert= --key= --url= --data-urlencode= --data= --limit-rate= --unix-socket= --noproxy= --oauth2-bearer= --url-query=";
pub(super) const WGET: &str = "-qSv46 -O= -T= -t= -U= --quiet --spider --server-response --no-verbose --timeout= --tries= \
    --header= --output-document= --user-agent= --no-check-certificate --method= --version --help";
pub(super) const ARIA2C: &str = "-o= --out= -l= --log= --save-session= -d= --dir=";
/// Options that name output files or their folder.
const CURL_FILES: &str = "-o> -D> -c> --output> --dump-header> --cookie-jar> --trace> --trace-ascii> --stderr> \
    --hsts> --alt-svc> --etag-save> --libcurl> -O --remote-name --remote-name-all --output-dir= -K= --config=";
const WGET_FILES: &str = "-O> -o> -a> --output-document> --output-file> --append-output> --save-cookies> --hsts-file> --warc-file> \
    --warc-tempdir> --rejected-log> -P= --directory-prefix=";

/// `curl` prints the response.
pub(super) fn curl(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    if sorted.values(&["-o", "--output"]).any(|word| !is_nowhere(word) && !word.is("-")) {
        return Err(command.refusal("-o"));
    }
    let asks = |word: &Word| word.is("GET") || word.is("HEAD") || word.is("OPTIONS");
    if let Some(verb) = sorted.values(&["-X", "--request"]).find(|word| !asks(word)) {
        return Err(command.refusal(&format!("-X {}", verb.lossy())));
    }
    // With `-G` the data becomes part of the URL; without it, it is sent.
    let sends = ["-d", "--data", "--data-urlencode"];
    if sorted.has(&sends) && !sorted.has(&["-G", "--get"]) {
        return Err(command.refusal("-d"));
    }
    let files = sorted.values(&sends).any(|word| word.lossy().contains('@'));
    // `%output{file}` writes, and a format may come from a file.
    let writes = |word: &Word| word.lossy().contains("%output") || !word.is_firm() || word.starts_with("@");
    if files || sorted.values(&["-w", "--write-out"]).any(writes) {
        return Err(command.refusal("-w"));
    }
    addresses(command, sorted.operands.iter().copied().chain(sorted.values(&["--url"])))
}

/// `wget` saves the response unless told to print it.
pub(super) fn wget(command: &Invocation) -> Class {
    let sorted = command.sorted()?;
    let nowhere = |word: &Word| word.is("-") || is_nowhere(word);
    let mut kept = sorted.values(&["-O", "--output-document"]).peekable();
    let asks = kept.peek().is_none()
        && (sorted.has(&["--spider"])
            || command.arguments.len() == 1 && sorted.has(&["--version", "--help"]));
    let prints = asks || kept.peek().is_some() && kept.all(nowhere);
    let gets = sorted.values(&["--method"]).all(|word| word.is("GET") || word.is("HEAD"));
    command.reads_if(prints && gets, "")?;
    addresses(command, sorted.operands.iter().copied())
}

/// Web URLs, also without a scheme.
fn addresses<'a>(command: &Invocation, words: impl Iterator<Item = &'a Word>) -> Class {
    for word in words {
        let text = word.lossy();
        let scheme = text.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
        if !matches!(scheme.as_deref(), None | Some("http" | "https" | "file")) {
            return Err(command.refusal(&text));
        }
    }
    Ok(Effect::Read)
}

/// The files named by options; with `-O`, one file named after each URL, in the given folder.
pub(super) fn curl_touched(command: &Invocation) -> Touched {
    let sorted = command.sort_by(&[CURL_FILES]);
    kept(&sorted, sorted.has(&["-O", "--remote-name", "--remote-name-all"]))
}

/// Like `curl_touched`, but by default every URL is saved.
pub(super) fn wget_touched(command: &Invocation) -> Touched {
    let sorted = command.sort_by(&[WGET_FILES]);
    kept(&sorted, sorted.written.is_empty() || sorted.has(&["-O"]))
}

fn kept(sorted: &Sorted, by_address: bool) -> Touched {
    let mut files = all(&sorted.written, Act::Write);
    let folder = sorted.values(&["-P", "--output-dir", "--directory-prefix"]).next().cloned();
    let folder = folder.unwrap_or_else(|| Word::of("."));
    // `curl --output-dir folder -o name`
    let placed = sorted.written.iter().map(|name| (name.from_folder(&folder), Act::Write));
    files.extend(placed.collect::<Files>());
    let names = sorted.operands.iter().filter(|_| by_address).map(|word| word.last_part());
    files.extend(names.map(|name| (name.from_folder(&folder), Act::Write)));
    Touched::files(files)
}

/// `aria2c` saves everything below one folder.
pub(super) fn aria2c(command: &Invocation) -> Touched {
    let sorted = command.sort();
    let folder = sorted.values(&["-d", "--dir"]).next().cloned().unwrap_or_else(|| Word::of("."));
    let given = sorted.values(&["-o", "--out", "-l", "--log", "--save-session"]).cloned();
    let names = given.chain(sorted.operands.iter().map(|word| word.last_part()));
    let mut files: Files = names.map(|name| (name.from_folder(&folder), Act::Write)).collect();
    files.push((folder, Act::Into));
    Touched::files(files)
}
