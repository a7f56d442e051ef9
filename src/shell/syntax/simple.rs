//! Reads one simple command of the tree: its words, assignments and redirections, and what they change in the scope.

use super::scope::Scope;
use super::walk::Walk;
use super::word::is_plain;
use super::{Bit, Simple, Word, wrap};
use brush_parser::ast::{self, AssignmentName, AssignmentValue, CommandPrefixOrSuffixItem as Item};
use std::rc::Rc;

/// Links one line makes; one with more is unclear.
const LINKS: usize = 64;

impl Walk {
    pub(super) fn simple(&mut self, command: &ast::SimpleCommand, scope: &mut Scope) {
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        let mut own = Scope { sure: false, ..scope.clone() };
        let mut simple = Simple::default();
        let mut assigned = Vec::new();
        for item in prefix {
            match item {
                Item::AssignmentWord(assignment, _) => assigned.push(self.assignment(assignment, scope)),
                item => self.item(item, &mut simple, &mut own),
            }
        }
        if let Some(word) = &command.word_or_name {
            simple.words = self.words(&word.value, scope);
        }
        for item in suffix {
            self.item(item, &mut simple, &mut own);
        }
        if simple.words.is_empty() {
            // Nothing runs that could see them, and whoever shares variables makes setting one copy them all.
            own.variables = Rc::default();
        }
        for (name, values) in assigned {
            self.programmed(&name, &values, scope);
            // Before a command it holds for that command alone, but its words were read without it.
            if simple.words.is_empty() {
                self.assign(scope, &name, values);
            } else {
                simple.values.push(values.last().cloned().unwrap_or_default());
                own.set(&name, values);
                simple.assigned.push(name);
            }
        }
        simple.arriving.clone_from(&own.arriving);
        simple.script.clone_from(&own.script);
        self.run(simple, scope, &own);
    }

    /// A command is complete: look inside it, or keep it.
    pub(super) fn run(&mut self, mut simple: Simple, scope: &mut Scope, own: &Scope) {
        let folders: usize = scope.folders.iter().map(|folder| folder.bits.len()).sum();
        if !self.spend(1 + simple.words.len() + folders / 256) {
            return;
        }
        simple.folders = Rc::clone(&scope.folders);
        simple.call();
        simple.function = simple.name().is_some_and(|name| scope.functions.iter().any(|known| known == name));
        self.change(&simple, scope, own);
        if simple.function || !wrap::look_inside(self, &simple, scope, own) {
            self.found.push(simple);
        } else if !simple.writes.is_empty() || !simple.assigned.is_empty() {
            self.found.push(Simple { words: Vec::new(), ..simple });
        }
    }

    fn item(&mut self, item: &Item, simple: &mut Simple, scope: &mut Scope) {
        match item {
            Item::Word(word) | Item::AssignmentWord(_, word) => {
                if is_plain(&word.value) {
                    self.plain_word(&word.value, &mut simple.words);
                } else {
                    let words = self.words(&word.value, scope);
                    simple.words.extend(words);
                }
            }
            Item::ProcessSubstitution(_, group) => {
                let word = self.sublist(&group.list, scope);
                simple.words.push(word);
            }
            Item::IoRedirect(redirect) => {
                for made in self.redirects(std::slice::from_ref(redirect), scope) {
                    simple.writes.extend(made.writes);
                }
            }
        }
    }

    /// What redirections write, each as a command without words; what they feed goes into the scope.
    pub(super) fn redirects(&mut self, redirects: &[ast::IoRedirect], scope: &mut Scope) -> Vec<Simple> {
        use ast::{IoFileRedirectKind as Kind, IoFileRedirectTarget as Target, IoRedirect};
        let mut writes = Vec::new();
        for redirect in redirects {
            match redirect {
                IoRedirect::File(_, Kind::Read | Kind::DuplicateInput, Target::Filename(word)) => {
                    scope.arriving = self.words(&word.value, scope);
                    scope.sure = false;
                }
                IoRedirect::File(_, _, Target::Filename(word)) | IoRedirect::OutputAndError(word, _) => {
                    writes.extend(self.words(&word.value, scope));
                }
                IoRedirect::File(_, kind, Target::Duplicate(word)) => {
                    let words = self.words(&word.value, scope);
                    scope.sure = false;
                    if matches!(kind, Kind::DuplicateInput) {
                        continue;
                    }
                    writes.extend(words.into_iter().filter(|word| !is_descriptor(word)));
                }
                IoRedirect::File(_, _, Target::ProcessSubstitution(_, group)) => {
                    let word = self.sublist(&group.list, scope);
                    scope.arriving.extend(word.named);
                    scope.script = word.said.or(scope.script.take());
                    scope.sure = false;
                }
                IoRedirect::File(..) => scope.sure = false,
                IoRedirect::HereDocument(descriptor, here) => {
                    let text = &here.doc.value;
                    let literal = !here.requires_expansion || !text.contains(['$', '`', '\\']);
                    scope.sure = literal && descriptor.is_none_or(|number| number == 0);
                    if here.requires_expansion {
                        self.document(&here.doc.value, scope);
                    }
                    scope.script = Some(here.doc.value.clone());
                }
                IoRedirect::HereString(descriptor, word) => {
                    let words = self.words(&word.value, scope);
                    scope.sure =
                        words.iter().all(Word::is_firm) && descriptor.is_none_or(|number| number == 0);
                    scope.script = Some(words.iter().map(Word::lossy).collect::<Vec<_>>().join(" "));
                    scope.arriving = words;
                }
            }
        }
        let found = Simple { writes, folders: Rc::clone(&scope.folders), ..Simple::default() };
        if found.writes.is_empty() { Vec::new() } else { vec![found] }
    }

    fn assignment(&mut self, assignment: &ast::Assignment, scope: &Scope) -> (String, Vec<Word>) {
        let (AssignmentName::VariableName(name) | AssignmentName::ArrayElementName(name, _)) =
            &assignment.name;
        if let AssignmentName::ArrayElementName(_, index) = &assignment.name {
            self.sum(index, scope);
        }
        let whole = matches!(assignment.name, AssignmentName::VariableName(_)) && !assignment.append;
        let mut values = match &assignment.value {
            AssignmentValue::Scalar(word) => {
                // Blanks in an assigned value do not split it.
                let words = self.words(&word.value, scope);
                if words.len() > 1 && !word.value.contains('{') { vec![joined(&words)] } else { words }
            }
            AssignmentValue::Array(items) => {
                items.iter().filter_map(|(index, _)| index.as_ref()).for_each(|index| {
                    self.sum(&index.value, scope);
                });
                items.iter().flat_map(|(_, word)| self.words(&word.value, scope)).collect()
            }
        };
        if !whole {
            let old = scope.value(name).unwrap_or_default();
            values.extend(old.iter().cloned());
            values.push(Word::any());
        }
        (name.clone(), values)
    }

    /// `ln -s to link`: whoever writes to the link later writes to what it leads to.
    fn link(&mut self, simple: &Simple) {
        let given = operands(simple);
        let (Some(to), Some(folder)) = (given.first(), simple.folders.first()) else { return };
        let last = given.get(1).map_or_else(|| Word::of("."), |word| (*word).clone());
        for link in [last.clone(), to.last_part().from_folder(&last)] {
            let link = link.from_folder(folder).tidied();
            let leads = to.from_folder(&link.folder());
            if self.links.len() < LINKS && link != leads {
                self.links.push((link, leads));
            } else {
                self.unclear |= self.links.len() >= LINKS;
            }
        }
    }

    /// Variables whose value other programs run: `PAGER`, `GIT_SSH_COMMAND` and kin.
    fn programmed(&mut self, name: &str, values: &[Word], scope: &Scope) {
        const ENDS: [&str; 7] = ["PAGER", "EDITOR", "VISUAL", "BROWSER", "COMMAND", "CMD", "LESSOPEN"];
        if ENDS.iter().any(|end| name.ends_with(end)) {
            for value in values {
                wrap::texts(self, &[value], &mut scope.clone());
            }
        }
    }

    /// Builtins that change what later commands see.
    fn change(&mut self, simple: &Simple, scope: &mut Scope, own: &Scope) {
        let Some(name) = simple.name() else { return };
        match name {
            "cd" | "chdir" | "pushd" => {
                let target =
                    operands(simple).first().map_or_else(|| (*scope.home).clone(), |word| (*word).clone());
                let before = Rc::clone(&scope.folders);
                scope.enter(&target);
                // A bare name is looked for in these first.
                for path in own.value("CDPATH").unwrap_or_default() {
                    let there = path.bits.split(|bit| *bit == Bit::Char(':')).map(<[Bit]>::to_vec);
                    let there = there.map(|bits| Word { bits, ..Word::default() }.from_folder(&before[0]));
                    scope.also_in(&there.map(|base| target.from_folder(&base)).collect::<Vec<_>>());
                }
            }
            "ln" | "gln" => self.link(simple),
            "popd" => scope.back(),
            "read" | "mapfile" | "readarray" => {
                for word in operands(simple) {
                    let mut values = simple.arriving.clone();
                    values.push(Word::any());
                    self.assign(scope, &word.lossy(), values);
                }
            }
            "printf" if simple.words.get(1).is_some_and(|word| word.starts_with("-v")) => {
                let glued = Some(simple.words[1].after(2)).filter(|word| !word.bits.is_empty());
                let mut rest = simple.words[2..].iter().cloned();
                let name = glued.or_else(|| rest.next()).unwrap_or_default();
                let values: Vec<Word> = rest.chain([Word::any()]).collect();
                self.assign(scope, &name.lossy(), values);
            }
            "export" | "declare" | "local" | "readonly" | "typeset" => {
                for word in operands(simple) {
                    let Some(value) = word.past('=') else { continue };
                    let at = word.bits.len() - value.bits.len() - 1;
                    let name = Word { bits: word.bits[..at].to_vec(), ..Word::default() };
                    self.programmed(&name.lossy(), std::slice::from_ref(&value), scope);
                    self.assign(scope, name.lossy().trim_end_matches('+'), vec![value]);
                }
            }
            "set" => {
                for (n, word) in operands(simple).iter().enumerate().take(9) {
                    scope.set(&(n + 1).to_string(), vec![(*word).clone()]);
                }
            }
            "unset" => {
                for word in operands(simple) {
                    self.assign(scope, &word.lossy(), Vec::new());
                }
            }
            _ => {}
        }
    }
}

fn operands(simple: &Simple) -> Vec<&Word> {
    simple.words.iter().skip(1).filter(|word| !word.is_option()).collect()
}

fn is_descriptor(word: &Word) -> bool {
    word.literal().is_some_and(|text| text.chars().all(|c| c.is_ascii_digit() || c == '-'))
}

fn joined(words: &[Word]) -> Word {
    let mut all = Word::default();
    for word in words {
        if !all.bits.is_empty() {
            all.bits.push(Bit::Char(' '));
        }
        all.bits.extend(&word.bits);
        all.named.extend(word.named.iter().cloned());
        all.unknown.extend(word.unknown.iter().cloned());
    }
    all
}

/// The text a command prints, where the line itself holds it.
pub(super) fn said(simple: &Simple) -> Option<String> {
    match simple.name()? {
        "echo" | "printf" => {
            let words = simple.words.iter().skip(1).filter(|word| !word.is_option());
            let text = words.map(Word::lossy).collect::<Vec<_>>().join(" ");
            Some(text.replace("\\n", "\n"))
        }
        "cat" | "tee" | "head" | "tail" | "envsubst" => simple.script.clone(),
        _ => None,
    }
}
