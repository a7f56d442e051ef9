//! Reads one form of a command: the verbs and options that make it dangerous.
//!
//! A form is words: `volume rm|prune` are operands in their order, each one of several; `delete*` begins like
//! this, `*x*` holds `x`; `*` is any operand; `+-f|--force` asks for one of these options, `!--yes` for none
//! of them; `=x` asks for an operand that is `x` anywhere, `=x*` for one that begins so, `~x` for no operand
//! `x`.

use super::call::{Call, is_open, is_option};

/// Whether the command has this form.
pub(super) fn is(call: &Call, form: &str) -> bool {
    let parts: Vec<&str> = form.split(' ').filter(|part| !part.is_empty()).collect();
    let (options, verbs): (Vec<&str>, Vec<&str>) =
        parts.into_iter().partition(|part| part.starts_with(['+', '!', '=', '~']));
    if !options.iter().all(|part| holds(call, part)) {
        return false;
    }
    let asks = options.iter().any(|part| part.starts_with(['+', '=']));
    matches(&call.texts, &verbs, 0) || verbs_fit(call, &verbs, asks)
}

/// `terraform $(…) -auto-approve`, `docker $(…) prune`: a verb that the line does not say is the one that is
/// asked about, if an option of the form or another of its verbs is there. Services are named by their first
/// word, which is no verb.
fn verbs_fit(call: &Call, verbs: &[&str], asks: bool) -> bool {
    let is_unsaid = |at: usize| is_open(&call.words[at]);
    let Some(at) = (0..call.words.len()).find(|at| is_unsaid(*at)) else { return false };
    if matches!(call.name, "service" | "rc-service" | "invoke-rc.d") {
        return false;
    }
    // It may be an option, or nothing.
    let without: Vec<String> =
        (0..call.words.len()).filter(|at| !is_unsaid(*at)).map(|at| call.texts[at].clone()).collect();
    let first = call.operands().first().map(|(at, _)| *at);
    let named = verbs.iter().filter(|verb| **verb != "*").count();
    let guessed = first == Some(at) && verbs.first().is_some_and(|verb| *verb != "*") && (asks || named > 1);
    let put = || {
        let mut texts = call.texts.clone();
        texts[at] = verbs[0].split('|').next().unwrap_or_default().replace('*', "");
        matches(&texts, verbs, 0)
    };
    matches(&without, verbs, 0) || guessed && put()
}

fn holds(call: &Call, part: &str) -> bool {
    let (sign, wanted) = part.split_at(1);
    let given = |option: &str| match option.strip_prefix('/') {
        // Options of one dash and a word: `-auto-approve`, `-destroy`.
        Some(option) => {
            call.texts.iter().any(|text| text.trim_start_matches('-').split('=').next() == Some(option))
        }
        None => call.options().any(|text| is_option(text, option)),
    };
    match sign {
        "+" => wanted.split('|').any(given),
        "!" => !wanted.split('|').any(given),
        "~" => !call.texts.iter().any(|text| one_of(wanted, &text.to_lowercase())),
        _ => call.texts.iter().any(|text| one_of(wanted, &text.to_lowercase())),
    }
}

/// The verbs in their order. An operand behind an option may be its value, and is passed over.
fn matches(texts: &[String], verbs: &[&str], from: usize) -> bool {
    let Some((verb, rest)) = verbs.split_first() else { return true };
    let mut at = from;
    while at < texts.len() {
        let text = texts[at].as_str();
        if text.starts_with('-') || text.starts_with('+') {
            at += 1;
            continue;
        }
        if one_of(verb, &text.to_lowercase()) && matches(texts, rest, at + 1) {
            return true;
        }
        let may_be_value = at > 0 && texts[at - 1].starts_with('-') && !texts[at - 1].contains('=');
        if !may_be_value {
            return false;
        }
        at += 1;
    }
    false
}

fn one_of(wanted: &str, text: &str) -> bool {
    wanted.split('|').any(|known| match (known.strip_prefix('*'), known.strip_suffix('*')) {
        (_, Some("")) => true,
        (Some(end), Some(_)) => text.contains(end.trim_end_matches('*')),
        (None, Some(begin)) => text.starts_with(begin),
        (Some(end), None) => text.ends_with(end),
        (None, None) => known == text,
    })
}
