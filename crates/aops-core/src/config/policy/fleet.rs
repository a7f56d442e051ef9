//! `[fleet]`: the engine and the database that machines share.
//!
//! Plain data. Stored type: fields in sorted order.

use super::value::Period;
use serde::{Deserialize, Serialize};

const REATTACH: Period = Period::seconds(30);
const GRACE: Period = Period::seconds(2);
const LOST_AFTER: Period = Period::seconds(120);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fleet {
    pub announce: Option<String>,
    /// The certificate of the port on which the engine's server reaches this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub defer: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// The keys of the gateways whose answers count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gateway_keys: Vec<String>,
    /// How long a step has to end itself.
    #[serde(default = "grace", skip_serializing_if = "is_grace")]
    pub grace: Period,
    /// The key of the engine's server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
    /// Where the engine's server reaches this machine's worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen: Option<String>,
    /// How long a machine may be unreachable before its runs continue elsewhere.
    #[serde(default = "lost_after", skip_serializing_if = "is_lost_after")]
    pub lost_after: Period,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otlp: Option<String>,
    /// Where people open the gateway, if that is not `engine`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub page: Option<String>,
    pub per_repository: u64,
    /// How long a step continues on a machine that is cut off.
    #[serde(default = "reattach", skip_serializing_if = "is_reattach")]
    pub reattach: Period,
    pub url: Option<String>,
}

fn reattach() -> Period {
    REATTACH
}

fn grace() -> Period {
    GRACE
}

fn lost_after() -> Period {
    LOST_AFTER
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_reattach(period: &Period) -> bool {
    *period == REATTACH
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_grace(period: &Period) -> bool {
    *period == GRACE
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde wants")]
fn is_lost_after(period: &Period) -> bool {
    *period == LOST_AFTER
}

impl Default for Fleet {
    fn default() -> Self {
        Self {
            announce: None,
            certificate: None,
            defer: false,
            engine: None,
            gateway_keys: Vec::new(),
            grace: GRACE,
            identity: None,
            labels: Vec::new(),
            listen: None,
            lost_after: LOST_AFTER,
            otlp: None,
            page: None,
            per_repository: 4,
            reattach: REATTACH,
            url: None,
        }
    }
}

impl Fleet {
    /// Something is sent in the background.
    pub fn sends(&self) -> bool {
        self.url.is_some() || self.otlp.is_some() || self.asks_sessions()
    }

    /// A question of a session without a terminal waits for an answer from anywhere.
    pub fn asks_sessions(&self) -> bool {
        self.defer && self.engine.is_some()
    }

    /// Why these times do not fit together: a machine that is cut off must have ended its copy of a step
    /// before another one begins it.
    pub fn times_problem(reattach: Period, grace: Period, lost_after: Period) -> Option<String> {
        let fits = (reattach.duration() + grace.duration()) * 2 < lost_after.duration();
        (!fits).then(|| {
            format!(
                "`reattach` ({reattach}) and `grace` ({grace}) together must be less than half of `lost_after` ({lost_after})"
            )
        })
    }
}
