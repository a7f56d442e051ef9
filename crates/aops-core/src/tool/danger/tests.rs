//! Tests the corpora of dangerous and harmless lines, and tools that are not shells.

use super::*;
use aops_shell::syntax::cut;
use std::fmt::Write as _;

fn ground(variables: &[(String, String)]) -> Ground<'_> {
    Ground { cwd: "/home/u/proj", home: "/home/u", variables }
}

fn found(line: &str) -> Vec<&'static str> {
    let variables = [("CLAUDE_PROJECT_DIR".to_owned(), "/home/u/proj".to_owned())];
    let ground = ground(&variables);
    let line = cut(&line.replace('␤', "\n"), &ground);
    of("Bash", "{}", Some(&line), &ground, None).into_iter().map(|danger| danger.rule.id()).collect()
}

fn rows(corpus: &'static str) -> Vec<&'static str> {
    corpus.lines().filter(|row| !row.starts_with("# ") && !row.is_empty()).collect()
}

/// The share in thousandths, rounded down.
fn share(part: usize, whole: usize) -> usize {
    part * 1000 / whole.max(1)
}

#[test]
fn secret_files_are_known_by_their_names() {
    let secret = "/a/.env .env.local prod.env .env-prod /h/.ssh/id_rsa /h/.ssh/work /h/.ssh id_rsa.bak deploy_rsa x.pem a/b.key \
        x.p12 /h/.aws/credentials /h/.aws/config /h/.kube/config gcp-credentials.json my-service-account.json secrets.properties \
        app-adminsdk-x.json .npmrc .netrc /etc/shadow /proc/1/environ terraform.tfvars .secrets a.p8 /H/.SSH/ID_RSA";
    let plain = "/a/.env.example .env.sample .env.d.ts env.rs /h/.ssh/id_rsa.pub /h/.ssh/config /h/.ssh/known_hosts ca.pem \
        cert.pem public.pem tests/fixtures/a.pem src/credentials.rs credentials.md secrets.example.yml keys.ts token.rs /etc/passwd \
        package.json a.b environment.yml .envrc.example src/secrets.rs /h/.config/app/config.json";
    let of = |names: &'static str| names.split_whitespace();
    assert_eq!(of(secret).filter(|name| !is_secret(name)).collect::<Vec<_>>(), Vec::<&str>::new());
    assert_eq!(of(plain).filter(|name| is_secret(name)).collect::<Vec<_>>(), Vec::<&str>::new());
}

#[test]
fn the_corpora_hold_their_rates() {
    let destructive = rows(include_str!("../../../../../tests/fixtures/danger/destructive.txt"));
    let harmless = rows(include_str!("../../../../../tests/fixtures/danger/harmless.txt"));
    let mut words = String::new();
    let mut stopped = 0;
    let mut named = 0;
    let mut passed = 0;
    for row in &destructive {
        let (wanted, line) = row.split_once('\t').expect(row);
        assert!(rule(wanted).is_some(), "no rule `{wanted}`: {row}");
        let said = found(line);
        stopped += usize::from(!said.is_empty());
        named += usize::from(said.contains(&wanted));
        if !said.contains(&wanted) {
            writeln!(words, "wanted {wanted}, found {said:?}: {line}").unwrap();
        }
    }
    for line in &harmless {
        let said = found(line.trim_start());
        passed += usize::from(said.is_empty());
        if !said.is_empty() {
            writeln!(words, "harmless, found {said:?}: {line}").unwrap();
        }
    }
    println!(
        "{words}{} destructive, {stopped} stopped, {named} by their rule; {} harmless, {passed} passed",
        destructive.len(),
        harmless.len()
    );
    assert!(destructive.len() >= 600 && harmless.len() >= 600, "{} {}", destructive.len(), harmless.len());
    assert!(share(stopped, destructive.len()) >= 995 && share(named, destructive.len()) >= 990, "{words}");
    assert!(share(passed, harmless.len()) >= 995, "{words}");
}

/// Git and GNU programs accept a long option that is cut short, wherever it stands.
#[test]
fn an_option_cut_short_is_the_option() {
    const PROGRAMS: &str = "chmod chown cp crontab dd env find flock git gpg grep install kill ln losetup ls mkfs mv nice \
        pkill rm script sed setsid shred sort split stdbuf su tail tar tee timeout truncate umount wget wipefs";
    let is_gnu = |line: &str| PROGRAMS.split_whitespace().any(|name| line.split(' ').next() == Some(name));
    let destructive = rows(include_str!("../../../../../tests/fixtures/danger/destructive.txt"));
    let lines = destructive.iter().filter_map(|row| row.split_once('\t')).filter(|(_, line)| is_gnu(line));
    let mut missed = String::new();
    for (_, line) in lines.filter(|(_, line)| !found(line).is_empty()) {
        for (at, _) in line.match_indices(" --") {
            let name = &line[at + 3..];
            let end = name.find(|c: char| !(c.is_ascii_lowercase() || c == '-')).unwrap_or(name.len());
            // Three options of a push begin like `--force`.
            for cut in (3..end).filter(|cut| !(name.starts_with("for") && *cut < 4)) {
                let short = format!("{}{}", &line[..at + 3 + cut], &name[end..]);
                if found(&short).is_empty() {
                    writeln!(missed, "{short}").unwrap();
                }
            }
        }
    }
    assert!(missed.is_empty(), "{missed}");
}

/// A command given as a list of words, or with separate arguments, counts as the resulting line.
#[test]
fn words_of_a_tool_are_a_line() {
    let found = |input: &str| -> Vec<&str> {
        of("mcp__sh__run", input, None, &ground(&[]), None)
            .into_iter()
            .map(|danger| danger.rule.id())
            .collect()
    };
    for (input, rule) in [
        (r#"{"command":["git","reset","--hard"]}"#, "git-discard"),
        (r#"{"command":"git","args":["reset","--hard"]}"#, "git-discard"),
        (r#"{"command":"rm","args":["-rf","src"]}"#, "rm-source"),
        (r#"{"command":["terraform","destroy"]}"#, "infra-destroy"),
        (r#"{"program":"kubectl","arguments":["delete","ns","prod"]}"#, "cluster-delete"),
        (r#"{"cmd":["git","push","--force"]}"#, "git-force-push"),
        (r#"{"argv":["git","push","--force"]}"#, "git-force-push"),
        (r#"{"run":{"exec":"bash","params":["-c","git reset --hard"]}}"#, "git-discard"),
    ] {
        assert!(found(input).contains(&rule), "{input}: {:?}", found(input));
    }
    for input in [r#"{"command":["git","status"]}"#, r#"{"command":"echo","args":["git reset --hard"]}"#] {
        assert_eq!(found(input), Vec::<&str>::new(), "{input}");
    }
}

/// A search shows the content of what its pattern matches, also of what was saved before a command removed
/// it.
#[test]
fn a_search_for_secrets_is_a_look_at_them() {
    let found = |tool: &str, input: &str| of(tool, input, None, &ground(&[]), None).len();
    for (tool, input) in [
        ("Grep", r#"{"pattern":"KEY","glob":".env*"}"#),
        ("Grep", r#"{"pattern":"KEY","glob":"**/*.pem"}"#),
        ("Grep", r#"{"pattern":"KEY","path":"/home/u/proj/.claude/checkpoints"}"#),
        ("Grep", r#"{"pattern":"KEY","path":".claude/checkpoints/"}"#),
        ("mcp__fs__search_files", r#"{"path":"/home/u/proj/.claude/checkpoints","pattern":"KEY"}"#),
        ("mcp__fs__search_files", r#"{"path":".","pattern":".env*"}"#),
    ] {
        assert_eq!(found(tool, input), 1, "{tool} {input}");
    }
    for (tool, input) in [
        ("Grep", r#"{"pattern":"KEY","glob":"*.ts"}"#),
        ("Grep", r#"{"pattern":"KEY","glob":"**/*","path":".claude"}"#),
        ("mcp__fs__search_files", r#"{"path":".","pattern":"**/*.rs"}"#),
        ("mcp__fs__search_files", r#"{"path":".claude","pattern":"*"}"#),
    ] {
        assert_eq!(found(tool, input), 0, "{tool} {input}");
    }
}
