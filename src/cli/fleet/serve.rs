//! `fleet serve`: a page with questions, runs and sessions, only on this machine unless a TLS proxy is in
//! front of it.
//!
//! Listens on one address, connects to the database. Invariants: nothing is shown or done without the token
//! of the file, or the token of one question; there is no cookie, which would be sent to every port of this
//! machine: instead each form has its own proof; a form counts only from our own page, under our own name; no
//! script comes from elsewhere.

mod page;

use super::approval::{decide, person};
use super::{open, url};
use crate::cli::http::{self, Answer, Request};
use crate::cli::{Io, policy_here, refused};
use crate::remote::database;
use anyhow::Context;
use aops_core::config::policy::fleet::LISTEN;
use aops_core::system::env::Env;
use aops_fleet::Fleet;
use aops_fleet::approval::{self, sign, token_digest};
use clap::ArgMatches;
use serde_json::json;
use std::net::{SocketAddr, TcpListener};
use std::sync::Mutex;

/// How many rows each table has.
const MOST: i64 = 200;
const LONGEST_BODY: usize = 16 << 10;
/// Sent with every answer: load nothing from elsewhere, allow no frames, never cache.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; \
    form-action 'self'; \
     frame-ancestors 'none'; base-uri 'none'\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
     Referrer-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n\
    Cache-Control: no-store\r\n";
/// What strangers see when the database does not answer.
const AWAY: &str = "this cannot be looked up now; try again later";
/// The file of the page's token, next to the keys.
const TOKEN: &str = "fleet.token";
/// What the proof of a read-only form covers.
const LOOK: &str = "look";

pub(super) fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let fleet = policy_here(io)?.policy.fleet;
    let url = url(io)?;
    open(io)?;
    let address = fleet.listen.as_deref().unwrap_or(LISTEN);
    let listener = TcpListener::bind(address).with_context(|| format!("`fleet.listen` = \"{address}\""))?;
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() && fleet.page.as_ref().is_none_or(|page| !page.starts_with("https://")) {
        return refused(
            "on a network the page needs TLS in front of it\nhint: set `fleet.page` to the address of that \
                proxy, as `https://approve.example`",
        );
    }
    let own = [format!("http://{address}"), format!("http://localhost:{}", address.port())];
    let own = own.into_iter().filter(|_| address.ip().is_loopback());
    let origins: Vec<String> = fleet.page.into_iter().chain(own).map(|page| origin(&page)).collect();
    let token = database::secret(io.env, TOKEN)?;
    let who = format!("{} by the page", person());
    let door = Door { env: io.env, url, token, origins, who, turn: Mutex::new(()) };
    tell(io, &door, address)?;
    http::listen(&listener, LONGEST_BODY, http::MOST, |request| door.answer(request));
    Ok(0)
}

/// Prints the address to open. The token is shown only on a terminal; anywhere else a log may keep it.
fn tell(io: &mut Io, door: &Door, address: SocketAddr) -> anyhow::Result<()> {
    let page = &door.origins[0];
    let file = database::secret_file(io.env, TOKEN);
    let (link, hint) = if io.terminal {
        (format!("{page}/#{}", door.token), String::new())
    } else {
        (format!("{page}/"), format!("\nhint: add `#` and the text of `{}`", file.display()))
    };
    let value =
        json!({"link": link, "listens": address.to_string(), "port": address.port(), "token_file": file});
    io.answer(&value, format!("open {link}{hint}"))?;
    Ok(io.out.flush()?)
}

/// The origin as a browser writes it: `https://Approve.Example:443/x` is `https://approve.example`.
fn origin(url: &str) -> String {
    let url = url.to_lowercase();
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", &url));
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let usual = if scheme == "http" { ":80" } else { ":443" };
    format!("{scheme}://{}", host.strip_suffix(usual).unwrap_or(host))
}

/// 32 random bytes as hex digits, the form of every token.
fn is_token(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

struct Door<'a> {
    env: &'a Env,
    url: String,
    token: String,
    /// The origins that a form may come from; people open the first one.
    origins: Vec<String>,
    who: String,
    /// Only one request at a time uses the database, however many arrive.
    turn: Mutex<()>,
}

fn says(status: u16, kind: &str, body: impl Into<String>) -> Answer {
    (status, format!("Content-Type: {kind}; charset=utf-8\r\n{HEADERS}"), body.into())
}

fn html(status: u16, body: String) -> Answer {
    says(status, "text/html", body)
}

impl Door<'_> {
    fn answer(&self, request: &Request) -> Answer {
        if let Some(why) = self.foreign(request) {
            return says(403, "text/plain", format!("{why}\n"));
        }
        let answered = match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/style.css") => Ok(says(200, "text/css", include_str!("serve/style.css"))),
            ("GET", "/page.js") => Ok(says(200, "text/javascript", include_str!("serve/page.js"))),
            ("GET", "/") => Ok(html(200, page::door())),
            ("POST", "/") => self.show(request),
            ("POST", "/answer") => self.decide(request),
            _ => Ok(says(404, "text/plain", "there is nothing here\n")),
        };
        answered.unwrap_or_else(|error| {
            let words = if self.is_owner(request) { format!("{error:#}") } else { AWAY.to_owned() };
            html(503, page::says(&words))
        })
    }

    /// Why a request does not come from our own page: another name of this machine, or another site's form.
    fn foreign(&self, request: &Request) -> Option<&'static str> {
        let host = request.header("host").unwrap_or_default();
        let ours = |own: &String| {
            let scheme = own.split("://").next().unwrap_or_default();
            !host.contains('/') && origin(&format!("{scheme}://{host}")) == *own
        };
        if !self.origins.iter().any(ours) {
            return Some("this is not the name of this page");
        }
        let from = request.header("origin");
        let wanted = request.method == "POST" || from.is_some();
        let same = from.is_some_and(|from| self.origins.iter().any(|own| own == from));
        (wanted && !same).then_some("the form is of another site")
    }

    /// Proves that a form is ours: only the holder of the token can compute it, and it is valid for nothing
    /// else.
    fn proof(&self, about: &str) -> String {
        sign(self.token.as_bytes(), about.as_bytes())
    }

    /// Whether the request has the token of the page, or comes from a form that the page made.
    fn is_owner(&self, request: &Request) -> bool {
        let proof = request.field("proof");
        is_same(&request.field("token"), &self.token)
            || [LOOK, &request.field("id")].iter().any(|about| is_same(&proof, &self.proof(about)))
    }

    fn fleet(&self) -> anyhow::Result<Fleet> {
        Ok(database::open(self.env, &self.url)?)
    }

    /// Shows everything for the page's token; for the token of an announcement, only its question.
    fn show(&self, request: &Request) -> anyhow::Result<Answer> {
        let token = request.field("token");
        let wrong = || html(403, page::says("the token is wrong, or its question is answered"));
        let is_owner = is_same(&token, &self.token) || is_same(&request.field("proof"), &self.proof(LOOK));
        if !is_owner && !is_token(&token) {
            return Ok(wrong());
        }
        let _turn = self.turn.lock();
        let mut fleet = self.fleet()?;
        if is_owner {
            let asked = fleet.approvals(MOST)?;
            let runs = fleet.runs(MOST)?;
            let sessions = fleet.sessions(MOST)?;
            return Ok(html(200, page::overview(&asked, &runs, &sessions, &|about| self.proof(about))));
        }
        let id = fleet.approval_of_token(&token)?;
        let asked = fleet.approvals(i64::MAX)?.into_iter().find(|one| Some(&one.id) == id.as_ref());
        Ok(match asked {
            Some(one) => html(200, page::question(&one, &token)),
            None => wrong(),
        })
    }

    fn decide(&self, request: &Request) -> anyhow::Result<Answer> {
        let id = request.field("id");
        let token = request.field("token");
        let by_page = is_same(&request.field("proof"), &self.proof(&id));
        let wrong =
            || Ok(html(403, page::says("this form is not of this page, or its question is answered")));
        let answer =
            approval::Answer::read(&request.field("decision")).filter(|_| by_page || is_token(&token));
        let Some(answer) = answer else { return wrong() };
        let _turn = self.turn.lock();
        let mut fleet = self.fleet()?;
        if !by_page && fleet.approval_of_token(&token)?.is_none_or(|known| known != id) {
            return wrong();
        }
        let who = if by_page { self.who.clone() } else { format!("the link of {id}") };
        Ok(if decide(&mut fleet, &id, answer, &who, Some(&request.field("note")))? {
            html(200, page::says(&format!("{id}: {}", answer.name())))
        } else {
            html(409, page::says(&format!("{id} is not open")))
        })
    }
}

/// Compares digests, so that timing reveals nothing about the text.
fn is_same(given: &str, wanted: &str) -> bool {
    token_digest(given) == token_digest(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_is_as_a_browser_says_it() {
        for (page, said) in [
            ("https://Approve.Example/", "https://approve.example"),
            ("https://approve.example:443/x?y", "https://approve.example"),
            ("https://approve.example:8443", "https://approve.example:8443"),
            ("http://127.0.0.1:80", "http://127.0.0.1"),
            ("http://[::1]:7390", "http://[::1]:7390"),
        ] {
            assert_eq!(origin(page), said);
        }
    }
}
