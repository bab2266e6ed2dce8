//! The tables of the documents that the packs implement, row by row, against the packs.
//!
//! `PACK.yaml` beside this file is a transcript of the tables of one document. Every row has the number of its line
//! in that document, and `ruling` where Trackside differs from the line on purpose. The rows become scenarios in
//! memory, and the ordinary runner plays them.
//!
//! | key of a table | rows | checks |
//! |---|---|---|
//! | `edges` | a state, and for each next state who may ask for it | the graph has these edges and no other; every request of every actor is accepted or refused as listed; an edge that nobody may ask for happens in a scenario of the file |
//! | `limits` | a state, a span and the state after it | the move happens at the second and not one before |
//! | `settings` | a setting | its default |
//! | `rows` | the values of `<name>` in `given` and `steps` | the scenario passes |

mod nodes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::trace::Trace;
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::source::{FromNode, Json, Node, NodeValue, Problems, Sources, read};
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;
use trackside_study::draw::graph::pack_graphs;
use trackside_study::scenario::{self, ScenarioFile};

use nodes::{entry, keys_are, list, map, merged, shown, text};

const SUBJECT: &str = "M-1";

#[test]
fn the_tables_of_the_build_document_hold() {
    check("build");
}

#[test]
fn the_tables_of_the_coding_document_hold() {
    check("coding");
}

#[test]
fn the_tables_of_the_mission_document_hold() {
    check("mission");
}

#[test]
fn the_tables_of_the_research_document_hold() {
    check("research");
}

#[test]
fn the_tables_of_the_turns_document_hold() {
    check("turns");
}

/// Checks every table of a file and panics with all rows that fail.
#[expect(clippy::print_stdout, reason = "people read the counts")]
fn check(name: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (pack, mut sources) = super::folder::pack(&root.join("../../packs").join(name));
    let path = root.join("tests/study/specification").join(format!("{name}.yaml"));
    let file = super::folder::add(&mut sources, &path);
    let mut problems = Problems::default();
    let Some(data) = read(&sources, file, &mut problems) else {
        panic!("{}", problems.render(&sources, false));
    };
    keys_are(&data, &["document", "pack", "actors", "people", "given", "settings", "tables"]);
    let law = Arc::new(Law::new([pack]));
    let Some(pack) = law.pack(name).cloned() else { panic!("{name} is no pack") };
    let mut checker = Checker {
        law,
        pack,
        data: &data,
        sources: &sources,
        rows: 0,
        checks: 0,
        seen: BTreeSet::new(),
        failures: Vec::new(),
    };
    for table in data.get("tables").and_then(Node::items).unwrap_or_default() {
        checker.table(table);
    }
    checker.edges_nobody_asks_for();
    println!("{name}: {} rows, {} checks", checker.rows, checker.checks);
    assert!(checker.rows > 0, "{} has no rows", path.display());
    assert!(
        checker.failures.is_empty(),
        "{} of {} rows of {} fail:\n\n{}",
        checker.failures.len(),
        checker.rows,
        text(&data, "document"),
        checker.failures.join("\n\n")
    );
}

/// A row to which failures are attributed.
#[derive(Clone)]
struct TableRow {
    table: String,
    line: String,
    content: String,
}

impl TableRow {
    fn new(table: &Node, row: &Node) -> Self {
        let line = row.get("line").and_then(Node::as_written);
        Self {
            table: text(table, "table"),
            line: line.unwrap_or_else(|| panic!("a row without `line`: {}", shown(row))),
            content: shown(row),
        }
    }
}

struct Checker<'a> {
    law: Arc<Law>,
    pack: Arc<Pack>,
    data: &'a Node,
    sources: &'a Sources,
    rows: usize,
    checks: usize,
    /// Lifecycle, state and next state of every move in any scenario.
    seen: BTreeSet<(String, String, String)>,
    failures: Vec<String>,
}

impl Checker<'_> {
    fn table(&mut self, table: &Node) {
        keys_are(
            table,
            &[
                "table", "of", "actors", "people", "given", "settings", "fields", "states", "with", "edges",
                "limits", "steps", "rows",
            ],
        );
        let part = |key: &str| table.get(key).and_then(Node::items).unwrap_or_default();
        let before = self.rows;
        self.edges(table, part("edges"));
        self.limits(table, part("limits"));
        self.cases(table, part("rows"));
        if let Some(NodeValue::Map(_)) = table.get("settings").map(|it| &it.value) {
            // Overrides for the scenarios of the table.
        } else {
            self.settings(table, part("settings"));
        }
        assert!(self.rows > before, "the table {} has no rows", text(table, "table"));
    }

    /// Compares the edges with the graph, and asks for every move as every actor.
    fn edges(&mut self, table: &Node, rows: &[Node]) {
        if rows.is_empty() {
            return;
        }
        let of = text(table, "of");
        let mut listed: BTreeMap<(String, String), TableRow> = BTreeMap::new();
        let mut of_state: BTreeMap<String, TableRow> = BTreeMap::new();
        let mut allowed: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for row in rows {
            keys_are(row, &["line", "from", "to", "ruling"]);
            let (from, known) = (text(row, "from"), TableRow::new(table, row));
            of_state.entry(from.clone()).or_insert_with(|| known.clone());
            let targets = row.get("to").and_then(Node::entries).unwrap_or_default();
            self.rows += targets.len().max(1);
            for (to, actors) in targets {
                allowed.entry(from.clone()).or_default().push((to.clone(), actors.clone()));
                let twice = listed.insert((from.clone(), to.it.to_string()), known.clone());
                assert!(twice.is_none(), "{of} lists {from} → {} twice", to.it);
            }
        }
        let graphs = pack_graphs(&self.pack);
        let Some(graph) = graphs.iter().find(|it| *it.name.as_str() == *of) else {
            panic!("there is no lifecycle {of}");
        };
        let drawn: BTreeSet<(String, String)> =
            graph.edges.iter().map(|it| (it.from.to_string(), it.to.to_string())).collect();
        for ((from, to), row) in &listed {
            self.checks += 1;
            if !drawn.contains(&(from.clone(), to.clone())) {
                self.fail(row, &format!("an edge {from} → {to}"), "the pack has no such edge");
            }
        }
        for (from, to) in &drawn {
            self.checks += 1;
            if !listed.contains_key(&(from.clone(), to.clone())) {
                let by = graph.edges.iter().filter(|it| *it.from == **from && *it.to == **to);
                let by: Vec<&str> = by.map(|it| it.rule.label()).collect();
                let row = other_row(&of_state, table, from);
                let happened = format!("the pack has one, by {}", by.join(", "));
                self.fail(&row, &format!("no edge {from} → {to}"), &happened);
            }
        }
        for state in &graph.nodes {
            self.checks += 1;
            if !of_state.contains_key(state.name.as_str()) {
                let row = other_row(&of_state, table, state.name.as_str());
                self.fail(&row, "only the states of the table", &format!("the pack has {}", state.name));
            }
        }
        let at = table.at;
        let row = |(from, targets): (&String, &Vec<_>)| entry(at, from, map(at, targets.clone()));
        let mut matrix = vec![
            entry(at, "name", Node::new(at, NodeValue::Text(text(table, "table")))),
            entry(at, "of", Node::new(at, NodeValue::Text(of.clone()))),
            entry(at, "reason", Node::new(at, NodeValue::Text("matrix".to_owned()))),
            entry(at, "allowed", map(at, allowed.iter().map(row).collect())),
        ];
        for (key, name) in [("fields", "given"), ("states", "states"), ("with", "with")] {
            matrix.extend(table.get(key).map(|it| entry(at, name, it.clone())));
        }
        let given = [self.data, table].into_iter().filter_map(|it| it.get("given").and_then(Node::items));
        let given = entry(at, "given", list(at, given.flatten().cloned().collect()));
        let report = self.run(table, vec![given, entry(at, "matrix", map(at, matrix))]);
        let report = report.unwrap_or_else(|problems| panic!("{problems}"));
        self.checks += report.passed;
        for failure in report.failures {
            let of_edge = listed
                .iter()
                .find(|((from, to), _)| failure.expected.contains(&format!("from {from} to {to}:")));
            let of_from = of_state.iter().find(|(from, _)| {
                let said = &failure.expected;
                said.starts_with(&format!("from {from},")) || said.contains(&format!(" from {from} to "))
            });
            let row = of_edge.map(|(_, it)| it).or(of_from.map(|(_, it)| it)).cloned();
            let row = row.unwrap_or_else(|| other_row(&of_state, table, "?"));
            self.fail(&row, &failure.expected, &failure.happened);
        }
    }

    /// The move happens at the second, and not one before.
    fn limits(&mut self, table: &Node, rows: &[Node]) {
        for row in rows {
            let keys = ["line", "state", "after", "to", "fields", "given", "settings", "enter", "ruling"];
            keys_are(row, &keys);
            self.rows += 1;
            let (of, state, to) = (text(table, "of"), text(row, "state"), text(row, "to"));
            let Some(after) = Span::parse(&text(row, "after")) else { panic!("no span: {}", shown(row)) };
            let at = row.at;
            let word = |it: &str| Node::new(at, NodeValue::Text(it.to_owned()));
            let key = format!("{of}/{SUBJECT}");
            let fields = merged(&[table.get("fields"), row.get("fields")]);
            let mut fields = fields.unwrap_or_else(|| map(at, Vec::new()));
            if let NodeValue::Map(entries) = &mut fields.value {
                entries.push(entry(at, "state", word(&state)));
            }
            let mut given: Vec<Node> = row.get("given").and_then(Node::items).unwrap_or_default().to_vec();
            given.push(map(at, vec![entry(at, &key, fields)]));
            let step = |span: Span, then: Vec<(_, Node)>| {
                let mut then = then;
                then.push(entry(at, "of", word(&key)));
                map(at, vec![entry(at, "advance", word(&span.to_string())), entry(at, "then", map(at, then))])
            };
            let moved = map(
                at,
                vec![
                    entry(at, "from", word(&state)),
                    entry(at, "to", word(&to)),
                    entry(at, "id", word(SUBJECT)),
                ],
            );
            let mut steps: Vec<Node> = row.get("enter").and_then(Node::items).unwrap_or_default().to_vec();
            steps.push(step(Span(after.0 - 1_000), vec![entry(at, "state", word(&state))]));
            steps.push(step(Span(1_000), vec![entry(at, "journal", list(at, vec![moved]))]));
            self.play(table, row, given, steps);
        }
    }

    /// The scenario of the table, or of the row, with the values of the row.
    fn cases(&mut self, table: &Node, rows: &[Node]) {
        for row in rows {
            self.rows += 1;
            let part = |key: &str| {
                let of = row.get(key).or_else(|| table.get(key));
                of.and_then(Node::items).unwrap_or_default().to_vec()
            };
            let given = row.get("given").and_then(Node::items).unwrap_or_default().to_vec();
            self.play(table, row, given, part("steps"));
        }
    }

    fn play(&mut self, table: &Node, row: &Node, given: Vec<Node>, steps: Vec<Node>) {
        let known = TableRow::new(table, row);
        let at = row.at;
        let mut all = table.get("given").and_then(Node::items).unwrap_or_default().to_vec();
        all.extend(given);
        let mut scenario = vec![
            entry(at, "scenario", Node::new(at, NodeValue::Text(known.content.clone()))),
            entry(at, "given", list(at, all)),
            entry(at, "steps", list(at, steps)),
            entry(at, "each", list(at, vec![row.clone()])),
        ];
        for key in ["settings", "now"] {
            scenario.extend(row.get(key).map(|it| entry(at, key, it.clone())));
        }
        let mut parts = vec![entry(at, "scenarios", list(at, vec![map(at, scenario)]))];
        parts.extend(self.data.get("given").map(|it| entry(at, "given", it.clone())));
        let report = self.run(table, parts).unwrap_or_else(|problems| panic!("{problems}"));
        self.checks += report.passed;
        for failure in report.failures {
            let step = failure.step.map(|it| format!(" (step {it})")).unwrap_or_default();
            self.fail(&known, &format!("{}{step}", failure.expected), &failure.happened);
        }
    }

    fn settings(&mut self, table: &Node, rows: &[Node]) {
        for row in rows {
            keys_are(row, &["line", "setting", "value", "ruling"]);
            self.rows += 1;
            self.checks += 1;
            let name = text(row, "setting");
            let all = self.pack.lifecycles.iter().flat_map(|it| &it.settings).chain(&self.pack.settings);
            let default = all.filter(|it| *it.name.as_str() == *name).map(|it| it.default.clone()).next();
            let wanted = row.get("value").and_then(|it| Json::from_node(it, &mut Problems::default()));
            let wanted = wanted.map_or(Value::Null, |it| it.0);
            let same = match (&default, wanted.as_str()) {
                (Some(Value::Span(it)), Some(text)) => Span::parse(text) == Some(*it),
                (default, _) => default.as_ref().map(Value::to_json) == Some(wanted.to_json()),
            };
            if !same {
                let happened = default.map_or("no such setting".to_owned(), |it| it.to_json().to_string());
                self.fail(&TableRow::new(table, row), &format!("{name} = {}", wanted.to_json()), &happened);
            }
        }
    }

    /// An edge that no actor may ask for is taken in some scenario of the file.
    fn edges_nobody_asks_for(&mut self) {
        let data = self.data;
        for table in data.get("tables").and_then(Node::items).unwrap_or_default() {
            for row in table.get("edges").and_then(Node::items).unwrap_or_default() {
                for (to, actors) in row.get("to").and_then(Node::entries).unwrap_or_default() {
                    let edge = (text(table, "of"), text(row, "from"), to.it.to_string());
                    self.checks += 1;
                    if actors.items().is_none_or(<[Node]>::is_empty) && !self.seen.contains(&edge) {
                        let expected = format!("the move {} → {} by the engine", edge.1, edge.2);
                        self.fail(&TableRow::new(table, row), &expected, "no scenario of the file takes it");
                    }
                }
            }
        }
    }

    /// Runs scenarios with the actors and settings of the file and of the table, or returns the problems of their text.
    fn run(
        &mut self,
        table: &Node,
        parts: Vec<nodes::NodeEntry>,
    ) -> Result<scenario::ScenarioReport, String> {
        let at = table.at;
        let mut file = parts;
        for key in ["pack", "people"] {
            file.extend(table.get(key).or_else(|| self.data.get(key)).map(|it| entry(at, key, it.clone())));
        }
        for key in ["actors", "settings"] {
            let own = table.get(key).filter(|it| it.entries().is_some());
            file.extend(merged(&[self.data.get(key), own]).map(|it| entry(at, key, it)));
        }
        let mut problems = Problems::default();
        let read = ScenarioFile::from_node(&map(at, file), &mut problems);
        let mut report = scenario::ScenarioReport::default();
        let seen = &mut self.seen;
        if let Some(file) = read {
            let mut watch = |played: &scenario::Played<'_>| {
                for entry in &played.world.journal {
                    if let (Some(from), Some(to)) = entry.edge() {
                        let of = entry.entity.lifecycle.to_string();
                        seen.insert((of, from.to_string(), to.to_string()));
                    }
                }
            };
            let trace = Arc::new(Trace::default());
            report = scenario::run_watched(&self.law, &file, &trace, &mut problems, &mut watch);
        }
        if problems.has_errors() { Err(problems.render(self.sources, false)) } else { Ok(report) }
    }

    fn fail(&mut self, row: &TableRow, expected: &str, happened: &str) {
        let mut said = String::new();
        let _ = writeln!(said, "{}, line {}: {}", row.table, row.line, row.content);
        let _ = writeln!(said, "  expected {expected}");
        let _ = write!(said, "  happened {happened}");
        self.failures.push(said);
    }
}

/// The row of a state, or the table itself for a state without a row.
fn other_row(of_state: &BTreeMap<String, TableRow>, table: &Node, state: &str) -> TableRow {
    of_state.get(state).cloned().unwrap_or_else(|| TableRow {
        table: text(table, "table"),
        line: "none".to_owned(),
        content: format!("no row for {state}"),
    })
}
