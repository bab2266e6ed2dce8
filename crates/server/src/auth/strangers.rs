//! Whoever shows what is not known: each time costs a look into the store, so nobody may do it as often as they like.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};

use foldhash::fast::RandomState;

use super::rate::Bucket;

/// Most addresses that are remembered at a time.
const MOST: usize = 10_000;

/// How often which address showed something that was not known.
#[derive(Debug, Default)]
pub(crate) struct Strangers(Mutex<HashMap<IpAddr, Bucket, RandomState>>);

impl Strangers {
    /// Whether something that is not known may be looked up for this address; `rate` is how many are in a second.
    pub fn may_try(&self, peer: Option<IpAddr>, rate: u32) -> bool {
        let Some(peer) = peer else { return true };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let whose = network(peer);
        if known.len() >= MOST && !known.contains_key(&whose) {
            known.clear();
        }
        known.entry(whose).or_default().take(rate)
    }

    /// It was somebody we know: that does not count.
    pub fn was_known(&self, peer: Option<IpAddr>, rate: u32) {
        let Some(peer) = peer else { return };
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(bucket) = known.get(&network(peer)) {
            bucket.give_back(rate);
        }
    }
}

/// Whoever has one address of the sixth version has all of its network.
fn network(peer: IpAddr) -> IpAddr {
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
    fn an_address_is_bound_and_the_others_are_not() {
        let strangers = Strangers::default();
        let peer = |text: &str| Some(text.parse::<IpAddr>().unwrap());
        let tried = |text: &str| (0..50).filter(|_| strangers.may_try(peer(text), 1)).count();
        assert_eq!(tried("192.0.2.1"), 1);
        assert_eq!(tried("192.0.2.2"), 1);
        assert_eq!(tried("::ffff:192.0.2.2"), 0);
        assert_eq!((tried("2001:db8::1"), tried("2001:db8::2")), (1, 0));
        strangers.was_known(peer("192.0.2.1"), 1);
        assert_eq!(tried("192.0.2.1"), 1);
    }
}
