//! Checks the names in scenarios: a test with a misspelled name proves nothing.

use trackside_engine::event::EventKind;
use trackside_engine::key::EntityKey;
use trackside_engine::law::Law;
use trackside_engine::refusal::Code;
use trackside_lifecycle::guard::nearest;
use trackside_lifecycle::model::{Lifecycle, Pack, WorkStep, run_members};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{At, Json as AsWritten, Named, Place, Problems};
use trackside_lifecycle::value::Value;

use super::syntax::{ScenarioFile, ScenarioHead, StepDecl, Then};

/// Looks names up and reports unknown ones.
pub(super) struct Checker<'a> {
    pub law: &'a Law,
    pub pack: &'a Pack,
    pub problems: &'a mut Problems,
}

/// The members of a journal entry.
const ENTRY: &[&str] = &[
    "seq",
    "timestamp",
    "event",
    "lifecycle",
    "id",
    "from",
    "to",
    "trigger",
    "actor",
    "actorKind",
    "reason",
    "version",
    "metadata",
    "cause",
    "onBehalfOf",
    "condition",
];

/// The members of an entity.
const ENVELOPE: &[&str] = &[
    "lifecycle",
    "id",
    "state",
    "previousState",
    "final",
    "generation",
    "version",
    "definition",
    "fields",
    "createdAt",
    "updatedAt",
    "stateEnteredAt",
    "timeInState",
    "timers",
    "leases",
    "allowedTransitions",
];

impl Checker<'_> {
    pub fn file(&mut self, file: &ScenarioFile) {
        for (_, decl) in file.actors.iter() {
            for role in [&decl.human, &decl.agent, &decl.system].into_iter().flatten().flatten() {
                let known = self.pack.roles.keys().map(Name::as_str).chain(["admin"]);
                self.check_known("role", &role.it, role.at, known.collect());
            }
        }
        self.check_given(file.given.as_deref());
        for table in file.matrix.iter().flat_map(|it| it.iter()) {
            let Some(life) = self.law.newest(&table.of.it).cloned() else { continue };
            let states: Vec<&str> = life.states.iter().map(|it| it.name.as_str()).collect();
            for (from, row) in table.allowed.iter() {
                self.check_known("state", &from.it, from.at, states.clone());
                for (to, who) in row.iter() {
                    self.check_known("state", &to.it, to.at, states.clone());
                    for name in who {
                        let actors = file.actors.iter().map(|(it, _)| it.it.as_str());
                        self.check_known("actor", &name.it, name.at, actors.collect());
                    }
                }
            }
        }
    }

    pub fn scenario(&mut self, head: &ScenarioHead) {
        if head.steps.is_empty() {
            self.problems
                .error("no-steps", head.scenario.at, "this scenario does nothing")
                .hint("add `steps`: actions, their actors and the expected results");
        }
        self.check_given(head.given.as_deref());
        for step in &head.steps {
            self.step(step, head.scenario.at);
        }
    }

    fn step(&mut self, step: &StepDecl, at: Place) {
        let actions = [
            step.fire.is_some(),
            step.r#move.is_some(),
            step.create.is_some(),
            step.heartbeat.is_some(),
            step.correct.is_some(),
            step.effect.is_some(),
            step.advance.is_some(),
            step.restart.is_some(),
            !step.configure.is_empty(),
            step.people.is_some(),
            step.sweep.is_some(),
            step.query.is_some(),
            step.observe.is_some(),
            step.policy.is_some(),
            step.claim.is_some(),
            step.exit.is_some(),
            step.stopped.is_some(),
            step.work.is_some(),
        ];
        let at = super::run::place(step).unwrap_or(at);
        match actions.iter().filter(|it| **it).count() {
            0 if step.then.is_none() => {
                self.problems.error(
                    "empty-step",
                    at,
                    "a step of this scenario neither does nor expects anything",
                );
            }
            0 | 1 => {}
            _ => {
                self.problems.error("several-actions", at, "a step does one thing: make two steps of it");
            }
        }
        let refused = step.then.as_ref().and_then(|it| it.refused.as_ref()).map(|it| &it.it.0);
        let code = match refused {
            Some(Value::Text(text)) => text.to_string(),
            Some(Value::Map(map)) => map.get("code").and_then(Value::as_str).unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        let names_are_the_point = Code::parse(&code).is_some_and(Code::is_about_name);
        let acted =
            [&step.of, &step.r#move, &step.create, &step.heartbeat, &step.correct, &step.observe, &step.work];
        let mut life = None;
        for key in acted.into_iter().flatten() {
            life = if names_are_the_point { self.find_entity(&key.it) } else { self.entity(key) };
        }
        if let (Some(name), false) = (&step.claim, names_are_the_point) {
            let law = self.law;
            let known = law.lifecycle_names().iter().map(Name::as_str).collect();
            self.check_known("lifecycle", &name.it, name.at, known);
            life = law.newest(&name.it).cloned();
            if let (Some(life), Some(event)) = (&life, &step.event) {
                let known =
                    life.rankings.iter().filter_map(|it| it.claims.as_ref()).map(Name::as_str).collect();
                self.check_known(&format!("event that claims a {}", life.name), &event.it, event.at, known);
            }
        }
        if let Some(role) = &step.role {
            let (what, known) = match (&step.work, &life) {
                (Some(_), Some(life)) => ("role with work", life.work.keys().map(Name::as_str).collect()),
                (Some(_), None) => ("role with work", vec![role.it.as_str()]),
                (None, _) => ("supervised role", self.pack.supervise.keys().map(Name::as_str).collect()),
            };
            self.check_known(what, &role.it, role.at, known);
        }
        if let Some(action) = &step.action {
            let known = WorkStep::ALL.map(WorkStep::as_str).to_vec();
            self.check_known("action of a run", &action.it, action.at, known);
        }
        let members = run_members();
        for (name, _) in step.run.iter() {
            let known = members.iter().map(|(name, _)| *name).collect();
            self.check_known("member of `run`", &name.it, name.at, known);
        }
        if let (Some(life), false) = (&life, names_are_the_point) {
            let states = || life.states.iter().map(|it| it.name.as_str()).collect::<Vec<_>>();
            if let Some(event) = &step.fire {
                let known = life.transitions.iter().map(|it| it.name.as_str()).collect();
                self.check_known(&format!("event of {}", life.name), &event.it, event.at, known);
            }
            if let Some(to) = &step.to {
                self.check_known(&format!("state of {}", life.name), &to.it, to.at, states());
            }
            if let Some(slot) = &step.slot {
                let known = life.slots.iter().map(|it| it.name.as_str()).collect();
                self.check_known(&format!("slot of {}", life.name), &slot.it, slot.at, known);
            }
        }
        if let Some(query) = &step.query {
            let known = self.pack.queries.iter().map(|it| it.name.as_str()).collect();
            self.check_known("query", &query.it, query.at, known);
        }
        if let Some(then) = &step.then {
            self.then(then, life.as_deref());
        }
    }

    fn then(&mut self, then: &Then, acted: Option<&Lifecycle>) {
        let own = then.of.as_ref().and_then(|it| self.entity(it));
        if let Some(life) = own.as_deref().or(acted) {
            if let Some(state) = &then.state {
                let known = life.states.iter().map(|it| it.name.as_str()).collect();
                self.check_known(&format!("state of {}", life.name), &state.it, state.at, known);
            }
            if let Some(fields) = &then.fields
                && let Value::Map(map) = &fields.it.0
            {
                for name in map.keys() {
                    let known = life.fields.keys().map(Name::as_str).collect();
                    self.check_known(&format!("field of {}", life.name), name, fields.at, known);
                }
            }
            for (name, _) in then.ranks.iter() {
                let known = life.rankings.iter().map(|it| it.name.as_str()).collect();
                self.check_known(&format!("ranking of {}", life.name), &name.it, name.at, known);
            }
            for (name, _) in then.timers.iter() {
                let timers = life.timers.iter().map(|it| it.name.to_string());
                let leases = life.slots.iter().map(|it| format!("lease.{}", it.name));
                let resets = life.counters.iter().map(|it| format!("reset.{}", it.name));
                let all: Vec<String> = timers.chain(leases).chain(resets).collect();
                let known = all.iter().map(String::as_str).collect();
                self.check_known(&format!("timer of {}", life.name), &name.it, name.at, known);
            }
        }
        for key in [&then.exists, &then.absent].into_iter().flatten().flat_map(|it| it.iter()) {
            self.entity(key);
        }
        for entry in then.journal.iter().chain(&then.without).flatten() {
            self.members(&entry.it.0, "member of an entry", entry.at, ENTRY);
            if let Value::Map(map) = &entry.it.0
                && let Some(event) = map.get("event").and_then(Value::as_str)
            {
                self.check_known(
                    "event of the journal",
                    event,
                    entry.at,
                    EventKind::ALL.iter().map(|it| it.as_str()).collect(),
                );
            }
        }
        if let Some(entity) = &then.entity {
            self.members(&entity.it.0, "member of an entity", entity.at, ENVELOPE);
        }
        for (told, members) in [
            (&then.alerts, ["kind", "severity", "message"].as_slice()),
            (&then.notified, &["audience", "to", "message"]),
            (&then.messages, &["kind", "text", "to", "visible", "from"]),
        ] {
            for it in told.iter().flatten() {
                self.members(&it.it.0, "member of the notification", it.at, members);
            }
        }
        if let Some(refused) = &then.refused {
            self.check_refusal(&refused.it.0, refused.at);
        }
        for further in then.also.iter().flatten() {
            self.then(further, acted);
        }
    }

    /// Checks that every key is known. An unknown key would match anything.
    fn members(&mut self, wanted: &Value, what: &str, at: Place, known: &[&str]) {
        if let Value::Map(map) = wanted {
            for name in map.keys() {
                self.check_known(what, name, at, known.to_vec());
            }
        }
    }

    /// A text that looks like a code must be one.
    fn check_refusal(&mut self, wanted: &Value, at: Place) {
        let code = match wanted {
            Value::Text(text) if !text.contains(' ') && !text.starts_with('~') => Some(text.to_string()),
            Value::Map(map) => map.get("code").and_then(Value::as_str).map(str::to_owned),
            _ => None,
        };
        if let Some(code) = code {
            self.check_known("refusal code", &code, at, Code::ALL.iter().map(|it| it.as_str()).collect());
        }
    }

    fn check_given(&mut self, given: Option<&[Named<Named<AsWritten>>]>) {
        for (name, fields) in given.into_iter().flatten().flat_map(|it| it.iter()) {
            let text = At::new(name.it.to_string(), name.at);
            let Some(life) = self.entity(&text) else { continue };
            for (key, AsWritten(value)) in fields.iter() {
                match (key.it.as_str(), value) {
                    ("state", Value::Text(state)) => {
                        let known = life.states.iter().map(|it| it.name.as_str()).collect();
                        self.check_known(&format!("state of {}", life.name), state, key.at, known);
                    }
                    ("counters", Value::Map(map)) => {
                        for counter in map.keys() {
                            let known = life.counters.iter().map(|it| it.name.as_str()).collect();
                            self.check_known(&format!("counter of {}", life.name), counter, key.at, known);
                        }
                    }
                    ("leases", Value::Map(map)) => {
                        for slot in map.keys() {
                            let known = life.slots.iter().map(|it| it.name.as_str()).collect();
                            self.check_known(&format!("slot of {}", life.name), slot, key.at, known);
                        }
                    }
                    ("age" | "corrupt", _) => {}
                    _ => {
                        let stored =
                            life.fields.values().filter(|it| it.is.is_none()).map(|it| it.name.as_str());
                        let known = stored.chain(["state", "age", "counters", "leases", "corrupt"]).collect();
                        self.check_known(&format!("field of {}", life.name), &key.it, key.at, known);
                    }
                }
            }
        }
    }

    fn find_entity(&self, key: &str) -> Option<std::sync::Arc<Lifecycle>> {
        self.law.newest(&EntityKey::parse(key)?.lifecycle).cloned()
    }

    /// The lifecycle of the named entity.
    fn entity(&mut self, key: &At<String>) -> Option<std::sync::Arc<Lifecycle>> {
        let Some(parsed) = EntityKey::parse(&key.it) else {
            self.problems.error("not-an-entity", key.at, format!("`{}` is not LIFECYCLE/ID", key.it));
            return None;
        };
        let law = self.law;
        let known = law.lifecycle_names().iter().map(Name::as_str).collect();
        self.check_known("lifecycle", &parsed.lifecycle, key.at, known);
        law.newest(&parsed.lifecycle).cloned()
    }

    fn check_known(&mut self, what: &str, name: &str, at: Place, known: Vec<&str>) {
        if known.contains(&name) {
            return;
        }
        let hint = match nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "there is none".to_owned(),
            None => format!("there is {}", known.iter().take(20).copied().collect::<Vec<_>>().join(", ")),
        };
        self.problems.error("unknown-name", at, format!("there is no {what} called `{name}`")).hint(hint);
    }
}
