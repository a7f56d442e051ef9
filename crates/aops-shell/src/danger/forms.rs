//! Matches one form of a command: the verbs and options that make it dangerous.
//!
//! A form is words: `volume rm|prune` are operands in this order, each with its alternatives; `delete*` is a
//! prefix, `*x*` a part of a word; `*` is any operand; `+-f|--force` requires one of these options, `!--yes`
//! none of them; `=x` requires an operand `x` at any position, `=x*` one that begins with it, `~x` no operand
//! `x`.

use super::call::{Call, is_open};
use crate::flags::is_option;

/// Whether the command matches this form.
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

/// `terraform $(…) -auto-approve`, `docker $(…) prune`: an unknown verb is taken for the dangerous one if an
/// option of the form, or another of its verbs, is present. Not for services, whose first word is a name and
/// not a verb.
fn verbs_fit(call: &Call, verbs: &[&str], asks: bool) -> bool {
    let is_unsaid = |at: usize| is_open(&call.words[at]);
    let Some(at) = (0..call.words.len()).find(|at| is_unsaid(*at)) else { return false };
    if matches!(call.name, "service" | "rc-service" | "invoke-rc.d") {
        return false;
    }
    // The unknown word may be an option, or expand to nothing.
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
        // Long options with one dash: `-auto-approve`, `-destroy`.
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

/// Whether the verbs occur in their order. An operand after an option may be its value, and is skipped.
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
