//! The figures match the journal: this test recounts them from readable data and compares.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use trackside_lifecycle::time::Timestamp;
use trackside_protocol::Client;
use trackside_random::Random;

use crate::ground::{RestServer, each, refused, why};

/// Pots that are fired, cool down or crack, without end.
fn kiln() -> Json {
    let pot = "lifecycle: kiln.pot\nabout: A pot.\nfields: { glaze: { type: string } }\n\
        create: { by: human }\n\
        states: { CLAY: { initial: true }, HOT: { require: { glaze: A pot is glazed first } }, COLD: { final: true, outcome: success } }\n\
        transitions:\n  fire: { from: CLAY, to: HOT, by: human, takes: [glaze] }\n  \
        crack: { from: HOT, to: CLAY, by: human }\n  cool: { from: HOT, to: COLD, by: human && admin }\n";
    json!({ "files": { "pack.yaml": "pack: kiln\nversion: 1\nabout: A kiln.\n", "lifecycles/pot.yaml": pot } })
}

/// Random numbers that are the same in every run.
#[derive(Default)]
struct FigureCounts {
    states: BTreeMap<String, u64>,
    /// Lengths of stays in milliseconds.
    stays: BTreeMap<String, Vec<i64>>,
    /// The times of transitions.
    moves: Vec<i64>,
}

fn journal(client: &Client) -> Vec<Json> {
    let (mut all, mut after) = (Vec::new(), 0);
    loop {
        let page = client.get(&format!("/v1/journal?after={after}&limit=200")).unwrap().body;
        let items = page["items"].as_array().unwrap();
        let Some(last) = items.last() else { return all };
        after = last["seq"].as_u64().unwrap();
        all.extend(items.iter().cloned());
    }
}

fn count_figures(journal: &[Json]) -> BTreeMap<String, FigureCounts> {
    let mut all: BTreeMap<String, FigureCounts> = BTreeMap::new();
    let mut now: BTreeMap<(String, String), (String, i64)> = BTreeMap::new();
    for entry in journal {
        let text = |name: &str| entry[name].as_str().unwrap_or_default().to_owned();
        let event = text("event");
        if !["CREATED", "STATE_TRANSITION", "STATE_CORRECTED"].contains(&event.as_str()) {
            continue;
        }
        let at = Timestamp::parse(&text("timestamp")).unwrap().0;
        let of = all.entry(text("lifecycle")).or_default();
        let key = (text("lifecycle"), text("id"));
        if let Some((state, since)) = now.insert(key, (text("to"), at)) {
            *of.states.get_mut(&state).unwrap() -= 1;
            of.stays.entry(state).or_default().push(at - since);
        }
        *of.states.entry(text("to")).or_default() += 1;
        if event == "STATE_TRANSITION" {
            of.moves.push(at);
        }
    }
    all
}

/// The length that this share of them does not exceed.
fn percentile(sorted: &[i64], share: f64) -> f64 {
    let place = ((sorted.len() as f64 * share).ceil() as usize).max(1);
    sorted[place - 1] as f64 / 1_000.0
}

fn compare(told: &Json, counted: &FigureCounts, now: i64) {
    let states: BTreeMap<&String, u64> = counted
        .states
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(state, count)| (state, *count))
        .collect();
    assert_eq!(told["states"], json!(states), "{told:#}");
    let told_stays = told["timeInState"].as_object().unwrap();
    assert_eq!(told_stays.keys().collect::<Vec<_>>(), counted.stays.keys().collect::<Vec<_>>());
    for (state, lengths) in &counted.stays {
        let mut sorted = lengths.clone();
        sorted.sort_unstable();
        let figures = &told_stays[state];
        assert_eq!(figures["count"], json!(lengths.len()), "{state}");
        let near = |name: &str, wanted: f64, within: f64| {
            let told = figures[name].as_f64().unwrap();
            assert!(
                (told - wanted).abs() <= wanted * within + 0.001,
                "{name} of {state}: {told}, not {wanted}"
            );
        };
        near("mean", lengths.iter().sum::<i64>() as f64 / lengths.len() as f64 / 1_000.0, 0.0);
        // The promised precision of percentiles: four per cent.
        near("p50", percentile(&sorted, 0.5), 0.04);
        near("p90", percentile(&sorted, 0.9), 0.04);
        near("p99", percentile(&sorted, 0.99), 0.04);
    }
    let lately = |step: i64| {
        let (first, last) = (now.div_euclid(step) - 59, now.div_euclid(step));
        counted.moves.iter().filter(|it| (first..=last).contains(&it.div_euclid(step))).count()
    };
    let throughput =
        json!({ "lastMinute": lately(1_000), "lastHour": lately(60_000), "sinceStart": counted.moves.len() });
    assert_eq!(told["throughput"], throughput, "of {}", told["lifecycle"]);
}

#[test]
fn figures_equal_a_recount_of_the_journal() {
    let ground = RestServer::new();
    let owner = &ground.owner;
    owner.put("/v1/packs/kiln", &kiln()).unwrap_or_else(|it| panic!("{it:#?}"));
    let pia = ground.person("pia");
    let mut random = Random::new(7);
    let mut refusals: BTreeMap<String, u64> = BTreeMap::new();
    for n in 0..20 {
        owner.post("/v1/entities/kiln.pot", &json!({ "id": format!("P-{n}") })).unwrap();
        let task = json!({ "id": format!("T-{n}"), "fields": { "title": "A task" } });
        owner.post("/v1/entities/mission.task", &task).unwrap();
    }
    for _ in 0..300 {
        // Mostly moments, now and then hours.
        let most = if random.below_u64(10) == 0 { 3 * 3_600 } else { 40 };
        owner
            .post("/v1/clock/advance", &json!({ "by": format!("{}s", 1 + random.below_u64(most)) }))
            .unwrap();
        let pot = format!("/v1/entities/kiln.pot/P-{}/transitions", random.below_u64(20));
        let body = match random.below_u64(5) {
            0 | 1 => json!({ "event": "fire", "fields": { "glaze": "blue" } }),
            2 => json!({ "event": "crack" }),
            3 => json!({ "event": "cool" }),
            _ => json!({ "event": "fire" }),
        };
        let by = if random.below_u64(2) == 0 { owner } else { &pia };
        if let Err(error) = by.post(&pot, &body) {
            *refusals.entry(refused(Err(error)).code).or_default() += 1;
        }
    }
    // A correction counts as leaving a state, too.
    let state = owner.get("/v1/entities/kiln.pot/P-0").unwrap().body["state"].clone();
    let other = if state == "COLD" { "CLAY" } else { "COLD" };
    let correction = json!({ "to": other, "reason": "it was so all along" });
    owner.post("/v1/entities/kiln.pot/P-0/correct", &correction).unwrap_or_else(|it| panic!("{it:#?}"));
    assert!(refusals.len() >= 3, "there is something to compare: {refusals:?}");

    let now = owner.get("/v1/clock").unwrap().body["now"].as_str().map(|it| Timestamp::parse(it).unwrap().0);
    let counted = count_figures(&journal(owner));
    assert!(counted["kiln.pot"].moves.len() > 50, "{}", counted["kiln.pot"].moves.len());
    let all = owner.get("/v1/stats").unwrap().body;
    let nothing = FigureCounts::default();
    for told in all["items"].as_array().unwrap() {
        let lifecycle = told["lifecycle"].as_str().unwrap();
        compare(told, counted.get(lifecycle).unwrap_or(&nothing), now.unwrap());
        assert_eq!(&owner.get(&format!("/v1/stats?lifecycle={lifecycle}")).unwrap().body, told);
    }
    let pots = owner.get("/v1/stats?lifecycle=kiln.pot").unwrap().body;
    assert_eq!(pots["refusals"], json!(refusals));

    // After a restart the figures still match the journal; those counted since the start begin at zero.
    let ground = ground.restart();
    let again = ground.owner.get("/v1/stats?lifecycle=kiln.pot").unwrap().body;
    assert_eq!((&again["states"], &again["timeInState"]), (&pots["states"], &pots["timeInState"]));
    let lately = |it: &Json| (it["throughput"]["lastMinute"].clone(), it["throughput"]["lastHour"].clone());
    assert!(pots["throughput"]["lastHour"].as_u64() > Some(0), "there is something to compare: {pots:#}");
    assert_eq!(lately(&again), lately(&pots));
    assert_eq!(again["throughput"]["sinceStart"], json!(0));
    assert_eq!(again["startedAt"], ground.owner.get("/v1/clock").unwrap().body["now"]);
    assert_eq!(again["refusals"], json!({}));
}

#[test]
fn the_servers_own_lifecycles_are_in_no_figures_and_only_in_admin_settings() {
    let ground = RestServer::new();
    let (owner, pia) = (&ground.owner, ground.person("pia"));
    for (client, more) in [(owner, &["access"][..]), (&pia, &[])] {
        let stats = client.get("/v1/stats").unwrap().body;
        let lifecycles = each(&stats, "lifecycle");
        assert!(
            lifecycles.contains(&"mission.task") && lifecycles.iter().all(|it| !it.starts_with("access."))
        );
        let settings = client.get("/v1/settings").unwrap().body;
        let packs: Vec<&str> =
            settings["packs"].as_array().unwrap().iter().filter_map(|it| it["pack"].as_str()).collect();
        assert_eq!(packs, [more, &["coding", "fleet", "mission"]].concat(), "limits are for admins");
    }
    assert_eq!(why(pia.get("/v1/stats?lifecycle=access.token")), (404, "unknown-lifecycle".to_owned()));
    assert_eq!(why(pia.get("/v1/settings/access")), (404, "unknown-pack".to_owned()));
    let tokens = owner.get("/v1/stats?lifecycle=access.token").unwrap().body;
    assert_eq!(tokens["states"].as_object().unwrap().values().filter_map(Json::as_u64).sum::<u64>(), 2);
}

#[test]
fn counts_are_hidden_from_callers_that_may_not_read_the_entities() {
    let ground = RestServer::new();
    let safe = "lifecycle: bank.safe\nabout: A safe.\nread: human && admin\ncreate: { by: human }\nstates: { SHUT: { initial: true }, OPEN: {} }\n\
        transitions: { open: { from: SHUT, to: OPEN, by: human }, shut: { from: OPEN, to: SHUT, by: human } }\n";
    let pack = json!({ "files": { "pack.yaml": "pack: bank\nversion: 1\nabout: A bank.\n", "lifecycles/safe.yaml": safe } });
    ground.owner.put("/v1/packs/bank", &pack).unwrap_or_else(|it| panic!("{it:#?}"));
    ground.owner.post("/v1/entities/bank.safe", &json!({ "id": "S" })).unwrap();
    ground.owner.post("/v1/entities/bank.safe/S/transitions", &json!({ "event": "open" })).unwrap();
    let (pia, prometheus) =
        (ground.person("pia"), ground.actor(json!({ "actor": "prometheus", "kind": "system" })));
    let shown = |client: &Client| {
        let listed = each(&client.get("/v1/stats").unwrap().body, "lifecycle").contains(&"bank.safe");
        let page = String::from_utf8(client.get_bytes("/metrics").unwrap()).unwrap();
        let named = page.lines().filter(|it| it.contains("bank.safe")).count();
        (listed, named > 0)
    };
    assert_eq!(shown(&pia), (false, false));
    assert_eq!((shown(&ground.owner), shown(&prometheus)), ((true, true), (true, true)));
    assert_eq!(why(pia.get("/v1/stats?lifecycle=bank.safe")), (403, "not-permitted".to_owned()));
    let told = prometheus.get("/v1/stats?lifecycle=bank.safe").unwrap().body;
    assert_eq!(told["states"]["OPEN"], json!(1));
}
