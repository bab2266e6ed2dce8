//! The tables of a query with `groups`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use trackside_lifecycle::model::Query;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

/// Most rows of one table: those with the largest counts.
const ROWS: usize = 1_000;

/// The values of one entity, or of one element of its list, in one table.
#[derive(Clone, Debug)]
pub struct GroupedValues {
    /// The place of the table in the query.
    pub table: usize,
    pub by: Vec<Value>,
    pub measured: Vec<Option<f64>>,
}

/// The rows of the tables so far.
#[derive(Debug, Default)]
pub struct GroupedRows {
    /// By table and by the JSON of the values.
    rows: BTreeMap<(usize, String), GroupedRow>,
}

#[derive(Debug, Default)]
struct GroupedRow {
    by: Vec<Value>,
    count: i64,
    measured: Vec<Vec<f64>>,
}

impl GroupedRows {
    pub fn add(&mut self, query: &Query, found: Vec<GroupedValues>) {
        for it in found {
            let Some(table) = query.groups.get(it.table) else { continue };
            let key = Value::list(it.by.clone()).to_json().to_string();
            let row = self.rows.entry((it.table, key)).or_insert_with(|| GroupedRow {
                by: it.by,
                count: 0,
                measured: vec![Vec::new(); table.measure.len()],
            });
            row.count += 1;
            for (all, value) in row.measured.iter_mut().zip(it.measured) {
                all.extend(value);
            }
        }
    }

    /// The tables by name, each with the largest counts first.
    pub fn finish(self, query: &Query) -> Vec<(Name, Value)> {
        let mut tables: Vec<Vec<(String, GroupedRow)>> = query.groups.iter().map(|_| Vec::new()).collect();
        for ((place, key), row) in self.rows {
            if let Some(table) = tables.get_mut(place) {
                table.push((key, row));
            }
        }
        let answers = query.groups.iter().zip(tables).map(|(table, mut rows)| {
            rows.sort_by(|(a, x), (b, y)| (Reverse(x.count), a).cmp(&(Reverse(y.count), b)));
            rows.truncate(ROWS);
            let rows = rows.into_iter().map(|(_, row)| {
                let names = table.by.iter().map(|(name, _)| name.clone());
                let mut columns: BTreeMap<Name, Value> = names.zip(row.by).collect();
                columns.insert(Name::new("count"), Value::Int(row.count));
                for ((name, _), all) in table.measure.iter().zip(row.measured) {
                    columns.insert(name.clone(), spread(all));
                }
                Value::map(columns)
            });
            (table.name.clone(), Value::list(rows.collect()))
        });
        answers.collect()
    }
}

/// Min, mean, median and max of numbers; null if there are none.
fn spread(mut all: Vec<f64>) -> Value {
    all.sort_by(f64::total_cmp);
    let (Some(min), Some(max)) = (all.first().copied(), all.last().copied()) else { return Value::Null };
    let middle = all.len() / 2;
    let upper = all.get(middle).copied().unwrap_or(max);
    let lower =
        if all.len().is_multiple_of(2) { all.get(middle - 1).copied().unwrap_or(upper) } else { upper };
    let mean = all.iter().sum::<f64>() / all.len() as f64;
    let rounded = |it: f64| Value::Float((it * 1e6).round() / 1e6);
    let median = lower + (upper - lower) / 2.0;
    let columns = [("min", min), ("mean", mean), ("median", median), ("max", max)];
    Value::map(columns.into_iter().map(|(name, it)| (Name::new(name), rounded(it))).collect())
}
