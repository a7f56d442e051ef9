//! Whether a call has an effect outside this machine.
//!
//! Asks git for the upstream of the branch, for a push that names where it goes. Invariant: looked for only in the modes in
//! which a task without a plan must not have such an effect; a push to the branch's own upstream is none.

use crate::config::policy::ModeLevel;
use crate::model::call::Effect;
use crate::model::event::Event;
use crate::session::fold::Session;
use crate::system::env::Env;
use crate::system::git;
use aops_shell::outside::{Push, outside};
use aops_shell::syntax::Line;
use std::path::Path;

/// Servers of tools that act on something that other people see.
const SERVERS: &[&str] = &[
    "asana", "aws", "azure", "bitbucket", "calendar", "cloudflare", "confluence", "discord", "gcloud", "github",
    "gitlab", "gmail", "heroku", "jira", "kubernetes", "linear", "mail", "netlify", "notion", "sentry", "shopify",
    "slack", "stripe", "supabase", "teams", "telegram", "trello", "twilio", "vercel",
];

pub fn of(env: &Env, session: &Session, event: &Event, line: Option<&Line>, effect: Effect) -> Option<String> {
    let matters = matches!(session.policy().mode.level(), ModeLevel::Loop | ModeLevel::Observe);
    if !effect.is_write() || !matters {
        return None;
    }
    if let Some(line) = line {
        return outside(line, &|push| is_own(env, &event.cwd, push));
    }
    let tool = &event.call.as_ref()?.key.tool;
    let server = tool.strip_prefix("mcp__")?.split("__").next()?.to_ascii_lowercase();
    SERVERS.iter().any(|known| server.contains(known)).then(|| tool.clone())
}

fn is_own(env: &Env, cwd: &str, push: &Push) -> bool {
    // Without a name it goes where the branch's configuration says.
    if push.remote.is_none() {
        return true;
    }
    let folder = Path::new(cwd).join(push.folder.as_deref().unwrap_or_default());
    git::branch(env, &folder).is_some_and(|(branch, upstream)| push.is_own(&branch, upstream.as_deref()))
}
