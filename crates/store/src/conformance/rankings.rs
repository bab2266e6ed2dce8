//! Orders among entities.

use trackside_engine::ranking::{RankPlace as Standing, RankingIndex, RankingKey, Reranked, Weight};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

use super::sample::{key, name, projection};
use super::{Make, StorePlace};
use crate::Projection;

fn queue() -> RankingKey {
    RankingKey { lifecycle: name("t.thing"), name: name("queue") }
}

fn placed(id: &str, within: &[&str], meant_for: Option<&str>, weights: Vec<Weight>) -> Reranked {
    let place = Standing {
        within: within.iter().map(|it| name(it)).collect(),
        meant_for: meant_for.map(Name::new),
        weights: weights.into(),
        since: Timestamp(7),
    };
    Reranked::Placed { ranking: name("queue"), entity: key(&format!("t.thing/{id}")), place: Some(place) }
}

fn left(id: &str) -> Reranked {
    Reranked::Placed { ranking: name("queue"), entity: key(&format!("t.thing/{id}")), place: None }
}

fn opened(within: &[&str], open: bool) -> Reranked {
    Reranked::Opened { ranking: queue(), within: within.iter().map(|it| name(it)).collect(), open }
}

fn up(value: Value) -> Weight {
    Weight::new(&value, false)
}

fn down(value: Value) -> Weight {
    Weight::new(&value, true)
}

/// Writes these changes, one projection each list, and compares after each, and once more when opened again.
fn kept(place: &dyn StorePlace, lists: Vec<Vec<Reranked>>) -> RankingIndex {
    let mut wanted = RankingIndex::default();
    {
        let store = place.open();
        let mut projector = store.projector().unwrap();
        let mut reader = store.reader().unwrap();
        for (n, reranked) in lists.into_iter().enumerate() {
            reranked.iter().for_each(|it| wanted.change(it));
            projector.project(&Projection { reranked, ..projection(n as u64 + 1, Vec::new()) }).unwrap();
            assert_eq!(reader.ranking(&queue()).unwrap().value, wanted, "after {}", n + 1);
        }
    }
    let store = place.open();
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.ranking(&queue()).unwrap().value, wanted);
    let other = RankingKey { lifecycle: name("t.thing"), name: name("other") };
    assert_eq!(reader.ranking(&other).unwrap().value, RankingIndex::default());
    wanted
}

pub fn places_are_taken_and_left(make: Make<'_>) {
    let weights = || vec![down(Value::Float(0.1 + 0.2)), up(Value::text("\u{fc}")), up(Value::Null)];
    let ranking = kept(
        &*make(),
        vec![
            vec![
                placed("A", &["x", ""], None, vec![up(Value::Int(2))]),
                placed("B", &["x", ""], Some("ada"), vec![up(Value::Time(Timestamp(1)))]),
                placed("C", &["x", ""], Some("bob"), vec![up(Value::Bool(true))]),
                placed("D", &["y", "z"], None, weights()),
                placed("E", &["y", "z"], None, vec![up(Value::Span(Span(3)))]),
            ],
            // One moves to another order, one leaves, one takes two places one after the other.
            vec![
                placed("A", &["y", "z"], None, weights()),
                left("C"),
                placed("E", &["x", ""], None, vec![up(Value::Int(9))]),
                placed("E", &["x", ""], Some("ada"), vec![up(Value::Int(-9))]),
            ],
            vec![left("nobody"), placed("F", &[], None, Vec::new())],
        ],
    );
    assert_eq!(ranking.size(&vec![name("x"), name("")]), 2);
    assert_eq!(ranking.size(&vec![]), 1);
}

pub fn a_closed_order_stays_closed_until_it_is_empty(make: Make<'_>) {
    let one = |id: &str| placed(id, &["x"], None, vec![up(Value::Int(1))]);
    let x = || vec![name("x")];
    let ranking =
        kept(&*make(), vec![vec![one("A"), opened(&["x"], false)], vec![one("B")], vec![left("A")]]);
    assert_eq!(ranking.is_open(&x()), Some(false), "the order is not empty");
    let emptied = vec![vec![one("A"), opened(&["x"], false)], vec![left("A")], vec![one("B")]];
    assert_eq!(kept(&*make(), emptied).is_open(&x()), Some(true), "a new order is open");
    let moved_out =
        vec![vec![one("A"), opened(&["x"], false)], vec![placed("A", &["y"], None, Vec::new()), one("B")]];
    assert_eq!(kept(&*make(), moved_out).is_open(&x()), Some(true));
    let dwell_times =
        vec![vec![one("A"), opened(&["x"], false)], vec![placed("A", &["x"], None, Vec::new())]];
    assert_eq!(kept(&*make(), dwell_times).is_open(&x()), Some(false), "it was never empty");
    let reopened = vec![vec![one("A"), opened(&["x"], false)], vec![opened(&["x"], true)]];
    assert_eq!(kept(&*make(), reopened).is_open(&x()), Some(true));
    let nobody = vec![vec![opened(&["x"], false)], vec![one("A")]];
    assert_eq!(kept(&*make(), nobody).is_open(&x()), Some(true), "an empty order cannot be closed");
    let at_once = vec![vec![one("A"), opened(&["x"], false), left("A"), one("B")]];
    assert_eq!(kept(&*make(), at_once).is_open(&x()), Some(true), "one projection is as good as four");
}

pub fn a_long_order_is_read_back_as_it_was(make: Make<'_>) {
    let one = |n: i64| placed(&format!("{n}"), &["x"], None, vec![up(Value::Int(n * 7_919 % 1_009))]);
    let ranking = kept(
        &*make(),
        vec![
            (0..400).map(one).collect(),
            (0..400).filter(|it| it % 3 == 0).map(|it| left(&it.to_string())).collect(),
        ],
    );
    assert_eq!(ranking.size(&vec![name("x")]), 266);
}
