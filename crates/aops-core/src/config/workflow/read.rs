//! Reads one workflow from its markdown and reports everything that is wrong with it.
//!
//! Pure. Invariants: every problem that can be found without other files is reported here; an unknown field
//! is a problem, so a mistyped `gates` never counts as having no gates; if there is no problem, the order of
//! steps is unambiguous.

use super::{Gate, Mention, Problem, Step, Variant, Workflow, is_plain, links, meant, rings};
use crate::model::phase::Phase;
use crate::text::yaml::{self, Key, Node, Value};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Keys that note-taking programs add to every file.
const NOTES: [&str; 4] = ["tags", "permalink", "created", "modified"];

/// The workflow in `text`. Problems name it `file`, whose last component without `.md` is its required ID.
pub fn read(file: &str, text: &str) -> Result<Workflow, Vec<Problem>> {
    let one = |line, what: &str| vec![Problem::new(file, line, what)];
    let (front, body, body_line) = split(text)
        .ok_or_else(|| one(1, "no frontmatter: the file must begin with YAML between two `---` lines"))?;
    let root = yaml::parse(front, 2).map_err(|fault| one(fault.line, &fault.what))?;
    let report = Report { file, problems: RefCell::default() };
    let workflow = whole(&report, &root, body, body_line);
    let mut problems = report.problems.into_inner();
    problems.sort();
    workflow.filter(|_| problems.is_empty()).ok_or(problems)
}

fn whole(report: &Report, root: &Node, body: &str, body_line: usize) -> Option<Workflow> {
    let mut fields = Fields::new(report, root, "")?;
    let id = fields.required("id");
    check_id(report, &id);
    let kind = fields.required("type");
    if !kind.to.is_empty() && kind.to != "workflow" {
        report.add(kind.line, format!("`type` must be `workflow`, not `{}`", kind.to));
    }
    let steps = steps(&mut fields);
    let (gates, gates_line) = gates(&mut fields);
    let workflow = Workflow {
        id: id.to,
        title: fields.required("title").to,
        category: fields.required("category").to,
        dependencies: fields.list("dependencies").unwrap_or_default(),
        gates,
        gates_line,
        variants: variants(&mut fields, &steps),
        steps,
        body: body.to_owned(),
        links: links(body, body_line),
    };
    for note in NOTES {
        fields.node(note);
    }
    fields.end();
    Some(workflow)
}

fn check_id(report: &Report, id: &Mention) {
    let name = report.file.rsplit('/').next().unwrap_or_default().trim_end_matches(".md");
    if id.to.is_empty() {
        return;
    }
    if !is_plain(&id.to) {
        report.add(id.line, plain("`id`", &id.to));
    } else if id.to != name {
        report.add(id.line, format!("`id` is `{}`, but the file's name says `{name}`", id.to));
    }
}

/// The gates in their fixed order. Without the key, all of them.
fn gates(fields: &mut Fields) -> (Vec<Gate>, usize) {
    let line = fields.line_of("gates");
    let Some(names) = fields.list("gates") else { return (Gate::ALL.to_vec(), line) };
    let mut gates = Vec::new();
    for name in names {
        match Gate::of(&name.to) {
            Some(gate) => gates.push(gate),
            None => fields.report.add(name.line, unknown("gate", &name.to, &["critic", "qa"])),
        }
    }
    gates.sort();
    (gates, line)
}

fn variants(fields: &mut Fields, steps: &[Step]) -> Vec<Variant> {
    let pairs: &[(Key, Node)] = match fields.node("variants") {
        None => &[],
        Some(Node { value: Value::Map(pairs), .. }) => pairs,
        Some(node) => {
            fields.wrong_kind("variants", "be a mapping", node);
            &[]
        }
    };
    pairs.iter().filter_map(|(key, node)| variant(fields.report, key, node, steps)).collect()
}

fn variant(report: &Report, key: &Key, node: &Node, steps: &[Step]) -> Option<Variant> {
    if !is_plain(&key.name) {
        report.add(key.line, plain("the variant's name", &key.name));
    }
    let mut fields = Fields::new(report, node, &format!(" of variant `{}`", key.name))?;
    let skip = fields.list("skip").unwrap_or_default();
    for gone in skip.iter().filter(|gone| steps.iter().all(|step| step.id != gone.to)) {
        let near = meant(&gone.to, steps.iter().map(|step| step.id.as_str()));
        let what = format!("variant `{}` skips `{}`, which is not a step here{near}", key.name, gone.to);
        report.add(gone.line, what);
    }
    fields.end();
    Some(Variant { name: key.name.clone(), skip })
}

/// A longer workflow is too hard to follow and to draw.
const MOST: usize = 100;

fn steps(fields: &mut Fields) -> Vec<Step> {
    let line = fields.line;
    let report = fields.report;
    let before = fields.report.len();
    let items = fields.nodes("steps").unwrap_or_default();
    if items.is_empty() && report.len() == before {
        report.add(line, "`steps` is missing or empty");
    }
    if let Some(extra) = items.get(MOST) {
        let what = format!("more than {MOST} steps: cut the workflow in parts that contain each other");
        report.add(extra.line, what);
        return Vec::new();
    }
    let numbered = items.iter().enumerate();
    let steps: Vec<_> = numbered.filter_map(|(n, node)| step(report, n + 1, node)).collect();
    check_steps(report, &steps);
    steps
}

fn step(report: &Report, number: usize, node: &Node) -> Option<Step> {
    let mut fields = Fields::new(report, node, &format!(" of step {number}"))?;
    let line = fields.line;
    let id = fields.required("id");
    if is_plain(&id.to) {
        fields.of = format!(" of step `{}`", id.to);
    } else if !id.to.is_empty() {
        report.add(id.line, plain("step id", &id.to));
    }
    let step = Step {
        name: fields.required("name").to,
        description: fields.required("description").to,
        workflow: fields.mention("workflow").map(unlink),
        needs: fields.list("needs").unwrap_or_default(),
        agent: fields.mention("agent"),
        run: fields.text("run"),
        tools: fields.list("tools").map(|tools| tools.into_iter().map(|tool| tool.to).collect()),
        model: fields.text("model"),
        phase: phase(&mut fields),
        id: id.to,
        line,
    };
    if step.run.is_some() && (step.agent.is_some() || step.tools.is_some() || step.model.is_some()) {
        report.add(
            line,
            format!("step `{}` has `run`, so it can have no `agent`, `tools` or `model`", step.id),
        );
    }
    fields.end();
    Some(step)
}

/// `[[id]]` means the same workflow as `id`.
fn unlink(mention: Mention) -> Mention {
    let to = match &links(&mention.to, mention.line)[..] {
        [link] if mention.to.starts_with("[[") && mention.to.ends_with("]]") => link.to.clone(),
        _ => mention.to,
    };
    Mention { to, line: mention.line }
}

fn phase(fields: &mut Fields) -> Option<Phase> {
    let given = fields.mention("phase")?;
    // A step is executed between a prompt and its end.
    let phases = &Phase::ALL[1..8];
    let found = phases.iter().find(|phase| phase.name() == given.to).copied();
    if found.is_none() {
        let known: Vec<_> = phases.iter().map(|phase| phase.name()).collect();
        fields.report.add(given.line, unknown("phase", &given.to, &known));
    }
    found
}

/// IDs are unique; the steps that a step needs exist and do not lead back to it.
fn check_steps(report: &Report, steps: &[Step]) {
    let mut known = BTreeSet::new();
    for step in steps.iter().filter(|step| !step.id.is_empty()) {
        if !known.insert(step.id.as_str()) {
            report.add(step.line, format!("step `{}` appears twice", step.id));
        }
    }
    let before = report.len();
    for step in steps {
        for need in step.needs.iter().filter(|need| !known.contains(need.to.as_str())) {
            let near = meant(&need.to, known.iter().copied());
            let what = format!("step `{}` needs `{}`, which is not a step here{near}", step.id, need.to);
            report.add(need.line, what);
        }
    }
    if report.len() > before || known.len() < steps.len() {
        return;
    }
    let place = |id: &str| steps.iter().position(|step| step.id == id).unwrap_or_default();
    let next = |id| steps[place(id)].needs.iter().map(|need| need.to.as_str()).collect();
    if let Some(mut ring) = rings(steps.iter().map(|step| step.id.as_str()), &next).into_iter().next() {
        // Reported from the step that is written first.
        let first = (0..ring.len()).min_by_key(|n| place(ring[*n])).unwrap_or_default();
        ring.rotate_left(first);
        ring.push(ring[0]);
        report.add(
            steps[place(ring[0])].line,
            format!("steps need each other in a ring: {}", ring.join(" -> ")),
        );
    }
}

/// The YAML between the two `---` lines, the body after them, and the body's first line.
fn split(text: &str) -> Option<(&str, &str, usize)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let mut at = lines.next().filter(|line| line.trim_end() == "---")?.len();
    let start = at;
    for (n, line) in lines.enumerate() {
        if line.trim_end() == "---" {
            return Some((&text[start..at], &text[at + line.len()..], n + 3));
        }
        at += line.len();
    }
    None
}

struct Report<'a> {
    file: &'a str,
    problems: RefCell<Vec<Problem>>,
}

impl Report<'_> {
    fn add(&self, line: usize, what: impl Into<String>) {
        self.problems.borrow_mut().push(Problem::new(self.file, line, what));
    }

    fn len(&self) -> usize {
        self.problems.borrow().len()
    }
}

/// One mapping, from which each field is taken once.
struct Fields<'a> {
    /// The name of the mapping in messages: empty or ``` of step `x` ```.
    of: String,
    line: usize,
    report: &'a Report<'a>,
    left: Vec<&'a (Key, Node)>,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    fn new(report: &'a Report<'a>, node: &'a Node, of: &str) -> Option<Self> {
        let Value::Map(pairs) = &node.value else {
            report.add(node.line, format!("expected a mapping{of}, found {}", node.value.kind()));
            return None;
        };
        let line = pairs.first().map_or(node.line, |(key, _)| key.line);
        Some(Self { of: of.to_owned(), line, report, left: pairs.iter().collect(), asked: Vec::new() })
    }

    fn node(&mut self, name: &'static str) -> Option<&'a Node> {
        self.asked.push(name);
        let at = self.left.iter().position(|(key, _)| key.name == name)?;
        let node = &self.left.remove(at).1;
        (node.value != Value::Nothing).then_some(node)
    }

    fn line_of(&self, name: &str) -> usize {
        self.left.iter().find(|(key, _)| key.name == name).map_or(self.line, |(key, _)| key.line)
    }

    fn mention(&mut self, name: &'static str) -> Option<Mention> {
        let node = self.node(name)?;
        match &node.value {
            Value::Text(text) if !text.trim().is_empty() => {
                return Some(Mention { to: text.trim().to_owned(), line: node.line });
            }
            Value::Text(_) => self.report.add(node.line, format!("`{name}`{} is empty", self.of)),
            _ => self.wrong_kind(name, "be a text", node),
        }
        None
    }

    fn text(&mut self, name: &'static str) -> Option<String> {
        self.mention(name).map(|mention| mention.to)
    }

    /// A required text. If it is missing, reports a problem and returns an empty text.
    fn required(&mut self, name: &'static str) -> Mention {
        let before = self.report.len();
        self.mention(name).unwrap_or_else(|| {
            if self.report.len() == before {
                self.report.add(self.line, format!("`{name}`{} is missing", self.of));
            }
            Mention { to: String::new(), line: self.line }
        })
    }

    fn nodes(&mut self, name: &'static str) -> Option<&'a [Node]> {
        let node = self.node(name)?;
        let Value::List(items) = &node.value else {
            self.wrong_kind(name, "be a list", node);
            return None;
        };
        Some(items)
    }

    fn list(&mut self, name: &'static str) -> Option<Vec<Mention>> {
        let mut names: Vec<Mention> = Vec::new();
        for item in self.nodes(name)? {
            match &item.value {
                Value::Text(text) if names.iter().any(|have| have.to == *text) => {
                    self.report.add(item.line, format!("`{name}`{} has `{text}` twice", self.of));
                }
                Value::Text(text) => names.push(Mention { to: text.clone(), line: item.line }),
                _ => self.wrong_kind(name, "hold texts", item),
            }
        }
        Some(names)
    }

    /// Reports the fields that nobody took.
    fn end(self) {
        for (key, _) in &self.left {
            let near = meant(&key.name, self.asked.iter().copied());
            self.report.add(key.line, format!("unknown key `{}`{}{near}", key.name, self.of));
        }
    }

    fn wrong_kind(&self, name: &str, must: &str, found: &Node) {
        let what = format!("`{name}`{} must {must}, not {}", self.of, found.value.kind());
        self.report.add(found.line, what);
    }
}

fn plain(what: &str, given: &str) -> String {
    format!("{what} `{given}` must be of lower-case letters, digits and `-`, at most 64")
}

fn unknown(what: &str, given: &str, known: &[&str]) -> String {
    format!("unknown {what} `{given}`; known are {}", known.join(", "))
}
