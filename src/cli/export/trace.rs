//! A session as spans: the session, its phases, its agents, its calls, and each decision that blocked
//! something.
//!
//! Reads a ledger and a transcript. Names follow the semantic conventions for generative models; decisions
//! use the names proposed for guardrails. Invariant: the same session gives the same ids.

use super::form::{attribute, nanos, number, span_id, trace_id};
use super::signals::{logs, metrics};
use super::sum;
use super::who::{Who, most_used};
use crate::cli::Io;
use crate::cli::range::FoundSession;
use aops_core::host::claude::transcript::scan::phase_at;
use aops_core::host::claude::usage::Sum;
use aops_core::insight::collect;
use aops_core::insight::document::Insights;
use aops_core::insight::tally::Tally;
use aops_core::ledger::recover::LEDGER_FILE;
use aops_core::model::call::CallState;
use aops_core::model::event::EventKind;
use aops_core::model::gate_id::GateId;
use aops_core::model::named::Stored;
use aops_core::model::outcome::SessionOutcome;
use aops_core::session::fact::{Fact, Said, Seen, Step};
use aops_core::system::git;
use aops_core::text::json::cut;
use aops_core::text::redact::redact;
use aops_core::text::time;
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

/// One session in OTLP.
pub(super) struct Told {
    pub(super) spans: Vec<Value>,
    pub(super) logs: Vec<Value>,
    pub(super) metrics: Vec<Value>,
}

/// `None` for a session without a ledger, or with an empty one.
pub(super) fn tell(io: &Io, found: &FoundSession) -> anyhow::Result<Option<Told>> {
    let Some(shelved) = &found.shelved else { return Ok(None) };
    let Trace { tally, calls, agents, refused, parent } = Trace::of(&shelved.path, &found.session_id)?;
    let phases = tally.story.phases.clone();
    let end = tally.story.last_ms;
    let Some((began, _)) = phases.first().copied() else { return Ok(None) };
    let prompts = tally.session.policy().insights.prompts;
    let logs = logs(&found.session_id, &tally.story.moments, prompts);
    let root = tally.story.root.clone();
    let policy = tally.session.state.policy_hash.clone();
    let insights = collect::finish(io.env, tally, &found.transcript, None)?;
    let who = Who::of(&insights);
    let writer = SpanWriter {
        session: &found.session_id,
        phases: &phases,
        agents: &agents,
        end,
        policy: &policy,
        who,
    };
    let halted = Some("halted").filter(|_| insights.outcome == SessionOutcome::Failure);
    let name = format!("invoke_agent {}", who.client.row().agent_name);
    let mut about = session_attributes(&insights, who);
    about.extend(repository(io, &root).map(|url| attribute("vcs.repository.url.full", &url)));
    let mut spans = vec![writer.span("session", None, &name, (began, Some(end)), about, halted)];
    let ends = phases.iter().skip(1).map(|(at, _)| *at).chain([end]);
    spans.extend(phases.iter().zip(ends).map(|((from, phase), to)| writer.phase(*from, to, phase)));
    spans.extend(agents.iter().map(|agent| writer.agent(agent)));
    spans.extend(calls.iter().enumerate().map(|(n, call)| writer.call(n, call)));
    let of_calls = calls.iter().enumerate().filter_map(|(n, call)| writer.guardrail(n, call));
    spans.extend(of_calls.chain(refused.iter().enumerate().map(|(n, refused)| writer.refusal(n, refused))));
    // Links our trace to the client's own.
    if let Some((trace, span)) = parent {
        spans[0]["links"] = json!([{"traceId": trace, "spanId": span}]);
    }
    let metrics = metrics(&insights, who, (began, end));
    Ok(Some(Told { spans, logs, metrics }))
}

/// The address of the project's repository, without a password; `None` if the project is gone or has no
/// remote.
fn repository(io: &Io, root: &str) -> Option<String> {
    let root = Path::new(root);
    if !root.is_absolute() || !root.is_dir() {
        return None;
    }
    let words = ["config", "--get", "remote.origin.url"];
    let url = git::run(io.env, root, &words, b"", Duration::from_secs(5)).ok()?;
    let url = String::from_utf8_lossy(&url).trim().to_owned();
    let (scheme, rest) = url.split_once("://").unwrap_or(("", &url));
    let host = rest
        .split_once('@')
        .filter(|(user, _)| !scheme.is_empty() && !user.contains('/'))
        .map(|(_, host)| host);
    let open = host.map_or_else(|| url.clone(), |host| format!("{scheme}://{host}"));
    (!open.is_empty()).then(|| redact(&open).into_owned())
}

struct SpanWriter<'a> {
    session: &'a str,
    phases: &'a [(i64, &'static str)],
    agents: &'a [AgentSpan],
    end: i64,
    /// The hash of the policy in force.
    policy: &'a str,
    who: Who,
}

impl SpanWriter<'_> {
    fn id(&self, what: &str) -> String {
        span_id(self.session, what)
    }

    /// The decision that blocked a call, asked about it, or would have blocked it: a child of the call.
    fn guardrail(&self, n: usize, call: &CallSpan) -> Option<Value> {
        let asked = call
            .first
            .reason
            .as_ref()
            .map(|reason| ("ask", call.first.gate.as_ref().map_or("", Stored::name), reason.as_str()));
        let denied = (call.last.to == CallState::Denied).then(|| {
            (
                "deny",
                call.last.gate.as_ref().map_or("", Stored::name),
                call.last.reason.as_deref().unwrap_or_default(),
            )
        });
        let would = call.first.rehearsed.as_ref();
        let would = would.map(|would| ("audit", would.gate.name(), would.reason.as_str()));
        let (verdict, gate, reason) = denied.or(asked).or(would)?;
        let at = if verdict == "deny" { call.to_ms.unwrap_or(call.from_ms) } else { call.from_ms };
        let parent = format!("call {n} {}", call.first.call.id);
        Some(self.judgement(
            &format!("guardrail {parent}"),
            &parent,
            gate,
            verdict,
            reason,
            (call.from_ms, at),
            "tool_call",
        ))
    }

    /// A blocked prompt, stop or other event.
    fn refusal(&self, n: usize, (at, event, said): &(i64, String, Said)) -> Value {
        let what = format!("guardrail event {n} {at}");
        self.judgement(&what, &self.parent_at(*at), said.gate.name(), "deny", &said.reason, (*at, *at), event)
    }

    #[expect(clippy::too_many_arguments, reason = "each is one attribute of the span")]
    fn judgement(
        &self,
        what: &str,
        parent: &str,
        gate: &str,
        verdict: &str,
        reason: &str,
        (from, to): (i64, i64),
        target: &str,
    ) -> Value {
        let action = match verdict {
            "deny" => "block",
            "ask" => "escalate",
            _ => "allow",
        };
        let attributes = vec![
            attribute("gen_ai.operation.name", "run_guardrail"),
            attribute("gen_ai.security.guardrail.name", gate),
            attribute("gen_ai.security.target.type", target),
            attribute("gen_ai.security.verdict.type", verdict),
            attribute("gen_ai.security.verdict.reason", cut(reason, 500)),
            attribute("gen_ai.security.action.type", action),
            attribute("gen_ai.security.policy.id", self.policy),
            attribute("gen_ai.security.policy.rule.id", &rule_of(gate, reason)),
        ];
        self.span(what, Some(parent), &format!("run_guardrail {gate}"), (from, Some(to)), attributes, None)
    }

    /// The span of the phase at this time, or of the session.
    fn parent_at(&self, ms: i64) -> String {
        let after = self.phases.partition_point(|(began, _)| *began <= ms);
        after.checked_sub(1).map_or_else(|| "session".to_owned(), |at| format!("phase {}", self.phases[at].0))
    }

    fn phase(&self, from: i64, to: i64, phase: &str) -> Value {
        let attributes = vec![attribute("aops.phase", phase)];
        let what = format!("phase {from}");
        let name = format!("phase {phase}");
        self.span(&what, Some("session"), &name, (from, Some(to)), attributes, None)
    }

    fn agent(&self, agent: &AgentSpan) -> Value {
        let attributes = vec![
            attribute("gen_ai.operation.name", "invoke_agent"),
            attribute("gen_ai.provider.name", self.who.provider),
            attribute("gen_ai.agent.name", &agent.kind),
            attribute("gen_ai.agent.id", &agent.id),
        ];
        let what = format!("agent {}", agent.id);
        let name = format!("invoke_agent {}", agent.kind);
        self.span(
            &what,
            Some(&self.parent_at(agent.from_ms)),
            &name,
            (agent.from_ms, agent.to_ms),
            attributes,
            None,
        )
    }

    fn call(&self, n: usize, call: &CallSpan) -> Value {
        let id = &call.first.call.id;
        let tool = &call.first.call.tool;
        let last = &call.last;
        let mut attributes = vec![
            attribute("gen_ai.operation.name", "execute_tool"),
            attribute("gen_ai.tool.name", tool),
            attribute("gen_ai.tool.type", if tool.starts_with("mcp__") { "extension" } else { "function" }),
            attribute("gen_ai.tool.call.id", id),
            attribute("aops.phase", phase_at(self.phases, call.from_ms)),
            attribute("aops.call.state", last.to.name()),
        ];
        let ended = call.to_ms.map(|_| last);
        attributes.extend(
            ended.and_then(|last| last.gate.as_ref()).map(|gate| attribute("aops.gate", gate.name())),
        );
        let would = call.first.rehearsed.as_ref();
        attributes.extend(would.map(|would| attribute("aops.rehearsed.gate", would.gate.name())));
        let error = match last.to {
            CallState::Failed => Some("tool_error"),
            CallState::Denied => Some("denied"),
            _ => None,
        };
        attributes.extend(error.map(|kind| attribute("error.type", kind)));
        let by_agent =
            call.first.agent_id.as_ref().filter(|id| self.agents.iter().any(|agent| agent.id == **id));
        let parent = by_agent.map_or_else(|| self.parent_at(call.from_ms), |id| format!("agent {id}"));
        let what = format!("call {n} {id}");
        let name = format!("execute_tool {tool}");
        let error = error.map(|kind| last.reason.as_deref().unwrap_or(kind));
        self.span(&what, Some(&parent), &name, (call.from_ms, call.to_ms), attributes, error)
    }

    /// One span. A span without an end ends with the session; the session itself has no parent.
    fn span(
        &self,
        what: &str,
        parent: Option<&str>,
        name: &str,
        (from, to): (i64, Option<i64>),
        mut attributes: Vec<Value>,
        error: Option<&str>,
    ) -> Value {
        attributes.push(attribute("gen_ai.conversation.id", self.session));
        let mut value = json!({
            "traceId": trace_id(self.session), "spanId": self.id(what), "name": name, "kind": 1,
            "startTimeUnixNano": nanos(from), "endTimeUnixNano": nanos(to.unwrap_or(self.end).max(from)),
            "attributes": attributes,
        });
        if let Some(parent) = parent {
            value["parentSpanId"] = json!(self.id(parent));
        }
        if let Some(error) = error {
            value["status"] = json!({"code": 2, "message": cut(error, 500)});
        }
        value
    }
}

fn session_attributes(insights: &Insights, who: Who) -> Vec<Value> {
    let sum = |count: fn(&Sum) -> u64| sum(insights, count);
    let mut attributes = vec![
        attribute("gen_ai.operation.name", "invoke_agent"),
        attribute("gen_ai.provider.name", who.provider),
        attribute("gen_ai.agent.name", who.client.row().agent_name),
        attribute("aops.client", who.client.name()),
        // The conventions count cached tokens as input.
        number("gen_ai.usage.input_tokens", sum(|sum| sum.input + sum.cache_read + sum.cache_write)),
        number("gen_ai.usage.output_tokens", sum(|sum| sum.output)),
        number("gen_ai.usage.cache_read.input_tokens", sum(|sum| sum.cache_read)),
        // The name in the conventions, and the proposed one.
        number("gen_ai.usage.cache_creation.input_tokens", sum(|sum| sum.cache_write)),
        number("gen_ai.usage.cache_write.input_tokens", sum(|sum| sum.cache_write)),
        attribute("aops.outcome", insights.outcome.name()),
        attribute("aops.project", &insights.project),
    ];
    let would = insights.rehearsed.values().sum::<u64>();
    attributes.extend((would > 0).then(|| number("aops.rehearsed.refusals", would)));
    attributes.extend(most_used(insights).map(|model| attribute("gen_ai.request.model", model)));
    attributes.extend(insights.person.as_ref().map(|person| attribute("user.name", person)));
    attributes.extend(insights.workflows_used.last().map(|workflow| attribute("aops.workflow", workflow)));
    attributes.push(match insights.cost_usd {
        Some(cost) => json!({"key": "aops.cost_usd", "value": {"doubleValue": cost}}),
        // An unknown price is not a price of zero.
        None => attribute("aops.cost", "unknown"),
    });
    attributes
}

/// The rule that decided: the id of a rule, a check or a danger rule, or else the gate.
fn rule_of(gate: &str, reason: &str) -> String {
    use GateId::{Checks, Danger, Owed, Rules, Sandbox};
    let named = ["rule `", "check `"].iter().find_map(|word| reason.split_once(word)?.1.split('`').next());
    let named = named.filter(|_| matches!(GateId::of(gate), Some(Rules | Checks | Danger | Owed | Sandbox)));
    named.map_or_else(|| gate.to_owned(), |id| format!("{gate}/{}", cut(id, 64)))
}

/// A call: its first and its newest entry, and when it began and ended.
struct CallSpan {
    first: Step,
    last: Step,
    from_ms: i64,
    to_ms: Option<i64>,
}

struct AgentSpan {
    id: String,
    kind: String,
    from_ms: i64,
    to_ms: Option<i64>,
}

/// The calls and agents of a session with their times, from its ledger.
#[derive(Default)]
struct Trace {
    tally: Tally,
    calls: Vec<CallSpan>,
    agents: Vec<AgentSpan>,
    /// Blocked events: when, which, and the answer.
    refused: Vec<(i64, String, Said)>,
    /// The trace and span in which the client was started, if it said so.
    parent: Option<(String, String)>,
}

impl Trace {
    fn of(folder: &Path, session_id: &str) -> std::io::Result<Self> {
        let mut trace = Self { tally: Tally::new(), ..Self::default() };
        collect::entries(&folder.join(LEDGER_FILE), |line, fact| {
            let at_ms = time::parse(line.ts).unwrap_or(0);
            match fact {
                Fact::Call(step) => trace.add_call(at_ms, step),
                Fact::Event(seen) => {
                    trace.add_agent(at_ms, seen);
                    let handed = seen.session_start().and_then(|start| start.traceparent.as_deref());
                    let parts: Vec<&str> = handed.unwrap_or_default().split('-').collect();
                    if let [_, id, span, _] = parts[..] {
                        trace.parent = Some((id.to_owned(), span.to_owned()));
                    }
                    let refused = seen.said.as_ref().filter(|said| said.refuses());
                    trace.refused.extend(refused.map(|said| (at_ms, seen.event.to_string(), said.clone())));
                }
                _ => {}
            }
            trace.tally.add(session_id, line, fact);
        })?;
        Ok(trace)
    }

    fn add_call(&mut self, at_ms: i64, step: &Step) {
        if step.to == CallState::Pending {
            self.calls.push(CallSpan {
                first: step.clone(),
                last: step.clone(),
                from_ms: at_ms,
                to_ms: None,
            });
            return;
        }
        let open = |call: &&mut CallSpan| call.to_ms.is_none() && call.first.call.id == step.call.id;
        if let Some(call) = self.calls.iter_mut().rev().find(open) {
            call.last = step.clone();
            call.to_ms = step.to.is_terminal().then_some(at_ms);
        }
    }

    fn add_agent(&mut self, at_ms: i64, seen: &Seen) {
        let Some(id) = &seen.agent_id else { return };
        match seen.kind() {
            EventKind::SubagentStart => {
                let kind = seen.agent_type.as_deref().unwrap_or("subagent");
                let kind = aops_core::model::agent::bare(kind).to_owned();
                self.agents.push(AgentSpan { id: id.clone(), kind, from_ms: at_ms, to_ms: None });
            }
            EventKind::SubagentStop => {
                if let Some(agent) = self.agents.iter_mut().rev().find(|agent| agent.id == *id) {
                    agent.to_ms = Some(at_ms);
                }
            }
            _ => {}
        }
    }
}
