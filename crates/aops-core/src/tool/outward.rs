//! Which danger rule the name of an MCP tool meets: it merges, deploys, publishes or deletes what others use.
//!
//! Reads nothing, writes nothing. Invariants: a name that only reads meets none; the verb is the first word
//! of the name or its last, and what it acts on is near it.

use super::table::{begins_with_verb, looks, words};

/// What it acts on is one of so many words after a verb, or any word before it.
const NEAR: usize = 2;

/// Rule, verbs, and what they act on; an empty list is anything.
#[rustfmt::skip]
const ACTS: &[(&str, &[&str], &[&str])] = &[
    ("forge-merge", &["accept", "merge"], &["branch", "branches", "mergerequest", "mr", "pr", "pull", "pullrequest"]),
    ("repo-delete", &["archive", "delete", "destroy", "remove", "transfer"], &[
        "org", "organization", "release", "repo", "repos", "repositories", "repository",
    ]),
    ("git-delete-remote", &["delete", "remove"], &["branch", "branches"]),
    ("workflow-run", &["dispatch", "run", "trigger"], &["pipeline", "workflow"]),
    ("infra-destroy", &["apply", "destroy"], &["infrastructure", "pulumi", "stack", "terraform", "tofu"]),
    ("cluster-delete", &["delete", "drain", "uninstall"], &["cluster", "deployment", "helm", "kubectl", "namespace", "pod"]),
    ("cloud-delete", &["delete", "terminate"], &["bucket", "instances", "vm"]),
    ("database-drop", &["drop"], &["collection", "database", "schema", "table"]),
    ("publish-package", &["publish"], &["crate", "gem", "npm", "package"]),
    ("publish-release", &["apply", "install", "rollback", "upgrade"], &["helm", "kubectl", "kubernetes", "manifest"]),
    ("publish-release", &["deploy", "promote", "publish", "redeploy"], &[]),
    ("publish-release", &["apply", "push", "release", "send", "ship", "sync", "upload"], &["prod", "production"]),
];

/// The danger rule that an MCP tool of this name meets.
pub(super) fn rule_of(name: &str) -> Option<&'static str> {
    if !name.starts_with("mcp__") || looks(name) {
        return None;
    }
    let words = joined(words(name));
    let first = words.first()?;
    let last = words.last()?;
    let is = |known: &[&str], word: &String| known.contains(&word.as_str());
    let any = |known: &[&str], near: &[String]| known.is_empty() || near.iter().any(|word| is(known, word));
    let meets = |verbs: &[&str], things: &[&str]| {
        let behind = &words[1..words.len().min(1 + NEAR)];
        let before = &words[..words.len() - 1];
        is(verbs, first) && any(things, behind)
            || is(verbs, last) && !begins_with_verb(before) && any(things, before)
    };
    ACTS.iter().find(|(_, verbs, things)| meets(verbs, things)).map(|(rule, ..)| *rule)
}

/// `merge_request` is what GitLab calls a pull request, not an act.
fn joined(words: Vec<String>) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for word in words {
        match all.last_mut() {
            Some(before) if before == "merge" && word.starts_with("request") => {
                "mergerequest".clone_into(before);
            }
            _ => all.push(word),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_that_others_see() {
        for (name, rule) in [
            ("github__merge_pull_request", "forge-merge"),
            ("github__mergeBranch", "forge-merge"),
            ("gitlab__accept_merge_request", "forge-merge"),
            ("gitlab__merge_merge_request", "forge-merge"),
            ("forge__pull_request_merge", "forge-merge"),
            ("github__delete_repository", "repo-delete"),
            ("github__archive-repo", "repo-delete"),
            ("github__delete_branch", "git-delete-remote"),
            ("forge__delete_remote_branch", "git-delete-remote"),
            ("github__run_workflow", "workflow-run"),
            ("gitlab__trigger_pipeline", "workflow-run"),
            ("infra__terraform_apply", "infra-destroy"),
            ("k8s__kubectl_delete", "cluster-delete"),
            ("k8s__delete_namespace", "cluster-delete"),
            ("k8s__kubectl_apply", "publish-release"),
            ("k8s__install_helm_chart", "publish-release"),
            ("aws__delete_bucket", "cloud-delete"),
            ("mongo__drop_collection", "database-drop"),
            ("npm__publish_package", "publish-package"),
            ("npm__publish", "publish-release"),
            ("vercel__deploy_to_vercel", "publish-release"),
            ("netlify__site_deploy", "publish-release"),
            ("ci__send_to_production", "publish-release"),
        ] {
            assert_eq!(rule_of(&format!("mcp__{name}")), Some(rule), "{name}");
        }
    }

    #[test]
    fn other_tools_meet_no_rule() {
        for name in [
            "github__create_pull_request",
            "github__get_merge_status",
            "github__list_branches",
            "github__create_branch",
            "github__create_issue",
            "github__push_files",
            "github__delete_file",
            "github__remove_label_from_repo",
            "gitlab__create_merge_request",
            "gitlab__merge_request_approve",
            "gitlab__get_merge_request",
            "pdf__merge_files",
            "pdf__merge",
            "vercel__list_deployments",
            "vercel__get_deploy",
            "vercel__cancel_deploy",
            "slack__send_message",
            "fs__delete_file",
            "fs__apply_patch",
            "memory__delete",
            "notes__delete_tag",
            "browser__run_script",
            "db__query",
            "npm__install",
            "x__run",
        ] {
            assert_eq!(rule_of(&format!("mcp__{name}")), None, "{name}");
        }
        assert_eq!(rule_of("merge_pull_request"), None, "not of a server");
    }
}
