//! Tests every edge for every actor, from a table.

use trackside_engine::actor::Actor;
use trackside_engine::apply::apply;
use trackside_engine::command::{Ask, Command, Fire, TransitionRef};
use trackside_engine::decide::allowed;
use trackside_engine::key::EntityKey;
use trackside_engine::refusal::Refusal;
use trackside_engine::view::View;
use trackside_engine::world::{Outcome, World};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{Json as AsWritten, Named, Place};

use super::expect::lines;
use super::report::{ScenarioFailure, ScenarioReport};
use super::run::{ScenarioSetup, fields_from, plant};
use super::syntax::Matrix;

const SUBJECT: &str = "M-1";

/// Runs one case for each state, target and actor.
pub(super) fn run(stage: &ScenarioSetup<'_>, table: &Matrix, report: &mut ScenarioReport) {
    let Some(life) = stage.law.newest(&table.of.it).cloned() else {
        report.failures.push(failure(
            table,
            table.of.at,
            "a lifecycle",
            format!("there is no {}", table.of.it),
            &[],
        ));
        return;
    };
    let rules: Vec<Name> = table.rules.iter().flatten().map(|it| it.it.clone()).collect();
    report.proved.push((table.name.clone(), rules));
    for from in life.states.iter().map(|it| &it.name) {
        let row = table.allowed.get(from);
        for (_, actor) in &stage.actors {
            let world = match started(stage, table, from) {
                Ok(world) => world,
                Err(problem) => {
                    report.failures.push(failure(table, table.of.at, &format!("given {from}"), problem, &[]));
                    return;
                }
            };
            let may = |to: &Name| {
                row.and_then(|it| it.get(to)).is_some_and(|who| who.iter().any(|it| it.it == actor.id))
            };
            let expected: Vec<&Name> = life.states.iter().map(|it| &it.name).filter(|it| may(it)).collect();
            match compare_allowed(&world, table, from, actor, &expected) {
                Ok(()) => report.passed += 1,
                Err(it) => report.failures.push(*it),
            }
            for to in life.states.iter().map(|it| &it.name) {
                let listed = row.is_some_and(|it| it.contains(to));
                if to == from && !listed {
                    continue;
                }
                match case(&world, table, from, to, actor, may(to)) {
                    Ok(()) => report.passed += 1,
                    Err(it) => report.failures.push(*it),
                }
            }
        }
    }
}

fn started(stage: &ScenarioSetup<'_>, table: &Matrix, from: &Name) -> Result<World, String> {
    let mut world = stage.world(&Named(Vec::new()), None, None, None)?;
    for (name, fields) in stage.file.given.iter().flatten().flat_map(|it| it.iter()) {
        plant(&mut world, &name.it, fields)?;
    }
    let mut fields: Vec<_> = table.given.iter().cloned().collect();
    fields.extend(table.states.get(from).into_iter().flat_map(|it| it.iter().cloned()));
    let state = AsWritten(trackside_lifecycle::value::Value::from(from));
    fields.push((trackside_lifecycle::source::At::new(Name::new("state"), table.of.at), state));
    plant(&mut world, &format!("{}/{SUBJECT}", table.of.it), &Named(fields))?;
    Ok(world)
}

fn compare_allowed(
    world: &World,
    table: &Matrix,
    from: &Name,
    actor: &Actor,
    expected: &[&Name],
) -> Result<(), Box<ScenarioFailure>> {
    let key = EntityKey::new(table.of.it.clone(), SUBJECT);
    let mut got = match world.view.get(&key) {
        Some(entity) => allowed(&world.law, &world.view, entity, actor, world.now).unwrap_or_default(),
        None => Vec::new(),
    };
    let mut wanted: Vec<Name> = expected.iter().map(|it| (*it).clone()).collect();
    got.sort();
    wanted.sort();
    if got == wanted {
        return Ok(());
    }
    let expected = format!("from {from}, {} may move it to [{}]", actor.id, join(&wanted));
    Err(Box::new(failure(table, table.of.at, &expected, format!("[{}]", join(&got)), &lines(&world.journal))))
}

fn case(
    world: &World,
    table: &Matrix,
    from: &Name,
    to: &Name,
    actor: &Actor,
    may: bool,
) -> Result<(), Box<ScenarioFailure>> {
    let mut world = world.clone();
    let entity = EntityKey::new(table.of.it.clone(), SUBJECT);
    let with = table.with.get(&format!("{from} > {to}")).or_else(|| table.with.get(to));
    let fields = with.map(fields_from).unwrap_or_default();
    let ask = Fire {
        entity: entity.clone(),
        what: TransitionRef::To(to.clone()),
        fields,
        fence: None,
        if_version: None,
    };
    let mut command = Command::new(actor.clone(), Ask::Fire(ask));
    command.reason = table.reason.as_deref().map(std::sync::Arc::from);
    let mut before = world.view.clone();
    let outcome = world.submit(&command);
    let state = world.view.get(&entity).map(|it| it.state.to_string()).unwrap_or_default();
    let what = format!("{} moves it from {from} to {to}", actor.id);
    match (outcome, may) {
        (Outcome::Accepted { root, .. }, true) => {
            let arrived = world.journal.get(root).and_then(|it| it.edge().1.cloned());
            if arrived.as_ref() == Some(to) || state == *to.as_str() {
                return Ok(());
            }
            let expected = format!("{what}: accepted, and it is there");
            Err(Box::new(failure(
                table,
                table.of.at,
                &expected,
                format!("it is {state}"),
                &lines(&world.journal),
            )))
        }
        (Outcome::Refused(refusal), false) if nothing_else(&mut before, &refusal, &world) => Ok(()),
        (Outcome::Refused(_), false) => {
            let expected = format!("{what}: refused, nothing changed");
            Err(Box::new(failure(
                table,
                table.of.at,
                &expected,
                "something changed".to_owned(),
                &lines(&world.journal),
            )))
        }
        (Outcome::Refused(refusal), true) => {
            let happened = refusal.to_string();
            Err(Box::new(failure(
                table,
                table.of.at,
                &format!("{what}: accepted"),
                happened,
                &lines(&world.journal),
            )))
        }
        (Outcome::Accepted { .. } | Outcome::Replayed { .. }, _) => {
            let expected = format!("{what}: refused");
            Err(Box::new(failure(
                table,
                table.of.at,
                &expected,
                "accepted".to_owned(),
                &lines(&world.journal),
            )))
        }
    }
}

/// Whether nothing changed except for the recorded evidence.
fn nothing_else(before: &mut View, refusal: &Refusal, world: &World) -> bool {
    if let Some(entry) = &refusal.kept {
        apply(before, entry);
    }
    world.view == *before
}

fn failure(
    table: &Matrix,
    at: Place,
    expected: &str,
    happened: String,
    journal: &[String],
) -> ScenarioFailure {
    let journal = journal.to_vec();
    ScenarioFailure {
        scenario: table.name.clone(),
        step: None,
        at,
        expected: expected.to_owned(),
        happened,
        journal,
    }
}

fn join(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}
