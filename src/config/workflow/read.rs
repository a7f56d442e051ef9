//! Reads one workflow from its markdown and reports everything that is wrong with it.
//!
//! Reads text, writes nothing. Invariant: every problem that can be seen without other files is reported here.

use super::frontmatter::{Fields, Report, plain, split, unknown};
use super::step::steps;
use super::{Gate, Mention, Problem, Step, Variant, Workflow, is_plain, links, meant};
use crate::text::yaml::{self, Key, Node, Value};

/// Keys that note-taking programs add to every file.
const NOTES: [&str; 4] = ["tags", "permalink", "created", "modified"];

/// The workflow in `text`. Problems name it `file`, whose last part without `.md` is the id it must have.
pub fn read(file: &str, text: &str) -> Result<Workflow, Vec<Problem>> {
    let one = |line, what: &str| vec![Problem::new(file, line, what)];
    let (front, body, body_line) =
        split(text).ok_or_else(|| one(1, "no frontmatter: the file must begin with YAML between two `---` lines"))?;
    let root = yaml::parse(front, 2).map_err(|fault| one(fault.line, &fault.what))?;
    let report = Report::new(file);
    let workflow = whole(&report, &root, body, body_line);
    match (workflow, report.into_problems()) {
        (Some(workflow), problems) if problems.is_empty() => Ok(workflow),
        (_, problems) => Err(problems),
    }
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

/// The gates in their one order. Without the key, all of them.
fn gates(fields: &mut Fields) -> (Vec<Gate>, usize) {
    let line = fields.line_of("gates");
    let Some(names) = fields.list("gates") else { return (Gate::ALL.to_vec(), line) };
    let mut gates = Vec::new();
    for name in names {
        match Gate::ALL.into_iter().find(|gate| gate.name() == name.to) {
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
        let what = format!("variant `{}` skips `{}`, which is no step here{near}", key.name, gone.to);
        report.add(gone.line, what);
    }
    fields.end();
    Some(Variant { name: key.name.clone(), skip })
}
