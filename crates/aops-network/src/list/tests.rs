use super::*;
use proptest::prelude::*;

fn list(text: &str) -> List {
    List::parse(text).unwrap()
}

fn judge(list: &List, host: &str, port: u16) -> Verdict {
    list.judge(&Name::of(host.as_bytes()).unwrap(), port)
}

const NOT_LISTED: Verdict = Verdict::Refuse(Refusal::NotListed);

#[test]
fn a_host_is_reached_at_the_usual_ports_or_at_those_that_are_named() {
    let list =
        list("mode list\nallow a.test person\nallow db.test:5432 derived\nallow *.wide.test managed\n");
    for port in USUAL_PORTS {
        assert_eq!(judge(&list, "a.test", port), Verdict::Pass(Pass::Listed(Word::Person)));
        assert_eq!(judge(&list, "x.y.wide.test", port), Verdict::Pass(Pass::Listed(Word::Managed)));
    }
    assert_eq!(judge(&list, "db.test", 5432), Verdict::Pass(Pass::Listed(Word::Derived)));
    assert_eq!(judge(&list, "db.test", 443), Verdict::Refuse(Refusal::OtherPort));
    assert_eq!(judge(&list, "a.test", 8443), Verdict::Refuse(Refusal::OtherPort));
    for host in ["b.test", "wide.test", "ba.test", "a.test.evil.test", "x.a.test", "evilwide.test", "test"] {
        assert_eq!(judge(&list, host, 443), NOT_LISTED, "{host}");
    }
    assert_eq!(list.ports(), [22, 80, 443, 5432].into());
}

#[test]
fn what_is_denied_is_denied_whoever_allows_it() {
    let list = list(
        "mode ask\nallow *.test person\nallow gist.test person\ndeny gist.test project\ndeny b.test:22 managed\n",
    );
    for port in [22, 80, 443, 5000] {
        assert_eq!(judge(&list, "gist.test", port), Verdict::Refuse(Refusal::Denied(Word::Project)));
    }
    assert_eq!(judge(&list, "b.test", 22), Verdict::Refuse(Refusal::Denied(Word::Managed)));
    assert_eq!(judge(&list, "b.test", 443), Verdict::Pass(Pass::Listed(Word::Person)));
}

#[test]
fn an_observer_passes_everything_private_ones_too() {
    let list = list("mode observe\nallow a.test person\ndeny b.test person\n");
    assert_eq!(judge(&list, "a.test", 443), Verdict::Pass(Pass::Listed(Word::Person)));
    for host in ["b.test", "c.test"] {
        assert_eq!(judge(&list, host, 443), Verdict::Pass(Pass::Observed), "{host}");
    }
    assert!(list.may_be_private(&Name::of(b"c.test").unwrap()));
}

#[test]
fn private_local_and_published() {
    let list = list("mode list\nprivate *.corp.test\nlocal 5432\nlocal 443\npublish 3000 80\nech\n");
    let private = |host: &str| list.may_be_private(&Name::of(host.as_bytes()).unwrap());
    assert!(private("git.corp.test") && !private("corp.test") && !private("evil.test"));
    assert!(list.publishes(3000) && !list.publishes(80) && !list.publishes(3001));
    assert_eq!(list.ports(), USUAL_PORTS.into());
    assert!(list.ech);
    let closed = super::List::parse("mode list\npublish none\n").unwrap();
    assert!(!closed.publishes(3000));
}

#[test]
fn a_text_that_is_not_understood_is_no_list() {
    for text in [
        "",
        "allow a.test person\n",
        "mode off\n",
        "mode list\nallow a.test\n",
        "mode list\nallow a.test  person\n",
        "mode list\nallow * person\n",
        "mode list\nallow 1.2.3.4 person\n",
        "mode list\nallow a.test:0 person\n",
        "mode list\nallow *.*.test person\n",
        "mode list\nlocal x\n",
        "mode list\npublish\n",
        "mode list\npublish a\n",
        "mode list\nallowed a.test person\n",
        "mode list\nallow a.test nobody\n",
        "mode list\nech yes\n",
        "mode list\nprivate a b\n",
    ] {
        assert!(List::parse(text).is_err(), "{text:?}");
    }
    let why = List::parse("mode list\nallow \u{7}a person\n").unwrap_err().to_string();
    assert_eq!(why, "line 2 is not a rule: `allow \\u{7}a person`");
}

fn pattern() -> impl Strategy<Value = Pattern> {
    ("[a-z0-9_-]{1,9}(\\.[a-z][a-z0-9]{0,5}){1,3}", any::<bool>(), proptest::option::of(1..=u16::MAX))
        .prop_map(|(name, below, port)| Pattern { name: Name::of(name.as_bytes()).unwrap(), below, port })
}

fn word() -> impl Strategy<Value = Word> {
    proptest::sample::select(Word::ALL.map(|(word, _)| word).to_vec())
}

prop_compose! {
    fn any_list()(
        mode in proptest::sample::select(Mode::ALL.map(|(mode, _)| mode).to_vec()),
        allow in proptest::collection::vec((pattern(), word()), 0..5),
        deny in proptest::collection::vec((pattern(), word()), 0..5),
        private in proptest::collection::vec(pattern(), 0..3),
        local in proptest::collection::btree_set(1..=u16::MAX, 0..3),
        only in proptest::option::of(proptest::collection::btree_set(1..=u16::MAX, 1..3)),
        closed in any::<bool>(),
        ech in any::<bool>(),
    ) -> List {
        let publish = match (only, closed) {
            (Some(ports), _) => Publish::Only(ports),
            (None, true) => Publish::None,
            (None, false) => Publish::Auto,
        };
        List { mode, allow, deny, private, local, publish, ech, guarded: !ech }
    }
}

proptest! {
    #[test]
    fn the_text_of_a_list_is_read_back_as_the_same(list in any_list()) {
        prop_assert_eq!(List::parse(&list.to_string()), Ok(list));
    }

    #[test]
    fn denying_more_never_passes_more(list in any_list(), more in pattern(), port in 1..=u16::MAX) {
        let name = list.allow.first().map_or(&more.name, |(pattern, _)| &pattern.name).clone();
        let mut stricter = list.clone();
        stricter.deny.push((more, Word::Project));
        let passes = |list: &List| matches!(list.judge(&name, port), Verdict::Pass(_));
        prop_assert!(passes(&list) || !passes(&stricter));
        stricter.mode = Mode::List;
        prop_assert!(passes(&list) || !passes(&stricter));
    }

    #[test]
    fn any_text_is_a_list_or_none(text in "(mode list\n)?([a-z]{0,7} [ -~]{0,20}\n){0,4}") {
        let _ = List::parse(&text);
    }
}

/// Hosts that accept uploads from anybody need approval again; the repository's remote and registries stay
/// allowed.
#[test]
fn after_a_secret_hosts_that_take_uploads_need_a_person_again() {
    let text = "mode list\nallow gist.github.com person\nallow github.com remote\nallow registry.npmjs.org built-in\n\
                allow transfer.sh session\n";
    let mut list = List::parse(text).unwrap();
    let verdict = |list: &List, host: &str| list.judge(&Name::of(host.as_bytes()).unwrap(), 443);
    assert!(matches!(verdict(&list, "transfer.sh"), Verdict::Pass(_)));
    list.guard();
    assert_eq!(verdict(&list, "gist.github.com"), Verdict::Refuse(Refusal::AfterSecret));
    assert_eq!(
        verdict(&list, "transfer.sh"),
        Verdict::Refuse(Refusal::NotListed),
        "that yes came before the secret"
    );
    for host in ["github.com", "registry.npmjs.org"] {
        assert!(matches!(verdict(&list, host), Verdict::Pass(_)), "{host}");
    }
    assert_eq!(List::parse(&list.to_string()), Ok(list.clone()));
    // A person's answer after that counts.
    list.allow.push((Pattern::of("gist.github.com").unwrap(), Word::Session));
    assert!(matches!(verdict(&list, "gist.github.com"), Verdict::Pass(_)));
    assert!(
        Refusal::is_open_in_words(&Refusal::AfterSecret.to_string())
            && !Refusal::Denied(Word::Person).is_open()
    );
}
