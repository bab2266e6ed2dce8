//! One walk: a world, its actors, and the promises checked after every step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use trackside_engine::command::{Ask, Command};
use trackside_engine::event::{Entry, Event};
use trackside_engine::trace::{Point, Trace};
use trackside_engine::view::{Project, View};
use trackside_engine::world::{Outcome, World};
use trackside_engine::{Decision, apply, decide};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};
use trackside_random::Random;

use crate::broken::BrokenPromise;
use crate::cast::WalkActors;
use crate::counts::GroupCounts;
use crate::describe;
use crate::effects::Effects;
use crate::findings::Findings;
use crate::holds;
use crate::ids;
use crate::journal;
use crate::leases::Leases;
use crate::openings;
use crate::orders;
use crate::packs::WalkPack;
use crate::questions;
use crate::request_chooser::RequestChooser;
use crate::setup::WalkSetup;
use crate::steps::WalkStep;

/// Most slices in which holders renew their leases while time passes; after that they all stop.
const SLICES: usize = 24;

/// The result of a walk: its depth, and the faults it found in the pack.
#[derive(Debug, Default)]
pub(crate) struct WalkResult {
    pub(crate) asked: usize,
    pub(crate) accepted: usize,
    pub(crate) entries: usize,
    pub(crate) entities: usize,
    /// Refusals by their code.
    pub(crate) refused: BTreeMap<&'static str, usize>,
    pub(crate) findings: Findings,
    /// One line per step.
    pub(crate) story: Vec<String>,
}

/// A walk under way.
#[derive(Debug)]
pub(crate) struct RandomWalk<'a> {
    ground: &'a WalkPack,
    world: World,
    cast: WalkActors,
    setup: WalkSetup,
    /// After a correction, entities may be in combinations that no rule allows.
    corrected: bool,
    taken: BTreeMap<(Name, Name), usize>,
    /// The last command with a key, for asking it again.
    again: Option<Command>,
    counts: GroupCounts,
    leases: Leases,
    effects: Effects,
    pub(crate) walked: WalkResult,
}

impl<'a> RandomWalk<'a> {
    pub(crate) fn new(ground: &'a WalkPack, trace: &Arc<Trace>, setup: &WalkSetup) -> Self {
        let cast = WalkActors::of(ground);
        let settings = BTreeMap::from([(ground.pack.name.clone(), setup.settings.clone())]);
        let project = Project { people: cast.people(), settings, ..Project::default() };
        let now = Timestamp::parse("2026-01-01T08:00:00Z").expect("a moment");
        let world = World::new(ground.law.clone(), project, now).traced(trace.clone());
        let mut walked = WalkResult::default();
        for (name, value) in &setup.settings {
            walked.story.push(format!("settings.{name} is {}", value.to_json()));
        }
        Self {
            ground,
            world,
            cast,
            setup: setup.clone(),
            corrected: false,
            taken: BTreeMap::new(),
            again: None,
            counts: GroupCounts::default(),
            leases: Leases::default(),
            effects: Effects::default(),
            walked,
        }
    }

    /// The next step.
    pub(crate) fn think(&self, dice: &mut Random) -> WalkStep {
        WalkStep::next(&self.asking(), &self.setup, self.again.as_ref(), dice)
    }

    /// The first steps.
    pub(crate) fn opening(&self) -> Vec<WalkStep> {
        let lines = openings::of(self.ground, &self.cast);
        let many = lines.len() * self.setup.opening / 100;
        lines.into_iter().take(many).map(|it| WalkStep::Ask(Box::new(it))).collect()
    }

    /// Ends the walk: a replay of the journal must give the view.
    pub(crate) fn end(mut self) -> Result<WalkResult, BrokenPromise> {
        journal::replays(self.ground, &self.world)?;
        questions::have_answers(self.ground, &self.world, &self.cast, &mut self.walked.findings);
        self.walked.entries = self.world.journal.len();
        self.walked.entities = self.world.view.len();
        Ok(self.walked)
    }

    fn asking(&self) -> RequestChooser<'_> {
        RequestChooser { ground: self.ground, world: &self.world, cast: &self.cast, taken: &self.taken }
    }

    /// Takes a step and checks every promise.
    pub(crate) fn take(&mut self, step: &WalkStep) -> Result<(), BrokenPromise> {
        let first = self.world.journal.len();
        match step {
            WalkStep::Ask(command) => self.ask(command)?,
            WalkStep::Pass { span, attended } => {
                self.tell(format!("{span} pass{}", if *attended { "" } else { ", and everybody is silent" }));
                self.pass(*span, *attended)?;
            }
            WalkStep::Sweep => {
                self.tell("the sweep".to_owned());
                self.world.sweep();
            }
            WalkStep::Crash(actor) => {
                self.tell(format!("{actor} crashes"));
                self.cast.crash(actor);
            }
            WalkStep::ComeBack(actor) => {
                self.tell(format!("{actor} is back"));
                self.cast.come_back(actor);
            }
        }
        self.promises(first, matches!(step, WalkStep::Pass { .. }))
    }

    /// The journal so far.
    pub(crate) fn so_far(&self) -> Vec<Entry> {
        self.world.journal.clone()
    }

    /// Takes a step and returns the entries it wrote and the rules it touched. Checks no promise.
    pub(crate) fn step_with_coverage(&mut self, step: &WalkStep) -> (Vec<Entry>, BTreeSet<Point>) {
        let trace = Arc::new(Trace::default());
        let nowhere = World::new(Arc::default(), Project::default(), self.world.now);
        self.world = std::mem::replace(&mut self.world, nowhere).traced(trace.clone());
        let first = self.world.journal.len();
        match step {
            WalkStep::Ask(command) => {
                let accepted = matches!(self.world.submit(command), Outcome::Accepted { .. });
                if accepted && command.idempotency_key.is_some() {
                    self.again = Some(Command::clone(command));
                }
            }
            WalkStep::Pass { span, attended } => {
                self.pass(*span, *attended).unwrap_or_else(|broken| panic!("{broken}"));
            }
            WalkStep::Sweep => self.world.sweep(),
            WalkStep::Crash(actor) => self.cast.crash(actor),
            WalkStep::ComeBack(actor) => self.cast.come_back(actor),
        }
        let entries = self.world.journal[first..].to_vec();
        entries.iter().for_each(|it| self.note(it));
        (entries, trace.points())
    }

    /// All promises about every step.
    fn promises(&mut self, first: usize, passed: bool) -> Result<(), BrokenPromise> {
        for place in first..self.world.journal.len() {
            let entry = self.world.journal[place].clone();
            self.note(&entry);
            journal::follows(self.ground, &self.world, place)?;
            self.leases.follow(&entry)?;
            self.effects.follow(&entry)?;
            if !self.corrected {
                self.walked.findings.look(self.ground, &entry);
            }
        }
        if first == self.world.journal.len() && !passed {
            return Ok(());
        }
        if passed {
            holds::nothing_lies(&self.world)?;
        }
        holds::only_ones(self.ground, &self.world)?;
        orders::agree(self.ground, &self.world)?;
        self.counts.agree(self.ground, &self.world.view)?;
        if self.corrected { Ok(()) } else { holds::invariants(self.ground, &self.world) }
    }

    /// Puts an entry into the story.
    fn note(&mut self, entry: &Entry) {
        if matches!(entry.event, Event::Transitioned { .. } | Event::FieldsChanged { .. }) {
            let key = (entry.entity.lifecycle.clone(), entry.trigger.clone());
            *self.taken.entry(key).or_default() += 1;
        }
        if let Some(line) = describe::describe_entry(entry) {
            self.tell(format!("    {line}"));
        }
    }

    fn tell(&mut self, line: String) {
        self.walked.story.push(line);
    }

    /// Submits a command and checks its answer.
    fn ask(&mut self, command: &Command) -> Result<(), BrokenPromise> {
        let decided = || {
            decide(&self.world.law, &self.world.view, command, self.world.now)
                .map_err(|needs| BrokenPromise::new("a whole view needs nothing", needs.to_string()))
        };
        let (once, twice) = (decided()?, decided()?);
        if !alike(&once, &twice) {
            let what = format!("{}: {once:?}, then {twice:?}", describe::describe_command(command));
            return Err(BrokenPromise::new("deciding twice gives the same", what));
        }
        if self.walked.asked.is_multiple_of(4) {
            journal::decides_in_part(&self.world, command, &once)?;
        }
        let before = (self.world.view.clone(), self.world.journal.len());
        let ended = match &command.ask {
            Ask::Fire(fire) => before.0.get(&fire.entity).is_some_and(|it| !ids::goes_on(self.ground, it)),
            _ => false,
        };
        let outcome = self.world.submit(command);
        self.walked.asked += 1;
        let answer = match &outcome {
            Outcome::Accepted { .. } => {
                self.walked.accepted += 1;
                "accepted".to_owned()
            }
            Outcome::Refused(refusal) => {
                *self.walked.refused.entry(refusal.code.as_str()).or_default() += 1;
                format!("refused, {}: {}", refusal.code.as_str(), refusal.detail)
            }
            Outcome::Replayed { .. } => "the same as before".to_owned(),
        };
        self.tell(format!("{}: {answer}", describe::describe_command(command)));
        match outcome {
            Outcome::Accepted { .. } => {
                if !matches!(once, Decision::Accepted(_)) {
                    return Err(BrokenPromise::new(
                        "deciding twice gives the same",
                        format!("accepted after {once:?}"),
                    ));
                }
                if ended {
                    return Err(BrokenPromise::new(
                        "what has ended is not moved",
                        describe::describe_command(command),
                    ));
                }
                if let Ask::Correct { entity, .. } = &command.ask {
                    // A correction must not break an invariant either; but one that was broken before does
                    // not prevent it.
                    if !std::mem::replace(&mut self.corrected, true) {
                        let corrected = self.world.view.get(entity).expect("the corrected entity");
                        holds::invariants_of(self.ground, &self.world, corrected)?;
                    }
                }
                if command.idempotency_key.is_some() {
                    self.again = Some(command.clone());
                }
            }
            Outcome::Refused(refusal) => {
                if refusal.errors.is_empty() {
                    return Err(BrokenPromise::new("a refusal says why", format!("{refusal:?}")));
                }
                if !self.corrected && !matches!(command.ask, Ask::Correct { .. }) {
                    self.walked.findings.refused(self.ground, &refusal);
                }
                let mut expected: View = before.0;
                if let Some(kept) = &refusal.kept {
                    apply(&mut expected, kept);
                    if !matches!(kept.event, Event::EvidenceKept { .. }) {
                        return Err(BrokenPromise::new(
                            "only evidence is kept of a refused command",
                            format!("{kept:?}"),
                        ));
                    }
                }
                if self.world.journal.len() != before.1 + usize::from(refusal.kept.is_some())
                    || expected != self.world.view
                {
                    return Err(BrokenPromise::new(
                        "a refused command changes nothing",
                        describe::describe_command(command),
                    ));
                }
            }
            Outcome::Replayed { .. } => {
                if self.world.journal.len() != before.1 || before.0 != self.world.view {
                    return Err(BrokenPromise::new(
                        "a command that comes again changes nothing",
                        describe::describe_command(command),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Time passes. Present actors renew their leases before they expire.
    fn pass(&mut self, span: Span, attended: bool) -> Result<(), BrokenPromise> {
        let target = self.world.now.plus(span);
        for _ in 0..if attended { SLICES } else { 0 } {
            let asking = self.asking();
            let held: Vec<_> =
                asking.held().into_iter().filter(|(_, _, it, _)| self.cast.find(it).is_some()).collect();
            let ends = held.iter().filter_map(|(key, slot, _, _)| self.world.view.get(key)?.lease(slot));
            let Some(next) = ends.map(|it| it.expires_at).filter(|it| *it > self.world.now).min() else {
                break;
            };
            // A second before the end; a lease with less than a second left is lost.
            let then = Timestamp(next.0 - 1_000).max(self.world.now);
            if then >= target {
                break;
            }
            self.world.advance(then.since(self.world.now));
            let asking = self.asking();
            let beats: Vec<Command> = asking
                .held()
                .iter()
                .filter(|(key, slot, _, _)| {
                    let lease = self.world.view.get(key).and_then(|it| it.lease(slot));
                    lease.is_some_and(|it| it.expires_at.0 <= next.0 + 1_000)
                })
                .filter_map(|(key, slot, holder, fence)| asking.beat(key, slot, holder, *fence))
                .collect();
            for command in beats {
                if let Outcome::Refused(refusal) = self.world.submit(&command) {
                    let what = format!("{}: {}", describe::describe_command(&command), refusal.detail);
                    return Err(BrokenPromise::new("a heartbeat in time is accepted", what));
                }
            }
            if then == self.world.now && next.0 - 1_000 < then.0 {
                break;
            }
        }
        self.world.advance(target.since(self.world.now));
        Ok(())
    }
}

fn alike(one: &Decision, other: &Decision) -> bool {
    match (one, other) {
        (Decision::Accepted(a), Decision::Accepted(b)) => {
            (&a.entries, a.root, &a.ignored) == (&b.entries, b.root, &b.ignored)
        }
        (Decision::Refused(a), Decision::Refused(b)) => a == b,
        (
            Decision::Replayed { first: a, entries: b, root: c },
            Decision::Replayed { first, entries, root },
        ) => (a, b, c) == (first, entries, root),
        _ => false,
    }
}
