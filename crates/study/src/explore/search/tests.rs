//! Two jugs and a river: small worlds whose sizes are known.

use super::*;

/// A jug of five and one of three.
struct Jugs;

impl Model for Jugs {
    type World = (u8, u8);
    type Move = &'static str;

    fn starts(&self) -> Vec<(u8, u8)> {
        vec![(0, 0)]
    }

    fn key(&self, (a, b): &(u8, u8)) -> u128 {
        u128::from(*a) << 8 | u128::from(*b)
    }

    fn moves(&self, &(a, b): &(u8, u8), into: &mut Vec<(&'static str, (u8, u8))>) {
        let poured = a.min(3 - b);
        let back = b.min(5 - a);
        into.extend([
            ("fill a", (5, b)),
            ("fill b", (a, 3)),
            ("empty a", (0, b)),
            ("empty b", (a, 0)),
            ("a to b", (a - poured, b + poured)),
            ("b to a", (a + back, b - back)),
        ]);
    }
}

struct Four;

impl Watch<Jugs> for Four {
    fn start(&self, _: &(u8, u8)) -> Vec<u32> {
        Vec::new()
    }

    fn marks(&self, _: &(u8, u8), by: &&'static str, after: &(u8, u8), _: bool) -> Vec<u32> {
        let mut marks = Vec::new();
        if after.0 == 4 {
            marks.push(4);
        }
        if *by == "empty b" && after.0 == 5 {
            marks.push(9);
        }
        marks
    }
}

const WIDE: SearchBound = SearchBound { worlds: 1_000, depth: 1_000 };

#[test]
fn the_shortest_way_is_found_on_any_number_of_cores() {
    for threads in [1, 2, 3] {
        let found = search(&Jugs, &Four, &WIDE, threads);
        assert_eq!((found.progress.worlds, found.stopped), (16, Stopped::Exhausted));
        let (start, steps) = found.path(&Jugs, 4).unwrap();
        assert_eq!(start, (0, 0));
        let said: Vec<&str> = steps.iter().map(|it| it.by).collect();
        assert_eq!(said, ["fill a", "a to b", "empty b", "a to b", "fill a", "a to b"]);
        // A move back to a known world has marks, too.
        assert_eq!(found.path(&Jugs, 9).unwrap().1.len(), 2);
        assert!(found.path(&Jugs, 5).is_none());
    }
}

#[test]
fn a_bound_is_respected_and_reported() {
    let found = search(&Jugs, &Four, &SearchBound { worlds: 5, depth: 1_000 }, 2);
    assert_eq!(found.stopped, Stopped::Worlds);
    assert!((5..=10).contains(&found.progress.worlds));
    let found = search(&Jugs, &Four, &SearchBound { worlds: 1_000, depth: 3 }, 2);
    assert_eq!((found.stopped, found.progress.depth), (Stopped::Depth, 3));
    assert!(found.path(&Jugs, 4).is_none());
}
