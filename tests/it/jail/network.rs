//! A session's network by host name: ways around the list, and everyday use of it.
//!
//! All but `words` run in a machine of their own, where every address is this machine and nothing can leave:
//! the tests here start them there, as a superuser and as an ordinary user.

mod asked;
mod everyday;
mod held;
mod inside;
mod observed;
mod proxied;
pub(crate) mod outside;
mod words;

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Each of them, in a machine of its own: their servers take the same ports.
const INSIDE: [&str; 39] = [
    "asked::a_host_that_a_line_was_refused_is_asked_about_the_next_time",
    "asked::a_line_with_an_unknown_host_is_not_answered_but_asked_about",
    "asked::a_line_that_names_an_unknown_host_is_asked_about_before_it_runs",
    "asked::a_persons_answer_holds_at_once_in_a_running_session",
    "asked::what_a_person_holds_is_held_at_once_in_a_running_session",
    "asked::after_a_secret_a_person_allows_a_host_again",
    "asked::after_a_secret_uploads_stay_closed_while_something_runs",
    "asked::the_danger_and_the_host_of_a_line_are_asked_about_at_once",
    "asked::a_program_outside_of_the_jail_is_asked_about_each_time",
    "asked::where_nobody_is_asked_the_end_lists_what_was_refused",
    "everyday::a_database_of_this_machine_is_reached_by_its_port",
    "everyday::package_managers_and_clients_reach_listed_hosts",
    "everyday::two_sessions_serve_at_one_port_until_each_ends",
    "held::a_line_without_a_network_reaches_no_socket_outside",
    "held::a_runs_steps_have_the_network_of_the_run",
    "held::checks_and_filters_of_git_have_the_sessions_network_or_none",
    "held::no_command_moves_a_folder_above_a_hidden_socket",
    "held::what_the_client_starts_is_held_where_that_is_wanted",
    "inside::a_list_that_changes_holds_at_once_and_a_broken_one_never",
    "inside::a_network_that_is_gone_lets_no_command_run",
    "inside::a_port_of_this_machine_that_falls_off_is_cut_off",
    "inside::a_refusal_says_host_reason_and_next_step",
    "inside::a_server_on_every_address_is_opened_on_loopback_alone",
    "inside::a_server_is_reached_by_the_next_command_and_from_outside",
    "inside::a_stopped_broker_goes_on",
    "inside::an_observer_passes_and_notes_everything",
    "inside::an_observer_passes_what_it_cannot_read",
    "inside::every_right_over_the_network_leads_nowhere_and_the_suite_finds_holes",
    "inside::everyday_programs_reach_listed_hosts_with_an_empty_environment",
    "inside::listed_hosts_are_reached_by_every_kind_of_connection",
    "inside::no_way_leads_around_the_list",
    "inside::reading_and_reviewing_use_the_same_network",
    "inside::the_suite_finds_a_socket_that_is_not_hidden",
    "inside::the_suite_finds_what_the_filter_alone_holds",
    "inside::what_was_sent_is_known_after_the_broker_was_killed",
    "inside::with_the_mode_off_there_is_nothing",
    "observed::after_a_week_what_was_seen_can_be_held",
    "proxied::a_persons_proxy_is_gone_through_by_name_and_with_the_same_list",
    "proxied::with_a_proxy_that_is_not_supported_nothing_is_reached",
];

/// Of them, those that try to get around the list: CI runs them as an ordinary user too, and leaves the others to
/// the long run.
const AROUND: [&str; 6] = [
    "held::no_command_moves_a_folder_above_a_hidden_socket",
    "inside::every_right_over_the_network_leads_nowhere_and_the_suite_finds_holes",
    "inside::no_way_leads_around_the_list",
    "inside::the_suite_finds_a_socket_that_is_not_hidden",
    "inside::the_suite_finds_what_the_filter_alone_holds",
    "inside::what_was_sent_is_known_after_the_broker_was_killed",
];

fn run_all(ordinary: bool, names: &[&str]) {
    let next = AtomicUsize::new(0);
    let run = || {
        let mine = std::iter::from_fn(|| names.get(next.fetch_add(1, Ordering::Relaxed)));
        mine.filter_map(|name| run_inside(ordinary, &format!("jail::network::{name}")))
            .collect::<Vec<String>>()
    };
    let failed: Vec<String> = std::thread::scope(|scope| {
        let both = [scope.spawn(run), scope.spawn(run)];
        both.into_iter().flat_map(|one| one.join().unwrap()).collect()
    });
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// What a test says that does not pass.
#[expect(clippy::disallowed_methods, reason = "this very program, in another machine")]
pub(crate) fn run_inside(ordinary: bool, name: &str) -> Option<String> {
    let root = rustix::process::geteuid().is_root();
    let home = tempfile::tempdir().unwrap();
    let world = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/network/world.py");
    let mut command = Command::new("unshare");
    command.arg(if root { "-mn" } else { "-Urmn" }).arg("python3").arg(world);
    match (ordinary, root) {
        (false, _) => {}
        (true, true) => {
            std::os::unix::fs::chown(home.path(), Some(65534), Some(65534)).unwrap();
            command.args(["setpriv", "--reuid=65534", "--regid=65534", "--groups=12345"]);
        }
        (true, false) => drop(command.args(["unshare", "-U", "--map-user=1000", "--map-group=1000"])),
    }
    command.arg(std::env::current_exe().unwrap());
    command.args([name, "--exact", "--ignored"]);
    command.env("HOME", home.path()).env("TMPDIR", "/tmp").env_remove("CARGO_HOME").current_dir(home.path());
    let own =
        proxied::VARIABLES.iter().find(|(test, _)| name.ends_with(test)).map(|(_, variables)| variables);
    command.envs(own.into_iter().flatten().filter(|(name, _)| !name.is_empty()).copied());
    let ran = command.output().expect("`unshare` is needed: install util-linux");
    let words = String::from_utf8_lossy(&[ran.stdout.as_slice(), &ran.stderr].concat()).into_owned();
    (!ran.status.success() || !words.contains("1 passed")).then_some(words)
}

#[test]
fn a_superuser_reaches_what_is_listed_and_nothing_else() {
    run_all(false, &INSIDE);
}

#[test]
fn an_ordinary_user_finds_no_way_around_the_list() {
    run_all(true, &AROUND);
}

#[test]
fn an_ordinary_user_reaches_what_is_listed() {
    let others: Vec<&str> = INSIDE.into_iter().filter(|name| !AROUND.contains(name)).collect();
    assert_eq!(others.len(), INSIDE.len() - AROUND.len());
    run_all(true, &others);
}

/// A test that needs a machine of its own is started in one, and nothing else starts it: not the long run, on the
/// machine as it is.
#[test]
fn each_test_that_needs_a_machine_is_started_in_one() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for item in std::fs::read_dir(here.join("tests/it/jail/network")).unwrap() {
        let path = item.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        for rest in text.split("\n#[ignore").skip(1) {
            let name = rest.split_once("\nfn ").unwrap().1.split('(').next().unwrap();
            found.push(format!("{module}::{name}"));
        }
    }
    found.sort();
    let mut known = INSIDE.map(str::to_owned);
    known.sort();
    assert_eq!(found, known);
    let long = std::fs::read_to_string(here.join("tests/long-run")).unwrap();
    assert!(long.contains(r"^jail::network::\w+::") && long.contains("--skip jail::network:: "), "{long}");
    // The ways around are tried in CI as both.
    let ci = std::fs::read_to_string(here.join(".config/nextest.toml")).unwrap();
    assert!(
        !ci.contains("jail::network::an_ordinary_user|") && !ci.contains("an_ordinary_user_finds"),
        "{ci}"
    );
}
