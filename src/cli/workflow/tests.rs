//! Complete drawings, compared exactly.

use super::boxes::{self, Slot};
use super::graph;
use aops_core::config::texts::{ASSETS, Kind};
use aops_core::config::workflow::{Workflow, read};

fn shipped(id: &str) -> Workflow {
    let asset = ASSETS.iter().find(|asset| asset.kind() == Kind::Workflow && asset.id() == id).unwrap();
    read(asset.path, asset.text).unwrap()
}

/// Lines that skip rows and cross, a step without neighbours, a text that tries to break out of its label.
fn knotty() -> Workflow {
    let step =
        |id: &str, name: &str, more: &str| format!("  - {{id: {id}, name: {name}, description: d{more}}}\n");
    let steps = [
        step("a", "Freeze", ""),
        step("b", "'<Build> & \"sign\"'", ", needs: [a], run: make a-very-long-target of-the-dist"),
        step("c", "Sign", ", needs: [b], phase: verify"),
        step("d", "Notes", ", needs: [a], phase: execute"),
        step("e", "Upload", ", needs: [c, a]"),
        step("f", "Announce", ", needs: [d, e]"),
        step("g", "\"Ar\\e[31mchive\"", ", needs: [d, c]"),
        step("h", "Alone", ""),
    ];
    let text = format!(
        "---\nid: x\ntitle: 'A \"knot\" <b>'\ntype: workflow\ncategory: t\ngates: []\nsteps:\n{}---\n",
        steps.concat()
    );
    read("x.md", &text).unwrap()
}

fn drawn(workflow: &Workflow) -> String {
    let line = |(label, line): (String, String)| format!("{}\n", format!("{label}{line}").trim_end());
    boxes::draw(workflow).lines().map(line).collect()
}

#[test]
fn boxes_of_a_chain_and_of_a_graph() {
    insta::assert_snapshot!("boxes-feature-dev", drawn(&shipped("feature-dev")));
    insta::assert_snapshot!("boxes-project-webapp", drawn(&shipped("project").variant("webapp").unwrap()));
    insta::assert_snapshot!("boxes-knotty", drawn(&knotty()));
}

#[test]
fn dot_and_mermaid() {
    insta::assert_snapshot!("dot-project", graph::dot(&shipped("project")));
    insta::assert_snapshot!("mermaid-project", graph::mermaid(&shipped("project")));
    insta::assert_snapshot!("dot-knotty", graph::dot(&knotty()));
    insta::assert_snapshot!("mermaid-knotty", graph::mermaid(&knotty()));
}

#[test]
fn a_drawing_is_as_wide_as_it_says_and_ours_fit_a_small_terminal() {
    let ours: Vec<_> = ASSETS
        .iter()
        .filter(|asset| asset.kind() == Kind::Workflow)
        .map(|asset| shipped(asset.id()))
        .collect();
    for workflow in ours.iter().chain([&knotty()]) {
        let drawing = boxes::draw(workflow);
        let widest = drawing.lines().map(|(label, line)| label.chars().count() + line.chars().count()).max();
        assert_eq!(widest, Some(drawing.width()), "{}", workflow.id);
        assert!(drawing.width() <= 80 || workflow.id == "x", "`{}` is {} wide", workflow.id, drawing.width());
    }
}

#[test]
fn every_line_of_a_drawing_goes_one_row_down() {
    let step =
        |id: &str, needs: &str| format!("  - {{id: {id}, name: N, description: d, needs: [{needs}]}}\n");
    let steps =
        [step("a", ""), step("b", "a"), step("c", "b"), step("d", "a"), step("e", "c, d, a")].concat();
    let text = format!("---\nid: x\ntitle: T\ntype: workflow\ncategory: t\nsteps:\n{steps}---\n");
    let layout = boxes::Layout::of(&read("x.md", &text).unwrap());
    let pass = Slot::Pass(3, 4);
    let rows = [
        vec![Slot::Step(0)],
        vec![Slot::Step(1), Slot::Step(3)],
        vec![Slot::Step(2), pass],
        vec![Slot::Step(4)],
    ];
    assert_eq!(layout.rows, rows);
    assert_eq!(layout.lines, [vec![(0, 0), (0, 1)], vec![(0, 0), (1, 1)], vec![(0, 0), (1, 0)]]);
}

#[test]
fn rows_of_the_canonical_phase_graph() {
    let project = shipped("project");
    let rows = |workflow: &Workflow| -> Vec<String> {
        let name = |slot: &Slot| match slot {
            Slot::Step(step) => workflow.steps[*step].id.clone(),
            Slot::Pass(..) => "|".to_owned(),
        };
        boxes::Layout::of(workflow)
            .rows
            .iter()
            .map(|row| row.iter().map(name).collect::<Vec<_>>().join(" "))
            .collect()
    };
    let wanted = [
        "intake", "planning", "data arch security", "consensus-plan", "development", "qa", "consensus-build",
        "docs review hygiene", "complete",
    ];
    assert_eq!(rows(&project), wanted);
    for (variant, row) in [
        ("analytics", "data arch"),
        ("ml", "data arch security"),
        ("webapp", "arch security"),
        ("optimization", "data arch security"),
    ] {
        assert_eq!(rows(&project.variant(variant).unwrap())[2], row, "{variant}");
    }
}
