//! Maps tasks of another tool to entities: by equal names and by the user's options.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};
use trackside_lifecycle::guard::nearest;
use trackside_protocol::ImportEntity;

use super::target::TargetField;
use super::{ForeignTask, ForeignTasks, ImportProblem, TargetLifecycle, many};

/// The user's options for the mapping.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wishes {
    /// Their name and our field; an empty field leaves it out.
    pub(crate) fields: Vec<(String, String)>,
    /// Their status and our state; `-` skips such tasks.
    pub(crate) states: Vec<(String, String)>,
    /// Their name, their value, and our value.
    pub(crate) values: Vec<(String, String, Json)>,
    /// Values for fields without a source: the state it is limited to, if any, the field, the value.
    pub(crate) sets: Vec<(Option<String>, String, Json)>,
    /// Only things that have this value.
    pub(crate) only: Vec<(String, String)>,
}

/// Entities ready to be imported, and the mapping that was used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mapped {
    /// Each with where it was found.
    pub(crate) entities: Vec<(ImportEntity, String)>,
    /// Their status to the state, and how many.
    pub(crate) states: BTreeMap<(String, String), usize>,
    /// Their names to our fields.
    pub(crate) fields: BTreeMap<String, String>,
    /// Keys without a field, and how many tasks have them.
    pub(crate) without: BTreeMap<String, usize>,
    pub(crate) left_out: Vec<String>,
}

/// The word for leaving things out.
const OUT: &str = "-";

/// Maps all tasks, or returns every problem.
pub(crate) fn mapped(
    tool: &str,
    found: ForeignTasks,
    target: &TargetLifecycle,
    wishes: &Wishes,
) -> Result<Mapped, Vec<ImportProblem>> {
    if found.things.is_empty() && !found.troubles.is_empty() {
        return Err(found.troubles);
    }
    let mut troubles = found.troubles;
    // Without a matching task, nothing more can be checked.
    let unchosen: Vec<ImportProblem> =
        wishes.only.iter().filter_map(|it| unchosen(&found.things, it)).collect();
    if !unchosen.is_empty() {
        troubles.extend(unchosen);
        return Err(troubles);
    }
    let mut mapped = Mapped { left_out: found.left_out, ..Mapped::default() };
    let things: Vec<ForeignTask> = found.things.into_iter().filter(|it| wishes.wants(it)).collect();
    let places = places(&things, target, wishes, &mut mapped, &mut troubles);
    let states = states(&things, target, wishes, &mut troubles);
    troubles.extend(wishes.sets.iter().filter_map(|it| unset(target, it)));
    if troubles.is_empty() && things.is_empty() {
        troubles.push(ImportProblem::new("", "no task matches every --only option"));
    }
    if !troubles.is_empty() {
        return Err(troubles);
    }
    let mut out = 0;
    for thing in things {
        let state = states.get(&thing.status).map_or(OUT, |it| it.as_str());
        if state == OUT {
            out += 1;
            continue;
        }
        *mapped.states.entry((thing.status.clone(), state.to_owned())).or_default() += 1;
        let mut fields = fields(&thing, &places, wishes);
        for (_, name, value) in
            wishes.sets.iter().filter(|(of, _, _)| of.as_deref().is_none_or(|it| it == state))
        {
            let fitted = target.field(name).map(|it| it.fitted(value));
            fields.entry(name).or_insert_with(|| fitted.unwrap_or_default());
        }
        let entity = ImportEntity {
            lifecycle: target.lifecycle.clone(),
            id: thing.id.clone(),
            state: Some(state.to_owned()),
            fields,
            origin: format!("{tool} {}", thing.id),
            ..ImportEntity::default()
        };
        mapped.entities.push((entity, thing.at));
    }
    if out > 0 {
        mapped.left_out.push(format!("{} with a skipped status", many(out, "task", "tasks")));
    }
    Ok(mapped)
}

/// The problem with a `--set` option, if any.
fn unset(
    target: &TargetLifecycle,
    (state, field, _): &(Option<String>, String, Json),
) -> Option<ImportProblem> {
    let lifecycle = &target.lifecycle;
    if let Some(state) = state.as_ref().filter(|it| !target.states.contains(it)) {
        let near = nearest(state, target.states.iter().map(String::as_str));
        let hint = near.map_or_else(
            || format!("it has {}", target.states.join(", ")),
            |it| format!("did you mean {it}?"),
        );
        return Some(ImportProblem::new(
            "",
            format!("--set {state}:{field}=: {lifecycle} has no state {state}; {hint}"),
        ));
    }
    match target.field(field) {
        Some(_) => None,
        None => {
            let near = nearest(field, target.field_names());
            let hint = near.map(|it| format!("; did you mean {it}?")).unwrap_or_default();
            Some(ImportProblem::new("", format!("--set {field}=: {lifecycle} has no field {field}{hint}")))
        }
    }
}

/// The problem with an `--only` option that matches no task.
fn unchosen(things: &[ForeignTask], (key, wanted): &(String, String)) -> Option<ImportProblem> {
    let mut keys: BTreeSet<&str> = BTreeSet::from([STATUS, ID]);
    keys.extend(things.iter().flat_map(|it| it.values.keys()).map(String::as_str));
    let (word, known): (&str, Vec<String>) = if keys.contains(key.as_str()) {
        let values = things.iter().filter_map(|it| match key.as_str() {
            STATUS => Some(it.status.clone()),
            ID => Some(it.id.clone()),
            key => it.values.get(key).map(written),
        });
        (wanted, values.collect::<BTreeSet<String>>().into_iter().collect())
    } else {
        (key, keys.into_iter().map(str::to_owned).collect())
    };
    if word == wanted && known.contains(wanted) {
        return None;
    }
    let what =
        if word == wanted { format!("no task has {key} {wanted}") } else { format!("no task has {key}") };
    let hint = match nearest(word, known.iter().map(String::as_str)) {
        Some(near) => format!("did you mean {near}?"),
        None => {
            let shown: Vec<&str> = known.iter().take(SHOWN).map(String::as_str).collect();
            format!("found: {}{}", shown.join(", "), if known.len() > SHOWN { ", …" } else { "" })
        }
    };
    Some(ImportProblem::new("", format!("--only {key}={wanted}: {what}; {hint}")))
}

/// Maximum number of values to print.
const SHOWN: usize = 20;

impl Wishes {
    fn wants(&self, thing: &ForeignTask) -> bool {
        self.only.iter().all(|(key, wanted)| match key.as_str() {
            "status" => thing.status == *wanted,
            "id" => thing.id == *wanted,
            key => thing.values.get(key).is_some_and(|it| written(it) == *wanted),
        })
    }
}

/// The field of each of their names, in the order in which texts are joined: a title comes first.
fn places<'a>(
    things: &[ForeignTask],
    target: &'a TargetLifecycle,
    wishes: &Wishes,
    mapped: &mut Mapped,
    troubles: &mut Vec<ImportProblem>,
) -> Vec<(String, &'a TargetField)> {
    let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
    for key in
        things.iter().flat_map(|it| it.values.iter()).filter(|(_, it)| !is_nothing(it)).map(|(key, _)| key)
    {
        *keys.entry(key).or_default() += 1;
    }
    for (key, _) in
        wishes.fields.iter().filter(|(key, _)| !keys.contains_key(key.as_str()) && key != STATUS && key != ID)
    {
        let near = nearest(key, keys.keys().copied());
        let hint = near.map_or_else(
            || format!("found: {}", keys.keys().copied().collect::<Vec<_>>().join(", ")),
            |it| format!("did you mean {it}?"),
        );
        troubles.push(ImportProblem::new("", format!("--map {key}=: no task has {key}; {hint}")));
    }
    let mut places = Vec::new();
    let titled = keys.keys().copied().filter(|it| *it == TITLE);
    let rest = keys.keys().copied().filter(|it| *it != TITLE);
    for key in titled.chain(rest).chain([STATUS, ID]) {
        let wish = wishes.fields.iter().rev().find(|(it, _)| it == key).map(|(_, field)| field.as_str());
        let field = match wish {
            Some("") => continue,
            Some(name) => match target.field(name) {
                Some(field) => Some(field),
                None => {
                    troubles.push(no_field(target, key, name));
                    continue;
                }
            },
            // The id and the place in the file belong to the entity.
            None if key == STATUS || key == ID => continue,
            None => target.alike(key),
        };
        match field {
            Some(field) => {
                mapped.fields.insert(key.to_owned(), field.name.clone());
                places.push((key.to_owned(), field));
            }
            None if key == TITLE => {
                let names: Vec<&str> = target.field_names().collect();
                troubles.push(ImportProblem::new("", format!(
                    "{} has no field for the key {key}: add --map {key}=FIELD with one of {}, or --map {key}= to skip it",
                    target.lifecycle,
                    names.join(", ")
                )));
            }
            None => {
                mapped.without.insert(key.to_owned(), keys.get(key).copied().unwrap_or_default());
            }
        }
    }
    places
}

const TITLE: &str = "title";
const STATUS: &str = "status";
const ID: &str = "id";

fn no_field(target: &TargetLifecycle, key: &str, name: &str) -> ImportProblem {
    let hint = match nearest(name, target.field_names()) {
        Some(near) => format!("did you mean {near}?"),
        None => format!("it has {}", target.field_names().collect::<Vec<_>>().join(", ")),
    };
    ImportProblem::new("", format!("--map {key}={name}: {} has no field {name}; {hint}", target.lifecycle))
}

/// The state of each of their statuses.
fn states(
    things: &[ForeignTask],
    target: &TargetLifecycle,
    wishes: &Wishes,
    troubles: &mut Vec<ImportProblem>,
) -> BTreeMap<String, String> {
    let mut counts: BTreeMap<&str, (usize, Option<&str>)> = BTreeMap::new();
    for thing in things {
        let (count, mark) = counts.entry(&thing.status).or_default();
        (*count, *mark) = (*count + 1, mark.or(thing.mark.as_deref()));
    }
    let known = target.states.join(", ");
    let mut states = BTreeMap::new();
    for (theirs, ours) in &wishes.states {
        if ours != OUT && !target.states.contains(ours) {
            let near = nearest(ours, target.states.iter().map(String::as_str));
            let hint = near.map_or_else(|| format!("it has {known}"), |it| format!("did you mean {it}?"));
            let what = format!("--state {theirs}={ours}: {} has no state {ours}; {hint}", target.lifecycle);
            troubles.push(ImportProblem::new("", what));
        }
        let is_mark = |it: &(usize, Option<&str>)| it.1 == Some(theirs.as_str());
        if !counts.contains_key(theirs.as_str()) && !counts.values().any(is_mark) {
            let all = counts.keys().copied().collect::<Vec<_>>().join(", ");
            let what = format!("--state {theirs}={ours}: no task has the status {theirs}; found: {all}");
            troubles.push(ImportProblem::new("", what));
        }
    }
    for (status, (count, mark)) in counts {
        let meant = |it: &str| it == status || Some(it) == mark;
        let wish = wishes.states.iter().rev().find(|(it, _)| meant(it)).map(|(_, state)| state.as_str());
        let alike = || target.state_alike(status).or_else(|| target.state_alike(mark?));
        match wish.or_else(alike) {
            Some(state) => {
                states.insert(status.to_owned(), state.to_owned());
            }
            None => troubles.push(ImportProblem::new("", format!(
                "the status `{status}` ({count}) matches no state of {}: add --state '{status}=STATE' with one of {known}, or --state '{status}={OUT}' to skip {}",
                target.lifecycle,
                if count == 1 { "it" } else { "them" }
            ))),
        }
    }
    states
}

fn fields(thing: &ForeignTask, places: &[(String, &TargetField)], wishes: &Wishes) -> Map<String, Json> {
    let mut fields: Map<String, Json> = Map::new();
    for (key, field) in places {
        let value = match key.as_str() {
            STATUS => json!(thing.status),
            ID => json!(thing.id),
            key => match thing.values.get(key).filter(|it| !is_nothing(it)) {
                Some(value) => value.clone(),
                None => continue,
            },
        };
        let said = wishes.values.iter().rev().find(|(it, theirs, _)| it == key && *theirs == written(&value));
        let value = field.fitted(said.map_or(&value, |(_, _, ours)| ours));
        let joined = match (fields.get(&field.name), &value) {
            (Some(Json::String(before)), Json::String(more)) if field.is_text() => {
                Some(json!(format!("{before}\n\n{more}")))
            }
            (Some(Json::Array(before)), Json::Array(more)) => {
                Some(before.iter().chain(more).cloned().collect())
            }
            _ => None,
        };
        fields.insert(field.name.clone(), joined.unwrap_or(value));
    }
    fields
}

fn is_nothing(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::String(text) => text.trim().is_empty(),
        Json::Array(all) => all.is_empty(),
        _ => false,
    }
}

/// A value as it is typed.
fn written(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target() -> TargetLifecycle {
        TargetLifecycle::of(&json!({
            "lifecycle": "t.job", "states": ["OPEN", "CLOSED"],
            "fields": [
                { "name": "text", "type": "string", "by": "caller" },
                { "name": "rank", "type": "integer", "by": "caller" },
            ],
        }))
    }

    fn thing(id: &str, status: &str, values: Json) -> ForeignTask {
        let values = values.as_object().unwrap().clone();
        let (at, id, status) = (format!("line {id}"), id.to_owned(), status.to_owned());
        ForeignTask { at, id, status, mark: None, values }
    }

    fn found() -> ForeignTasks {
        let things = vec![
            thing("1", "open", json!({ "title": "A", "body": "more", "rank": "low", "notes": "n" })),
            thing("2", "wontfix", json!({ "title": "B", "rank": 2, "body": "" })),
            thing("3", "done", json!({ "title": "C" })),
        ];
        ForeignTasks { things, ..ForeignTasks::default() }
    }

    fn pairs(all: &[(&str, &str)]) -> Vec<(String, String)> {
        all.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn all_missing_mappings_are_reported_at_once_with_their_options() {
        let troubles = mapped("x", found(), &target(), &Wishes::default()).unwrap_err();
        let answer: Vec<&str> = troubles.iter().map(|it| it.what.as_str()).collect();
        assert_eq!(answer.len(), 3, "{answer:#?}");
        assert!(
            answer[0].contains("no field for the key title: add --map title=FIELD with one of rank, text")
                || answer[0].contains("one of text, rank"),
            "{answer:#?}"
        );
        assert!(
            answer[1].contains("`done` (1)")
                && answer[1].contains("--state 'done=STATE' with one of OPEN, CLOSED")
        );
        assert!(answer[2].contains("`wontfix` (1)"));
        let wrong = Wishes {
            fields: pairs(&[("title", "txt"), ("nothing", "text")]),
            states: pairs(&[("done", "CLOSE"), ("wontfix", "-"), ("never", "OPEN")]),
            sets: vec![
                (Some("OPN".to_owned()), "text".to_owned(), json!(1)),
                (None, "rnk".to_owned(), json!(1)),
            ],
            ..Wishes::default()
        };
        let troubles = mapped("x", found(), &target(), &wrong).unwrap_err();
        let answer: Vec<&str> = troubles.iter().map(|it| it.what.as_str()).collect();
        assert_eq!(answer.len(), 6, "{answer:#?}");
        assert!(answer.iter().any(|it| it.contains("did you mean OPEN?")));
        assert!(answer.iter().any(|it| it.contains("did you mean rank?")));
        assert!(answer.iter().any(|it| it.contains("did you mean text?")));
        assert!(answer.iter().any(|it| it.contains("did you mean CLOSED?")));
    }

    #[test]
    fn options_and_similar_names_are_combined() {
        let wishes = Wishes {
            fields: pairs(&[("title", "text"), ("body", "text")]),
            states: pairs(&[("done", "CLOSED"), ("wontfix", "-")]),
            values: vec![("rank".to_owned(), "low".to_owned(), json!(9))],
            sets: vec![
                (Some("CLOSED".to_owned()), "rank".to_owned(), json!("7")),
                (None, "text".to_owned(), json!("never")),
            ],
            ..Wishes::default()
        };
        let mapped = mapped("x", found(), &target(), &wishes).unwrap();
        let answer: Vec<(&str, &str, &Map<String, Json>)> = mapped
            .entities
            .iter()
            .map(|(it, _)| (it.id.as_str(), it.state.as_deref().unwrap(), &it.fields))
            .collect();
        assert_eq!(answer.len(), 2);
        assert_eq!((answer[0].0, answer[0].1), ("1", "OPEN"));
        assert_eq!(answer[0].2["text"], "A\n\nmore");
        assert_eq!(answer[0].2["rank"], 9);
        assert_eq!((answer[1].0, answer[1].1), ("3", "CLOSED"));
        assert_eq!(
            (&answer[1].2["rank"], &answer[1].2["text"]),
            (&json!(7), &json!("C")),
            "set where nothing goes"
        );
        assert_eq!(mapped.entities[0].0.origin, "x 1");
        assert_eq!(mapped.entities[0].1, "line 1");
        assert_eq!(mapped.without, BTreeMap::from([("notes".to_owned(), 1)]));
        assert_eq!(mapped.left_out, ["1 task with a skipped status"]);
    }

    #[test]
    fn only_selected_tasks_are_imported() {
        let wishes = Wishes {
            fields: pairs(&[("title", "text")]),
            only: pairs(&[("rank", "low")]),
            ..Wishes::default()
        };
        let some = mapped("x", found(), &target(), &wishes).unwrap();
        assert_eq!(some.entities.len(), 1);
        for (only, says) in [
            (("rnk", "low"), "--only rnk=low: no task has rnk; did you mean rank?"),
            (("rank", "lwo"), "--only rank=lwo: no task has rank lwo; did you mean low?"),
            (
                ("status", "never"),
                "--only status=never: no task has status never; found: done, open, wontfix",
            ),
        ] {
            let wrong = Wishes { only: pairs(&[only]), ..wishes.clone() };
            let answer = mapped("x", found(), &target(), &wrong).unwrap_err();
            assert_eq!(answer.iter().map(|it| it.what.as_str()).collect::<Vec<_>>(), [says]);
        }
    }
}
