//! Decides commands: accepts them with events, or refuses them with reasons.
//!
//! One file per command; `assess` checks whether a rule may be taken, `carry` writes its entries, `follow` its
//! consequences.

mod alert_causes;
mod alerts;
mod allowed;
mod assess;
mod blocking;
mod calendar;
mod caller;
mod callers;
mod carry;
mod circles;
mod claim;
mod clock;
mod configure;
mod correct;
mod count;
mod counter_values;
mod create;
mod draft;
mod due;
mod effect_result;
mod evidence;
mod explain;
mod fire;
mod follow;
mod gather;
mod heartbeat;
mod import;
mod inspect;
mod invariants;
mod journal_entry;
mod lease;
mod migrate;
mod missing_role;
mod plan;
mod protected;
mod redact;
mod references;
mod regroup;
mod request;
mod rerank;
mod resumed;
mod run_scope;
mod scope;
mod space;
mod timers;
pub mod work;
mod work_text;

use std::cell::RefCell;
use std::sync::Arc;

use trackside_lifecycle::guard::{Fault, Guard, did_you_mean};
use trackside_lifecycle::model::Lifecycle;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

pub use allowed::allowed;
pub use blocking::{BlockingEntity, UnblockOption, blocking_entities};
pub(crate) use callers::describe_guard;
pub use carry::groups_of;
pub use clock::CLOCK;
pub use counter_values::{CounterValue, counter_values};
pub use effect_result::is_effect_wanted;
pub use explain::{Checked, TransitionOption, transition_options};
pub use gather::{answer, view_of_entities};
pub use inspect::{computed_field, computed_fields, fields_of, is_repair};
pub use journal_entry::{history_line, log_line, passes_history};
pub(crate) use plan::{arm_label, sample_elements, sample_scope, sample_scope_after};
pub(crate) use protected::subject_of_run;
pub use protected::{ACCESS, FLEET, is_protected, is_reserved_pack, protected};
pub use rerank::reindex;
pub(crate) use scope::{SINGLE, kind_of};
pub use space::SPACE;

use crate::actor::ActorKind;
use crate::command::{Ask, Command};
use crate::entity::Entity;
use crate::event::{Entry, Event, KeyRecord};
use crate::fields::Fields;
use crate::key::EntityKey;
use crate::law::Law;
use crate::refusal::{Code, ConditionCode, Refusal, Stage, Unmet};
use crate::trace::{Hits, Point, PointKind, Trace};
use crate::view::{Found, Lookup, Needs, View};
use draft::DecisionDraft;
use request::Request;
use scope::{EntityScope, Surroundings};

/// The engine's answer to a command.
#[derive(Clone, Debug)]
pub enum Decision {
    Accepted(Accepted),
    Refused(Box<Refusal>),
    /// The command was answered before: the first entry it wrote, and the number of entries.
    Replayed {
        first: u64,
        entries: u32,
        root: u32,
    },
}

/// All results of a command, as events not yet applied.
#[derive(Clone, Debug)]
pub struct Accepted {
    pub entries: Vec<Entry>,
    /// The index of the entry that answers the command.
    pub root: usize,
    /// Fields that the engine owns; the values that were sent are ignored.
    pub ignored: Vec<Name>,
}

/// Decides a command against a view. Changes nothing; the same arguments give the same answer.
pub fn decide(law: &Law, view: &View, command: &Command, now: Timestamp) -> Result<Decision, Needs> {
    decide_traced(law, view, command, now, None)
}

/// Decides like [`decide`]. A refusal has its code and the unmet conditions, but no texts, no advice and no evidence.
pub fn decide_briefly(law: &Law, view: &View, command: &Command, now: Timestamp) -> Result<Decision, Needs> {
    let lookup = Lookup::new(view);
    let decision = decide_on(law, &lookup, command, now, None, true);
    lookup.finish(decision)?.ok_or_else(Needs::default)
}

/// Decides, and records the rules that it exercised.
pub fn decide_traced(
    law: &Law,
    view: &View,
    command: &Command,
    now: Timestamp,
    trace: Option<&Trace>,
) -> Result<Decision, Needs> {
    let lookup = Lookup::new(view);
    let decision = decide_on(law, &lookup, command, now, trace, false);
    lookup.finish(decision)?.ok_or_else(Needs::default)
}

/// The idempotency key and digest of a command, or the answer it got the first time.
fn count_once(lookup: &Lookup<'_>, command: &Command, key: &Name) -> Result<(Name, String), Decision> {
    let (by, fingerprint) = (command.key_sender(), command.fingerprint());
    let mut under = key.clone();
    // Commands of one batch share a key: the first accepted one gets it, each other one a derived key.
    if let (Found::Here((_, record)), Some(said)) = (lookup.key(by, key), &command.said)
        && record.fingerprint != fingerprint
        && said.is_part_of(&record.fingerprint)
    {
        under = said.own_key(key);
    }
    let Found::Here((first, record)) = lookup.key(by, &under) else { return Ok((under, fingerprint)) };
    if record.fingerprint == fingerprint {
        return Err(Decision::Replayed { first: *first, entries: record.entries, root: record.root });
    }
    Err(Decision::Refused(Box::new(Refusal::key_used(key))))
}

/// None if the decision stopped because data is not loaded.
fn decide_on(
    law: &Law,
    lookup: &Lookup<'_>,
    command: &Command,
    now: Timestamp,
    trace: Option<&Trace>,
    brief: bool,
) -> Option<Decision> {
    let counted = match command.idempotency_key.as_ref().map(|key| count_once(lookup, command, key)) {
        Some(Err(known)) => return Some(known),
        Some(Ok(counted)) => Some(counted),
        None => None,
    };
    let mut builder = DecisionBuilder::new(law, lookup, now, trace.is_some());
    builder.brief = brief;
    let mut outcome = builder.run(command);
    if outcome.is_ok() {
        outcome = builder.must_end_in_the_calendar().and_then(|()| builder.rerank());
    }
    if let (Ask::Due { entity, timer }, Err(Stop::Refused(refusal))) = (&command.ask, &outcome)
        && refusal.stage > Stage::Edge
    {
        let mut again = DecisionBuilder::new(law, lookup, now, trace.is_some());
        again.hits = std::mem::take(&mut builder.hits);
        again.hits.get_mut().settle(0, false);
        outcome = again.pass_over(entity, timer, refusal).and_then(|()| again.rerank());
        builder = again;
    }
    if let (Ask::Redact(redact), Err(Stop::Refused(refusal))) = (&command.ask, &mut outcome)
        && redact::is_of_a_rule(refusal)
    {
        **refusal = redact::needed(law, lookup, command, redact, now, refusal);
    }
    if let Some(trace) = trace {
        // A rule counts as exercised by the outcome of the command: a move that was made, or a refusal.
        match &outcome {
            Ok(()) => builder.hits.get_mut().settle(0, true),
            Err(Stop::Refused(_)) => builder.hits.get_mut().settle(0, false),
            Err(Stop::NotLoaded) => builder.hits.get_mut().open.clear(),
        }
        trace.add(std::mem::take(&mut builder.hits.get_mut().sure));
    }
    match outcome {
        Ok(()) => Some(builder.finish(command, counted)),
        Err(Stop::Refused(mut refusal)) => {
            if brief {
                return Some(Decision::Refused(refusal));
            }
            refusal.kept = evidence::of(law, lookup, command, now, &refusal).map(Box::new);
            if let (Some(trace), Some(entry)) = (trace, &refusal.kept) {
                trace.add(vec![Point {
                    lifecycle: entry.entity.lifecycle.clone(),
                    kind: PointKind::Refusal,
                    what: format!("evidence.{}", entry.trigger),
                }]);
            }
            Some(Decision::Refused(refusal))
        }
        Err(Stop::NotLoaded) => None,
    }
}

/// Why a decision ends early.
enum Stop {
    Refused(Box<Refusal>),
    NotLoaded,
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(Box::new(refusal))
    }
}

/// Most moves that one command may entail.
const MOVES: u32 = 4_096;
/// Most moves that may follow one from the other: deeper, and rules go round in a circle.
const DEPTH: u32 = 16;
/// Most reactions that one command may set off.
const REACTIONS: u32 = 64;
/// Most entities that one expression may list.
const LISTED: usize = 4_096;
/// Most entities that one expression lists of those in one state: the first ones.
const LISTED_IN_STATE: usize = 100;
/// Most entities that one rule may move with `each`.
const EACH: usize = 1_000;

/// One decision being made.
struct DecisionBuilder<'a> {
    law: &'a Law,
    now: Timestamp,
    draft: DecisionDraft<'a>,
    traced: bool,
    /// Whether the texts and the advice of a refusal are left out.
    brief: bool,
    hits: RefCell<Hits>,
    moves: u32,
    depth: u32,
    /// The entry that answers the command.
    root: Option<u64>,
    touched: Vec<EntityKey>,
    /// Entities whose places are written even if unchanged.
    restated: Vec<EntityKey>,
    /// Entities being rebuilt: their ranking rows are written even when empty, and whether each order is open.
    to_rebuild: Vec<EntityKey>,
    /// Places of entities that do not exist, by ranking.
    ghost_places: Vec<(Name, EntityKey)>,
    /// Fields that the decision must leave as they are.
    kept: Vec<(EntityKey, Name)>,
    ignored: Vec<Name>,
}

impl<'a> DecisionBuilder<'a> {
    fn new(law: &'a Law, lookup: &'a Lookup<'a>, now: Timestamp, traced: bool) -> Self {
        Self {
            law,
            now,
            draft: DecisionDraft::new(lookup),
            traced,
            brief: false,
            hits: RefCell::default(),
            moves: 0,
            depth: 0,
            root: None,
            touched: Vec::new(),
            restated: Vec::new(),
            to_rebuild: Vec::new(),
            ghost_places: Vec::new(),
            kept: Vec::new(),
            ignored: Vec::new(),
        }
    }

    fn run(&mut self, command: &Command) -> Result<(), Stop> {
        let request = |fields: &Fields| {
            Request::by(
                command.actor.clone(),
                command.on_behalf_of.clone(),
                fields.clone(),
                command.reason.clone(),
            )
        };
        protected::check(command)?;
        run_scope::check(self.law, command)?;
        self.check_run_lives(&command.actor)?;
        match &command.ask {
            Ask::Create { entity, fields } => self.create(entity, request(fields))?,
            Ask::Fire(fire) => {
                let mut request = request(&fire.fields);
                request.fence = fire.fence;
                request.if_version = fire.if_version;
                self.fire(&fire.entity, &fire.what, request)?;
            }
            Ask::Claim(claim) => return self.claim(claim, request(&claim.fields)),
            Ask::Heartbeat { entity, slot, fence } => {
                let mut request = request(&Fields::default());
                request.fence = *fence;
                self.heartbeat(entity, slot, &request)?;
            }
            Ask::Due { entity, timer } => self.due(entity, timer)?,
            Ask::EffectResult { entity, effect, ok, fields } => {
                self.effect_result(entity, *effect, *ok, fields)?
            }
            Ask::Correct { entity, to, fields } => self.correct(entity, to.as_ref(), request(fields))?,
            Ask::Inspect { entity } => self.inspect(entity)?,
            Ask::Repair { entity, found, ghost_places } => {
                self.repair(entity, found, ghost_places, &request(&Fields::default()))?;
            }
            Ask::HandleAlert { entity, alert, action } => {
                return self.handle_alert(entity, *alert, *action, &request(&Fields::default()));
            }
            Ask::RaiseAlert { entity, alert } => {
                return self.raise_alert(entity, alert, &request(&Fields::default()));
            }
            Ask::Seed(seed) => {
                self.seed(seed, request(&seed.fields))?;
                return Ok(());
            }
            Ask::Import(entities) => return self.import(entities, &request(&Fields::default())),
            Ask::Migrate(migrate) => self.migrate(migrate, &request(&Fields::default()))?,
            Ask::UndoMigration { entity, migration } => {
                self.undo_migration(entity, migration, &request(&Fields::default()))?;
            }
            Ask::Redact(redact) => self.redact(redact, &request(&Fields::default()))?,
            Ask::Configure(change) => return self.configure(change, &request(&Fields::default())),
            Ask::Install(install) => return self.install(install, &request(&Fields::default())),
            Ask::Clock(news) => return self.clock(news, request(&Fields::default())),
            Ask::Space(news) => return self.space(news, request(&Fields::default())),
            Ask::Rebase { entity, by } => return self.rebase(entity, *by),
        }
        self.conclude()
    }

    /// The last steps of every command: reactions, `keep` and invariants.
    fn conclude(&mut self) -> Result<(), Stop> {
        self.react()?;
        self.keeps()?;
        self.invariants()?;
        self.close_alerts()
    }

    /// Refuses the command if a field under `keep` changed.
    fn keeps(&self) -> Result<(), Stop> {
        for (key, field) in &self.kept {
            let (Some(before), Found::Here(after)) = (self.draft.base().get(key), self.draft.entity(key))
            else {
                continue;
            };
            if before.fields.get(field) != after.fields.get(field) {
                let message = format!("{field} of {key} must not change, but a consequence would change it");
                let unmet = Unmet::new(ConditionCode::Kept, message).of(field);
                return Err(Refusal::with(Code::Frozen, vec![unmet]).at(Stage::Follow).into());
            }
        }
        Ok(())
    }

    fn finish(self, command: &Command, counted: Option<(Name, String)>) -> Decision {
        debug_assert!(self.draft.agrees(), "what was decided is not what its entries come to");
        let mut entries = self.draft.entries;
        let first = entries.first().map_or(0, |it| it.seq);
        let root = self.root.map_or(0, |it| usize::try_from(it - first).unwrap_or(0));
        let count = u32::try_from(entries.len()).unwrap_or(u32::MAX);
        if let (Some((key, fingerprint)), Some(entry)) = (counted, entries.first_mut()) {
            let root = u32::try_from(root).unwrap_or(0);
            let (by, ignored) = (command.key_sender().clone(), self.ignored.clone());
            entry.key = Some(KeyRecord { key, by, fingerprint, entries: count, root, ignored });
        }
        if let Some(id) = &command.request_id {
            for entry in entries.iter_mut().filter(|it| it.cause.is_none()) {
                entry.request_id = Some(id.clone());
            }
        }
        Decision::Accepted(Accepted { entries, root, ignored: self.ignored })
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings { law: self.law, draft: &self.draft, project: &self.draft.base().project, now: self.now }
    }

    /// The definition of an entity that is here, and the entity.
    fn existing_entity(&self, key: &EntityKey) -> Result<(Arc<Lifecycle>, &Entity), Stop> {
        match self.draft.entity(key) {
            Found::Here(entity) => match self.law.definition(&key.lifecycle, entity.definition) {
                Some(life) => Ok((life.clone(), entity)),
                None if self.law.newest(&key.lifecycle).is_none() => {
                    Err(unknown_lifecycle(self.law, &key.lifecycle).into())
                }
                None => Err(unknown_version(self.law, entity).into()),
            },
            Found::Absent if self.law.newest(&key.lifecycle).is_none() => {
                Err(unknown_lifecycle(self.law, &key.lifecycle).into())
            }
            Found::Absent => Err(unknown_entity(key).into()),
            Found::Unknown => Err(Stop::NotLoaded),
        }
    }

    /// Writes an event of an entity.
    fn record(&mut self, key: &EntityKey, request: &Request, trigger: &Name, event: Event) -> u64 {
        let alerts = matches!(event, Event::AlertRaised { .. });
        let entry = self.entry(key, request, trigger, event);
        let seq = entry.seq;
        self.draft.record(entry);
        if alerts {
            self.make_room(key);
        }
        seq
    }

    /// Records a move whose outcome is known already.
    fn record_move(&mut self, request: &Request, trigger: &Name, event: Event, outcome: Entity) -> u64 {
        let entry = self.entry(&outcome.key, request, trigger, event);
        let seq = entry.seq;
        self.draft.record_move(entry, outcome);
        seq
    }

    fn entry(&mut self, key: &EntityKey, request: &Request, trigger: &Name, event: Event) -> Entry {
        if !self.touched.contains(key) {
            self.touched.push(key.clone());
        }
        let version = match self.draft.entity(key) {
            Found::Here(entity) => entity.version + u64::from(grows(&event)),
            _ => 1,
        };
        self.entry_at(key, version, request, trigger, event)
    }

    fn entry_at(
        &self,
        key: &EntityKey,
        version: u64,
        request: &Request,
        trigger: &Name,
        event: Event,
    ) -> Entry {
        let seq = self.draft.next_seq();
        Entry {
            seq,
            at: self.now,
            entity: key.clone(),
            version,
            actor: request.actor.id.clone(),
            actor_kind: request.actor.kind,
            on_behalf_of: request.subject.clone(),
            via: request.actor.via.filter(|_| request.actor.kind == ActorKind::Human),
            trigger: trigger.clone(),
            reason: request.reason.clone(),
            origin: request.origin.clone(),
            cause: request.cause.filter(|it| *it != seq),
            condition: request.condition.clone(),
            key: None,
            request_id: None,
            event,
            reranked: Vec::new(),
        }
    }

    fn record_point(&self, life: &Lifecycle, kind: PointKind, what: impl FnOnce() -> String) {
        if self.traced {
            let point = Point { lifecycle: life.name.clone(), kind, what: what() };
            self.hits.borrow_mut().open.push(point);
        }
    }

    /// Evaluates a condition; missing data stops the decision.
    fn test(&self, scope: &EntityScope<'_>, guard: &Guard) -> Result<Result<bool, String>, Stop> {
        match guard.test(scope) {
            Ok(it) => Ok(Ok(it)),
            Err(Fault::NotLoaded) => Err(Stop::NotLoaded),
            Err(fault) => Ok(Err(fault.to_string())),
        }
    }

    fn eval(&self, scope: &EntityScope<'_>, guard: &Guard) -> Result<Result<Value, String>, Stop> {
        match guard.eval(scope) {
            Ok(it) => Ok(Ok(it)),
            Err(Fault::NotLoaded) => Err(Stop::NotLoaded),
            Err(fault) => Ok(Err(fault.to_string())),
        }
    }

    /// A condition in a consequence. If it cannot be evaluated, the whole command is refused.
    fn condition_holds(&self, scope: &EntityScope<'_>, guard: Option<&Guard>) -> Result<bool, Stop> {
        match guard {
            None => Ok(true),
            Some(guard) => self.test(scope, guard)?.map_err(|fault| unanswered(guard.source(), &fault)),
        }
    }

    fn count_move(&mut self) -> Result<(), Stop> {
        self.moves += 1;
        if self.moves > MOVES {
            let message = format!("One command may entail at most {MOVES} moves; the rules ask for more");
            return Err(Refusal::one(Code::TooManyMoves, message).into());
        }
        Ok(())
    }

    /// Applies the consequences of a move, one level deeper.
    fn deeper<T>(
        &mut self,
        what: &EntityKey,
        work: impl FnOnce(&mut Self) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        if self.depth >= DEPTH {
            let message = format!(
                "More than {DEPTH} moves follow one from the other, the last of {what}: the rules go round in a circle"
            );
            return Err(Refusal::one(Code::TooManyMoves, message).into());
        }
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        done
    }

    /// Puts a dropped move on people's table.
    fn drop_with_alert(&mut self, key: &EntityKey, condition: &Name, refusal: &Refusal) {
        let request = Request::engine(ActorKind::System, Fields::default(), condition.clone(), self.root);
        let message = format!("{condition} of {key} could not be done: {}", refusal.detail);
        let event = Event::AlertRaised {
            kind: Name::new("dropped-move"),
            severity: trackside_lifecycle::model::Severity::Error,
            message: Arc::from(message),
            rule: None,
            cause: None,
        };
        if matches!(self.draft.entity(key), Found::Here(_)) {
            self.record(key, &request, condition, event);
        }
    }
}

/// An expression that has no answer.
fn unanswered(source: &str, fault: &str) -> Stop {
    let message = format!("`{source}` could not be answered: {fault}");
    Refusal::one(Code::EvaluationFailed, message).at(Stage::Follow).into()
}

/// Whether an event creates a new version of its entity.
fn grows(event: &Event) -> bool {
    match event {
        Event::Created { .. }
        | Event::Transitioned { .. }
        | Event::FieldsChanged { .. }
        | Event::Corrected { .. }
        | Event::Migrated { .. }
        | Event::Redacted { .. }
        | Event::LeaseLost { .. } => true,
        Event::TimeoutWarned { changes, .. } | Event::LimitWarned { changes, .. } => {
            !changes.fields.is_empty()
        }
        _ => false,
    }
}

fn unknown_entity(key: &EntityKey) -> Refusal {
    Refusal::one(Code::UnknownEntity, format!("There is no {key}"))
}

/// The refusal when the entity's version of the rules is missing. It does not move by other rules.
fn unknown_version(law: &Law, entity: &Entity) -> Refusal {
    let EntityKey { lifecycle, .. } = &entity.key;
    let known: Vec<String> = law.versions(lifecycle).map(|it| it.to_string()).collect();
    let message = format!(
        "{} lives by version {} of {lifecycle}, which is not installed (there is {}): put that version of its pack back",
        entity.key,
        entity.definition,
        known.join(", ")
    );
    Refusal::one(Code::UnknownLifecycle, message)
}

fn unknown_lifecycle(law: &Law, name: &Name) -> Refusal {
    let hint = did_you_mean(name, law.lifecycle_names().iter().map(Name::as_str));
    Refusal::one(Code::UnknownLifecycle, format!("There is no lifecycle {name}{hint}"))
}
