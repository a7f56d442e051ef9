//! Whether a line may be answered in the person's place, and with what proof.
//!
//! Reads the client's settings, variables and command line, and the paths that the line names, only if the
//! user wants lines to be answered. Invariant: if anything is not proven, the client asks the person.

mod pattern;
mod rules;
mod hidden;
mod secrets;
mod places;

use crate::config::in_force;
use crate::config::policy::jail::JailLevel;
use crate::config::policy::quiet::QuietLevel;
use crate::config::texts::Reading;
use crate::gate::guard::Protected;
use crate::gate::{Context, Keeps, QuietAnswer, Unheld, is_waived_at_all, profile};
use crate::jail::environment;
use crate::jail::plan::Ground as JailGround;
use crate::model::call::{Effect, ToolCall, ToolResult};
use crate::model::client::Ability;
use crate::model::event::{Event, EventKind};
use crate::model::permission_mode::PermissionMode;
use crate::model::profile::{Profile, line_digest};
use crate::observe::{authority, jailed, keeping, real_paths};
use crate::session::fact::{AnswerLevel, Harmless, Quieted};
use crate::session::fold::Session;
use crate::session::memory::OpenCall;
use crate::system::process::kin;
use crate::text::json::{self, Json};
use crate::text::redact;
use crate::text::template::one_line;
use aops_shell::class::{LineSetting, certain};
use aops_shell::quiet::{self, Quiet};
use aops_shell::syntax::{Ground, Line, Word, cut};
use rules::ClientRules;
use std::path::{Path, PathBuf};

/// The only input fields that a call may have: any other may change what runs.
const KNOWN_INPUT: [&str; 3] = ["command", "description", "timeout"];
/// Options with which the client was started with rules of its own, which we do not read.
const FLAGS: [&str; 5] = [
    "--disallowed-tools",
    "--disallowedTools",
    "--permission-prompt-tool",
    "--settings",
    "--setting-sources",
];
/// At most this many paths of a line are remembered, and looked up again before it runs.
const MOST_READ: usize = 256;
/// At most this many commands of a proof are recorded, with this many characters each.
const MOST_PROVEN: usize = 32;
const LONGEST_PROVEN: usize = 120;

/// Notes in the context how this call is answered, if it is. A command that we do not know runs only if
/// everything it may change can be restored.
pub fn note(env: &Reading, session: &Session, event: &Event, context: &mut Context) {
    let Ok((recorded, line)) = look(env, session, event, context) else { return };
    let contained = recorded.level == AnswerLevel::Contained;
    let keeps = contained.then(|| keeping::look_at_all(env, session, event, &line));
    if let (Some(seen), None | Some(Keeps::Nothing | Keeps::All { .. })) = (context.call_mut(), &keeps) {
        seen.quiet = Some(Box::new(QuietAnswer { recorded, keeps }));
    }
}

/// The answer to this call and its line, or why the client must ask.
fn look(
    env: &Reading,
    session: &Session,
    event: &Event,
    context: &Context,
) -> Result<(Quieted, Line), String> {
    let wanted = &session.policy().quiet;
    if wanted.allow == QuietLevel::Off {
        return Err("`[quiet] allow` is `off`".to_owned());
    }
    let call = event.call().ok_or("there is no call")?;
    may_answer(env, session, event, context)?;
    let command = plain_command(call)?;
    let digest = line_digest(&command);
    if session.memory.questions.quiet.as_ref().is_some_and(|quiet| quiet.hindered.contains(&digest)) {
        return Err("this line failed in the jail before".to_owned());
    }
    let (line, said) = read(session, event, context, &command);
    if !said.is_answered(wanted.allow.answers(), &wanted.network) {
        return Err(format!("its text leaves it to the client: {said:?}"));
    }
    let level = if said == Quiet::Contained { AnswerLevel::Contained } else { AnswerLevel::Reading };
    still_wanted(env, session)?;
    let is_off = session.policy().jail.level == JailLevel::Off;
    let state = session.memory.client.jail.as_ref().filter(|_| !is_off).ok_or("there is no jail")?;
    if !state.holds(level.profile()) {
        return Err(format!("profile `{}` does not work here", level.profile().name()));
    }
    if level == AnswerLevel::Contained {
        may_contain(session, event, context)?;
    }
    let project = PathBuf::from(&state.project);
    let variables = env.variables(|_| true);
    let ground = JailGround::here(env, &project);
    if let Some(why) = environment::disturbance(&variables, &environment::held(&ground)) {
        return Err(why);
    }
    let mut rules = rules::read(env, Path::new(&event.cwd), &project)?;
    rules.folders.extend(session.memory.place.added.iter().map(PathBuf::from));
    forbidden(&rules, &line, &said, level)?;
    let Paths { reads, hides } = Paths::of(
        &line,
        level,
        &rules,
        &places::Seen::of(env, &ground, &rules.folders, &project, Path::new(&event.cwd)),
    )?;
    let answer = Quieted {
        environment: environment::digest(&variables, Path::new(&event.cwd)),
        hides: hides.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
        leads: environment::leads(Path::new(&event.cwd), &reads),
        level,
        over: if let Quiet::ReadingOver(program) = said { Some(program) } else { None },
        proof: proof(&line),
        reads,
        rules: rules.count,
    };
    Ok((answer, line))
}

/// Within a turn the configuration stays as it is; but if a person switches answers off, that applies from
/// the next line. The texts for models say nothing about answers, so they are not read.
fn still_wanted(env: &Reading, session: &Session) -> Result<(), String> {
    let chosen = session.memory.configured.mode.as_ref().and_then(|asked| asked.level);
    let now = in_force::policy_in(env, chosen).map_err(|failure| failure.to_string())?;
    let then = session.policy();
    if now.quiet == then.quiet && now.jail.level == then.jail.level {
        return Ok(());
    }
    Err("`[quiet]` or `[jail] level` has changed since the turn began".to_owned())
}

/// The paths that a line names, and those that it must not see.
struct Paths {
    reads: Vec<String>,
    hides: Vec<PathBuf>,
}

impl Paths {
    fn of(line: &Line, level: AnswerLevel, rules: &ClientRules, seen: &places::Seen) -> Result<Self, String> {
        let places = quiet::places(line);
        let quiet::Places { named: mut reads, patterns, is_open, mentioned, .. } = places.clone();
        // Unknown programs may read any path; if the user has rules about paths, those decide.
        if is_open && (level == AnswerLevel::Reading || !rules.paths.is_empty()) {
            return Err("one of its words may be any path".to_owned());
        }
        // An unknown program may open any path, so the matches of a pattern only matter if the rules do.
        if level == AnswerLevel::Reading || !rules.paths.is_empty() {
            reads.extend(places::Seen::links(&patterns)?);
        }
        reads.extend(mentioned.iter().filter_map(|path| seen.there(path)));
        if reads.len() > MOST_READ || mentioned.len() > 4 * MOST_READ {
            return Err("it names too many paths".to_owned());
        }
        let named = seen.allowed(&reads, !rules.paths.is_empty())?;
        if hidden::covers(&rules.paths, &named) {
            return Err("one of the user's rules covers a path that it names".to_owned());
        }
        let mut hides = hidden::all(&rules.paths)?;
        // Only the shell knows what a pattern matches.
        if hidden::is_near(&hides, &named) && line.text.contains(['*', '?', '[']) {
            return Err("a pattern may match a path that one of the user's rules covers".to_owned());
        }
        if !rules.paths.is_empty() && secrets::shows_objects(line) {
            return Err("git may show what the user's rules cover".to_owned());
        }
        let secrets = secrets::within(line, &places, &seen.project, &seen.home)?;
        // What an unknown program does without its files of secrets proves nothing.
        if level == AnswerLevel::Contained && !secrets.is_empty() {
            return Err("it reads a folder with a file of secrets".to_owned());
        }
        hides.extend(secrets);
        Ok(Self { reads, hides })
    }
}

/// Error texts of programs that were hindered (in addition to those about unreachable machines): something
/// was missing or not writable.
const HINDERED: [&str; 10] = [
    "cannot connect to the docker daemon",
    "could not connect",
    "couldn't resolve",
    "dial tcp",
    "enetunreach",
    "erofs",
    "failed to connect",
    "getaddrinfo",
    "read-only file system",
    "unable to resolve",
];

/// An answered command was hindered by the jail. Behind a pipe its failure does not show, so if it is not
/// known to only read, its words are enough; a command that reads files may find such words in them.
pub fn is_hindered(event: &Event, open: &OpenCall) -> bool {
    let speaks = match (event.kind(), open.means.quiet.as_ref().map(|quiet| quiet.level)) {
        (EventKind::PostToolUseFailure, Some(_)) => true,
        (EventKind::PostToolUse, level) => level == Some(AnswerLevel::Contained),
        _ => false,
    };
    let Some(call) = event.call().filter(|_| speaks) else { return false };
    let shown = call.result.as_ref().map(ToolResult::lines).unwrap_or_default();
    let said = format!("{}\n{shown}", call.error).to_lowercase();
    HINDERED.iter().chain(&jailed::UNREACHED).any(|words| said.contains(words))
}

/// The client, the session and the call permit an answer at all.
fn may_answer(env: &Reading, session: &Session, event: &Event, context: &Context) -> Result<(), String> {
    let seen = context.call().ok_or("there is no call")?;
    let is_bash = event.call().is_some_and(|call| call.key.tool == "Bash");
    if !env.host.can(Ability::AsksPersons) || !is_bash {
        return Err("it is not a shell line of Claude Code".to_owned());
    }
    if !event.permission_mode().is_some_and(PermissionMode::draws_dialogs) {
        return Err("in this permission mode the client does not ask".to_owned());
    }
    if !(context.attended || session.policy().quiet.unattended) {
        return Err("nobody is there, and `[quiet] unattended` is not set".to_owned());
    }
    if authority::is_inside(env, session) || !env.is_jailing() {
        return Err("the client runs inside another, or starts commands without us".to_owned());
    }
    if let Some(why) = session.memory.questions.quiet.as_ref().and_then(|quiet| quiet.off.as_ref()) {
        return Err(why.clone());
    }
    let is_found =
        !seen.danger.dangers.is_empty() || seen.guard.keys.is_some() || seen.jail.unheld != Unheld::Nothing;
    if is_found
        || seen.guard.settings.is_some()
        || seen.guard.executable.is_some()
        || seen.guard.brought.is_some()
    {
        return Err("a gate objects to it".to_owned());
    }
    if is_waived_at_all(session, context) {
        return Err("a waiver is in force".to_owned());
    }
    let line = env.client.pid.parse().map(kin::command_line).unwrap_or_default();
    if line.is_empty() {
        return Err("how the client was started is not known".to_owned());
    }
    let is_flag = |word: &String| FLAGS.iter().any(|flag| word.split('=').next() == Some(flag));
    match line.iter().find(|word| is_flag(word)) {
        Some(word) => Err(format!("the client was started with `{}`", one_line(word, 80))),
        None => Ok(()),
    }
}

/// The line, if the call has no other input and the ledger will know the line by its exact text.
fn plain_command(call: &ToolCall) -> Result<String, String> {
    let input = json::read(&call.input).map_err(|_| "its input cannot be read")?;
    let Json::Object(members) = &input else { return Err("its input is not an object".to_owned()) };
    if let Some((name, _)) = members.iter().find(|(name, _)| !KNOWN_INPUT.contains(&name.as_ref())) {
        return Err(format!("the call says `{}`", one_line(name, 40)));
    }
    let command = input.text_of("command").ok_or("it has no line")?;
    // A secret was removed before anybody read the input, so the proof would also be valid for other lines.
    if command.contains(redact::MARK) {
        return Err("it contains a secret".to_owned());
    }
    Ok(command)
}

/// The line, and what its text proves. A user's setting that a program only reads is not a proof.
fn read(session: &Session, event: &Event, context: &Context, command: &str) -> (Line, Quiet) {
    let policy = session.policy();
    let none = Protected::default();
    let protected = context.call().map_or(&none, |seen| &seen.guard.protected);
    let variables = real_paths::variables(protected);
    let ground = Ground { cwd: &event.cwd, home: &protected.home, variables: &variables };
    let listed = |program: &str, words: &[Word]| {
        let listed = policy.effects.of_command("Bash", program, || certain(words));
        let tracker = || (program == policy.tracker.command).then_some(Effect::Tracker);
        listed.filter(|effect| *effect != Effect::Read).or_else(tracker)
    };
    let around = LineSetting { ground, project: Some(&protected.project), listed: &listed };
    let line = cut(command, &ground);
    let said = quiet::of(&line, &around);
    (line, said)
}

/// An unknown command may run in the project only if every change there is allowed and none is thrown away.
fn may_contain(session: &Session, event: &Event, context: &Context) -> Result<(), String> {
    match profile::of_call(session, event, context) {
        Some(Profile::Work) => Ok(()),
        _ => Err("the line runs in another profile".to_owned()),
    }
}

/// A rule of the user may concern this line.
fn forbidden(rules: &ClientRules, line: &Line, said: &Quiet, level: AnswerLevel) -> Result<(), String> {
    if rules.edits && level == AnswerLevel::Contained
        || rules.fetches && matches!(said, Quiet::ReadingOver(_))
    {
        return Err("the user has rules about edits or pages".to_owned());
    }
    let commands: Vec<&[Word]> = line.commands.iter().map(|simple| simple.words.as_slice()).collect();
    let raw = raw_words(&line.text);
    let meets = |rule: &Vec<pattern::Sign>| {
        pattern::occurs(rule, &raw) || commands.iter().any(|words| pattern::occurs(rule, words))
    };
    if rules.commands.iter().any(meets) {
        Err("one of the user's rules is about it".to_owned())
    } else {
        Ok(())
    }
}

/// The text split at everything that may end a word, whatever quotes it: a command inside a text counts, too.
fn raw_words(text: &str) -> Vec<Word> {
    let ends = |c: char| c.is_whitespace() || "'\"`;|&(){}<>=,".contains(c);
    let words = text.split(ends).filter(|word| !word.is_empty());
    words
        .map(|word| if word.contains('$') { Word::any() } else { Word::of(&word.replace('\\', "")) })
        .collect()
}

fn proof(line: &Line) -> Vec<Harmless> {
    let of = |(command, by): (String, &'static str)| Harmless {
        by: by.to_owned(),
        command: one_line(&command, LONGEST_PROVEN),
    };
    quiet::proof(line).into_iter().take(MOST_PROVEN).map(of).collect()
}
