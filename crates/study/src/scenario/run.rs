//! Runs the scenarios of a file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::Arc;

use serde_json::Value as Json;
use trackside_engine::actor::{Actor, ActorKind};
use trackside_engine::command::{Ask, Claim, Command, Fire, Seed, TransitionRef};
use trackside_engine::decide::{Decision, history_line, passes_history};
use trackside_engine::event::Entry;
use trackside_engine::fields::Fields;
use trackside_engine::journal::{Journal, JournalHeader};
use trackside_engine::key::EntityKey;
use trackside_engine::law::Law;
use trackside_engine::observe::EntryAccess;
use trackside_engine::policy::{self, Judgement};
use trackside_engine::project::{ProjectChange, SettingChange, is_known_zone, project_key};
use trackside_engine::query::{self, QueryReader};
use trackside_engine::refusal::{Code, Refusal};
use trackside_engine::settings;
use trackside_engine::supervise::{Ended, after_exit, code_when_stopped};
use trackside_engine::trace::Trace;
use trackside_engine::view::{Needs, Project};
use trackside_engine::work::{NextEvent, WorkQuestion};
use trackside_engine::world::{Outcome, World};
use trackside_lifecycle::compile::Filter;
use trackside_lifecycle::model::WorkStep;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{FromNode, Json as AsWritten, Named, Place, Problems};
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_lifecycle::value::Value;
use trackside_protocol::{FieldMap, entry_value};

use super::check::Checker;
use super::expect::{Happened, Mismatch, lines};
use super::matrix;
use super::outward::{
    ExitResult, HeartbeatResult, PolicyResult, WorkEventResult, WorkResult, entity_json, entry_json, to_json,
};
use super::report::{ScenarioFailure, ScenarioReport};
use super::substitute::substitute;
use super::syntax::{ActorDecl, ScenarioFile, ScenarioHead, ScenarioNode, StepDecl};

/// Data that the scenarios of a file share.
pub(super) struct ScenarioSetup<'a> {
    pub law: Arc<Law>,
    pub file: &'a ScenarioFile,
    pub actors: Vec<(String, Actor)>,
    pub trace: Arc<Trace>,
}

/// Runs every scenario and every table of a file. Mistakes in its text go to `problems`.
pub fn run(
    law: &Arc<Law>,
    file: &ScenarioFile,
    trace: &Arc<Trace>,
    problems: &mut Problems,
) -> ScenarioReport {
    run_watched(law, file, trace, problems, &mut |_| {})
}

/// A scenario that ran to its end, or until it failed.
#[derive(Debug)]
pub struct Played<'a> {
    /// The name of the scenario.
    pub scenario: &'a str,
    pub world: &'a World,
    /// The rules that it exercised.
    pub trace: &'a Trace,
    actors: &'a [(String, Actor)],
}

impl Played<'_> {
    /// The journal of the scenario, with data that the entries do not contain.
    pub fn journal(&self) -> Journal {
        let mut about = JournalHeader::new(&self.world.view.project, self.actors, self.world.now);
        about.scenario = Some(self.scenario.to_owned());
        Journal { about, entries: self.world.journal.clone() }
    }
}

/// Runs like [`run`], and passes each finished scenario to `watch`.
pub fn run_watched(
    law: &Arc<Law>,
    file: &ScenarioFile,
    trace: &Arc<Trace>,
    problems: &mut Problems,
    watch: &mut dyn FnMut(&Played<'_>),
) -> ScenarioReport {
    let stage = ScenarioSetup {
        law: law.clone(),
        file,
        actors: actors(&file.actors, problems),
        trace: trace.clone(),
    };
    let mut report = ScenarioReport::default();
    let Some(pack) = law.pack(&file.pack.it).cloned() else {
        problems.error("unknown-name", file.pack.at, format!("there is no pack called `{}`", file.pack.it));
        return report;
    };
    Checker { law, pack: &pack, problems }.file(file);
    let mut names: Vec<String> = Vec::new();
    for ScenarioNode(node) in file.scenarios.iter().flatten() {
        let rows: Vec<Named<trackside_lifecycle::source::Node>> = match node.get("each") {
            Some(each) => Vec::from_node(each, problems).unwrap_or_default(),
            None => vec![Named(Vec::new())],
        };
        if let Some(title) = node.get("scenario")
            && let Some(text) = title.text()
        {
            if names.iter().any(|it| it == text) {
                problems.error("name-taken", title.at, "another scenario of this file has the same name");
            }
            names.push(text.to_owned());
        }
        for row in &rows {
            let scenario = if row.is_empty() { node.clone() } else { substitute(node, row) };
            let Some(head) = ScenarioHead::from_node(&scenario, problems) else { continue };
            let before = problems.count();
            Checker { law, pack: &pack, problems }.scenario(&head);
            if problems.count() > before {
                continue;
            }
            let name = head.scenario.it.clone();
            let rules = head.rules.iter().flatten().map(|it| it.it.clone()).collect();
            match stage.play(&head, watch) {
                Ok(()) => {
                    report.passed += 1;
                    report.proved.push((name, rules));
                }
                Err(failure) => report.failures.push(*failure),
            }
        }
    }
    for table in file.matrix.iter().flat_map(|it| it.iter()) {
        matrix::run(&stage, table, &mut report);
    }
    report
}

pub(super) fn actors(from: &Named<ActorDecl>, problems: &mut Problems) -> Vec<(String, Actor)> {
    let mut actors = Vec::new();
    for (name, decl) in from.iter() {
        let kinds = [
            (ActorKind::Human, &decl.human),
            (ActorKind::Agent, &decl.agent),
            (ActorKind::System, &decl.system),
        ];
        let mut given = kinds.iter().filter_map(|(kind, roles)| roles.as_ref().map(|roles| (*kind, roles)));
        match (given.next(), given.next()) {
            (Some((kind, roles)), None) => {
                let actor =
                    Actor::new(name.it.clone(), kind).with_roles(roles.iter().map(|it| it.it.clone()));
                actors.push((name.it.to_string(), actor));
            }
            _ => {
                problems
                    .error(
                        "actor-kind",
                        name.at,
                        format!("`{}` has exactly one of `human`, `agent` and `system`", name.it),
                    )
                    .hint("for instance `ada: { agent: [specialist] }`");
            }
        }
    }
    actors
}

/// A scenario that is running.
struct Play<'a> {
    stage: &'a ScenarioSetup<'a>,
    head: &'a ScenarioHead,
    world: World,
}

impl<'a> ScenarioSetup<'a> {
    fn play(
        &'a self,
        head: &'a ScenarioHead,
        watch: &mut dyn FnMut(&Played<'_>),
    ) -> Result<(), Box<ScenarioFailure>> {
        let fail = |expected: &str, happened: String, journal: Vec<String>| {
            Box::new(ScenarioFailure {
                scenario: head.scenario.it.clone(),
                step: None,
                at: head.scenario.at,
                expected: expected.to_owned(),
                happened,
                journal,
            })
        };
        let mut world = self
            .world(
                &head.settings,
                head.people.as_ref(),
                head.now.as_ref().map(|it| it.it.as_str()),
                head.zone.as_ref(),
            )
            .map_err(|it| fail("a world to start from", it, Vec::new()))?;
        let given = self.file.given.iter().flatten().chain(head.given.iter().flatten());
        for (name, fields) in given.flat_map(|it| it.iter()) {
            if let Err(problem) = plant(&mut world, &name.it, fields) {
                return Err(fail(&format!("given {}", name.it), problem, lines(&world.journal)));
            }
        }
        let own = Arc::new(Trace::default());
        let mut play = Play { stage: self, head, world: world.traced(own.clone()) };
        let mut steps = head.steps.iter().enumerate();
        let done = steps.try_for_each(|(n, step)| play.step(n + 1, step));
        watch(&Played { scenario: &head.scenario.it, world: &play.world, trace: &own, actors: &self.actors });
        self.trace.add(own.points().into_iter().collect());
        done
    }

    /// A new world with the settings of the file and of the scenario.
    pub fn world(
        &self,
        overrides_here: &Named<AsWritten>,
        people: Option<&Vec<Name>>,
        now: Option<&str>,
        zone: Option<&String>,
    ) -> Result<World, String> {
        let mut overrides: BTreeMap<Name, Value> = BTreeMap::new();
        let pack = self
            .law
            .pack(&self.file.pack.it)
            .ok_or_else(|| format!("there is no pack {}", self.file.pack.it))?;
        for (name, AsWritten(value)) in self.file.settings.iter().chain(overrides_here.iter()) {
            let Some(setting) = pack.settings.iter().find(|it| it.name == name.it) else {
                return Err(format!("the pack has no setting {}", name.it));
            };
            overrides.insert(name.it.clone(), settings::setting_value(setting, value)?);
        }
        let humans =
            self.actors.iter().filter(|(_, it)| it.kind == ActorKind::Human).map(|(_, it)| it.id.clone());
        let people = people.or(self.file.people.as_ref()).cloned().unwrap_or_else(|| humans.collect());
        let zone = zone.or(self.file.zone.as_ref()).cloned().unwrap_or_default();
        if !is_known_zone(&zone) {
            return Err(format!("there is no time zone `{zone}`; name it as in Europe/Berlin"));
        }
        let project =
            Project { settings: BTreeMap::from([(self.file.pack.it.clone(), overrides)]), zone, people };
        let now = now.or(self.file.now.as_ref().map(|it| it.it.as_str())).unwrap_or("2026-01-01T00:00:00Z");
        let now = Timestamp::parse(now).ok_or_else(|| format!("`{now}` is no moment"))?;
        Ok(World::new(self.law.clone(), project, now).traced(self.trace.clone()))
    }

    pub fn actor(&self, name: &str) -> Option<&Actor> {
        self.actors.iter().find(|(it, _)| it == name).map(|(_, actor)| actor)
    }
}

/// Creates an entity as a `given` describes it.
pub(super) fn plant(world: &mut World, name: &str, given: &Named<AsWritten>) -> Result<(), String> {
    let key = EntityKey::parse(name).ok_or_else(|| format!("`{name}` is not LIFECYCLE/ID"))?;
    let mut state = None;
    let mut fields = Fields::default();
    let mut tallies = Vec::new();
    let mut age = None;
    let mut leases = Vec::new();
    let mut corrupt = None;
    for (name, AsWritten(value)) in given.iter() {
        match (name.it.as_str(), value) {
            ("state", Value::Text(text)) => state = Some(text.clone()),
            ("age", Value::Text(text)) => {
                age = Some(Span::parse(text).ok_or_else(|| format!("`{text}` is no span"))?);
            }
            ("counters", Value::Map(map)) => {
                for (counter, value) in map.iter() {
                    tallies.extend(preset(counter, value));
                }
            }
            ("leases", Value::Map(map)) => {
                let holders =
                    map.iter().map(|(slot, it)| (slot.clone(), Name::new(it.as_str().unwrap_or_default())));
                leases.extend(holders);
            }
            ("corrupt", Value::Text(text)) => corrupt = Some(text.clone()),
            _ => fields.put(&name.it, value.clone()),
        }
    }
    if let Some(life) = world.law.newest(&key.lifecycle)
        && let Some(state) = state.as_ref().filter(|it| life.state(it).is_none())
    {
        return Err(format!("{} has no state {state}; `corrupt: {state}` sets it anyway", life.name));
    }
    let now = world.now;
    if let Some(age) = age {
        world.now = Timestamp(now.0.saturating_sub(age.0));
    }
    let actor = Actor::new("given", ActorKind::System);
    let plant = Seed { state, fields, tallies, leases, ..Seed::new(key.clone()) };
    let outcome = world.submit(&Command::new(actor.clone(), Ask::Seed(plant)));
    if let Some(state) = corrupt {
        let plant = Seed { state: Some(state), ..Seed::new(key.clone()) };
        world.submit(&Command::new(actor, Ask::Seed(plant)));
    }
    if age.is_some() {
        let behind = Span(now.0.saturating_sub(world.now.0));
        world.advance(behind);
    }
    match outcome {
        Outcome::Refused(refusal) => Err(refusal.to_string()),
        _ => Ok(()),
    }
}

fn preset(counter: &Name, value: &Value) -> Vec<(Name, Name, f64)> {
    match value {
        Value::Map(map) => map
            .iter()
            .map(|(key, it)| (counter.clone(), key.clone(), it.as_float().unwrap_or_default()))
            .collect(),
        _ => vec![(counter.clone(), Name::new("*"), value.as_float().unwrap_or_default())],
    }
}

impl Play<'_> {
    fn step(&mut self, n: usize, step: &StepDecl) -> Result<(), Box<ScenarioFailure>> {
        let at = place(step).unwrap_or(self.head.scenario.at);
        let fail = |world: &World, mismatch: Mismatch| {
            Box::new(ScenarioFailure {
                scenario: self.head.scenario.it.clone(),
                step: Some(n),
                at: mismatch.at,
                expected: mismatch.expected,
                happened: mismatch.happened,
                journal: lines(&world.journal),
            })
        };
        let wrong =
            |expected: &str, happened: String| Mismatch { at, expected: expected.to_owned(), happened };
        let actor = match &step.r#as {
            None => None,
            Some(name) => match self.stage.actor(&name.it) {
                Some(actor) => Some(actor.clone()),
                None => {
                    return Err(fail(&self.world, wrong("an actor of the file", format!("`{}`", name.it))));
                }
            },
        };
        let first = self.world.journal.len();
        let mut happened = Result::<Acted, String>::Ok(Acted::default());
        if let Some(span) = &step.advance {
            match Span::parse(&span.it) {
                Some(span) => self.world.advance(span),
                None => happened = Err(format!("`{}` is no span", span.it)),
            }
        } else if let Some(span) = &step.restart {
            match Span::parse(&span.it) {
                Some(span) => self.world.restart(span),
                None => happened = Err(format!("`{}` is no span", span.it)),
            }
        } else if step.sweep == Some(true) {
            self.world.sweep();
        } else if let Some(ask) = &step.policy {
            happened = self.policy(ask);
        } else if let Some(code) = step.exit {
            happened = self.exit(i64::from(code), step);
        } else if step.stopped == Some(true) {
            happened = self.stopped(step);
        } else if let Some(name) = &step.query {
            happened = self.query(name, &step.with, actor.as_ref());
        } else if let Some(entity) = &step.work {
            happened = self.work(&entity.it, step, actor.as_ref());
        } else if let Some(entity) = &step.observe {
            happened = self.observe(&entity.it, step, actor.as_ref());
        } else {
            happened = self.command(step, actor.as_ref());
        }
        let acted = happened.map_err(|it| fail(&self.world, wrong("a step that can be done", it)))?;
        let written = self.world.journal.get(first..).unwrap_or_default();
        let entries = acted.seen.as_deref().unwrap_or(written);
        let happened = Happened {
            world: &self.world,
            actor: actor.as_ref(),
            actors: &self.stage.actors,
            entity: acted.entity.or_else(|| step.of.as_ref().and_then(|it| EntityKey::parse(&it.it))),
            entries,
            refusal: acted.refusal,
            acted: acted.acted,
            replayed: acted.replayed,
            ignored: acted.ignored,
            result: acted.result,
            ids: acted.ids,
        };
        happened.check(step.then.as_ref(), at).map_err(|it| fail(&self.world, it))
    }

    fn command(&mut self, step: &StepDecl, actor: Option<&Actor>) -> Result<Acted, String> {
        let Some((entity, ask)) = self.ask(step)? else { return Ok(Acted::default()) };
        let settles = matches!(ask, Ask::EffectResult { .. });
        let learns = step.people.is_some();
        let actor = match actor {
            Some(actor) => actor.clone(),
            None if learns => Actor::engine(),
            None if settles => Actor::new("outside", ActorKind::System),
            None => return Err("no actor: add `as`".to_owned()),
        };
        let mut command = Command::new(actor, ask);
        command.reason = step.reason.as_deref().map(Arc::from);
        command.idempotency_key.clone_from(&step.key);
        command.on_behalf_of.clone_from(&step.r#for);
        let claims = matches!(command.ask, Ask::Claim(_));
        let mut acted = Acted { entity: Some(entity).filter(|_| !claims), acted: true, ..Acted::default() };
        if step.dry == Some(true) {
            if let Decision::Refused(refusal) = self.world.dry_run(&command) {
                acted.refusal = Some(*refusal);
            }
            return Ok(acted);
        }
        match self.world.submit(&command) {
            Outcome::Accepted { ignored, root, .. } => {
                acted.ignored = ignored.iter().map(Name::to_string).collect();
                if claims {
                    acted.entity = self.world.journal.get(root).map(|it| it.entity.clone());
                }
                if let Ask::Heartbeat { entity, slot, .. } = &command.ask {
                    acted.result =
                        to_json(&HeartbeatResult { stop: self.stops(entity, slot, &command.actor) });
                }
            }
            Outcome::Refused(refusal) => acted.refusal = Some(*refusal),
            Outcome::Replayed { root, .. } => {
                acted.replayed = true;
                if claims {
                    acted.entity = self.world.journal.get(root).map(|it| it.entity.clone());
                }
            }
        }
        Ok(acted)
    }

    /// The reasons to stop that a heartbeat would return to its sender.
    fn stops(&self, key: &EntityKey, slot: &Name, actor: &Actor) -> Vec<String> {
        let World { view, now, .. } = &self.world;
        let asking = QueryReader { law: &self.stage.law, view, actor, shown: true, now: *now };
        view.get(key).and_then(|it| asking.stops(it, slot).ok()).unwrap_or_default()
    }

    fn ask(&self, step: &StepDecl) -> Result<Option<(EntityKey, Ask)>, String> {
        let key = |text: &str| EntityKey::parse(text).ok_or_else(|| format!("`{text}` is not LIFECYCLE/ID"));
        let fields = fields_from(&step.with);
        let of = || step.of.as_ref().map(|it| key(&it.it)).unwrap_or_else(|| Err("say `of`".to_owned()));
        let fire = |entity: EntityKey, what: TransitionRef, fields: Fields| {
            let ask = Ask::Fire(Fire {
                entity: entity.clone(),
                what,
                fields,
                fence: step.fence.map(u64::from),
                if_version: step.version.map(u64::from),
            });
            Ok(Some((entity, ask)))
        };
        if let Some(event) = &step.fire {
            return fire(of()?, TransitionRef::Event(event.it.clone()), fields);
        }
        if let Some(entity) = &step.r#move {
            let to = step.to.as_ref().ok_or("`move` needs `to`")?;
            return fire(key(&entity.it)?, TransitionRef::To(to.it.clone()), fields);
        }
        if let Some(entity) = &step.create {
            let entity = key(&entity.it)?;
            return Ok(Some((entity.clone(), Ask::Create { entity, fields })));
        }
        if let Some(lifecycle) = &step.claim {
            let only = match (&step.r#where, self.stage.law.newest(&lifecycle.it)) {
                (Some(source), Some(life)) => Some(Filter::new(life, &source.it).map_err(|errors| {
                    errors.into_iter().map(|it| it.message).collect::<Vec<_>>().join("; ")
                })?),
                _ => None,
            };
            let event = step.event.as_ref().map(|it| it.it.clone());
            let claim = Claim { lifecycle: lifecycle.it.clone(), event, only, fields };
            return Ok(Some((EntityKey::new(lifecycle.it.clone(), ""), Ask::Claim(claim))));
        }
        if let Some(entity) = &step.heartbeat {
            let entity = key(&entity.it)?;
            let slot = step.slot.as_ref().map(|it| it.it.clone()).ok_or("`heartbeat` needs `slot`")?;
            let fence = step.fence.map(u64::from);
            return Ok(Some((entity.clone(), Ask::Heartbeat { entity, slot, fence })));
        }
        if let Some(entity) = &step.correct {
            let entity = key(&entity.it)?;
            let to = step.to.as_ref().map(|it| it.it.clone());
            return Ok(Some((entity.clone(), Ask::Correct { entity, to, fields })));
        }
        if !step.configure.is_empty() {
            let pack = &self.stage.file.pack.it;
            let settings = step.configure.iter().map(|(name, AsWritten(value))| SettingChange {
                pack: pack.clone(),
                setting: name.it.clone(),
                value: value.clone(),
            });
            let change = ProjectChange { settings: settings.collect(), ..ProjectChange::default() };
            return Ok(Some((project_key().clone(), Ask::Configure(change))));
        }
        if let Some(people) = &step.people {
            let change = ProjectChange { people: Some(people.clone()), ..ProjectChange::default() };
            return Ok(Some((project_key().clone(), Ask::Configure(change))));
        }
        if let Some(effect) = &step.effect {
            let entity = of()?;
            let open = self.world.view.get(&entity).map(|it| it.effects.clone()).unwrap_or_default();
            let open = open
                .iter()
                .find(|it| it.effect == effect.it)
                .ok_or_else(|| format!("no open effect {}", effect.it))?;
            let ok = step.ok.unwrap_or(true);
            return Ok(Some((entity.clone(), Ask::EffectResult { entity, effect: open.id, ok, fields })));
        }
        Ok(None)
    }

    /// The work of an agent on an entity, or the event that follows a step of its run.
    fn work(&mut self, entity: &str, step: &StepDecl, actor: Option<&Actor>) -> Result<Acted, String> {
        let key = EntityKey::parse(entity).ok_or_else(|| format!("`{entity}` is not LIFECYCLE/ID"))?;
        let actor = actor.ok_or("no actor: add `as`")?;
        let role = step.role.as_ref().ok_or("`work` needs `role`")?;
        let reader = actor.clone().asking_for(step.r#for.clone());
        let World { law, view, now, .. } = &self.world;
        let entity = view.get(&key).ok_or_else(|| format!("there is no {key}"))?;
        let (trace, now) = (Some(&*self.stage.trace), *now);
        let question = WorkQuestion { law, view, entity, role: &role.it, actor: &reader, now, trace };
        let mut acted = Acted { entity: Some(key.clone()), acted: true, ..Acted::default() };
        let Some(action) = &step.action else {
            let instructions = question.instructions().map_err(|it| it.to_string())?;
            acted.result = to_json(&WorkResult::from(&instructions));
            return Ok(acted);
        };
        let known = WorkStep::parse(&action.it).ok_or_else(|| format!("`{}` is no action", action.it))?;
        let next = question.next_event(known, &fields_from(&step.run)).map_err(|it| it.to_string())?;
        match next {
            NextEvent::Nothing(why) => {
                acted.result = to_json(&WorkEventResult::Nothing { applied: false, why });
            }
            NextEvent::Fire { event, fields, reason } => {
                let what = TransitionRef::Event(event.clone());
                let with = fields.iter().collect();
                let fire = Fire { entity: key, what, fields, fence: None, if_version: None };
                let mut command = Command::new(actor.clone(), Ask::Fire(fire));
                command.reason = reason.as_deref().map(Arc::from);
                command.on_behalf_of.clone_from(&step.r#for);
                if let Outcome::Refused(refusal) = self.world.submit(&command) {
                    acted.refusal = Some(*refusal);
                }
                acted.result = to_json(&WorkEventResult::Applied { applied: true, event, with, reason });
            }
        }
        Ok(acted)
    }

    /// The action that the supervision rules give for a process that the supervisor ended.
    fn stopped(&self, step: &StepDecl) -> Result<Acted, String> {
        let pack = self.stage.law.pack(&self.stage.file.pack.it).ok_or("no such pack")?;
        let role = step.role.as_ref().ok_or("`stopped` needs `role`")?;
        let code = code_when_stopped(pack, &role.it)
            .ok_or_else(|| format!("the supervision of {} has no `stopped`", role.it))?;
        self.exit(code, step)
    }

    /// The action that the supervision rules give for a process that ended.
    fn exit(&self, code: i64, step: &StepDecl) -> Result<Acted, String> {
        let pack = self.stage.law.pack(&self.stage.file.pack.it).ok_or("no such pack")?;
        let role = step.role.as_ref().ok_or("`exit` needs `role`")?;
        let waited = match &step.waited {
            Some(text) => Span::parse(&text.it).ok_or_else(|| format!("`{}` is no span", text.it))?,
            None => Span(0),
        };
        let ended = Ended {
            role: role.it.clone(),
            agent: step.agent.clone().unwrap_or_else(|| Name::new("")),
            code,
            restarts: step.restarts.unwrap_or(0),
            reruns: step.reruns.unwrap_or(0),
            waited,
        };
        let trace = Some(&*self.stage.trace);
        let verdict = after_exit(&self.stage.law, &self.world.view, pack, &ended, self.world.now, trace);
        let verdict = verdict.map_err(|it| it.0.join("; "))?;
        Ok(Acted { result: to_json(&ExitResult::from(&verdict)), ..Acted::default() })
    }

    fn policy(&self, ask: &super::syntax::PolicyAsk) -> Result<Acted, String> {
        let pack = self.stage.law.pack(&self.stage.file.pack.it).ok_or("no such pack")?;
        let policy = pack.policy.as_ref().ok_or("the pack has no policy")?;
        let arguments =
            Value::map(fields_from(&ask.arguments).iter().map(|(k, v)| (k.clone(), v.clone())).collect());
        let project = &self.world.view.project;
        let judged = policy::judge(policy, project, &ask.action, &arguments, ask.role.as_deref());
        let Judgement { level, outcome, why, action, .. } = judged.map_err(|it| it.to_string())?;
        let result = to_json(&PolicyResult { level, outcome: outcome.as_str(), why, action });
        Ok(Acted { result, ..Acted::default() })
    }

    fn query(
        &self,
        name: &trackside_lifecycle::source::At<Name>,
        with: &Named<AsWritten>,
        actor: Option<&Actor>,
    ) -> Result<Acted, String> {
        let law = &self.stage.law;
        let pack = &self.stage.file.pack.it;
        let query = law.query(pack, &name.it).ok_or_else(|| format!("the pack has no query {}", name.it))?;
        let reader = actor.cloned().unwrap_or_else(|| Actor::new("reader", ActorKind::Human));
        let asked = fields_from(with);
        let answer = query::ask(law, &self.world.view, query, &reader, &asked, self.world.now);
        Ok(match answer.map_err(|it| it.0.join("; "))? {
            query::QueryAnswer::Entities(found) => {
                let ids = found.iter().map(|it| it.key.id.to_string()).collect();
                let all = found.iter().map(|it| entity_json(&self.world, it, &reader));
                Acted { ids: Some(ids), result: Json::Array(all.collect()), ..Acted::default() }
            }
            query::QueryAnswer::Values(values) => {
                let values = values.into_iter().map(|(name, value)| (name.to_string(), value.to_json()));
                Acted { result: Json::Object(values.collect()), ..Acted::default() }
            }
            query::QueryAnswer::History(key) => {
                let params = query::QueryPlan::new(law, query, &asked).map_err(|it| it.0.join("; "))?.params;
                let (view, now) = (&self.world.view, self.world.now);
                let selects = |entry: &Entry| {
                    let (Some(entity), value) = (view.get(&key), entry_value(entry)) else { return false };
                    passes_history(law, view, query, &params, entity, &value, &reader, now).unwrap_or(false)
                };
                let entries = self.world.journal.iter().filter(|it| it.entity == key && selects(it));
                let row = |entry: &Entry| {
                    let Some(entity) = view.get(&key).filter(|_| !query.line.is_empty()) else {
                        return entry_json(entry);
                    };
                    let value = entry_value(entry);
                    let line = history_line(law, view, query, &params, entity, &value, &reader, now);
                    to_json(&FieldMap(line.unwrap_or_default()))
                };
                Acted { result: Json::Array(entries.map(row).collect()), ..Acted::default() }
            }
        })
    }
}

impl Play<'_> {
    /// The entries of an entity that an actor may see.
    fn observe(&self, entity: &str, step: &StepDecl, actor: Option<&Actor>) -> Result<Acted, String> {
        let key = EntityKey::parse(entity).ok_or_else(|| format!("`{entity}` is not LIFECYCLE/ID"))?;
        let reader = actor.ok_or("no actor: add `as`")?.clone().asking_for(step.r#for.clone());
        let World { law, view, journal, now, .. } = &self.world;
        let found = view.get(&key).ok_or_else(|| format!("there is no {key}"))?;
        let asking = QueryReader { law, view, actor: &reader, shown: true, now: *now };
        let needs = |it: Needs| it.to_string();
        let mut acted = Acted { entity: Some(key.clone()), acted: true, ..Acted::default() };
        let access = EntryAccess::of(law, view, found, &reader, *now).map_err(needs)?;
        if !asking.may_read(found).map_err(needs)? {
            acted.refusal = Some(Refusal::one(Code::UnknownEntity, format!("There is no {key}")));
        } else if let Some(closed) = &access.closed {
            let mut refusal = Refusal::one(Code::NotPermitted, closed.says.clone());
            refusal.who = Some(closed.who.clone());
            acted.refusal = Some(refusal);
        } else {
            let own = || journal.iter().filter(|it| it.entity == key);
            let mut backlog = access.backlog(&reader);
            let _ = own().rev().all(|it| backlog.look(it));
            let shown = own().filter_map(|it| {
                let seen = access.show(it, &reader, || Ok::<_, Infallible>(backlog.oldest()));
                seen.ok().flatten().map(Cow::into_owned)
            });
            acted.seen = Some(shown.collect());
        }
        Ok(acted)
    }
}

#[derive(Default)]
struct Acted {
    /// The entries that were read, instead of those that were written.
    seen: Option<Vec<Entry>>,
    entity: Option<EntityKey>,
    refusal: Option<Refusal>,
    acted: bool,
    replayed: bool,
    ignored: Vec<String>,
    result: Json,
    ids: Option<Vec<String>>,
}

pub(super) fn fields_from(from: &Named<AsWritten>) -> Fields {
    from.iter().map(|(name, AsWritten(value))| (name.it.clone(), value.clone())).collect()
}

pub(super) fn place(step: &StepDecl) -> Option<Place> {
    let names = [&step.r#as, &step.fire, &step.query, &step.effect, &step.claim, &step.role];
    let texts = [
        &step.r#move,
        &step.create,
        &step.heartbeat,
        &step.correct,
        &step.advance,
        &step.restart,
        &step.observe,
        &step.work,
        &step.of,
    ];
    let names = names.into_iter().flatten().map(|it| it.at);
    names.chain(texts.into_iter().flatten().map(|it| it.at)).min()
}
