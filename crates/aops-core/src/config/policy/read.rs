//! Reads the configuration texts of the administrator, the user and then the project into one policy, and
//! says where each value came from.
//!
//! Pure. Invariants: all or nothing, so that one problem anywhere means no policy; a value that no file set
//! has no place, and is a default.

mod rows;

use super::key::{EntryField, KEYS, Key, Project};
use super::network::Publish;
use super::origins::{Layer, Origins, SourceLine};
use super::value::{Parts, Value};
use super::{Check, Fleet, Folder, Gates, ModeLevel, Policy, Rule, check, effects, project, rule};
use crate::config::problem::{Problem, nearest, position};
use crate::model::gate_id::GateId;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

const MOST_RULES: usize = 256;
const MOST_CHECKS: usize = 64;
const MOST_PROJECTS: usize = 256;
const MOST_PROBLEMS: usize = 64;

#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub file: &'a str,
    pub text: &'a str,
}

/// The policy of these files and the place of each value, or all problems of the first bad file.
pub fn read(user: Option<Source>, project: Option<Source>) -> Result<(Policy, Origins), Vec<Problem>> {
    read_for(ModeLevel::Strict, Folder::default(), None, user, project)
}

/// The same, with what the user chose for this folder, and within what the administrator's bundle fixes.
/// `unchosen`: the mode if no file sets one.
pub fn read_for(
    unchosen: ModeLevel,
    folder: Folder,
    managed: Option<Source>,
    user: Option<Source>,
    project: Option<Source>,
) -> Result<(Policy, Origins), Vec<Problem>> {
    let mut policy = Policy::default();
    let mut origins = Origins::default();
    if unchosen != policy.mode.level() {
        hold_in(&mut policy, &origins, unchosen);
    }
    for (layer, source) in [(Layer::Managed, managed), (Layer::User, user), (Layer::Project, project)] {
        let Some(source) = source else { continue };
        let problems = Vec::new();
        let switches = Vec::new();
        let hosts = Vec::new();
        let before = policy.network.hosts();
        let mut reading = Reading {
            folder,
            layer,
            source,
            policy: &mut policy,
            origins: &mut origins,
            problems,
            switches,
            hosts,
        };
        reading.file();
        let mut problems = reading.problems;
        if !problems.is_empty() {
            problems.sort_by_key(|problem| (problem.line, problem.column));
            problems.truncate(MOST_PROBLEMS);
            return Err(problems);
        }
        let named = policy.network.named_since(&before);
        match layer {
            Layer::Managed => policy.network.managed = named,
            Layer::User => {}
            Layer::Project => policy.network.project = named,
        }
        if layer == Layer::Managed {
            origins.hold(&policy, source.file);
        }
    }
    sort(&mut policy);
    policy.rehearsed = rehearsed(&policy, &origins);
    Ok((policy, origins))
}

/// Puts the policy of these files into another mode, but never below the administrator's bundle.
pub fn hold_in(policy: &mut Policy, origins: &Origins, mode: ModeLevel) {
    let mode = mode.max(origins.floor().unwrap_or(mode));
    policy.mode.set_level(mode);
    give_levels(policy, origins, mode);
    policy.rehearsed = rehearsed(policy, origins);
}

/// The levels of the mode that mode `observe` rehearses. A gate that a file sets has the same level in both.
fn rehearsed(policy: &Policy, origins: &Origins) -> Option<Gates> {
    if policy.mode.level() != ModeLevel::Observe {
        return None;
    }
    let mut other = policy.clone();
    give_levels(&mut other, origins, policy.mode.rehearse.level());
    Some(other.gates)
}

/// Gives every gate that no file sets the level of a mode.
fn give_levels(policy: &mut Policy, origins: &Origins, mode: ModeLevel) {
    for key in KEYS.iter().filter(|key| key.table() == "gates" && origins.of(key.name).is_empty()) {
        let level = GateId::of(key.last()).map(|gate| mode.default_for(gate));
        key.set(policy, Value::Text(level.unwrap_or_default().name().to_owned()));
    }
    policy.gates.close = policy.gates.commit().min(policy.gates.push());
}

/// The order in these lists has no meaning, so it must not change the hash.
fn sort(policy: &mut Policy) {
    policy.rules.sort_by(|one, other| one.id.cmp(&other.id));
    policy.checks.sort_by(|one, other| one.id.cmp(&other.id));
    let effects = &mut policy.effects;
    let quiet = &mut policy.quiet.network;
    let fleet = &mut policy.fleet;
    let small = &mut policy.small.never;
    let network = &mut policy.network;
    for ports in [&mut network.local].into_iter().chain(match &mut network.publish {
        Publish::Ports(ports) => Some(ports),
        Publish::Auto | Publish::None => None,
    }) {
        ports.sort_unstable();
        ports.dedup();
    }
    let whose = [&mut network.managed, &mut network.project];
    let whose = whose.into_iter().flat_map(|hosts| [&mut hosts.allow, &mut hosts.deny]);
    let network = [&mut network.allow, &mut network.deny, &mut network.private, &mut network.sockets];
    let network = network.into_iter().chain(whose);
    let others = [&mut effects.examples, &mut effects.read, &mut effects.write, small, quiet];
    for names in others.into_iter().chain(network).chain([&mut fleet.gateway_keys, &mut fleet.labels]) {
        names.sort();
        names.dedup();
    }
}

struct Reading<'a> {
    folder: Folder<'a>,
    layer: Layer,
    source: Source<'a>,
    policy: &'a mut Policy,
    origins: &'a mut Origins,
    problems: Vec<Problem>,
    /// Danger rules in the user's rows for this folder, and their places; they override `[danger]`.
    switches: Vec<(String, usize)>,
    /// The hosts in these rows, by the key of `[network]` to which they are added.
    hosts: Vec<(&'static str, Vec<String>, usize)>,
}

type Entry<'a, 'i> = (&'a Spanned<std::borrow::Cow<'i, str>>, &'a Spanned<DeValue<'i>>);

impl Reading<'_> {
    fn file(&mut self) {
        let text = self.source.text;
        let (table, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            for error in errors {
                let at = error.span().map_or(text.len(), |span| span.start);
                self.problem(at, "", error.message().lines().collect::<Vec<_>>().join(", "));
            }
            return;
        }
        // In the order of the file, so that the later of two equal entries is reported as the repetition.
        let mut entries: Vec<Entry> = table.get_ref().iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        // The mode comes first, then its rows by folder: it sets the gates' levels, with which the rest of
        // the file is compared.
        let (mode, rest) = entries.into_iter().partition::<Vec<Entry>, _>(|(key, _)| key.get_ref() == "mode");
        let (rows, rest) = rest.into_iter().partition::<Vec<Entry>, _>(|(key, _)| key.get_ref() == "project");
        self.entries(mode);
        self.entries(rows);
        self.raise_mode();
        let level = self.policy.mode.level();
        self.policy.mode.set_level(level);
        give_levels(self.policy, self.origins, level);
        self.entries(rest);
        self.switch_dangers();
        self.add_hosts();
        let gates = &mut self.policy.gates;
        gates.close = gates.commit().min(gates.push());
    }

    /// If the user's mode is below the bundle's, the bundle's counts.
    fn raise_mode(&mut self) {
        if let Some(floor) = self.origins.floor().filter(|floor| self.policy.mode.level() < *floor) {
            self.policy.mode.set_level(floor);
            self.origins.overrule_mode();
        }
    }

    fn entries(&mut self, entries: Vec<Entry>) {
        for (key, value) in entries {
            match (key.get_ref().as_ref(), value.get_ref()) {
                ("rule", DeValue::Array(items)) => items.iter().for_each(|item| self.rule(item)),
                ("check", DeValue::Array(items)) => items.iter().for_each(|item| self.check(item)),
                ("project", DeValue::Array(items)) if items.len() > MOST_PROJECTS => {
                    self.problem(value.span().start, "project", format!("at most {MOST_PROJECTS} projects"));
                }
                ("project", DeValue::Array(items)) => items.iter().for_each(|item| self.project(item)),
                (name @ ("rule" | "check" | "project"), _) => {
                    self.problem(value.span().start, name, format!("a list of tables: write `[[{name}]]`"));
                }
                (name, DeValue::Table(table)) if is_table(name) => self.table(name, table),
                (name, _) if is_table(name) => {
                    self.problem(value.span().start, name, format!("a table: write `[{name}]`"));
                }
                (name, _) => self.unknown(key.span().start, "", name, tables()),
            }
        }
    }

    fn table(&mut self, name: &str, table: &DeTable) {
        for (last, given) in table {
            let full = format!("{name}.{}", last.get_ref());
            let Some(key) = Key::of(&full) else {
                let names = KEYS.iter().filter(|key| key.table() == name).map(Key::last);
                self.unknown(last.span().start, name, last.get_ref(), names);
                continue;
            };
            match key.form.read(given) {
                Ok(value) => match effects::problem(key.name, &value) {
                    Some(what) => self.problem(given.span().start, key.name, what),
                    None => self.set_all(key, &value, table, (last.span().start, given.span().start)),
                },
                Err((at, what)) => self.problem(at, key.name, what),
            }
        }
        if name == "fleet" {
            self.check_times(table);
        }
    }

    /// Three keys of `[fleet]` must fit together. Reported at the last of them in this file.
    fn check_times(&mut self, table: &DeTable) {
        let Fleet { reattach, grace, lost_after, .. } = self.policy.fleet;
        let keys =
            table.iter().filter(|(key, _)| ["reattach", "grace", "lost_after"].contains(&&**key.get_ref()));
        if let Some((key, at)) =
            keys.map(|(key, given)| (key.get_ref(), given.span().start)).max_by_key(|(_, at)| *at)
            && let Some(what) = Fleet::times_problem(reattach, grace, lost_after)
        {
            self.problem(at, &format!("fleet.{key}"), what);
        }
    }

    /// Sets a key, or the keys that an older name stands for, except those that this file also sets
    /// separately.
    fn set_all(&mut self, key: &'static Key, value: &Value, table: &DeTable, (at, value_at): (usize, usize)) {
        let has = |last: &str| table.iter().any(|(key, _)| key.get_ref() == last);
        let level = |level: ModeLevel| Value::Text(level.name().to_owned());
        let observes = self.policy.mode.level() == ModeLevel::Observe;
        let (names, meant): (&[&str], _) = match (key.name, value) {
            ("gates.close", _) => (&["gates.commit", "gates.push"], value.clone()),
            ("mode.observe", Value::Flag(observe)) if has("level") => {
                if *observe != observes {
                    self.problem(value_at, key.name, "`mode.level` has another value".to_owned());
                }
                return;
            }
            ("mode.observe", Value::Flag(true)) => (&["mode.level"], level(ModeLevel::Observe)),
            ("mode.observe", _) if observes => (&["mode.level"], level(ModeLevel::Strict)),
            _ => (&[key.name][..], value.clone()),
        };
        let before = self.problems.len();
        for one in KEYS.iter().filter(|one| names.contains(&one.name)) {
            if self.problems.len() == before && (one.name == key.name || !has(one.last())) {
                self.set(one, meant.clone(), key.name, (at, value_at));
            }
        }
        if key.name == "gates.close" {
            self.origins.set(key.name, self.place(at));
        }
        let level = self.policy.mode.level();
        self.policy.mode.set_level(level);
    }

    fn set(&mut self, key: &'static Key, value: Value, name: &str, (at, value_at): (usize, usize)) {
        let place = self.place(at);
        let is_free = match self.layer {
            Layer::Managed => true,
            Layer::User => !self.origins.holds(key.name),
            Layer::Project => false,
        };
        if is_free {
            key.set(self.policy, value);
            self.origins.set(key.name, place);
            return;
        }
        let now = key.get(self.policy);
        match key.tightened(&now, value) {
            Ok(value) if value == now || key.project == Project::Add => {
                key.set(self.policy, value);
                self.origins.add(key.name, place);
            }
            Ok(value) => {
                key.set(self.policy, value);
                self.origins.set(key.name, place);
            }
            // A new bundle applies to everybody at once, and must not stop people's work because of an older
            // setting of theirs.
            Err(_) if self.layer == Layer::User => self.origins.overrule(name, place),
            Err(what) => self.problem(value_at, name, what),
        }
    }

    /// The user's choice for a folder: the last one that covers this folder counts, and overrides `[mode]`.
    fn project(&mut self, item: &Spanned<DeValue>) {
        let Some(mut parts) = self.parts("project", project::PARTS, item, true) else { return };
        if self.layer == Layer::Project {
            let what =
                "only the user's own file may choose a mode, danger rules or hosts for a folder".to_owned();
            return self.problem(item.span().start, "project", what);
        }
        let path = parts.take::<String>("path").unwrap_or_default();
        let mode = parts.take::<ModeLevel>("mode");
        if !path.starts_with(['/', '~']) {
            let what = "a path that begins with `/` or `~`".to_owned();
            return self.problem(parts.at("path"), "project.path", what);
        }
        let switches = parts.take::<Vec<String>>("danger");
        let hosts = [("network.allow", "allow"), ("network.deny", "deny")].map(|(key, field)| {
            let hosts = parts.take::<Vec<String>>(field);
            hosts.map(|hosts| (key, hosts, parts.at(field)))
        });
        if mode.is_none() && switches.is_none() && hosts.iter().all(Option::is_none) {
            let what = "needs a `mode`, `danger`, `allow` or `deny`".to_owned();
            return self.problem(item.span().start, "project", what);
        }
        if self.folder.is_in(&path) {
            self.hosts.extend(hosts.into_iter().flatten());
            let at = parts.at("danger");
            self.switches.extend(switches.into_iter().flatten().map(|switch| (switch, at)));
        }
        if let Some(mode) = mode.filter(|_| self.folder.is_in(&path)) {
            self.policy.mode.set_level(mode);
            self.origins.set("mode.level", self.place(parts.at("mode")));
        }
    }

    fn rule(&mut self, item: &Spanned<DeValue>) {
        let Some(mut parts) = self.parts("rule", rule::PARTS, item, self.policy.rules.len() < MOST_RULES)
        else {
            return;
        };
        match Rule::of(&mut parts) {
            Ok(rule) if self.claim("rule", &rule.id, parts.at("id")) => self.policy.rules.push(rule),
            Ok(_) => {}
            Err((field, what)) => self.problem(parts.at(field), &format!("rule.{field}"), what),
        }
    }

    fn check(&mut self, item: &Spanned<DeValue>) {
        let room = self.policy.checks.len() < MOST_CHECKS;
        let Some(mut parts) = self.parts("check", check::PARTS, item, room) else { return };
        let check = Check::of(&mut parts);
        if !self.claim("check", &check.id, parts.at("id")) {
            return;
        }
        let same = self.policy.checks.iter().filter(|known| known.on.meets(check.on));
        let together = same.map(|known| known.timeout_ms).sum::<u64>() + check.timeout_ms;
        if together > check::BUDGET_MS {
            let on = check.on.name();
            let most = check::BUDGET_MS;
            let what = format!(
                "with those above, the checks before `{on}` may take {together} ms, and the client waits no longer than {most} ms for all of them; give each a smaller `timeout_ms`"
            );
            let field = if parts.at("timeout_ms") > 0 { "timeout_ms" } else { "id" };
            return self.problem(parts.at(field), &format!("check.{field}"), what);
        }
        self.policy.checks.push(check);
    }

    /// The fields of one entry; `None` if any of them is wrong.
    fn parts(
        &mut self,
        name: &str,
        known: &'static [EntryField],
        item: &Spanned<DeValue>,
        room: bool,
    ) -> Option<Parts> {
        let before = self.problems.len();
        if !room {
            let most = if name == "rule" { MOST_RULES } else { MOST_CHECKS };
            self.problem(item.span().start, name, format!("at most {most} {name}s"));
            return None;
        }
        let DeValue::Table(table) = item.get_ref() else {
            self.problem(item.span().start, name, format!("a table: write `[[{name}]]`"));
            return None;
        };
        let mut parts = Parts::default();
        for (field, given) in table {
            let Some(part) = known.iter().find(|part| part.name == field.get_ref()) else {
                self.unknown(field.span().start, name, field.get_ref(), known.iter().map(|part| part.name));
                continue;
            };
            match part.form.read(given) {
                Ok(value) => {
                    parts.0.insert(part.name, (given.span().start, value));
                }
                Err((at, what)) => self.problem(at, &format!("{name}.{}", part.name), what),
            }
        }
        let given = |part: &&EntryField| table.iter().any(|(field, _)| field.get_ref() == part.name);
        for part in known.iter().filter(|part| part.needed).filter(|part| !given(part)) {
            self.problem(item.span().start, &format!("{name}.{}", part.name), "missing".to_owned());
        }
        (self.problems.len() == before).then_some(parts)
    }

    /// Claims the ID for this entry; false if another entry has it.
    fn claim(&mut self, name: &str, id: &str, at: usize) -> bool {
        let key = format!("{name}.{id}");
        let first = self.origins.of(&key).first().map(ToString::to_string);
        match &first {
            None => self.origins.set(&key, self.place(at)),
            Some(first) => self.problem(at, &format!("{name}.id"), format!("`{id}` is taken by {first}")),
        }
        first.is_none()
    }

    /// Reports a key that its table does not have; perhaps another table does.
    fn unknown<'n>(&mut self, at: usize, table: &str, name: &str, names: impl Iterator<Item = &'n str>) {
        let near =
            nearest(name, names).or_else(|| KEYS.iter().find(|key| key.last() == name).map(|key| key.name));
        let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let dot = if table.is_empty() { "" } else { "." };
        self.problem(at, &format!("{table}{dot}{}", shown(name)), format!("unknown key{near}"));
    }

    fn problem(&mut self, at: usize, key: &str, what: String) {
        let (line, column) = position(self.source.text, at);
        let file = self.source.file.to_owned();
        self.problems.push(Problem { file, line, column, key: key.to_owned(), what });
    }

    fn place(&self, at: usize) -> SourceLine {
        let (line, _) = position(self.source.text, at);
        SourceLine { layer: self.layer, file: self.source.file.to_owned(), line }
    }
}

fn tables() -> impl Iterator<Item = &'static str> {
    KEYS.iter().map(Key::table).chain(["rule", "check", "project"])
}

fn is_table(name: &str) -> bool {
    KEYS.iter().any(|key| key.table() == name)
}

/// A key as it was typed, safe to display.
fn shown(name: &str) -> String {
    name.chars().take(64).map(|c| if c.is_control() { '·' } else { c }).collect()
}
