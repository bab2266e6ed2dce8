//! Which layer each box goes into: below everything that leads to it, and close to what it is joined with.

use super::Plan;
use super::table::Table;

/// Rounds of pulling boxes towards their neighbours. It settles long before.
const ROUNDS: usize = 64;

pub(super) fn ranks(plan: &Plan) -> Table<usize> {
    let count = plan.boxes.len();
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by_key(|it| (plan.before(*it), *it));
    let mut above: Table<Vec<(usize, i64)>> = Table::filled(count, Vec::new());
    let mut below: Table<Vec<(usize, i64)>> = Table::filled(count, Vec::new());
    for link in &plan.links {
        let (top, bottom, rising) = plan.ends(link);
        // What runs upwards may be long; the main way should not be.
        let weight = if link.main {
            8
        } else if rising {
            1
        } else {
            2
        };
        above.push(bottom, (top, weight));
        below.push(top, (bottom, weight));
    }
    let mut ranks: Table<usize> = Table::filled(count, 0);
    for n in &order {
        let least = above.row(*n).iter().map(|(it, _)| ranks.at(*it) + 1).max().unwrap_or(0);
        ranks.put(*n, least);
    }
    for _ in 0..ROUNDS {
        let mut moved = false;
        for n in order.iter().rev().chain(&order) {
            let lowest = above.row(*n).iter().map(|(it, _)| ranks.at(*it) + 1).max();
            let highest = below.row(*n).iter().map(|(it, _)| ranks.at(*it).saturating_sub(1)).min();
            let pull = |all: &[(usize, i64)]| all.iter().map(|(_, weight)| weight).sum::<i64>();
            let down = pull(below.row(*n)) > pull(above.row(*n));
            let best = match (lowest, highest) {
                (Some(_), Some(highest)) if down => highest,
                (None, Some(highest)) => highest,
                (Some(lowest), _) => lowest,
                (None, None) => 0,
            };
            moved |= best != ranks.at(*n);
            ranks.put(*n, best);
        }
        if !moved {
            break;
        }
    }
    let least = (0..count).map(|it| ranks.at(it)).min().unwrap_or(0);
    for n in 0..count {
        ranks.put(n, ranks.at(n) - least);
    }
    ranks
}
