//! The pages, as HTML whose forms work without scripts. Invariant: everything from the database is escaped.

use super::LOOK;
use aops_core::insight::report::escape;
use aops_core::text::redact::redact;
use aops_core::text::time::age;
use aops_fleet::approval::{Answer, Approval};
use aops_fleet::overview::{RunRow, SessionRow};

fn whole(body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><meta charset=utf-8><title>aops fleet</title><link rel=stylesheet \
            href=/style.css>\
         <body><h1>aops fleet</h1>{body}</body></html>\n"
    )
}

/// Sends the token after the `#` of the address.
pub(super) fn door() -> String {
    whole(
        "<p>Open the link that <code>aops-hook fleet serve</code> printed.</p><script src=/page.js></script>",
    )
}

fn form(action: &str, id: &str, (name, value): (&str, &str), inner: &str) -> String {
    let id = escape(id);
    let value = escape(value);
    format!(
        "<form method=post action={action}><input type=hidden name=id value=\"{id}\">\
         <input type=hidden name={name} value=\"{value}\">{inner}</form>"
    )
}

fn answers(id: &str, proof: (&str, &str), answers: &[Answer]) -> String {
    let button = |answer: &Answer| format!("<button name=decision value={0}>{0}</button>", answer.name());
    let buttons: Vec<String> = answers.iter().map(button).collect();
    // Enter in the note presses the first button. This one does nothing, so nobody approves by accident.
    let note = "<button disabled hidden></button><input name=note placeholder=note>";
    form("/answer", id, proof, &format!("{note} {}", buttons.join(" ")))
}

fn table(title: &str, head: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let rows: Vec<String> = rows.map(|row| row.join("<td>")).collect();
    format!("<h2>{title}</h2><table><tr><th>{}<tr><td>{}</table>", head.join("<th>"), rows.join("<tr><td>"))
}

/// All tables; `proof` makes what each form needs.
pub(super) fn overview(
    asked: &[Approval],
    runs: &[RunRow],
    sessions: &[SessionRow],
    proof: &dyn Fn(&str) -> String,
) -> String {
    let question = |one: &Approval| {
        let form = answers(&one.id, ("proof", &proof(&one.id)), &Answer::ALL);
        vec![
            escape(&one.id),
            age(one.age_s * 1000),
            escape(&redact(&one.repository)),
            escape(&one.question),
            form,
        ]
    };
    let again = form("/", "", ("proof", &proof(LOOK)), "<button>look again</button>");
    let questions = ["id", "age", "repository", "question", "answer"];
    let sessions_have = ["session", "machine", "project", "entries", "phase", "mode", "seen"];
    whole(&format!(
        "{again}{}{}{}",
        table("Questions", &questions, asked.iter().map(question)),
        table(
            "Runs",
            &["run", "state", "changed", "machine", "repository", "reason", ""],
            runs.iter().map(|run| list_run(run, proof))
        ),
        table("Sessions", &sessions_have, sessions.iter().map(list_session)),
    ))
}

fn list_run(run: &RunRow, proof: &dyn Fn(&str) -> String) -> Vec<String> {
    let block = match run.outcome {
        None => answers(&run.id, ("proof", &proof(&run.id)), &[Answer::Block]),
        Some(_) => String::new(),
    };
    vec![
        escape(&run.id),
        escape(run.outcome.as_deref().unwrap_or(&run.state)),
        age(run.age_s * 1000),
        escape(run.machine.as_deref().unwrap_or_default()),
        escape(&redact(&run.repository)),
        escape(&run.reason),
        block,
    ]
}

fn list_session(one: &SessionRow) -> Vec<String> {
    let [id, machine, project, phase, mode] =
        [&one.id, &one.machine, &one.project, &one.phase, &one.mode].map(|text| escape(text));
    vec![id, machine, project, one.entries.to_string(), phase, mode, age(one.age_s * 1000)]
}

/// One question, for whoever has its token.
pub(super) fn question(asked: &Approval, token: &str) -> String {
    let form = answers(&asked.id, ("token", token), &Answer::ALL);
    whole(&format!(
        "<p>{}: {}</p><p>{}</p>{form}",
        escape(&asked.id),
        escape(&redact(&asked.repository)),
        escape(&asked.question)
    ))
}

pub(super) fn says(words: &str) -> String {
    whole(&format!("<p>{}</p><p><a href=/>all</a></p>", escape(words)))
}
