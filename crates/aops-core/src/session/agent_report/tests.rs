use super::*;
use crate::model::agent::ours;

fn flows() -> BTreeMap<String, Vec<Gate>> {
    BTreeMap::from([("feature-dev".to_owned(), Gate::ALL.to_vec())])
}

fn check(agent: &str, report: &str) -> Result<AgentReport, String> {
    read(ours(agent).unwrap(), report, &flows())
}

fn fence(block: &str) -> String {
    format!("My report.\n\n```aops\n{block}\n```\n")
}

#[test]
fn one_fence_at_the_end() {
    let ok = r#"{"verdict": "OK"}"#;
    assert!(check("custodiet", &fence(ok)).is_ok());
    assert!(check("custodiet", &format!("   ```aops\n{ok}\n   ```\n")).is_ok());
    assert!(check("custodiet", &format!("````aops\n{ok}\n````  \n\n \t")).is_ok());
    assert!(check("custodiet", &format!("```json\n{{}}\n```\n{}", fence(ok))).is_ok());
    let wrong = [
        ("", "no block"),
        ("```aops\n{\"verdict\": \"OK\"}\n", "not closed"),
        (&format!("{}and so on", fence(ok)), "follows the"),
        (&format!("{}{}", fence(ok), fence(ok)), "more than one"),
        (&fence("[]"), "one JSON object"),
        (&fence("{"), "not JSON"),
        (&format!("```json\n{ok}\n```"), "no block"),
        (&format!("```aopsx\n{ok}\n```"), "no block"),
        (&format!("    ```aops\n    {ok}\n    ```\n"), "no block"),
        (&format!("\t```aops\n\t{ok}\n\t```\n"), "no block"),
        (&format!("```aops\n{ok}\n    ```\n"), "not closed"),
        (&fence(r#"{"verdict": "BLOCK", "verdict": "OK"}"#), "`verdict` appears twice"),
        (&fence(r#"{"verdict": "OK", "more": [{"a": 1, "a": 2}]}"#), "`a` appears twice"),
        // A fence inside a longer fence is an example, not a verdict.
        (&format!("````\n{}````\n", fence(ok)), "no block"),
    ];
    for (report, why) in wrong {
        let said = check("custodiet", report).unwrap_err();
        assert!(said.contains(why), "{report:?} says {said:?}");
    }
}

#[test]
fn each_agents_form() {
    let good = [
        (
            "prompt-hydrator",
            r#"{"workflow":"feature-dev","intent":"i","task":"new","acceptance_criteria":["a"],"steps":[],"extra":1}"#,
        ),
        ("aops:critic", r#"{"verdict":"REVISE","acceptance_criteria":[],"problems":["p"]}"#),
        ("custodiet", r#"{"verdict":"BLOCK","violation":"v"}"#),
        ("qa-verifier", r#"{"verdict":"VERIFIED"}"#),
        ("qa-verifier", r#"{"verdict":"ISSUES","issues":["i"]}"#),
        (
            "framework",
            r#"{"reflection":{"request":"r","guidance_received":"g","followed":"Partial - no","outcome":"SUCCESS","accomplishment":"a","root_cause":"c","proposed_change":"p"}}"#,
        ),
    ];
    for (agent, block) in good {
        assert!(check(agent, &fence(block)).is_ok(), "{agent}: {:?}", check(agent, &fence(block)));
    }
    let bad = [
        (
            "prompt-hydrator",
            r#"{"workflow":"nope","intent":"i","task":"new","acceptance_criteria":[],"steps":[]}"#,
            "feature-dev",
        ),
        (
            "prompt-hydrator",
            r#"{"workflow":"feature-dev","intent":"i","task":"old","acceptance_criteria":[],"steps":[]}"#,
            "task",
        ),
        (
            "prompt-hydrator",
            r#"{"workflow":"feature-dev","intent":"i","task":"new","acceptance_criteria":"a","steps":[]}"#,
            "acceptance_criteria",
        ),
        ("critic", r#"{"verdict":"proceed","acceptance_criteria":[],"problems":[]}"#, "PROCEED"),
        ("critic", r#"{"verdict":"PROCEED","problems":[]}"#, "acceptance_criteria"),
        ("custodiet", r#"{"verdict":"BLOCK"}"#, "violation"),
        ("custodiet", r#"{"verdict":"BLOCK","violation":" "}"#, "violation"),
        ("qa-verifier", r#"{"verdict":"ISSUES","issues":[]}"#, "issues"),
        ("qa-verifier", r#"{"verdict":"ISSUES","issues":[1]}"#, "issues"),
        ("framework", r#"{"reflection":{"request":"r"}}"#, "guidance_received"),
        (
            "framework",
            r#"{"reflection":{"request":"r","guidance_received":"g","followed":"mostly","outcome":"success","accomplishment":"a","root_cause":"c","proposed_change":"p"}}"#,
            "followed",
        ),
    ];
    for (agent, block, why) in bad {
        let said = check(agent, &fence(block)).unwrap_err();
        assert!(said.contains(why), "{agent} {block} says {said:?}");
    }
}

#[test]
fn what_forbids_is_read_in_any_form() {
    let agent = |name: &str| crate::model::agent::ours(name).unwrap();
    let said = |name: &str, report: &str| {
        read_refusal(agent(name), report).map(|f| (f.verdict.unwrap().to_string(), f.problems.join("; ")))
    };
    let found = |verdict: &str, problem: &str| Some((verdict.to_owned(), problem.to_owned()));
    let fence = |block: &str| format!("Report.\n\n```aops\n{block}\n```\n");
    let block = r#"{"verdict": "BLOCK", "violation": "it left the plan"}"#;
    for report in [
        fence(block),
        format!("{}and more", fence(block)),
        block.to_owned(),
        fence(block) + &fence(block),
        format!("x {{ {block}"),
    ] {
        assert_eq!(said("custodiet", &report), found("BLOCK", "it left the plan"), "{report}");
    }
    let odd = r#"{"verdict" :
 "BLOCK", "violation": 7"#;
    assert!(said("custodiet", odd).is_some_and(|(verdict, _)| verdict == "BLOCK"));
    assert_eq!(said("custodiet", &fence(r#"{"verdict": "OK"}"#)), None);
    assert_eq!(said("custodiet", "nothing to BLOCK here"), None);
    assert_eq!(said("critic", r#"{"verdict": "HALT", "problems": ["no"]}"#), found("HALT", "no"));
    assert_eq!(said("qa-verifier", r#"{"verdict": "ISSUES", "issues": ["red"]}"#), found("ISSUES", "red"));
    for (name, verdict) in [("critic", "PROCEED"), ("qa-verifier", "VERIFIED"), ("qa-verifier", "BLOCK")] {
        assert_eq!(said(name, &format!(r#"{{"verdict": "{verdict}"}}"#)), None, "{name} {verdict}");
    }
    assert_eq!(said("prompt-hydrator", block), None);
}
