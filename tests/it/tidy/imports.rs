//! Reads the imports of the source: which file uses which, and in which order `mod` lists declare them.
//!
//! It reads text, not meaning: `use` trees, and paths that begin with `crate::`, `super::` or `self::`
//! anywhere in the code. Test modules are left out wherever they stand; what follows them counts.

use super::rust_files;
use std::collections::{BTreeMap, BTreeSet};

/// The source tree: every module by its path (`ledger::chain`), with what it uses and what it declares.
pub(super) struct Tree {
    pub(super) modules: BTreeMap<String, Module>,
}

pub(super) struct Module {
    pub(super) file: String,
    /// Modules of this crate it names, each with the path as written.
    pub(super) uses: BTreeSet<(String, String)>,
    /// Its `mod` list, in order.
    pub(super) declares: Vec<String>,
}

impl Tree {
    /// Of the crate whose source is in this folder.
    pub(super) fn read(below: &str) -> Self {
        let texts: BTreeMap<String, (String, String)> = rust_files(below)
            .into_iter()
            .filter(|(file, _)| {
                !file.ends_with("tests.rs") && !file.contains("/tests/") && file != "src/main.rs"
            })
            .map(|(file, text)| {
                (module_of(&file[below.len() + 1..]), (file, without_tests(&without_comments(&text))))
            })
            .collect();
        let names: BTreeSet<String> = texts.keys().cloned().collect();
        let module = |(name, (file, code)): (&String, &(String, String))| {
            let uses = paths(code).into_iter().filter_map(|path| Some((resolve(name, &path, &names)?, path)));
            let uses = uses.filter(|(used, _)| used != name).collect();
            (name.clone(), Module { file: file.clone(), uses, declares: declared(code) })
        };
        Self { modules: texts.iter().map(module).collect() }
    }

    /// Every import that points down a `mod` list, as a sentence.
    pub(super) fn wrong_imports(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        for (name, module) in &self.modules {
            for (used, path) in &module.uses {
                let (mine, theirs) = (parts(name), parts(used));
                let same = mine.iter().zip(&theirs).take_while(|(a, b)| a == b).count();
                let (Some(own), Some(other)) = (mine.get(same), theirs.get(same)) else { continue };
                let list = &self.modules[&mine[..same].join("::")].declares;
                let place = |wanted: &str| list.iter().position(|listed| listed == wanted);
                if place(other) > place(own) {
                    wrong.push(format!("{}: `{path}` is declared below `{own}`", module.file));
                }
            }
        }
        wrong
    }

    /// Groups of modules that import each other in a ring.
    pub(super) fn rings(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            self.modules.keys().map(|name| (name.as_str(), self.reached_from(name))).collect();
        let mut rings: BTreeSet<Vec<&str>> = BTreeSet::new();
        for (name, far) in &reached {
            let ring: Vec<&str> = far.iter().copied().filter(|other| reached[other].contains(name)).collect();
            if ring.len() > 1 {
                rings.insert(ring);
            }
        }
        rings.into_iter().collect()
    }

    fn reached_from<'a>(&'a self, name: &'a str) -> BTreeSet<&'a str> {
        let (mut seen, mut open) = (BTreeSet::new(), vec![name]);
        while let Some(at) = open.pop() {
            for (used, _) in &self.modules[at].uses {
                if seen.insert(used.as_str()) {
                    open.push(used);
                }
            }
        }
        seen
    }
}

fn parts(module: &str) -> Vec<&str> {
    module.split("::").filter(|part| !part.is_empty()).collect()
}

/// `ledger/chain.rs` is `ledger::chain`, `ledger/mod.rs` is `ledger`, `lib.rs` is the root.
fn module_of(file: &str) -> String {
    let path = file.trim_end_matches(".rs").trim_end_matches("/mod");
    if path == "lib" { String::new() } else { path.replace('/', "::") }
}

fn without_comments(text: &str) -> String {
    let code = |line: &str| line.find("//").map_or(line.len(), |at| at);
    text.lines().map(|line| &line[..code(line)]).collect::<Vec<_>>().join("\n")
}

/// Without every item behind `#[cfg(test)]`, wherever it stands.
pub(super) fn without_tests(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("#[cfg(test)]") {
        code.push_str(&rest[..at]);
        rest = &rest[at + item_len(&rest[at..])..];
    }
    code + rest
}

/// How long the item is that begins here: to its `;`, or to the brace that closes it.
fn item_len(text: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b';' if depth == 0 => return at + 1,
            b'{' => depth += 1,
            b'}' if depth == 1 => return at + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

pub(super) fn declared(code: &str) -> Vec<String> {
    let item = |line: &str| {
        let line = line.split("//").next()?.trim();
        let at = if line.starts_with("mod ") {
            0
        } else {
            line.find(" mod ").filter(|_| line.starts_with("pub"))? + 1
        };
        Some(line[at..].strip_prefix("mod ")?.strip_suffix(';')?.to_owned())
    };
    code.lines().filter_map(item).collect()
}

/// Every path of this crate that the code names, `use` trees spread out.
fn paths(code: &str) -> Vec<String> {
    let mut found = Vec::new();
    let starts = ["crate::", "super::", "self::"];
    let mut rest = code;
    while let Some(at) = starts.iter().filter_map(|start| rest.find(start)).min() {
        let fresh = !rest[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == ':');
        let tree = &rest[at..];
        if fresh {
            spread("", tree, &mut found);
        }
        rest = &tree[tree.find("::").map_or(tree.len(), |at| at + 2)..];
    }
    found
}

/// Spreads `a::{b, c::d}` into `a::b` and `a::c::d`; returns how much of the text the tree takes.
fn spread(before: &str, tree: &str, found: &mut Vec<String>) -> usize {
    let end = tree.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).unwrap_or(tree.len());
    let path = format!("{before}{}", &tree[..end]);
    if !(path.ends_with("::") && tree[end..].starts_with('{')) {
        found.push(path.trim_end_matches(':').to_owned());
        return end;
    }
    let mut at = end + 1;
    loop {
        at += tree[at..].find(|c: char| !c.is_whitespace() && c != ',').unwrap_or(0);
        if at >= tree.len() || tree[at..].starts_with('}') {
            return at + 1;
        }
        let taken = spread(&path, &tree[at..], found);
        at += taken.max(1);
        if let Some(rest) = tree[at..].strip_prefix(" as ") {
            at += 4 + rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        }
    }
}

/// The module a path leads to, seen from `from`.
fn resolve(from: &str, path: &str, names: &BTreeSet<String>) -> Option<String> {
    let mut base = parts(from);
    let mut rest = parts(path);
    match *rest.first()? {
        "crate" => base.clear(),
        "self" => {}
        _ => {
            while rest.first() == Some(&"super") {
                base.pop();
                rest.remove(0);
            }
            rest.insert(0, "");
        }
    }
    base.extend(&rest[1..]);
    while !base.is_empty() && !names.contains(&base.join("::")) {
        base.pop();
    }
    (!base.is_empty()).then(|| base.join("::"))
}

#[test]
fn every_form_of_an_import_is_seen() {
    let code = "use crate::{a, b::{self, C as D}};\n#[cfg(test)]\nmod tests { use crate::hidden; }\nfn f() { super::x::y(); }";
    let code = without_tests(code);
    let found = paths(&code);
    assert_eq!(found, ["crate::a", "crate::b::self", "crate::b::C", "super::x::y"]);
    let names = ["a", "b", "p", "p::q", "p::x"].map(str::to_owned).into();
    let to = |path: &str| resolve("p::q", path, &names);
    assert_eq!(found.iter().map(|path| to(path).unwrap()).collect::<Vec<_>>(), ["a", "b", "b", "p::x"]);
}
