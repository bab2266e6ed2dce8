//! The worlds that are measured.

use std::path::Path;
use std::sync::Arc;

use trackside_engine::Law;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Command, Seed};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::view::{Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_lifecycle::compile::{PackFiles, compile};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Sources;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;

pub(crate) struct BenchCase {
    name: String,
    /// The number of entities, and the number of those that move.
    entities: usize,
    commands: usize,
    /// The number of earlier changes of each entity.
    history: usize,
    what: BenchCommand,
}

#[derive(Clone, Copy)]
pub(crate) enum BenchCommand {
    Start,
    Comment,
    Fail,
    Claim,
    Match,
    Finish,
    Select,
    CodingClaim,
}

pub(crate) fn cases() -> Vec<BenchCase> {
    let case = |name: &str, entities, commands, history, what| BenchCase {
        name: name.to_owned(),
        entities,
        commands,
        history,
        what,
    };
    let mut cases = vec![
        case(
            "mission.task start (gates, guard, artifact, journal), 1,000 entities",
            1_000,
            1_000,
            0,
            BenchCommand::Start,
        ),
        case("mission.task start, 100,000 entities", 100_000, 20_000, 0, BenchCommand::Start),
        case(
            "mission.task start, 500 entities with 20 entries of history each",
            500,
            500,
            20,
            BenchCommand::Start,
        ),
        case(
            "mission.task start, 500 entities with 400 entries of history each",
            500,
            500,
            400,
            BenchCommand::Start,
        ),
        case("mission.task comment (two windowed counters)", 10_000, 10_000, 0, BenchCommand::Comment),
        case("build.task fail (counter, choice of target, deadline)", 10_000, 10_000, 0, BenchCommand::Fail),
    ];
    cases.extend(crate::populations::cases());
    cases
}

impl BenchCase {
    pub(crate) fn new(name: String, entities: usize, commands: usize, what: BenchCommand) -> Self {
        Self { name, entities, commands, history: 0, what }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn entities(&self) -> usize {
        self.entities
    }

    pub(crate) fn commands(&self) -> usize {
        self.commands
    }

    pub(crate) fn what(&self) -> BenchCommand {
        self.what
    }
}

/// Puts an entity in place.
pub(crate) fn plant(world: &mut World, key: &str, state: &str, fields: &serde_json::Value) {
    let given = Actor::new("given", ActorKind::System);
    let ask = Ask::Seed(Seed {
        state: Some(Name::new(state)),
        fields: fields_from(fields),
        ..Seed::new(EntityKey::parse(key).unwrap())
    });
    if let Outcome::Refused(refusal) = world.submit(&Command::new(given, ask)) {
        panic!("{key}: {}", refusal);
    }
}

pub(crate) fn build(case: &BenchCase) -> (Law, View, Vec<Command>, Timestamp) {
    let now = Timestamp::parse("2026-01-01T00:00:00Z").unwrap();
    let packs = ["mission", "build", "research", "coding"].map(pack);
    let law = Arc::new(Law::new(packs));
    let mut world = World::new(law.clone(), Project::default(), now);
    if matches!(
        case.what,
        BenchCommand::Claim
            | BenchCommand::Match
            | BenchCommand::Finish
            | BenchCommand::Select
            | BenchCommand::CodingClaim
    ) {
        let commands = crate::populations::build(case, &mut world);
        let now = world.now.plus(Span::seconds(1));
        drop(world.law);
        return (Arc::into_inner(law).unwrap(), world.view, commands, now);
    }
    plant(&mut world, "mission.agent/ada", "ACTIVE", &serde_json::json!({ "role": "specialist" }));
    let plan = serde_json::json!({ "workPlan": { "bullets": ["Read it", "Write it", "Check it"] } });
    let mut commands = Vec::new();
    for n in 0..case.entities {
        let (key, command) = match case.what {
            BenchCommand::Start | BenchCommand::Comment => {
                let key = format!("mission.task/T-{n}");
                let state = if matches!(case.what, BenchCommand::Start) { "ASSIGNED" } else { "IN_PROGRESS" };
                let mut fields =
                    serde_json::json!({ "title": "Write the page", "assigneeIds": ["ada"], "type": "DOCS" });
                if matches!(case.what, BenchCommand::Comment) {
                    fields["workPlan"] = plan["workPlan"].clone();
                }
                plant(&mut world, &key, state, &fields);
                let ada = Actor::new("ada", ActorKind::Agent).with_roles(["specialist"]);
                let (event, fields) = match case.what {
                    BenchCommand::Start => ("start", plan.clone()),
                    _ => ("comment", serde_json::json!({ "text": "Half of it is written" })),
                };
                (
                    key.clone(),
                    Command::fire(ada, EntityKey::parse(&key).unwrap(), event, fields_from(&fields)),
                )
            }
            _ => {
                let key = format!("build.task/T-{n}");
                plant(&mut world, &key, "planning", &serde_json::json!({ "title": "Add a search box" }));
                let validator = Actor::new("val", ActorKind::Agent).with_roles(["solution_validator"]);
                let fire =
                    Command::fire(validator, EntityKey::parse(&key).unwrap(), "fail", Fields::default());
                (key, fire.with_reason("No index"))
            }
        };
        for _ in 0..case.history {
            let hank = Actor::new("hank", ActorKind::Human);
            let edit = serde_json::json!({ "priority": 2 });
            let edit = Command::fire(hank, EntityKey::parse(&key).unwrap(), "edit", fields_from(&edit));
            if let Outcome::Refused(refusal) = world.submit(&edit) {
                panic!("{}", refusal);
            }
        }
        if commands.len() < case.commands {
            commands.push(command);
        }
    }
    // Later than everything planted, so that clocks have run.
    let now = world.now.plus(Span::seconds(60));
    drop(world.law);
    (Arc::into_inner(law).unwrap(), world.view, commands, now)
}

pub(crate) fn fields_from(json: &serde_json::Value) -> Fields {
    let map = json.as_object().unwrap();
    map.iter().map(|(name, value)| (name.as_str(), Value::from_json(value))).collect()
}

fn pack(name: &str) -> Pack {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs").join(name);
    let mut sources = Sources::default();
    let mut add =
        |path: &Path| sources.add(path.display().to_string(), std::fs::read_to_string(path).unwrap());
    let pack = add(&folder.join("pack.yaml"));
    let mut files: Vec<_> =
        std::fs::read_dir(folder.join("lifecycles")).unwrap().map(|it| it.unwrap().path()).collect();
    files.sort();
    let lifecycles = files.iter().map(|it| add(it)).collect();
    match compile(&sources, &PackFiles { pack, lifecycles }) {
        Ok((pack, _)) => pack,
        Err(problems) => panic!("{}", problems.render(&sources, false)),
    }
}
