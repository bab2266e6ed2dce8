//! A rate limit per address for unknown tokens. Requests with a valid token do not count and are never limited by it.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;

use super::token_bucket::TokenBucket;

/// Most addresses that are tracked at a time.
const MOST: usize = 10_000;

/// A token bucket per address.
#[derive(Debug, Default)]
pub(crate) struct UnknownTokenLimiter(Mutex<HashMap<IpAddr, TokenBucket, RandomState>>);

impl UnknownTokenLimiter {
    /// Counts an unknown token of this address. Returns whether it is within the rate, which is per second.
    pub fn count(&self, peer: Option<IpAddr>, rate: u32) -> bool {
        let Some(peer) = peer else { return true };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let whose = network(peer);
        if known.len() >= MOST && !known.contains_key(&whose) {
            known.clear();
        }
        known.entry(whose).or_default().take(rate, 1).is_ok()
    }
}

/// The IPv6 network of an address: a client usually has all of it.
pub(super) fn network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V6(it) if it.to_ipv4_mapped().is_none() => {
            IpAddr::V6(Ipv6Addr::from_bits(it.to_bits() & !u128::from(u64::MAX)))
        }
        other => other.to_canonical(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_limited_and_others_are_not() {
        let strangers = UnknownTokenLimiter::default();
        let peer = |text: &str| Some(text.parse::<IpAddr>().unwrap());
        let tried = |text: &str| (0..50).filter(|_| strangers.count(peer(text), 1)).count();
        assert_eq!(tried("192.0.2.1"), 1);
        assert_eq!(tried("192.0.2.2"), 1);
        assert_eq!(tried("::ffff:192.0.2.2"), 0);
        assert_eq!((tried("2001:db8::1"), tried("2001:db8::2")), (1, 0));
    }
}
