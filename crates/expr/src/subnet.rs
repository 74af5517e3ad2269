//! Networks of addresses as httpd writes them: `10`, `10.1.0.0/16`, `10.0.0.0/255.0.0.0`,
//! `fe80::/10` (APR's `apr_ipsubnet_create` and `apr_ipsubnet_test`).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use core::str::{self, FromStr};

/// An address and how much of it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subnet {
    /// IPv4: the network and its mask.
    V4(u32, u32),
    /// IPv6: the network and its mask.
    V6(u128, u128),
}

impl Subnet {
    /// Reads `address`, `address/mask` or the beginning of an IPv4 address. The mask is a number of
    /// bits or, for IPv4, an address. `None` when it is nothing of that, a host name too.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        let (address, mask) = match text.split_once('/') {
            Some((address, mask)) => (address, Some(mask)),
            None => (text, None),
        };
        let subnet = if address.contains(':') { v6(address)? } else { v4(address)? };
        match mask {
            Some(mask) if is_whole(address) => subnet.with_mask(mask),
            // Half an address has said how much of it counts.
            Some(_) => None,
            None => Some(subnet.normal()),
        }
    }

    /// Whether the address is in it. An IPv4 address within IPv6 counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        match (*self, address.to_canonical()) {
            (Self::V4(network, mask), IpAddr::V4(address)) => u32::from(address) & mask == network,
            (Self::V6(network, mask), IpAddr::V6(address)) => u128::from(address) & mask == network,
            _ => false,
        }
    }

    fn with_mask(self, mask: &str) -> Option<Self> {
        let bits = bits(mask);
        let subnet = match (self, bits) {
            (Self::V4(network, _), Some(bits @ 1..=32)) => {
                Self::V4(network, u32::MAX << (32 - bits))
            }
            (Self::V4(network, _), _) => Self::V4(network, Ipv4Addr::from_str(mask).ok()?.into()),
            (Self::V6(network, _), Some(bits @ 1..=128)) => {
                Self::V6(network, u128::MAX << (128 - bits))
            }
            (Self::V6(..), _) => return None,
        };
        Some(subnet.normal())
    }

    /// Without the bits that do not count.
    fn normal(self) -> Self {
        match self {
            Self::V4(network, mask) => Self::V4(network & mask, mask),
            Self::V6(network, mask) => Self::V6(network & mask, mask),
        }
    }
}

/// A number as `strtol` reads it: spaces and a sign may stand before it.
fn bits(mask: &str) -> Option<u32> {
    let digits = mask.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    digits.strip_prefix('+').unwrap_or(digits).parse().ok()
}

fn v6(address: &str) -> Option<Subnet> {
    let address = Ipv6Addr::from_str(address).ok()?;
    // An IPv4 network has to be written as one: nothing would match it otherwise.
    address.to_ipv4_mapped().is_none().then(|| Subnet::V6(address.into(), u128::MAX))
}

/// The longest beginning of an address that is read.
const V4_MAX_BYTES: usize = "255.255.255.255".len();

/// Not just the beginning of an IPv4 address.
fn is_whole(address: &str) -> bool {
    address.contains(':') || address.matches('.').count() == 3 && !address.ends_with('.')
}

/// One to four numbers; the numbers that are there make the mask. `10.` is `10`.
fn v4(address: &str) -> Option<Subnet> {
    if !is_whole(address) && address.len() > V4_MAX_BYTES {
        return None;
    }
    let address = address.strip_suffix('.').unwrap_or(address);
    let (mut network, mut mask, mut shift) = (0u32, 0u32, 32u32);
    for octet in address.split('.') {
        let is_number = octet.bytes().all(|byte| byte.is_ascii_digit());
        let octet: u8 = octet.parse().ok().filter(|_| is_number)?;
        shift = shift.checked_sub(8)?;
        network |= u32::from(octet) << shift;
        mask |= 0xff << shift;
    }
    Some(Subnet::V4(network, mask))
}
