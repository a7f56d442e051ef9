//! What we tried with the real clients: for each scenario, the test that runs it.
//!
//! Reads nothing, writes nothing. `docs/clients.md` is generated from it, and a test checks that each named
//! test exists. Invariant: a cell is the path of a test, or says why there is none.

use super::table::rows;
use crate::model::client::Client;
use std::fmt::Write;

/// One scenario, and the test that shows it for each client. A reason in brackets means that there is no
/// test.
#[derive(Debug)]
pub struct Scenario {
    pub title: &'static str,
    pub by: [&'static str; Client::ALL.len()],
}

#[rustfmt::skip]
pub static SCENARIOS: &[Scenario] = &[
    Scenario { title: "a write before the plan is blocked, and the model reads why", by: [
        "real_client::whole_loop::from_the_first_refusal_to_the_stop_that_passes", "codex::conform::a_write_before_the_plan_is_refused",
        "copilot::conform::a_write_before_the_plan_is_refused", "opencode::conform::a_write_before_the_plan_is_refused",
        "(no loop)", "gemini::conform::the_refusal_names_a_way_out_that_works",
    ] },
    Scenario { title: "guarded files are not written", by: [
        "real_client::attempts::a_refused_call_is_not_made_in_any_permission_mode", "codex::conform::what_guards_is_not_written",
        "copilot::conform::a_write_before_the_plan_is_refused", "opencode::conform::a_write_before_the_plan_is_refused",
        "gemini::conform::gemini_refuses_records_and_rolls_back", "gemini::conform::qwen_refuses_records_and_rolls_back",
    ] },
    Scenario { title: "the loop, from hydration to the closed task", by: [
        "real_client::whole_loop::from_the_first_refusal_to_the_stop_that_passes", "codex::whole_loop::from_the_first_refusal_to_the_stop_that_passes",
        "copilot::whole_loop::from_the_first_refusal_to_the_stop_that_passes", "opencode::whole_loop::from_the_first_refusal_to_the_end",
        "(no loop)", "(no loop)",
    ] },
    Scenario { title: "the end of a turn is blocked while something is owed", by: [
        "real_client::whole_loop::from_the_first_refusal_to_the_stop_that_passes", "codex::whole_loop::the_end_of_a_turn_is_refused_eight_times_at_most",
        "copilot::whole_loop::from_the_first_refusal_to_the_stop_that_passes", "(not in `opencode run`)", "(no loop)", "(no loop)",
    ] },
    Scenario { title: "a block survives a resume, until a person clears it", by: [
        "real_client::a_blocked_session_is_refused_until_a_person_clears_it", "codex::conform::a_blocked_session_goes_on_once_a_person_clears_it",
        "copilot::conform::a_blocked_session_goes_on_once_a_person_clears_it", "opencode::conform::a_blocked_session_goes_on_once_a_person_clears_it",
        "(not run)", "(not run)",
    ] },
    Scenario { title: "if aops-hook fails, it blocks", by: [
        "real_client::a_call_is_refused_when_the_state_folder_is_lost_on_the_way", "codex::conform::a_broken_guard_refuses",
        "copilot::conform::a_broken_guard_refuses", "opencode::conform::a_broken_guard_refuses", "(not run)", "(not run)",
    ] },
    Scenario { title: "calls made together are all recorded", by: [
        "real_client::parallel_calls_and_a_background_agent_are_all_recorded", "codex::conform::calls_made_together_are_recorded_each",
        "copilot::conform::calls_made_together_are_recorded_each", "opencode::conform::calls_made_together_are_recorded_each",
        "gemini::conform::gemini_refuses_records_and_rolls_back", "gemini::conform::qwen_refuses_records_and_rolls_back",
    ] },
    Scenario { title: "agents in the background", by: [
        "real_client::parallel_calls_and_a_background_agent_are_all_recorded", "codex::whole_loop::from_the_first_refusal_to_the_stop_that_passes",
        "(ours run in the foreground)", "(it has none)", "(no loop)", "(no loop)",
    ] },
    Scenario { title: "a rollback undoes what a task made", by: [
        "rollback::client::what_edit_bash_and_a_subagent_did_is_undone", "codex::whole_loop::from_the_first_refusal_to_the_stop_that_passes",
        "copilot::whole_loop::from_the_first_refusal_to_the_stop_that_passes", "opencode::whole_loop::from_the_first_refusal_to_the_end",
        "gemini::conform::gemini_refuses_records_and_rolls_back", "gemini::conform::qwen_refuses_records_and_rolls_back",
    ] },
    Scenario { title: "an unattended run, from its plan to the commit", by: [
        "runs::real_client::the_build_loop_ends_committed_and_pushed", "codex::runs::the_build_loop_ends_committed",
        "(not driven)", "(not driven)", "(no loop)", "(no loop)",
    ] },
    Scenario { title: "an administrator's bundle brings our hooks to everybody", by: [
        "bundle::claude_code_obeys_an_administrator", "codex::install::codex_obeys_an_administrator",
        "copilot::install::copilot_obeys_an_administrator", "opencode::install::opencode_obeys_an_administrator",
        "gemini::install::gemini_obeys_an_administrator", "(it has no such file)",
    ] },
    Scenario { title: "a forged verdict counts for nothing", by: [
        "real_client::halts::forged_verdicts_change_nothing", "codex::whole_loop::a_forged_verdict_counts_for_nothing",
        "(not run)", "(not run)", "(no loop)", "(no loop)",
    ] },
];

/// The table of `docs/clients.md`: which test shows what.
pub fn page() -> String {
    let mut text = String::from(
        "\n### Shown by running it\n\nEach cell is the test in `tests/it` that runs the real client of that version. CI prints this table with the result of each test, and fails if one did not pass. A client that npm cannot install is skipped, and listed.\n\n| |",
    );
    for host in rows() {
        let _ = write!(text, " {} {}, {} |", host.title, host.measured.0, host.measured.1);
    }
    let _ = write!(text, "\n|---|{}", "---|".repeat(Client::ALL.len()));
    for scenario in SCENARIOS {
        let _ = write!(text, "\n| {} |", scenario.title);
        for by in scenario.by {
            let cell = by.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            let _ = match cell {
                Some(why) => write!(text, " {why} |"),
                None => write!(text, " `{by}` |"),
            };
        }
    }
    text + "\n"
}
