//! One row per session, for spreadsheets (RFC 4180).
//!
//! Pure. Invariant: a cell that a spreadsheet would take for a formula begins with an apostrophe.

use crate::claude::usage::Sum;
use crate::insight::document::Insights;

const COLUMNS: [&str; 24] = [
    "session_id",
    "date",
    "project",
    "outcome",
    "summary",
    "workflows",
    "subagents",
    "subagent_count",
    "prompts",
    "criteria",
    "critic",
    "qa",
    "refusals",
    "custodiet_blocks",
    "audits_drawn",
    "audits_done",
    "calls_completed",
    "calls_failed",
    "calls_denied",
    "files_changed",
    "input_tokens",
    "output_tokens",
    "cost_usd",
    "stop_reason",
];

pub(super) fn header() -> String {
    COLUMNS.join(",")
}

pub(super) fn row(insights: &Insights) -> String {
    let words = |text: &Option<String>| text.clone().unwrap_or_default();
    let sum =
        |count: fn(&Sum) -> u64| insights.tokens.by_model.values().map(count).fold(0, u64::saturating_add);
    let cells = [
        insights.session_id.clone(),
        insights.date.clone(),
        insights.project.clone(),
        insights.outcome.clone(),
        words(&insights.summary),
        insights.workflows_used.join(" "),
        insights.subagents_invoked.join(" "),
        insights.subagent_count.to_string(),
        insights.user_prompts.len().to_string(),
        insights.acceptance_criteria_count.to_string(),
        words(&insights.critic_verdict),
        words(&insights.qa_verdict),
        insights.gates.values().sum::<u64>().to_string(),
        insights.custodiet_blocks.to_string(),
        insights.audits.drawn.to_string(),
        insights.audits.done.to_string(),
        insights.tool_calls.completed.to_string(),
        insights.tool_calls.failed.to_string(),
        insights.tool_calls.denied.to_string(),
        insights.files_changed.len().to_string(),
        sum(|sum| sum.input + sum.cache_read + sum.cache_write).to_string(),
        sum(|sum| sum.output).to_string(),
        insights.cost_usd.map(|cost| cost.to_string()).unwrap_or_default(),
        words(&insights.stop_reason),
    ];
    cells.map(|cell| escape(&cell)).join(",")
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
        assert_eq!(
            (escape("=1+1"), escape("-5"), escape("plain")),
            ("'=1+1".into(), "-5".into(), "plain".into())
        );
        assert_eq!(row(&Insights::new()).split(',').count(), COLUMNS.len());
    }
}
