use super::*;

fn network(modes: &[(u64, NetworkMode)], commands: &[(Hold, Profile)]) -> String {
    let networks = modes.iter().map(|(seq, what)| At { seq: *seq, what: *what }).collect();
    let commands =
        commands.iter().map(|(hold, profile)| At { seq: 9, what: (*hold, *profile, false) }).collect();
    let story = Story { commands, networks, ..Story::default() };
    Summary { story: &story, from: 5 }.jail().1.unwrap().network
}

#[test]
fn the_network_is_named_by_the_mode_that_held_every_command() {
    use NetworkMode::{List, Observe, Off};
    let work = (Hold::Namespaces, Profile::Work);
    assert_eq!(network(&[(1, Off)], &[work]), "open");
    assert_eq!(network(&[(1, List)], &[work]), "list");
    assert_eq!(network(&[(1, Off), (4, List)], &[work]), "list", "what held before the span does not count");
    assert_eq!(network(&[(1, List), (7, Observe)], &[work]), "observe", "the weakest of the span");
    assert_eq!(network(&[(1, List)], &[work, (Hold::Words, Profile::None)]), "open", "one that nothing held");
    assert_eq!(network(&[(1, List)], &[(Hold::Namespaces, Profile::Trial)]), "none");
}
