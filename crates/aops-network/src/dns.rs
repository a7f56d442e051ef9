//! Answers name look-ups with made-up addresses: one per name, meaningful only to this process. No other
//! resolver is asked.
//!
//! Pure. Invariants: a look-up reveals nothing to anybody, and does not fail because its name is on no list;
//! an assigned address belongs to one name at a time.

use crate::name::Name;
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// 198.18.0.0/15: reserved for benchmarks, so no host has it.
const FIRST: u32 = 0xC612_0000;
/// Names at a time; the oldest is dropped for a new one.
const MOST_NAMES: usize = 1 << 14;
const LONGEST_QUERY: usize = 512;
const HEADER: usize = 12;
const SECONDS: [u8; 4] = [0, 0, 0, 60];
const ADDRESS: u16 = 1;
const INTERNET: u16 = 1;

/// Which made-up address leads to which name.
#[derive(Default)]
pub struct Names {
    by_name: HashMap<Name, usize>,
    all: Vec<Name>,
    next: usize,
}

impl Names {
    pub fn address_of(&mut self, name: &Name) -> Ipv4Addr {
        let at = match self.by_name.get(name) {
            Some(at) => *at,
            None => self.add(name.clone()),
        };
        // Skip the very first address, which is that of the range itself.
        Ipv4Addr::from(FIRST + 1 + u32::try_from(at).unwrap_or(0))
    }

    fn add(&mut self, name: Name) -> usize {
        let at = self.next;
        self.next = (at + 1) % MOST_NAMES;
        self.by_name.insert(name.clone(), at);
        if at < self.all.len() {
            let old = std::mem::replace(&mut self.all[at], name);
            self.by_name.remove(&old);
        } else {
            self.all.push(name);
        }
        at
    }

    pub fn name_at(&self, address: Ipv4Addr) -> Option<&Name> {
        let at = u32::from(address).checked_sub(FIRST + 1)?;
        self.all.get(usize::try_from(at).ok()?)
    }
}

/// The result code for a resolver; `0` means success.
#[derive(Clone, Copy)]
enum Code {
    Well = 0,
    BadForm = 1,
    NoSuchName = 3,
    NotDone = 4,
    Refused = 5,
}

/// The answer to a query; `None` if it is not a query.
pub fn answer(query: &[u8], names: &mut Names) -> Option<Vec<u8>> {
    let is_query = query.len() >= HEADER && query.len() <= LONGEST_QUERY && query[2] & 0x80 == 0;
    if !is_query {
        return None;
    }
    if query[2] & 0x78 != 0 {
        return Some(reply(query, &[], Code::NotDone, None));
    }
    let question = (query[4..6] == [0, 1]).then(|| question(&query[HEADER..])).flatten();
    let Some(Question { name, kind, class, length }) = question else {
        return Some(reply(query, &[], Code::BadForm, None));
    };
    let asked = &query[HEADER..HEADER + length];
    Some(match (name, class) {
        (_, class) if class != INTERNET => reply(query, asked, Code::Refused, None),
        (None, _) => reply(query, asked, Code::NoSuchName, None),
        (Some(name), _) if kind == ADDRESS => reply(query, asked, Code::Well, Some(lead(&name, names))),
        // The name exists, but has no record of this kind: no IPv6, no connection hints.
        (Some(_), _) => reply(query, asked, Code::Well, None),
    })
}

/// This machine's own name resolves to the loopback inside.
fn lead(name: &Name, names: &mut Names) -> Ipv4Addr {
    let own = name.as_str() == "localhost" || name.as_str().ends_with(".localhost");
    if own { Ipv4Addr::LOCALHOST } else { names.address_of(name) }
}

struct Question {
    /// `None` for an invalid name.
    name: Option<Name>,
    kind: u16,
    class: u16,
    length: usize,
}

fn question(bytes: &[u8]) -> Option<Question> {
    let mut text = Vec::new();
    let mut at = 0;
    loop {
        let length = usize::from(*bytes.get(at)?);
        at += 1;
        // A compression pointer has higher bits.
        match length {
            0 => break,
            1..=63 if text.len() < 256 => {
                let label = bytes.get(at..at + length)?;
                // A dot inside of a label would split it into two.
                text.extend(label.iter().map(|byte| if *byte == b'.' { 0 } else { *byte }));
                text.push(b'.');
                at += length;
            }
            _ => return None,
        }
    }
    let &[a, b, c, d] = bytes.get(at..at + 4)? else { return None };
    let kind = u16::from_be_bytes([a, b]);
    let class = u16::from_be_bytes([c, d]);
    Some(Question { name: Name::of(&text), kind, class, length: at + 4 })
}

fn reply(query: &[u8], question: &[u8], code: Code, address: Option<Ipv4Addr>) -> Vec<u8> {
    let mut said = query[..2].to_vec();
    // Header flags of an answer: recursion desired as in the query, recursion available.
    said.extend([0x80 | query[2] & 0x01, 0x80 | code as u8]);
    said.extend([0, u8::from(!question.is_empty()), 0, u8::from(address.is_some()), 0, 0, 0, 0]);
    said.extend_from_slice(question);
    if let Some(address) = address {
        // For the name in the question.
        said.extend([0xc0, 12, 0, 1, 0, 1]);
        said.extend(SECONDS);
        said.extend([0, 4]);
        said.extend(address.octets());
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn query(name: &[u8], kind: u16) -> Vec<u8> {
        let labels = name.split(|byte| *byte == b'.').filter(|label| !label.is_empty());
        let labels: Vec<u8> =
            labels.flat_map(|label| [&[u8::try_from(label.len()).unwrap()], label].concat()).collect();
        [&[0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], &labels, &[0], &kind.to_be_bytes(), &[0, 1]]
            .concat()
    }

    fn address(said: &[u8]) -> Ipv4Addr {
        Ipv4Addr::from(<[u8; 4]>::try_from(&said[said.len() - 4..]).unwrap())
    }

    #[test]
    fn each_name_has_an_address_of_its_own() {
        let mut names = Names::default();
        let first = answer(&query(b"Tls.test", 1), &mut names).unwrap();
        assert_eq!(first[..12], [0x12, 0x34, 0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
        // The question is repeated in its original spelling.
        assert!(first.windows(4).any(|part| part == b"\x03Tls"));
        assert_eq!(address(&first), Ipv4Addr::new(198, 18, 0, 1));
        assert_eq!(
            address(&answer(&query(b"evil.test", 1), &mut names).unwrap()),
            Ipv4Addr::new(198, 18, 0, 2)
        );
        assert_eq!(
            answer(&query(b"tls.test", 1), &mut names).map(|said| address(&said)),
            Some(address(&first))
        );
        assert_eq!(names.name_at(address(&first)).unwrap().as_str(), "tls.test");
        for other in ["198.18.0.0", "198.18.0.3", "198.17.255.255", "0.0.0.0", "255.255.255.255"] {
            assert_eq!(names.name_at(other.parse().unwrap()), None, "{other}");
        }
        for own in [&b"localhost"[..], b"app.localhost"] {
            assert_eq!(address(&answer(&query(own, 1), &mut names).unwrap()), Ipv4Addr::LOCALHOST);
        }
    }

    #[test]
    fn there_is_nothing_but_addresses_of_the_old_kind() {
        for kind in [28, 65, 33, 16, 15, 12, 255] {
            let said = answer(&query(b"tls.test", kind), &mut Names::default()).unwrap();
            assert_eq!(said[2..8], [0x81, 0x80, 0, 1, 0, 0], "{kind}");
        }
    }

    #[test]
    fn what_is_no_name_or_no_query_gets_no_address() {
        let mut names = Names::default();
        for name in [&b"127.0.0.1"[..], b"evil.test\0", b"a b.test", b""] {
            let said = answer(&query(name, 1), &mut names).unwrap();
            assert_eq!((said[3], said[7]), (0x83, 0), "{name:?}");
        }
        let dotted = [&query(b"a", 1)[..12], b"\x05a.tls\x04test\0\0\x01\0\x01"].concat();
        assert_eq!(answer(&dotted, &mut names).unwrap()[3], 0x83);
        let pointer = [&query(b"a", 1)[..12], b"\xc0\x0c\0\x01\0\x01"].concat();
        assert_eq!(answer(&pointer, &mut names).unwrap()[3], 0x81);
        let chaos = [&query(b"a", 1)[..12], b"\x01a\0\0\x01\0\x03"].concat();
        assert_eq!(answer(&chaos, &mut names).unwrap()[3], 0x85);
        let mut two = query(b"a.test", 1);
        two[5] = 2;
        assert_eq!(answer(&two, &mut names).unwrap()[3], 0x81);
        let mut update = query(b"a.test", 1);
        update[2] = 5 << 3;
        assert_eq!(answer(&update, &mut names).unwrap()[3], 0x84);
        let mut said = query(b"a.test", 1);
        said[2] |= 0x80;
        assert_eq!(answer(&said, &mut names), None, "an answer is not answered");
        assert_eq!(answer(&query(b"a.test", 1)[..11], &mut names), None);
        assert!(names.all.is_empty());
    }

    #[test]
    fn the_oldest_name_makes_room() {
        let mut names = Names::default();
        let name = |n: usize| Name::of(format!("n{n}.test").as_bytes()).unwrap();
        for n in 0..=MOST_NAMES {
            names.address_of(&name(n));
        }
        assert_eq!(names.name_at(Ipv4Addr::new(198, 18, 0, 1)), Some(&name(MOST_NAMES)));
        assert_eq!(names.name_at(Ipv4Addr::new(198, 18, 0, 2)), Some(&name(1)));
        assert_eq!((names.all.len(), names.by_name.len()), (MOST_NAMES, MOST_NAMES));
        let again = names.address_of(&name(0));
        assert_eq!(names.name_at(again), Some(&name(0)));
    }

    proptest! {
        #[test]
        fn any_bytes_get_a_small_answer_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut names = Names::default();
            if let Some(said) = answer(&bytes, &mut names) {
                prop_assert!(said.len() <= LONGEST_QUERY + 16 && said[..2] == bytes[..2] && said[2] & 0x80 != 0);
            }
        }

        #[test]
        fn a_name_is_found_by_its_address(all in proptest::collection::vec("[a-z]{1,10}\\.test", 1..20)) {
            let mut names = Names::default();
            for text in &all {
                let said = answer(&query(text.as_bytes(), 1), &mut names).unwrap();
                prop_assert_eq!(names.name_at(address(&said)).unwrap().as_str(), text);
            }
        }
    }
}
