//! Which program worked in a session, and whose model it used most.
//!
//! Pure.

use aops_core::insight::document::Insights;
use aops_core::model::client::Client;

#[derive(Clone, Copy, Debug)]
pub(super) struct Who {
    pub(super) client: Client,
    pub(super) provider: &'static str,
}

impl Who {
    pub(super) fn of(insights: &Insights) -> Self {
        let client = Client::of(&insights.client).unwrap_or_default();
        Self { client, provider: client.provider_of(most_used(insights)) }
    }
}

pub(super) fn most_used(insights: &Insights) -> Option<&str> {
    insights.tokens.by_model.iter().max_by_key(|(_, sum)| sum.tokens()).map(|(model, _)| model.as_str())
}
