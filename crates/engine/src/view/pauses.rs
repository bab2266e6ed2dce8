//! Times in which the server's loop did not run.

use trackside_lifecycle::time::{Span, Timestamp};

/// Most pauses that are kept apart.
const MOST: usize = 64;

/// Pauses of the server's loop, in order. Leases do not count them: no holder could renew a lease meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pauses {
    /// The end and the length of each.
    ended: Vec<(Timestamp, Span)>,
}

impl Pauses {
    pub fn add(&mut self, end: Timestamp, length: Span) {
        self.ended.push((end, length));
        if self.ended.len() > MOST {
            // The two oldest become one, in favour of the holders.
            let (_, oldest) = self.ended.remove(0);
            if let Some((_, length)) = self.ended.first_mut() {
                length.0 = length.0.saturating_add(oldest.0);
            }
        }
    }

    pub fn clear(&mut self) {
        self.ended.clear();
    }

    /// The length of all pauses since a moment at which the loop ran.
    pub fn since(&self, moment: Timestamp) -> Span {
        let later = self.ended.iter().filter(|(end, _)| *end > moment);
        Span(later.fold(0, |sum, (_, length)| sum.saturating_add(length.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_since_a_moment_are_summed_and_bounded() {
        let mut pauses = Pauses::default();
        pauses.add(Timestamp(10_000), Span(3_000));
        pauses.add(Timestamp(20_000), Span(2_000));
        assert_eq!(pauses.since(Timestamp(5_000)), Span(5_000));
        assert_eq!(pauses.since(Timestamp(10_000)), Span(2_000));
        assert_eq!(pauses.since(Timestamp(20_000)), Span(0));
        for n in 0..200 {
            pauses.add(Timestamp(30_000 + n), Span(1));
        }
        assert!(pauses.ended.len() <= MOST);
        assert_eq!(pauses.since(Timestamp(5_000)), Span(5_200));
    }
}
