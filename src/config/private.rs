//! An address comes in; whether it leads inside goes out: to this machine, its network, or what a cloud answers only
//! to its own machines. Nothing is resolved here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address at which Azure answers its machines: the only one of its kind that lies in a public block.
const AZURE: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// Whether this address is loopback, link-local, private, shared (CGNAT), unique local, multicast, unspecified,
/// reserved, or where a cloud tells its machines their secrets. An IPv6 address that carries one of IPv4 is judged by
/// that.
pub fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    match address.octets() {
        [0 | 10 | 127, ..] | [224..=255, ..] => true,
        [100, 64..=127, ..] => true,
        [169, 254, ..] => true,
        [172, 16..=31, ..] => true,
        [192, 168, ..] | [192, 0, 0, _] => true,
        [198, 18 | 19, ..] => true,
        _ => address == AZURE,
    }
}

fn is_private_v6(address: Ipv6Addr) -> bool {
    let carried = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        is_private_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Unspecified and loopback are among these, as 0.0.0.0 and 0.0.0.1.
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] => carried(high, low),
        [0, 0, 0, 0, 0xffff, 0, high, low] => carried(high, low),
        // NAT64 and 6to4 lead to the address inside.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => carried(high, low),
        // NAT64 of a network's own, and Teredo, which hides the address.
        [0x64, 0xff9b, 1, ..] | [0x2001, 0, ..] => true,
        [first, ..] => matches!(first, 0xfc00..=0xfdff | 0xfe80..=0xfeff | 0xff00..=0xffff),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_leads_inside_is_private_however_it_is_written() {
        for address in [
            "0.0.0.0",
            "0.1.2.3",
            "10.255.0.1",
            "100.64.0.1",
            "100.100.100.200",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "168.63.129.16",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.192",
            "192.168.1.1",
            "198.19.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "::ffff:a9fe:a9fe",
            "::ffff:0:10.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b:1::8.8.8.8",
            "2001:0:53aa:64c::1",
            "2002:7f00:1::1",
            "fc00::1",
            "fd00:ec2::254",
            "fe80::1",
            "fec0::1",
            "ff02::1",
        ] {
            assert!(is_private(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn what_leads_outside_is_not() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.1",
            "100.63.255.255",
            "100.128.0.1",
            "126.0.0.1",
            "168.63.129.17",
            "169.253.0.1",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "192.167.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "::ffff:8.8.8.8",
            "64:ff9b::8.8.8.8",
            "2002:808:808::1",
            "2001:4860:4860::8888",
            "2606:4700::1111",
            "fbff::1",
        ] {
            assert!(!is_private(address.parse().unwrap()), "{address}");
        }
    }
}
