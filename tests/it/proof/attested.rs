//! Witnesses see the log of an attested commit: the proof in its note becomes one that they signed.

use super::public_key;
use super::witness::Server;
use crate::attest::{bash, head, note, world};
use crate::support::NO_TRACKER;

#[test]
fn a_note_gets_the_proof_that_witnesses_signed() {
    let sandbox = world();
    let key = public_key(&sandbox).to_string();
    let server = Server::start(&sandbox.tmp().join("w1"), &[&key]);
    let (url, eye) = (server.url(), &server.key);
    sandbox.configure(&format!(
        "mode.level = \"guard\"\n{NO_TRACKER}\n[witness]\nattest = \"notes\"\nurl = [\"{url}\"]\nkey = [\"{eye}\"]\n"
    ));
    let session = sandbox.begun("add a greeting");
    bash(&sandbox, &session, "echo more >> README.md && git commit -qam greeting");
    let commit = head(&sandbox);
    let _ = note(&sandbox, &commit, 1);
    let _ = session.stop("done");
    let words = ["verify-commit", &commit, "--key", &key, "--witness", eye, "--require", "witnessed"];
    sandbox.wait_until("the witness signed", || sandbox.person(&words).code == Some(0));
    let lines = note(&sandbox, &commit, 1);
    assert_eq!((lines.envelopes.len(), lines.proofs.len()), (1, 1), "the proof without a witness says less");
    assert!(
        !session.folder().join("attest").read_dir().unwrap().flatten().any(|item| {
            item.path().extension().is_some_and(|ending| ending == "noted" || ending == "json")
        })
    );
    sandbox.wait_until("the refresher is gone", || sandbox.alive().is_empty());
}
