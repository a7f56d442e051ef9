//! Bundles at a URL, and the list of revoked ones beside them.
//!
//! Opens connections, writes the list of an administrator. Invariants: only a server that proves its name is
//! asked, or one on this machine; no redirect is followed; a list that was pulled only adds to that of this
//! machine.

use crate::cli::refused;
use anyhow::Context;
use aops_core::briefing::memory;
use aops_core::config::bundle::{REVOKED, digests};
use aops_core::config::policy::Address;
use aops_core::system::env::Env;
use aops_core::system::{files, lookup};
use aops_core::text::json::cut;
use aops_remote::tls;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(30);

/// The URL, if this is one and not a file.
pub(super) fn url(name: &str) -> Option<&str> {
    Some(name).filter(|name| name.starts_with("https://") || name.starts_with("http://"))
}

/// The text at this URL; `None` if nothing is there.
pub(super) fn text(env: &Env, url: &str) -> anyhow::Result<Option<String>> {
    let server = Address::of_person(url, &|name| lookup::addresses(env, name))
        .or_else(|why| refused(format!("`{url}`: {why}")))?;
    let tls = tls::for_url(env, url).or_else(refused)?;
    if tls.is_none() && !server.is_loopback() {
        return refused(format!("`{url}`: a server elsewhere must prove its name\nhint: use `https://`"));
    }
    let said = memory::get(&server, tls.as_deref(), Instant::now() + PATIENCE);
    match said {
        Ok((200, body)) => Ok(Some(String::from_utf8(body).with_context(|| format!("`{url}`"))?)),
        Ok((404, _)) => Ok(None),
        Ok((status, body)) => {
            let words = String::from_utf8_lossy(&body);
            refused(format!("`{url}` answered {status}: {}", cut(words.trim(), 200)))
        }
        Err(why) => {
            refused(format!("`{url}`: {why}\nhint: what is installed stays in force; try again later"))
        }
    }
}

/// Adds what the list beside this URL revokes to the list in this folder. Returns what is new.
pub fn revoke(env: &Env, name: &str, folder: &Path, dry_run: bool) -> anyhow::Result<Vec<String>> {
    let Some((beside, _)) = url(name).and_then(|url| url.rsplit_once('/')) else { return Ok(Vec::new()) };
    let list = format!("{beside}/{REVOKED}");
    let pulled = digests(&text(env, &list)?.unwrap_or_default());
    let pulled = pulled.or_else(|why| refused(format!("`{list}`: {why}")))?;
    let path = folder.join(REVOKED);
    let own = match files::read_text(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.with_context(|| format!("`{}`", path.display()))?,
    };
    let known = digests(&own).or_else(|why| refused(format!("`{}`: {why}", path.display())))?;
    let new: Vec<String> = pulled.into_iter().filter(|digest| !known.contains(digest)).collect();
    if !new.is_empty() && !dry_run {
        let gap = if own.is_empty() || own.ends_with('\n') { "" } else { "\n" };
        let text = format!("{own}{gap}{}\n", new.join("\n"));
        std::fs::create_dir_all(folder).with_context(|| format!("`{}`", folder.display()))?;
        files::find(&path)
            .and_then(|found| found.replace(text.as_bytes(), 0o644))
            .with_context(|| format!("`{}`", path.display()))?;
    }
    Ok(new)
}
