//! One row per session, for spreadsheets (RFC 4180).
//!
//! Pure. Invariant: a cell that a spreadsheet would take for a formula begins with an apostrophe.

use crate::claude::usage::Sum;
use crate::insight::document::Insights;

type Cell = fn(&Insights) -> String;

/// Every column: its name and its value.
const COLUMNS: [(&str, Cell); 24] = [
    ("session_id", |of| of.session_id.clone()),
    ("date", |of| of.date.clone()),
    ("project", |of| of.project.clone()),
    ("outcome", |of| of.outcome.clone()),
    ("summary", |of| of.summary.clone().unwrap_or_default()),
    ("workflows", |of| of.workflows_used.join(" ")),
    ("subagents", |of| of.subagents_invoked.join(" ")),
    ("subagent_count", |of| of.subagent_count.to_string()),
    ("prompts", |of| of.user_prompts.len().to_string()),
    ("criteria", |of| of.acceptance_criteria_count.to_string()),
    ("critic", |of| of.critic_verdict.clone().unwrap_or_default()),
    ("qa", |of| of.qa_verdict.clone().unwrap_or_default()),
    ("refusals", |of| of.gates.values().sum::<u64>().to_string()),
    ("custodiet_blocks", |of| of.custodiet_blocks.to_string()),
    ("audits_drawn", |of| of.audits.drawn.to_string()),
    ("audits_done", |of| of.audits.done.to_string()),
    ("calls_completed", |of| of.tool_calls.completed.to_string()),
    ("calls_failed", |of| of.tool_calls.failed.to_string()),
    ("calls_denied", |of| of.tool_calls.denied.to_string()),
    ("files_changed", |of| of.files_changed.len().to_string()),
    ("input_tokens", |of| sum(of, |sum| sum.input + sum.cache_read + sum.cache_write).to_string()),
    ("output_tokens", |of| sum(of, |sum| sum.output).to_string()),
    ("cost_usd", |of| of.cost_usd.map(|cost| cost.to_string()).unwrap_or_default()),
    ("stop_reason", |of| of.stop_reason.clone().unwrap_or_default()),
];

pub(super) fn header() -> String {
    COLUMNS.map(|(name, _)| name).join(",")
}

pub(super) fn row(insights: &Insights) -> String {
    COLUMNS.map(|(_, cell)| escape(&cell(insights))).join(",")
}

/// Over all models.
pub(super) fn sum(insights: &Insights, count: fn(&Sum) -> u64) -> u64 {
    insights.tokens.by_model.values().map(count).fold(0, u64::saturating_add)
}

fn escape(cell: &str) -> String {
    let formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
    let cell = if formula { format!("'{cell}") } else { cell.to_owned() };
    if cell.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells() {
        assert_eq!(escape("a,\"b\"\nc"), "\"a,\"\"b\"\"\nc\"");
        assert_eq!((escape("=1+1"), escape("-5"), escape("plain")), ("'=1+1".into(), "-5".into(), "plain".into()));
        assert_eq!(row(&Insights::new()).split(',').count(), COLUMNS.len());
    }
}
