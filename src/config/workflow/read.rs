//! Reads one workflow from its markdown and tells everything that is wrong with it.
//!
//! Reads text, writes nothing. Invariant: whatever can be said without knowing other files is said here.

use super::frontmatter::{Fields, plain, split, unknown};
use super::step::steps;
use super::{Gate, Mention, Problem, Step, Variant, Workflow, is_plain, links, meant};
use crate::text::yaml::{self, Key, Node, Value};

/// Keys that note-taking programs add to every file.
const NOTES: [&str; 4] = ["tags", "permalink", "created", "modified"];

/// The workflow in `text`; `file` is what to call it in a problem, and its last part without `.md` is the id it must have.
pub fn read(file: &str, text: &str) -> Result<Workflow, Vec<Problem>> {
    let one = |line, what: &str| vec![Problem::new(file, line, what)];
    let (front, body, body_line) = split(text)
        .ok_or_else(|| one(1, "no frontmatter: the file must begin with YAML between two `---` lines"))?;
    let root = yaml::parse(front, 2).map_err(|fault| one(fault.line, &fault.what))?;
    let mut problems = Vec::new();
    let workflow = whole(file, &root, body, body_line, &mut problems);
    problems.sort();
    match workflow {
        Some(workflow) if problems.is_empty() => Ok(workflow),
        _ => Err(problems),
    }
}

fn whole(
    file: &str,
    root: &Node,
    body: &str,
    body_line: usize,
    problems: &mut Vec<Problem>,
) -> Option<Workflow> {
    let mut fields = Fields::new(file, root, "", problems)?;
    let id = fields.required("id", problems);
    check_id(file, &id, problems);
    let kind = fields.required("type", problems);
    if !kind.to.is_empty() && kind.to != "workflow" {
        problems.push(Problem::new(file, kind.line, format!("`type` must be `workflow`, not `{}`", kind.to)));
    }
    let steps = steps(file, &mut fields, problems);
    let (gates, gates_line) = gates(file, &mut fields, problems);
    let workflow = Workflow {
        id: id.to,
        title: fields.required("title", problems).to,
        category: fields.required("category", problems).to,
        dependencies: fields.list("dependencies", problems).unwrap_or_default(),
        gates,
        gates_line,
        variants: variants(file, &mut fields, &steps, problems),
        steps,
        body: body.to_owned(),
        links: links(body, body_line),
    };
    for note in NOTES {
        fields.node(note);
    }
    fields.end(problems);
    Some(workflow)
}

fn check_id(file: &str, id: &Mention, problems: &mut Vec<Problem>) {
    let name = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".md");
    if id.to.is_empty() {
        return;
    }
    if !is_plain(&id.to) {
        problems.push(Problem::new(file, id.line, plain("`id`", &id.to)));
    } else if id.to != name {
        let what = format!("`id` is `{}`, but the file's name says `{name}`", id.to);
        problems.push(Problem::new(file, id.line, what));
    }
}

/// The gates in their one order. None said is all of them: what is not waived stays.
fn gates(file: &str, fields: &mut Fields, problems: &mut Vec<Problem>) -> (Vec<Gate>, usize) {
    let line = fields.line_of("gates");
    let Some(names) = fields.list("gates", problems) else { return (Gate::ALL.to_vec(), line) };
    let mut gates = Vec::new();
    for name in names {
        match Gate::ALL.into_iter().find(|gate| gate.name() == name.to) {
            Some(gate) => gates.push(gate),
            None => {
                problems.push(Problem::new(file, name.line, unknown("gate", &name.to, &["critic", "qa"])));
            }
        }
    }
    gates.sort();
    (gates, line)
}

fn variants(file: &str, fields: &mut Fields, steps: &[Step], problems: &mut Vec<Problem>) -> Vec<Variant> {
    let pairs: &[(Key, Node)] = match fields.node("variants") {
        None => &[],
        Some(Node { value: Value::Map(pairs), .. }) => pairs,
        Some(node) => {
            let what = format!("`variants` must be a mapping, not {}", node.value.kind());
            problems.push(Problem::new(file, node.line, what));
            &[]
        }
    };
    pairs.iter().filter_map(|(key, node)| variant(file, key, node, steps, problems)).collect()
}

fn variant(
    file: &str,
    key: &Key,
    node: &Node,
    steps: &[Step],
    problems: &mut Vec<Problem>,
) -> Option<Variant> {
    if !is_plain(&key.name) {
        problems.push(Problem::new(file, key.line, plain("the variant's name", &key.name)));
    }
    let mut fields = Fields::new(file, node, &format!(" of variant `{}`", key.name), problems)?;
    let skip = fields.list("skip", problems).unwrap_or_default();
    for gone in skip.iter().filter(|gone| steps.iter().all(|step| step.id != gone.to)) {
        let near = meant(&gone.to, steps.iter().map(|step| step.id.as_str()));
        let what = format!("variant `{}` skips `{}`, which is no step here{near}", key.name, gone.to);
        problems.push(Problem::new(file, gone.line, what));
    }
    fields.end(problems);
    Some(Variant { name: key.name.clone(), skip })
}
