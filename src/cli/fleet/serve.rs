//! `fleet serve`: a page with questions, runs and sessions, on this machine unless a proxy with TLS stands before it.
//!
//! Listens on one address, connects to the database. Invariants: nothing is shown or done without the token of the file, or
//! the token of one question; there is no cookie, which every port of this machine would get: each form has its own proof;
//! a form counts only from our own page, under our own name; no script comes from elsewhere.

mod page;

use super::approval::{decide, person};
use super::{open, url};
use crate::cli::http::{self, Answer, Request};
use crate::cli::{Io, policy_here, refused};
use crate::config::policy::fleet::LISTEN;
use crate::system::database;
use crate::system::env::Env;
use anyhow::Context;
use aops_fleet::Fleet;
use aops_fleet::approval::{self, sign, token_digest};
use clap::ArgMatches;
use serde_json::json;
use std::net::TcpListener;

/// Rows of each table.
const MOST: i64 = 200;
const LONGEST_BODY: usize = 16 << 10;
/// With every answer: nothing from elsewhere, in no frame, kept by nobody.
const HEADERS: &str = "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; form-action 'self'; \
     frame-ancestors 'none'; base-uri 'none'\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n\
     Referrer-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-store\r\n";
/// What the proof of a form is about that only looks.
const LOOK: &str = "look";

pub(super) fn run(_: &ArgMatches, io: &mut Io) -> anyhow::Result<u8> {
    let (fleet, url) = (policy_here(io)?.policy.fleet, url(io)?);
    open(io)?;
    let address = fleet.listen.as_deref().unwrap_or(LISTEN);
    let listener = TcpListener::bind(address).with_context(|| format!("`fleet.listen` = \"{address}\""))?;
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() && fleet.page.as_ref().is_none_or(|page| !page.starts_with("https://")) {
        return refused(
            "on a network the page needs TLS in front of it\nhint: set `fleet.page` to the address of that proxy, as `https://approve.example`",
        );
    }
    let own = [format!("http://{address}"), format!("http://localhost:{}", address.port())];
    let own = own.into_iter().filter(|_| address.ip().is_loopback());
    let origins = fleet.page.into_iter().map(|page| page.trim_end_matches('/').to_owned()).chain(own).collect();
    let (token, who) = (database::secret(io.env, "fleet.token")?, format!("{} by the page", person(io)));
    let door = Door { env: io.env, url, token, origins, who };
    let link = format!("{}/#{}", door.origins[0], door.token);
    io.answer(&json!({"link": link, "listens": address.to_string()}), format!("open {link}"))?;
    io.out.flush()?;
    std::thread::scope(|scope| {
        for connection in listener.incoming().flatten() {
            let door = &door;
            scope.spawn(move || http::serve(connection, LONGEST_BODY, |request| door.answer(request)));
        }
    });
    Ok(0)
}

struct Door<'a> {
    env: &'a Env,
    url: String,
    token: String,
    /// Whose page a form may come from; the first is what people open.
    origins: Vec<String>,
    who: String,
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
        answered.unwrap_or_else(|error| html(503, page::says(&format!("{error:#}"))))
    }

    /// Why a request is not from our own page: another name of this machine, or another site's form.
    fn foreign(&self, request: &Request) -> Option<&'static str> {
        let host = request.header("host").unwrap_or_default();
        let ours = |origin: &String| origin.split_once("://").is_some_and(|(_, name)| name == host);
        if !self.origins.iter().any(ours) {
            return Some("this is not the name of this page");
        }
        let origin = request.header("origin");
        let wanted = request.method == "POST" || origin.is_some();
        let same = origin.is_some_and(|origin| self.origins.iter().any(|own| own == origin));
        (wanted && !same).then_some("the form is of another site")
    }

    /// What makes a form ours: only who has the token can compute it, and for nothing else.
    fn proof(&self, about: &str) -> String {
        sign(self.token.as_bytes(), about.as_bytes())
    }

    fn fleet(&self) -> anyhow::Result<Fleet> {
        Ok(database::open(self.env, &self.url)?)
    }

    /// Everything for the token of the page; for that of an announcement its question.
    fn show(&self, request: &Request) -> anyhow::Result<Answer> {
        let (mut fleet, token) = (self.fleet()?, request.field("token"));
        if is_same(&token, &self.token) || is_same(&request.field("proof"), &self.proof(LOOK)) {
            let (asked, runs, sessions) = (fleet.approvals(MOST)?, fleet.runs(MOST)?, fleet.sessions(MOST)?);
            return Ok(html(200, page::overview(&asked, &runs, &sessions, &|about| self.proof(about))));
        }
        let id = fleet.approval_of_token(&token)?;
        let asked = fleet.approvals(i64::MAX)?.into_iter().find(|one| Some(&one.id) == id.as_ref());
        Ok(match asked {
            Some(one) => html(200, page::question(&one, &token)),
            None => html(403, page::says("the token is wrong, or its question is answered")),
        })
    }

    fn decide(&self, request: &Request) -> anyhow::Result<Answer> {
        let (mut fleet, id, token) = (self.fleet()?, request.field("id"), request.field("token"));
        let by_page = is_same(&request.field("proof"), &self.proof(&id));
        let by_link = fleet.approval_of_token(&token)?.is_some_and(|known| known == id);
        let answer = approval::Answer::read(&request.field("decision")).filter(|_| by_page || by_link);
        let Some(answer) = answer else {
            return Ok(html(403, page::says("this form is not of this page, or its question is answered")));
        };
        let who = if by_page { self.who.clone() } else { format!("the link of {id}") };
        Ok(if decide(&mut fleet, &id, answer, &who, Some(&request.field("note")))? {
            html(200, page::says(&format!("{id}: {}", answer.name())))
        } else {
            html(409, page::says(&format!("{id} is not open")))
        })
    }
}

/// Compares digests, so that the time tells nothing of the text.
fn is_same(given: &str, wanted: &str) -> bool {
    token_digest(given) == token_digest(wanted)
}
