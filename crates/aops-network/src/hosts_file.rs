//! Names that this machine's own table gives to addresses (`/etc/hosts`).
//!
//! Reads that file. Why: it is asked before any name service, so a program connects to the address itself and
//! not to one that we made up for the name.

use crate::name::Name;
use std::fs::File;
use std::io::Read;
use std::net::IpAddr;

const PLACE: &str = "/etc/hosts";
/// A longer table is read up to here.
const LONGEST: u64 = 1 << 20;

/// Its names for this address; none if it cannot be read.
pub fn names_of(address: IpAddr) -> Vec<Name> {
    let mut text = Vec::new();
    let read = File::open(PLACE).and_then(|file| file.take(LONGEST).read_to_end(&mut text));
    if read.is_ok() { find(&String::from_utf8_lossy(&text), address) } else { Vec::new() }
}

fn find(table: &str, address: IpAddr) -> Vec<Name> {
    let mut found = Vec::new();
    for line in table.lines() {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        if words.next().and_then(|word| word.parse().ok()) == Some(address) {
            found.extend(words.filter_map(|word| Name::of(word.as_bytes())));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_names_of_its_lines() {
        let table = "127.0.0.1 localhost\n# 10.0.0.1 no.test\n10.0.0.1\tDB.test db # main\n10.0.0.2 x.test\n\
                     10.0.0.1 other.test bad_na$me\nfe80::1 six.test\n";
        let names = |address: &str| {
            find(table, address.parse().unwrap()).iter().map(Name::to_string).collect::<Vec<_>>()
        };
        assert_eq!(names("10.0.0.1"), ["db.test", "db", "other.test"]);
        assert_eq!(names("fe80::1"), ["six.test"]);
        assert_eq!(names("10.0.0.3"), [""; 0]);
    }
}
