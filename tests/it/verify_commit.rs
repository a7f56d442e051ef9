//! `verify-commit`: what must pass and what must fail, with statements and a log made for the test.

mod forged;
mod history;
mod forges;
mod honest;
mod others;
mod pages;
mod restored;
mod second;
pub(crate) mod shop;
mod squashed;
mod ways;

use shop::Shop;

/// Each word that a program can meet is met by a case here.
#[test]
fn every_code_has_a_case() {
    let cases = [include_str!("verify_commit/honest.rs"), include_str!("verify_commit/forged.rs")].concat();
    for code in aops_attest::code::Code::ALL {
        let word = code.name();
        assert!(cases.contains(&format!(" {word}\"")) || cases.contains(&format!("\"{word}\"")), "{word}");
    }
}

/// What must pass and what must fail, by the numbers of the contract: 20 honest cases, and 35 forgeries, the last
/// on the side that attests.
#[test]
fn every_case_of_the_contract_has_a_test() {
    let honest = [
        "as_committed",
        "a_message_amended",
        "rebased_while_other_files_moved",
        "rebased_while_the_same_file_changed_elsewhere",
        "a_cherry_pick",
        "a_merge_that_adds_nothing",
        "a_squash_of_three_on_a_moved_base",
        "a_squash_where_the_base_changed_the_same_file",
        "two_sessions_in_one_commit",
        "another_clone_without_a_network",
        "the_notes_of_two_clones_merged",
        "a_mailed_patch",
        "an_unattended_run_without_a_witness",
        "a_person_who_signs",
        "committed_by_hand_with_contents_as_left",
        "attested_late",
        "the_commits_of_a_run_by_workers",
        "a_key_rotated_later",
        "a_repository_with_sha_256_ids",
        "the_notes_of_a_fork",
    ];
    assert_eq!(honest.len(), 20);
    for name in honest {
        let is_test = format!("#[test]\nfn {name}() {{");
        assert!(include_str!("verify_commit/honest.rs").contains(&is_test), "{name}");
    }
    for number in 1..=34 {
        let is_test = format!("#[test]\nfn f{number:02}_");
        assert!(include_str!("verify_commit/forged.rs").contains(&is_test), "{number}");
    }
    assert!(include_str!("attest.rs").contains("#[test]\nfn what_others_wrote_is_named() {"));
}

/// A clone on another machine has no session: nothing was verified, and that is no pass.
#[test]
fn without_a_session_git_alone_is_no_pass() {
    let shop = Shop::new();
    for words in [&["verify", "--git"][..], &["verify", "--all", "--git"]] {
        shop.sandbox.person(words).failed(3, &["nothing was verified", "verify-commit"]);
    }
    shop.git(&["notes", "--ref", "aops", "add", "-m", "words of others"]);
    let answer = shop.sandbox.person(&["verify", "--all", "--git"]);
    assert_eq!((answer.code, answer.out.contains("nothing was verified")), (Some(3), true), "{answer:#?}");
}
