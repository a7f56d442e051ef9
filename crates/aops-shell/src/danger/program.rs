//! Reads a program of any language as far as the rules need: its calls, the texts among their arguments, and
//! verbs without brackets.

#[rustfmt::skip]
pub(super) const TREES: &[&str] = &[
    "delete_tree", "deltree", "emptydirsync", "remove_dir_all", "remove_entry_secure", "remove_tree", "removeall",
    "removesync", "rimraf", "rimrafsync", "rm_r", "rm_rf", "rmdirsync", "rmsync", "rmtree", "removedirs", "rmtree_f",
    "rm", "deleterecursively", "deletedir", "delete-directory", "delete-tree", "delete-directory/files",
    "delete-file-recursively", "delete-directory-tree", "del_dir_r", "removedirectoryrecursive", "removepathforcibly",
    "rm_rf!", "removeitem", "rmdir_recursive", "delete_directory", "removedirrecursively", "delete_recursively",
    "deletetree", "removedir",
];
pub(super) const LISTS: &[&str] = &[
    "listdir", "walk", "glob", "ls_r", "directory-files", "list.files", "files", "list_dir", "ls", "iglob",
    "rglob", "scandir", "readdirsync", "readdir", "iterdir", "entries", "children",
];
pub(super) const TEMPORARY: &[&str] =
    &["mkdtemp", "mkdtempsync", "temporarydirectory", "mktmpdir", "tempdir", "tmpdir"];

/// A call in program text: the last part of its name, the whole name, and the texts among its arguments.
#[derive(Debug, Default)]
pub(super) struct Called {
    pub(super) name: String,
    pub(super) whole: String,
    pub(super) texts: Vec<String>,
    /// The texts of the call before it: `'x'` in `Path('x').unlink()`.
    pub(super) before: Vec<String>,
    /// Its arguments ask to remove folders with their content: `recursive=TRUE`.
    pub(super) recursive: bool,
    /// Behind its texts it gets something that the program does not say: `run(["rm", "-rf", path])`.
    pub(super) more: bool,
}

#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) calls: Vec<Called>,
    pub(super) texts: Vec<String>,
    /// Commands between backquotes, and behind `qx` and `%x`.
    pub(super) quoted: Vec<String>,
    /// The program looks up the home folder.
    pub(super) homes: bool,
    /// The program lists folders.
    pub(super) lists: bool,
    pub(super) makes_temporary: bool,
    /// The program writes into a file it opens.
    pub(super) fills: bool,
}

impl Program {
    /// Whether the program calls one of these.
    pub(super) fn makes(&self, names: &[&str]) -> bool {
        self.calls.iter().any(|called| names.contains(&called.name.as_str()))
    }
}

/// Finds the calls and texts of a program in any of these languages.
pub(super) fn read(text: &str) -> Program {
    let letters: Vec<char> = text.chars().collect();
    let mut reader = Reader::default();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        let quoted = operator(&letters, at);
        at = match letter {
            _ if let Some((literal, end, runs)) = quoted => {
                if runs {
                    reader.program.quoted.push(literal);
                } else {
                    reader.text(literal, false);
                }
                end
            }
            '"' | '\'' | '`' => {
                let (literal, end) = literal(&letters, at);
                reader.text(literal, letter == '`');
                end
            }
            '#' if (at == 0 || letters[at - 1].is_whitespace()) && letters.get(at + 1) != Some(&'p') => {
                letters[at..]
                    .iter()
                    .position(|letter| *letter == '\n')
                    .map_or(letters.len(), |line| at + line)
            }
            _ => {
                reader.letter(letter, at > 0 && matches!(letters[at - 1], ' ' | '\t'));
                at + 1
            }
        };
    }
    reader.end_name();
    let lower = text.to_lowercase();
    let homes = ["homedir(", "path.home(", "dir.home", "env.home", "environ['home']", "getenv('home')"];
    let mut program = reader.program;
    program.homes = homes.iter().any(|word| lower.contains(word));
    program.lists = program.makes(LISTS);
    program.makes_temporary = program.makes(TEMPORARY);
    program.fills =
        ["write", "dump", "print(", "save", "copyfileobj", "<<"].iter().any(|word| lower.contains(word));
    program
}

#[derive(Default)]
struct Reader {
    program: Program,
    /// The calls whose brackets are still open, by their index.
    open: Vec<Option<usize>>,
    /// The call without brackets that is being read: `system "a", "b"`.
    bare: Option<usize>,
    /// The name that is being read.
    name: String,
    /// The verb before it, in the same statement: `unlink glob "src/*"`.
    verb: String,
    /// What follows the last text of this call: its operator, if it is one that joins texts.
    joins: Option<(usize, char)>,
    /// The value of a named argument is being read: `check=True`.
    in_named: bool,
}

/// Whether this name can be called without brackets in some language.
fn is_bare(name: &str) -> bool {
    #[rustfmt::skip]
    const BARE: &[&str] = &[
        "call-process", "delete", "esyscmd", "exec", "popen", "qx", "script", "shell-command", "shell-command-to-string",
        "start-process", "syscmd", "system",
    ];
    let lower = name.to_lowercase();
    let removes = TREES.contains(&lower.as_str()) && lower != "rm"
        || matches!(lower.as_str(), "unlink" | "rmdir" | "delete-file");
    BARE.contains(&name) || removes
}

/// Whether this name is a variable, and not a constant.
fn is_value(name: &str) -> bool {
    let first = name.chars().next();
    let is_constant =
        matches!(name, "True" | "False" | "None" | "true" | "false" | "null" | "undefined" | "nil" | "t");
    first.is_some_and(|c| c.is_alphabetic() || matches!(c, '_' | '$')) && !is_constant
}

/// What only the run of a program knows, in a line.
const UNKNOWN: &str = "${_unknown}";

/// A line with the parts that the program fills in: `{name}`, `#{name}`, `%s`.
pub(super) fn filled(line: &str) -> String {
    let line = line.replace(" %s", &format!(" {UNKNOWN}")).replace("/%s", &format!("/{UNKNOWN}"));
    let mut parts = line.split('{');
    let mut all = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name = |name: &&str| {
            name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_alphanumeric() || "_.[]()'\"".contains(c))
        };
        match part.split_once('}').filter(|(within, _)| name(within) && !all.ends_with('$')) {
            Some((_, rest)) => all = format!("{}{UNKNOWN}{rest}", all.strip_suffix('#').unwrap_or(&all)),
            None => all = format!("{all}{{{part}"),
        }
    }
    all
}

impl Reader {
    fn text(&mut self, literal: String, is_backquoted: bool) {
        let last = |name: &str| {
            let part = name.rsplit(['.', ':']).next().unwrap_or_default();
            let short = name.rsplit('/').next().unwrap_or_default();
            [part, short].into_iter().find(|name| is_bare(name)).map(str::to_owned)
        };
        let last = last(&self.name).or_else(|| last(&self.verb)).unwrap_or_default();
        self.program.texts.push(literal.clone());
        if matches!(literal.as_str(), "unlink" | "rmdir" | "unlinkSync") && self.open.last().is_some() {
            // `array_map("unlink", glob("src/*"))`
            self.program.calls.push(Called {
                name: literal.clone(),
                whole: literal.clone(),
                ..Called::default()
            });
        }
        if let Some(called) = self.open.last().copied().flatten().or(self.bare) {
            let texts = &mut self.program.calls[called].texts;
            match texts.last_mut().filter(|_| self.joins == Some((called, '+'))) {
                Some(last) => last.push_str(&literal),
                None => texts.push(literal),
            }
            self.joins = Some((called, ' '));
        } else if !last.is_empty() {
            // `do shell script "…"`
            let name = last.replace("script", "system").to_lowercase();
            let called =
                Called { name, whole: format!(".{last}"), texts: vec![literal], ..Called::default() };
            self.program.calls.push(called);
            self.bare = Some(self.program.calls.len() - 1);
        } else if is_backquoted {
            self.program.quoted.push(literal);
        }
        self.name.clear();
    }

    /// What a string is joined with, and arguments that are not strings.
    fn joined(&mut self, letter: char) {
        let is_part = letter.is_alphanumeric() || matches!(letter, '_' | '$' | '(' | '@');
        self.joins = match self.joins {
            Some((called, '+')) if is_part => {
                self.program.calls[called]
                    .texts
                    .last_mut()
                    .into_iter()
                    .for_each(|text| text.push_str(UNKNOWN));
                None
            }
            Some((called, '.')) if matches!(letter, '$' | '.' | ' ') => Some((called, '+')),
            Some((_, '.')) => None,
            joins if matches!(letter, ' ' | '\t') => joins,
            Some((called, ' ')) if matches!(letter, '+' | '.') => Some((called, letter)),
            _ => None,
        };
        match letter {
            ',' | ')' | ']' | '[' if !self.in_named && is_value(&self.name) => {
                if let Some(called) = self.open.last().copied().flatten().or(self.bare) {
                    let called = &mut self.program.calls[called];
                    called.more |= !called.texts.is_empty();
                }
            }
            _ => {}
        }
        self.in_named =
            matches!(letter, '=' | ':') || self.in_named && !matches!(letter, ',' | ';' | '\n' | ')');
    }

    fn letter(&mut self, letter: char, is_apart: bool) {
        self.joined(letter);
        match letter {
            '(' => self.open_call(),
            ')' => {
                self.open.pop();
                self.name.clear();
            }
            ';' | '\n' | '}' => {
                self.bare = None;
                self.end_name();
                self.verb.clear();
            }
            ' ' | '\t' => {}
            '<' if matches!(self.name.as_str(), "unlink") => {
                // `unlink <src/*>`
                self.program.calls.push(Called { name: "unlink".to_owned(), ..Called::default() });
                self.program.calls.push(Called { name: "glob".to_owned(), ..Called::default() });
                self.name.clear();
            }
            _ if letter.is_alphanumeric() || matches!(letter, '_' | '.' | ':' | '$' | '-' | '!' | '/') => {
                if is_apart && letter != '.' {
                    let removes = |name: &str| name != "delete" && is_bare(name);
                    if removes(self.name.rsplit(['.', ':']).next().unwrap_or_default()) {
                        self.verb.clone_from(&self.name);
                    }
                    self.name.clear();
                }
                self.name.push(letter);
                let recursive = ["recursive", "Recursive", "recurse"].contains(&self.name.as_str());
                if let Some(called) = self.open.last().copied().flatten().filter(|_| recursive) {
                    self.program.calls[called].recursive = true;
                }
            }
            _ => self.name.clear(),
        }
    }

    /// `Pathname.new("src").rmtree`: a call without brackets, on the value before it.
    fn end_name(&mut self) {
        let name = std::mem::take(&mut self.name);
        let last = name.rsplit('.').next().unwrap_or_default().to_lowercase();
        let before = self.program.calls.last().map(|called| called.texts.clone()).unwrap_or_default();
        if name.starts_with('.') && TREES.contains(&last.as_str()) && !before.is_empty() {
            self.program.calls.push(Called { name: last, whole: name, before, ..Called::default() });
        }
    }

    fn open_call(&mut self) {
        let whole = std::mem::take(&mut self.name);
        let name = whole
            .rsplit(['.', ':', '>', '$', '/', '!'])
            .find(|part| !part.is_empty())
            .unwrap_or_default()
            .to_lowercase();
        if name.is_empty() {
            return self.open.push(self.open.last().copied().flatten());
        }
        if LISTS.contains(&name.as_str()) && !self.verb.is_empty() {
            // `unlink glob("src/*")`
            self.program
                .calls
                .push(Called { name: std::mem::take(&mut self.verb).to_lowercase(), ..Called::default() });
        }
        let chained = self.program.calls.last().filter(|_| whole.starts_with('.'));
        let before = chained.map(|called| called.texts.clone()).unwrap_or_default();
        self.program.calls.push(Called { name, whole, before, ..Called::default() });
        self.open.push(Some(self.program.calls.len() - 1));
    }
}

/// `qx{…}`, `%x(…)`, `q{…}`: the text behind a word that quotes, the position after it, and whether it runs.
fn operator(letters: &[char], from: usize) -> Option<(String, usize, bool)> {
    let is_part =
        |at: usize| matches!(letters[at], '_' | '$' | '@' | '&' | '>' | '.') || letters[at].is_alphanumeric();
    if !matches!(letters[from], 'q' | '%') || from > 0 && is_part(from - 1) {
        return None;
    }
    let letter = letters.get(from + 1).copied();
    let runs = letter == Some('x');
    let quotes = matches!(letter, Some('q' | 'Q' | 'w' | 'W')) || runs;
    let mut at = from + if quotes { 2 } else { 1 };
    if runs && letters[from] == 'q' && letters.get(at) == Some(&' ') {
        at += 1;
    }
    let open = *letters.get(at)?;
    // What only quotes is known by its brace: `q(x)` is a call in most languages.
    let begins = if runs { !open.is_alphanumeric() && !open.is_whitespace() } else { open == '{' };
    if !begins || matches!(open, '"' | '\'' | '_') || open == '=' && letters.get(at + 1) == Some(&'>') {
        return None;
    }
    let (text, end) = enclosed(letters, at)?;
    Some((text, end, runs))
}

/// The text between this sign and the one that closes it, and the position after it.
fn enclosed(letters: &[char], from: usize) -> Option<(String, usize)> {
    let open = letters[from];
    let close = match open {
        '(' => ')',
        '[' => ']',
        '{' => '}',
        '<' => '>',
        other => other,
    };
    let mut depth = 1;
    let mut at = from + 1;
    while let Some(&letter) = letters.get(at) {
        if letter == '\\' {
            at += 1;
        } else if letter == close {
            depth -= 1;
        } else if letter == open {
            depth += 1;
        }
        at += 1;
        if depth == 0 {
            return Some((letters[from + 1..at - 1].iter().collect(), at));
        }
    }
    None
}

/// The quoted text that begins here, and the position after it.
fn literal(letters: &[char], from: usize) -> (String, usize) {
    let quote = letters[from];
    let triple = letters.get(from + 1) == Some(&quote) && letters.get(from + 2) == Some(&quote);
    let mut at = if triple { from + 3 } else { from + 1 };
    let mut text = String::new();
    while let Some(&letter) = letters.get(at) {
        let closes = letter == quote
            && (!triple || letters.get(at + 1) == Some(&quote) && letters.get(at + 2) == Some(&quote));
        if closes {
            return (text, at + if triple { 3 } else { 1 });
        }
        if letter == '\\' {
            at += 1;
        }
        text.extend(letters.get(at));
        at += 1;
    }
    (text, at)
}
