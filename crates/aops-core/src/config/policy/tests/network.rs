//! Tests `[network]`: what counts as a host and a port, and how it appears in a session's list.

use super::source;
use crate::config::policy::network::Network;
use crate::config::policy::{Folder, ModeLevel, Source, read, read_for};
use aops_network::list::{Mode, Pass, Refusal, Verdict, Word};
use aops_network::name::Name;

/// A project can remove hosts, ports and sockets, but add none.
pub(super) fn no_wider(new: &Network, old: &Network) -> bool {
    let within = |new: &[String], old: &[String]| new.iter().all(|name| old.contains(name));
    new.mode >= old.mode
        && within(&new.allow, &old.allow)
        && within(&old.deny, &new.deny)
        && within(&new.private, &old.private)
        && within(&new.sockets, &old.sockets)
        && new.local.iter().all(|port| old.local.contains(port))
        && new.publish == old.publish
        && (!new.derive || old.derive)
        && (new.servers || !old.servers)
        && (!new.ech || old.ech)
}

#[test]
fn a_host_is_a_name_and_never_an_address() {
    for good in ["\"a.test\"", "[\"*.A.test\", \"db.test:5432\"]", "[]"] {
        assert!(read(source(&format!("network.allow = {good}")), None).is_ok(), "{good}");
    }
    for bad in [
        "10.0.0.1", "*", "a.test:0", "a.test:99999", "https://a.test", "a b", "[::1]", "", "a..b", "a.test/x",
    ] {
        for key in ["allow", "deny", "private"] {
            let problems = read(source(&format!("network.{key} = [{bad:?}]")), None).unwrap_err();
            assert!(problems[0].to_string().contains("by its name"), "{problems:?}");
        }
    }
    for bad in ["[0]", "[65536]", "[\"5432\"]", "5432", "\"auto\"", "[-1]"] {
        assert!(read(source(&format!("network.local = {bad}")), None).is_err(), "{bad}");
    }
    assert!(read(source("network.publish = [3000, 8080]"), None).is_ok());
}

#[test]
fn the_configuration_becomes_the_list_of_a_session() {
    assert_eq!(Network::default().list(), None);
    let text = "[network]\nmode = \"ask\"\nallow = [\"*.B.test\"]\ndeny = [\"x.b.test\"]\nprivate = [\"p.test\"]\nlocal = [1, 1]\n\
                publish = \"none\"\nech = true\n";
    let (policy, _) = read(source(text), None).unwrap();
    let list = policy.network.list().unwrap();
    let name = |text: &str| Name::of(text.as_bytes()).unwrap();
    assert_eq!(list.judge(&name("a.b.test"), 443), Verdict::Pass(Pass::Listed(Word::Person)));
    assert!(matches!(list.judge(&name("x.b.test"), 443), Verdict::Refuse(_)));
    assert!(list.may_be_private(&name("p.test")) && list.ech && !list.publishes(3000));
    assert_eq!((list.mode, list.local.len()), (Mode::Ask, 1));
}

/// Later files do not change who named a host first.
#[test]
fn each_host_is_on_the_word_of_whoever_named_it_first() {
    let managed = "network.mode = \"list\"\nnetwork.allow = [\"m.test\"]\nnetwork.deny = [\"bad.test\"]\n";
    let user = "network.deny = [\"mine.test\", \"bad.test\"]\n";
    let project = "network.deny = [\"own.test\", \"mine.test\", \"bad.test\"]\n";
    let source = |text| Some(Source { file: "config.toml", text });
    let of = |managed, user| {
        let read = read_for(ModeLevel::Strict, Folder::default(), managed, user, source(project));
        read.unwrap().0.network.list().unwrap()
    };
    let name = |text: &str| Name::of(text.as_bytes()).unwrap();
    let list = of(source(managed), source(user));
    assert_eq!(list.judge(&name("m.test"), 443), Verdict::Pass(Pass::Listed(Word::Managed)));
    for (host, word) in
        [("bad.test", Word::Managed), ("mine.test", Word::Person), ("own.test", Word::Project)]
    {
        assert_eq!(list.judge(&name(host), 443), Verdict::Refuse(Refusal::Denied(word)), "{host}");
    }
    let list = of(None, source("network.mode = \"list\"\nnetwork.allow = [\"m.test\"]\n"));
    assert_eq!(list.judge(&name("m.test"), 443), Verdict::Pass(Pass::Listed(Word::Person)));
    assert_eq!(list.judge(&name("bad.test"), 443), Verdict::Refuse(Refusal::Denied(Word::Project)));
}
