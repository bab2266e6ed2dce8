//! The same commands, only decided: one after the other, in memory, without storage or replies.

use std::time::{Duration, Instant};

use trackside_engine::command::{Ask, Command, Seed};
use trackside_engine::key::EntityKey;
use trackside_engine::view::Need;
use trackside_engine::{Decision, Law, View, apply, decide};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::{Span, Timestamp};

use crate::BenchError;
use crate::load::Pace;
use crate::trackside::{CommandTemplates, STEPS, step_after};

/// The number of commands per turn, about that of a full load: they are timed together and share lookups.
const TOGETHER: u64 = 32;

/// The start time; a millisecond passes with every command.
const BEGUN: Timestamp = Timestamp(1_767_225_600_000);

/// The number of commands per second that one core decides and applies, for tasks that move in turn.
pub(crate) fn measure_deciding(pack: Pack, entities: u64, time: Duration) -> Result<Pace, BenchError> {
    let mut project =
        Project { law: Law::new([pack]), view: View::partial(0), words: CommandTemplates::new(), nth: 0 };
    project.fill(entities)?;
    let mut pace = Pace::default();
    // No task occurs twice in a turn.
    let together = TOGETHER.min(entities.max(1));
    while pace.seconds < time.as_secs_f64() {
        // Callers build the commands, so that time does not count.
        let commands: Vec<Command> = (0..together).map(|_| project.next(entities)).collect();
        let begun = Instant::now();
        for command in &commands {
            project.ask(command)?;
        }
        project.view.forget_absent();
        let took = begun.elapsed();
        pace.latency.record(took / together as u32);
        pace.commands += together as f64;
        pace.seconds += took.as_secs_f64();
    }
    Ok(pace)
}

struct Project {
    law: Law,
    view: View,
    words: CommandTemplates,
    nth: u64,
}

impl Project {
    /// The agents, the tasks and the singletons.
    fn fill(&mut self, entities: u64) -> Result<(), BenchError> {
        for name in self.law.lifecycle_names().to_vec() {
            if let Some(kind) = self.law.newest(&name).filter(|it| it.one).map(|it| it.kind.clone()) {
                let only = Seed::new(EntityKey { lifecycle: name, id: kind });
                self.ask(&Command::new(self.words.lead.clone(), Ask::Seed(only)))?;
            }
        }
        for command in self.words.agents().collect::<Vec<_>>() {
            self.ask(&command)?;
        }
        for n in 0..entities {
            let task = self.words.seed_command(n);
            self.ask(&task)?;
            // After a while, tasks are spread over all steps.
            for _ in 0..n % u64::from(STEPS) {
                let command = self.step(n);
                self.ask(&command)?;
            }
        }
        Ok(())
    }

    /// The next command of the next task.
    fn next(&mut self, entities: u64) -> Command {
        // Scattered, as those of callers are.
        let n = self.nth.wrapping_mul(0x9e37_79b1) % entities.max(1);
        self.step(n)
    }

    /// The next step of a task.
    fn step(&mut self, n: u64) -> Command {
        self.nth += 1;
        let task = self.words.task(n);
        let step = self.view.get(&task).map_or(0, |it| step_after(&it.state));
        let mut command = self.words.command(step, task, n);
        command.idempotency_key = Some(Name::from(self.nth.to_string()));
        command
    }

    fn ask(&mut self, command: &Command) -> Result<(), BenchError> {
        if let Some(key) = &command.idempotency_key {
            self.view.load_key(command.key_sender().clone(), key.clone(), None);
        }
        loop {
            match decide(&self.law, &self.view, command, BEGUN.plus(Span(self.nth as i64))) {
                Ok(Decision::Accepted(accepted)) => {
                    for entry in &accepted.entries {
                        let born = self.view.get(&entry.entity).is_none();
                        apply(&mut self.view, entry);
                        if born {
                            self.view.mark_whole(&entry.entity);
                        }
                        if let Some(record) = &entry.key {
                            self.view.forget_key(&record.by, &record.key);
                        }
                    }
                    return Ok(());
                }
                Err(needs) => needs.into_iter().for_each(|it| self.none(it)),
                Ok(Decision::Refused(refusal)) => return Err(BenchError::other(refusal.detail)),
                Ok(Decision::Replayed { .. }) => {
                    return Err(BenchError::other("a command was not decided as the first of its kind"));
                }
            }
        }
    }

    /// All entities went through this view, so an unknown one does not exist.
    fn none(&mut self, need: Need) {
        match need {
            Need::Entity(key) | Need::Reachable { from: key, .. } => self.view.mark_absent(key),
            Need::Counts(key) => self.view.load_counts(key, Default::default(), None),
            Need::Members(key) => self.view.load_members(key, Default::default(), None),
            Need::Ranking(key) => self.view.load_ranking(key, Default::default()),
            Need::UniqueValue { lifecycle, value } => self.view.load_unique(lifecycle, value, None),
            Need::Key { actor, key } => self.view.load_key(actor, key, None),
        }
    }
}
