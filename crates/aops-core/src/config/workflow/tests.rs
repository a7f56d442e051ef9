//! Tests with tables: one line of the frontmatter is changed, and the messages are compared.

use super::*;

/// A complete workflow with these lines in its frontmatter.
fn flow(id: &str, more: &str, steps: &str, body: &str) -> String {
    format!("---\nid: {id}\ntitle: T\ntype: workflow\ncategory: test\n{more}steps:\n{steps}---\n{body}")
}

const ONE: &str = "  - {id: a, name: A, description: d}\n";

fn problems(text: &str) -> Vec<String> {
    read("x.md", text).unwrap_err().iter().map(ToString::to_string).collect()
}

fn good(text: &str) -> Workflow {
    read("x.md", text).unwrap_or_else(|problems| panic!("{problems:?}\n{text}"))
}

#[test]
fn what_is_wrong_in_one_file() {
    let cases: &[(&str, &str, &str)] = &[
        ("gate: [critic]\n", ONE, "x.md:6: unknown key `gate`; did you mean `gates`?"),
        ("gates: [critic, quality]\n", ONE, "x.md:6: unknown gate `quality`; known are critic, qa"),
        ("gates: qa\n", ONE, "x.md:6: `gates` must be a list, not a text"),
        ("gates: [qa, qa]\n", ONE, "x.md:6: `gates` has `qa` twice"),
        ("gates:\n  - critic\n  - [qa]\n", ONE, "x.md:8: `gates` must hold texts, not a list"),
        ("", "", "x.md:2: `steps` is missing or empty"),
        ("", "  a: b\n", "x.md:7: `steps` must be a list, not a mapping"),
        ("", "  - one\n", "x.md:7: expected a mapping of step 1, found a text"),
        ("", "  - {name: A, description: d}\n", "x.md:7: `id` of step 1 is missing"),
        ("", "  - {id: a, description: d}\n", "x.md:7: `name` of step `a` is missing"),
        ("", "  - {id: a, name: A}\n", "x.md:7: `description` of step `a` is missing"),
        ("", "  - {id: a, name: '', description: d}\n", "x.md:7: `name` of step `a` is empty"),
        (
            "",
            "  - {id: a, name: [b], description: d}\n",
            "x.md:7: `name` of step `a` must be a text, not a list",
        ),
        (
            "",
            "  - {id: A b, name: A, description: d}\n",
            "x.md:7: step id `A b` must be of lower-case letters, digits and `-`, at most 64",
        ),
        (
            "",
            "  - {id: a, name: A, description: d, need: [b]}\n",
            "x.md:7: unknown key `need` of step `a`; did you mean `needs`?",
        ),
        (
            "",
            "  - {id: a, name: A, description: d, needs: [b]}\n",
            "x.md:7: step `a` needs `b`, which is not a step here",
        ),
        (
            "",
            "  - {id: a, name: A, description: d, phase: testing}\n",
            "x.md:7: unknown phase `testing`; known are hydrate, review, execute, verify, intervene, reflect, close",
        ),
        (
            "",
            "  - {id: a, name: A, description: d, run: ls, agent: critic}\n",
            "x.md:7: step `a` has `run`, so it can have no `agent`, `tools` or `model`",
        ),
        ("variants: {ml: {skip: [b]}}\n", ONE, "x.md:6: variant `ml` skips `b`, which is not a step here"),
        (
            "variants: {ml: {skips: []}}\n",
            ONE,
            "x.md:6: unknown key `skips` of variant `ml`; did you mean `skip`?",
        ),
        ("variants: [ml]\n", ONE, "x.md:6: `variants` must be a mapping, not a list"),
    ];
    for (more, steps, wanted) in cases {
        assert_eq!(problems(&flow("x", more, steps, "")), [*wanted], "{more}{steps}");
    }
}

#[test]
fn what_is_wrong_with_a_whole_file() {
    let whole = flow("x", "", ONE, "");
    let cases = [
        (whole.replace("id: x", "id: y"), "x.md:2: `id` is `y`, but the file's name says `x`"),
        (
            whole.replace("id: x", "id: X y"),
            "x.md:2: `id` `X y` must be of lower-case letters, digits and `-`, at most 64",
        ),
        (whole.replace("type: workflow", "type: note"), "x.md:4: `type` must be `workflow`, not `note`"),
        (whole.replace("title: T\n", ""), "x.md:2: `title` is missing"),
        (whole.replace("title: T\n", "title:\n"), "x.md:2: `title` is missing"),
        (
            "# Just text\n".to_owned(),
            "x.md:1: no frontmatter: the file must begin with YAML between two `---` lines",
        ),
        (
            "---\nid: x\n".to_owned(),
            "x.md:1: no frontmatter: the file must begin with YAML between two `---` lines",
        ),
        ("---\n---\n".to_owned(), "x.md:2: there is nothing here"),
        ("---\n- a\n---\n".to_owned(), "x.md:2: expected a mapping, found a list"),
    ];
    for (text, wanted) in cases {
        assert_eq!(problems(&text), [wanted], "{text}");
    }
}

#[test]
fn everything_wrong_is_told_at_once_in_order() {
    let steps =
        "  - {id: a, name: A, description: d, needs: [zz]}\n  - {id: a, name: A, description: d, x: 1}\n";
    let text = flow("other", "colour: red\n", steps, "");
    let wanted = [
        "x.md:2: `id` is `other`, but the file's name says `x`",
        "x.md:6: unknown key `colour`",
        "x.md:8: step `a` needs `zz`, which is not a step here",
        "x.md:9: step `a` appears twice",
        "x.md:9: unknown key `x` of step `a`",
    ];
    assert_eq!(problems(&text), wanted);
}

#[test]
fn steps_in_a_ring_are_named() {
    let step =
        |id: &str, needs: &str| format!("  - {{id: {id}, name: N, description: d, needs: [{needs}]}}\n");
    let ring = [step("a", "d"), step("b", "a, c"), step("c", "e"), step("d", ""), step("e", "b")].concat();
    let wanted = "x.md:8: steps need each other in a ring: b -> c -> e -> b";
    assert_eq!(problems(&flow("x", "", &ring, "")), [wanted]);
    assert_eq!(
        problems(&flow("x", "", &step("a", "a"), "")),
        ["x.md:7: steps need each other in a ring: a -> a"]
    );
}

#[test]
fn no_more_steps_than_anybody_walks() {
    let steps = |n: usize| {
        (0..n).map(|n| format!("  - {{id: s{n}, name: N, description: d}}\n")).collect::<Vec<_>>().concat()
    };
    assert_eq!(good(&flow("x", "", &steps(100), "")).steps.len(), 100);
    let wanted = "x.md:107: more than 100 steps: cut the workflow in parts that contain each other";
    assert_eq!(problems(&flow("x", "", &steps(101), "")), [wanted]);
}

#[test]
fn gates_not_said_are_all_gates() {
    assert_eq!(good(&flow("x", "", ONE, "")).gates, Gate::ALL);
    assert_eq!(good(&flow("x", "gates:\n", ONE, "")).gates, Gate::ALL);
    assert_eq!(good(&flow("x", "gates: []\n", ONE, "")).gates, []);
    assert_eq!(good(&flow("x", "gates: [qa, critic]\n", ONE, "")).gates, Gate::ALL);
}

#[test]
fn line_ends_and_marks_of_other_systems() {
    let text = format!("\u{feff}{}", flow("x", "gates: [qa]\n", ONE, "[[y]]\n").replace('\n', "\r\n"));
    let workflow = good(&text);
    assert_eq!((workflow.gates, workflow.links[0].line), (vec![Gate::Qa], 10));
    assert_eq!(workflow.title, "T");
}

#[test]
fn notes_of_other_programs_are_left_alone() {
    good(&flow("x", "tags: [a]\npermalink: p/x\ncreated: 2026-01-01\nmodified:\n", ONE, ""));
}

#[test]
fn walked_in_one_order() {
    let step =
        |id: &str, needs: &str| format!("  - {{id: {id}, name: N, description: d, needs: [{needs}]}}\n");
    let steps = [step("last", "b, a"), step("b", ""), step("c", ""), step("a", "c")].concat();
    let workflow = good(&flow("x", "", &steps, ""));
    let order: Vec<_> = workflow.order().iter().map(|step| step.id.as_str()).collect();
    assert_eq!(order, ["b", "c", "a", "last"]);
}

#[test]
fn a_variant_hands_needs_on() {
    let step =
        |id: &str, needs: &str| format!("  - {{id: {id}, name: N, description: d, needs: [{needs}]}}\n");
    let steps = [step("a", ""), step("b", "a"), step("c", "b"), step("d", "a, c, b")].concat();
    let workflow = good(&flow("x", "variants: {ml: {skip: [b, c]}, all: {}}\n", &steps, ""));
    let needs = |workflow: &Workflow| -> Vec<String> {
        let of = |step: &Step| step.needs.iter().map(|need| need.to.as_str()).collect::<Vec<_>>().join(",");
        workflow.steps.iter().map(|step| format!("{}:{}", step.id, of(step))).collect()
    };
    assert_eq!(needs(&workflow.variant("ml").unwrap()), ["a:", "d:a"]);
    assert_eq!(workflow.variant("all").as_ref(), Some(&workflow));
    assert_eq!(workflow.variant("web"), None);
}

fn held(id: &str, more: &str, body: &str) -> Held {
    let file = format!("{id}.md");
    let workflow = read(&file, &flow(id, more, ONE, body)).unwrap();
    Held { file, workflow, owed: Vec::new() }
}

fn together(held: Vec<Held>) -> Vec<String> {
    let agents = BTreeSet::from(["critic".to_owned()]);
    Catalogue::new(held, ["broken".to_owned()]).problems(&agents).iter().map(ToString::to_string).collect()
}

#[test]
fn links_that_lead_nowhere() {
    let body = "\n[[two]] and [[nowhere]] and [[broken]]\n`[[example]]`\n";
    let found = together(vec![held("one", "dependencies: [three]\n", body), held("two", "", "")]);
    let wanted = [
        "one.md:6: dangling dependency `three`: there is no such workflow",
        "one.md:11: dangling link `[[nowhere]]`: there is no such workflow",
    ];
    assert_eq!(found, wanted);
    let found = together(vec![held("one", "", "[[tow]]"), held("two", "", "")]);
    assert_eq!(found, ["one.md:9: dangling link `[[tow]]`: there is no such workflow; did you mean `two`?"]);
}

#[test]
fn rings_are_named_once_and_begin_with_the_first_id() {
    let ring = || vec![held("c", "", "[[a]]"), held("a", "", "[[b]]"), held("b", "", "\n\n[[c]]")];
    let wanted = "a.md:9: workflows contain each other in a ring: a -> b -> c -> a";
    assert_eq!(together(ring()), [wanted]);
    let mut backwards = ring();
    backwards.reverse();
    assert_eq!(together(backwards), [wanted]);
    assert_eq!(
        together(vec![held("a", "", "[[a]]")]),
        ["a.md:9: workflows contain each other in a ring: a -> a"]
    );
    let by_step = read("a.md", &flow("a", "", "  - {id: s, name: N, description: d, workflow: b}\n", ""));
    let by_step = Held { file: "a.md".to_owned(), workflow: by_step.unwrap(), owed: Vec::new() };
    let found = together(vec![by_step, held("b", "dependencies: [a]\n", "")]);
    assert_eq!(found, ["a.md:7: workflows contain each other in a ring: a -> b -> a"]);
}

#[test]
fn agents_and_steps_that_do_not_exist() {
    let steps = "  - {id: s, name: N, description: d, agent: critik, workflow: none}\n";
    let workflow = read("a.md", &flow("a", "", steps, "")).unwrap();
    let found = together(vec![Held { file: "a.md".to_owned(), workflow, owed: Vec::new() }]);
    let wanted = [
        "a.md:7: dangling `workflow` of a step, `none`: there is no such workflow",
        "a.md:7: step `s` names the agent `critik`, which does not exist; did you mean `critic`?",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn gates_may_be_added_not_dropped() {
    let with = |gates: &str, owed: &[Gate]| {
        let mut held = held("a", &format!("dependencies: []\ngates: [{gates}]\n"), "");
        held.owed = owed.to_vec();
        together(vec![held])
    };
    assert_eq!(with("critic, qa", &[Gate::Qa]), [""; 0]);
    assert_eq!(with("", &[]), [""; 0]);
    assert_eq!(
        with("critic", &[Gate::Qa]),
        ["a.md:7: a project's `a` may add gates, not drop any: `qa` is missing from `gates`"]
    );
    assert_eq!(with("", &Gate::ALL).len(), 2);
}

#[test]
fn contained_once_depth_first_by_first_mention() {
    let held = [
        held("top", "dependencies: [b, a]\n", "[[c]]"),
        held("a", "", "[[d]]"),
        held("b", "", "[[d]] [[a]]"),
        held("c", "", ""),
        held("d", "", ""),
    ];
    let catalogue = Catalogue::new(held, []);
    let of = |id: &str| -> Vec<&str> {
        catalogue.contained(id).iter().map(|held| held.workflow.id.as_str()).collect()
    };
    assert_eq!(of("top"), ["b", "d", "a", "c"]);
    assert_eq!(of("d"), [""; 0]);
    assert_eq!(of("none"), [""; 0]);
}

fn found(text: &str) -> Vec<(String, usize)> {
    links(text, 1).into_iter().map(|mention| (mention.to, mention.line)).collect()
}

#[test]
fn links_and_what_only_looks_like_one() {
    let cases: [(&str, &[(&str, usize)]); 10] = [
        ("see [[a]] and [[b|the b]]\n[[c#part]]", &[("a", 1), ("b", 1), ("c", 2)]),
        ("`[[a]]` but [[b]]", &[("b", 1)]),
        ("``[[a]] ` [[b]]`` [[c]]", &[("c", 1)]),
        ("a lone ` and [[b]]", &[("b", 1)]),
        ("```\n[[a]]\n```\n[[b]]", &[("b", 4)]),
        ("~~~~ md\n~~~\n[[a]]\n~~~~~\n[[b]]", &[("b", 5)]),
        ("```\n[[a]]\n``` x\n[[b]]", &[]),
        ("```a``` [[b]]", &[("b", 1)]),
        ("[a][b] [[ spaced ]] [[]] [[open", &[("spaced", 1), ("", 1)]),
        ("[[[a]] [[b]c]] [[d", &[("a", 1)]),
    ];
    for (text, wanted) in cases {
        let wanted: Vec<_> = wanted.iter().map(|(to, line)| ((*to).to_owned(), *line)).collect();
        assert_eq!(found(text), wanted, "{text:?}");
    }
}

#[test]
fn pieces_make_the_text_again() {
    let text = "a [[b|the b]] `[[c]]`\n```\n[[d]]\n```\n[[e]]s\n";
    let shown = |piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Link { to, label, line } => format!("<{to} {label} {line}>"),
    };
    let whole: String = pieces(text, 1).into_iter().map(shown).collect();
    assert_eq!(whole, "a <b the b 1> `[[c]]`\n```\n[[d]]\n```\n<e e 5>s\n");
}
