//! Maintenance of a running project: a new version of its pack, migrations to it and back, redactions, and
//! the sweep, scheduled or requested.

use trackside_engine::Decision;
use trackside_engine::command::{Migrate, Redact};
use trackside_engine::decide;
use trackside_engine::event::Entry;
use trackside_engine::fields::Fields;

use super::*;

/// The interval of the sweep.
pub(super) const SWEEP: Span = Span(5 * 60_000);
/// Steps after which a pass must be over.
const MOST_STEPS: usize = 400;

fn admin() -> Actor {
    Actor::new("olga", ActorKind::Human).with_roles(["admin"])
}

impl SimulationRun<'_> {
    /// A maintenance action.
    pub(super) fn upkeep(&mut self) {
        let open = self.requests.iter().filter(|it| !it.over).count();
        if open >= OPEN || !self.installed {
            return;
        }
        let content = match self.dice.below(5) {
            0 => self.next_version(),
            1..=2 => self.migration(),
            _ => self.redaction(),
        };
        if let Some(content) = content {
            self.request(content);
        }
    }

    /// The second version, once, and not before the first is there for good.
    fn next_version(&mut self) -> Option<CallerRequest> {
        let installs = |it: usize| matches!(*self.requests[it].content, CallerRequest::Install(_));
        let on_its_way = self.mail.iter().any(|(_, it)| installs(*it))
            || self.waiting.iter().any(|it| installs(it.request))
            || self.decided.iter().flat_map(|it| &it.attempts).any(|it| installs(it.request));
        if self.renewed || on_its_way || self.step < self.scene.steps / 4 {
            return None;
        }
        self.renewed = true;
        Some(CallerRequest::Install(self.scene.both.clone()))
    }

    /// Migrates to the other version, or back.
    fn migration(&mut self) -> Option<CallerRequest> {
        let entities = self.model.world.view.entities();
        let entity = *self.dice.pick(&entities)?;
        let (key, from) = (entity.key.clone(), entity.definition);
        let is_migration = |it: &&Entry| it.entity == key && matches!(it.event, Event::Migrated { .. });
        let last = self.model.world.journal.iter().rev().find(is_migration).cloned();
        let ask = match last {
            Some(migration) if self.dice.percent(50) => {
                Ask::UndoMigration { entity: key, migration: Box::new(migration) }
            }
            _ => Ask::Migrate(Migrate::new(key, if from == 1 { 2 } else { 1 })),
        };
        Some(CallerRequest::Command(self.with_key(Command::new(admin(), ask))))
    }

    /// Redacts an entry of an entity.
    fn redaction(&mut self) -> Option<CallerRequest> {
        let entities = self.model.world.view.entities();
        let entity = *self.dice.pick(&entities)?;
        let records = self.disk.quietly(|| self.store.reader().unwrap().records(0, usize::MAX)).ok()?;
        let mut history = Vec::new();
        let mut full = Vec::new();
        for record in records.iter().filter(|it| it.header.contains(entity.key.id.as_str())) {
            let entry = record.entry().unwrap();
            if entry.entity == entity.key {
                full.extend(record.payload.is_some().then_some(entry.seq));
                history.push(entry);
            }
        }
        let seq = *self.dice.pick(&full)?;
        let mut becomes = Fields::default();
        if self.dice.percent(60) {
            // Its values stay, as set by the person who redacts.
            let entry = history.iter().find(|it| it.seq == seq)?;
            for (name, value) in entry.event.changes().into_iter().flat_map(|it| &it.fields) {
                if entity.fields.get(name) == Some(value) {
                    becomes.put(name, value.clone());
                }
            }
        }
        let redact = Redact { entity: entity.key.clone(), entries: vec![seq], becomes, history };
        let command = Command::new(admin(), Ask::Redact(redact)).with_reason("It was a secret");
        Some(CallerRequest::Command(self.with_key(command)))
    }

    /// A pass takes as many steps as there are entries to read; then it is over.
    pub(super) fn sweep_to_its_end(&mut self) -> Result<(), BrokenPromise> {
        for _ in 0..MOST_STEPS {
            if !self.stepper.as_ref().is_some_and(Stepper::is_sweeping) {
                return Ok(());
            }
            self.decider_step()?;
            self.commit()?;
            self.flush()?;
        }
        Err(BrokenPromise::new(
            "the sweep looks at everything",
            format!("and does not end in {MOST_STEPS} steps"),
        ))
    }

    /// Sweeps until there are no more findings.
    pub(super) fn take_sweep(&mut self) -> Result<(), BrokenPromise> {
        if !self.scene.upkeep {
            return Ok(());
        }
        for _ in 0..8 {
            let before = self.model.seq();
            if self.options.sweep_every.is_some() {
                // Steering may take 5 % of it away.
                self.pass(Span(SWEEP.0 + SWEEP.0 / 10));
            } else {
                self.request(CallerRequest::Sweep);
            }
            for _ in 0..12 {
                self.step += 25;
                self.deliver();
                self.decider_step()?;
                self.commit()?;
                self.flush()?;
            }
            self.sweep_to_its_end()?;
            if self.model.seq() == before {
                break;
            }
        }
        let world = &self.model.world;
        for entity in world.view.entities() {
            let inspect = Command::new(Actor::engine(), Ask::Inspect { entity: entity.key.clone() });
            if let Ok(Decision::Accepted(found)) = decide(&world.law, &world.view, &inspect, world.now)
                && !found.entries.is_empty()
            {
                let what = format!("{}: {:?}", entity.key, found.entries);
                return Err(BrokenPromise::new("the sweep looks at everything", what));
            }
        }
        Ok(())
    }
}
