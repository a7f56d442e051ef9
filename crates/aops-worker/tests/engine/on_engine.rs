//! What a team relies on: results that are delivered, steps that end, machines that are lost.

mod steps;
mod moved;
mod limits;
mod through_gateway;
mod encrypted;
mod questions;
mod kept;
mod answers;
mod page;
mod login;
mod chaos;
mod many;

/// Says that it was begun, under which key, and where.
const BEGUN: &str = r#"echo "$AOPS_STEP $AOPS_IDEMPOTENCY_KEY $(basename "$HOME")" >> "$EFFECTS/begun"; "#;
const WAIT: &str = r#"while ! test -e "$EFFECTS/go"; do sleep 0.02; done; "#;
/// Leaves group, session and parent, and hears no polite signal.
const DAEMON: &str = r#"(setsid nohup sh -c 'trap "" TERM HUP; : > "$EFFECTS/daemon"; while :; do sleep 1; done' >/dev/null 2>&1 &) ; "#;
