//! Which addresses a name may resolve to.
//!
//! Pure. Invariant: only addresses that the whole internet can reach count as public; any other needs the
//! person's permission.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// First address and prefix length of each range that contains no host on the internet.
const PRIVATE: [(Ipv4Addr, u32); 10] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    // Multicast, reserved and broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(four) => is_public_four(four),
        IpAddr::V6(six) => is_public_six(six),
    }
}

fn is_public_four(address: Ipv4Addr) -> bool {
    let bits = u32::from(address);
    !PRIVATE.iter().any(|(first, length)| bits >> (32 - length) == u32::from(*first) >> (32 - length))
}

fn is_public_six(address: Ipv6Addr) -> bool {
    match address.segments() {
        // NAT64: it leads to the IPv4 address at the end.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            is_public_four(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
        }
        // Tunnels whose other end is an IPv4 address: 6to4 and Teredo.
        [0x2002, ..] | [0x2001, 0, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_hosts_on_the_internet_are_public() {
        for text in
            ["1.1.1.1", "93.184.215.14", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "64:ff9b::101:101"]
        {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
        for text in [
            "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.0.0.1", "127.255.0.1", "169.254.169.254", "172.16.0.1",
            "172.31.255.255", "192.168.1.1", "198.18.0.1", "198.19.255.255", "224.0.0.1", "239.1.1.1",
            "240.0.0.1", "255.255.255.255", "192.0.0.1", "::", "::1", "fe80::1", "fc00::1", "fd12::1",
            "ff02::1", "::ffff:1.1.1.1", "::ffff:127.0.0.1", "2002:7f00:1::", "2001:0:1::",
            "64:ff9b::7f00:1", "64:ff9b:1::101:101", "::127.0.0.1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_the_standard_library_calls_private_is_not_public(bits in any::<u32>()) {
            let four = Ipv4Addr::from(bits);
            let known = four.is_private() || four.is_loopback() || four.is_link_local() || four.is_multicast()
                || four.is_broadcast() || four.is_unspecified();
            prop_assert!(!(known && is_public(four.into())), "{}", four);
            // Also when embedded in an IPv6 address.
            prop_assert!(!is_public(four.to_ipv6_mapped().into()));
            prop_assert!(!is_public(four.to_ipv6_compatible().into()));
        }
    }
}
