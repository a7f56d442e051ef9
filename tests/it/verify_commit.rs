//! `verify-commit`: what must pass and what must fail, with statements and a log made for the test.

mod forged;
mod honest;
mod others;
mod pages;
mod second;
mod shop;

use shop::Shop;

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
