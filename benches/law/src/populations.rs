//! Operations whose cost must not grow with the number of entities: claims, ranks, counts, shares.

use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Claim, Command};
use trackside_engine::fields::Fields;
use trackside_engine::key::EntityKey;
use trackside_engine::world::World;
use trackside_lifecycle::name::Name;

use crate::worlds::{BenchCase, BenchCommand, fields_from, plant};

/// The number of commands that each of these cases measures.
const COMMANDS: usize = 45;

pub(crate) fn cases() -> Vec<BenchCase> {
    let mut cases = Vec::new();
    let kinds = [
        (BenchCommand::Claim, "research.task claim (task, worker, counts; next of the order)"),
        (BenchCommand::Match, "research.hypothesis match (both ratings, both places)"),
        (BenchCommand::Finish, "research.task complete (task, worker, session, counts)"),
        (BenchCommand::CodingClaim, "coding.task claim (task, agent, lease, worktree; dependencies met)"),
    ];
    for (what, name) in kinds {
        for (many, entities) in [("100", 100), ("10,000", 10_000), ("100,000", 100_000)] {
            cases.push(BenchCase::new(format!("{name}, {many} of them"), entities, COMMANDS, what));
        }
    }
    cases.push(BenchCase::new(
        "research.session round: 1 of 10 selected".to_owned(),
        10,
        1,
        BenchCommand::Select,
    ));
    cases.push(BenchCase::new(
        "research.session round: 10 of 100 selected".to_owned(),
        100,
        1,
        BenchCommand::Select,
    ));
    cases.push(BenchCase::new(
        "research.session round: 100 of 1,000 selected".to_owned(),
        1_000,
        1,
        BenchCommand::Select,
    ));
    cases
}

/// Plants the population and gives the commands.
pub(crate) fn build(case: &BenchCase, world: &mut World) -> Vec<Command> {
    let many = case.entities();
    let count = case.commands().min(many);
    let agent = |id: String, role: &str| Actor::new(id, ActorKind::Agent).with_roles([role]);
    let key = |lifecycle: &str, id: String| EntityKey::new(lifecycle, id);
    let session = serde_json::json!({ "goal": "Find it", "owner": "hank", "cycle": 0, "iteration": 1 });
    if !matches!(case.what(), BenchCommand::CodingClaim) {
        plant(world, "research.session/S", "ACTIVE", &session);
    }
    match case.what() {
        BenchCommand::Claim | BenchCommand::Finish => {
            for n in 0..count {
                let busy = matches!(case.what(), BenchCommand::Finish);
                let fields = if busy {
                    serde_json::json!({ "task": format!("T-{n}") })
                } else {
                    serde_json::json!({})
                };
                plant(world, &format!("research.worker/w{n}"), if busy { "BUSY" } else { "READY" }, &fields);
            }
            for n in 0..many {
                let mut fields = serde_json::json!({
                    "session": "S", "type": "rank", "agent": "nobody", "priority": "normal", "effectivePriority": "normal"
                });
                let running = matches!(case.what(), BenchCommand::Finish) && n < count;
                if running {
                    fields["workerId"] = serde_json::json!(format!("w{n}"));
                }
                plant(
                    world,
                    &format!("research.task/T-{n}"),
                    if running { "RUNNING" } else { "QUEUED" },
                    &fields,
                );
            }
            (0..count)
                .map(|n| {
                    let worker = agent(format!("w{n}"), "worker");
                    if matches!(case.what(), BenchCommand::Finish) {
                        let fields = fields_from(&serde_json::json!({ "result": { "ok": true } }));
                        return Command::fire(
                            worker,
                            key("research.task", format!("T-{n}")),
                            "complete",
                            fields,
                        );
                    }
                    claim(worker, "research.task", None)
                })
                .collect()
        }
        BenchCommand::Match | BenchCommand::Select => {
            for n in 0..many {
                let fields = serde_json::json!({
                    "session": "S", "summary": "An idea", "description": "Why it may hold", "confidence": 0.9,
                    "elo": 1000.0 + ((n * 7919) % 1009) as f64, "gainedIn": 0, "createdBy": "gen"
                });
                plant(world, &format!("research.hypothesis/H-{n}"), "RANKED", &fields);
            }
            if matches!(case.what(), BenchCommand::Select) {
                let supervisor = agent("sup".to_owned(), "supervisor");
                return vec![Command::fire(
                    supervisor,
                    key("research.session", "S".to_owned()),
                    "round_ended",
                    Fields::default(),
                )];
            }
            let ranking = agent("rank-1".to_owned(), "ranking");
            (0..count.min(many / 2))
                .map(|n| {
                    let (one, other) = (format!("H-{n}"), format!("H-{}", many - 1 - n));
                    let fields = serde_json::json!({ "opponent": other, "winner": one });
                    Command::fire(
                        ranking.clone(),
                        key("research.hypothesis", one),
                        "match",
                        fields_from(&fields),
                    )
                })
                .collect()
        }
        BenchCommand::CodingClaim => {
            plant(
                world,
                "coding.goal/G",
                "IN_PROGRESS",
                &serde_json::json!({ "description": "Ship it", "spec_ref": "spec.md" }),
            );
            plant(world, "coding.sprint/SP", "IN_PROGRESS", &serde_json::json!({ "goal_ref": "G" }));
            for n in 0..count {
                plant(
                    world,
                    &format!("coding.agent/coder-{n}"),
                    "IDLE",
                    &serde_json::json!({ "role": "coder", "registered": true }),
                );
            }
            for n in 0..many {
                let fields = serde_json::json!({
                    "sprint_id": "SP", "description": "A task", "priority": 1 + n % 5, "spec_ref": "spec.md",
                    "done_when": "The test passes", "scope": "one file", "depends_on": []
                });
                plant(world, &format!("coding.task/T-{n}"), "UNCLAIMED", &fields);
            }
            (0..count)
                .map(|n| claim(agent(format!("coder-{n}"), "coder"), "coding.task", Some("claim")))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn claim(actor: Actor, lifecycle: &str, event: Option<&str>) -> Command {
    let claim = Claim {
        lifecycle: Name::new(lifecycle),
        event: event.map(Name::new),
        only: None,
        fields: Fields::default(),
    };
    Command::new(actor, Ask::Claim(claim))
}
