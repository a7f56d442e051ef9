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
