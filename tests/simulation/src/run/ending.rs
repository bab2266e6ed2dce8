//! Readers, and the end of a run: everything is answered, written, and as expected.

use super::*;

impl SimulationRun<'_> {
    pub(super) fn read(&mut self) -> Result<(), BrokenPromise> {
        let Some(stepper) = &self.stepper else { return Ok(()) };
        let entities = self.model.world.view.entities();
        let uncommitted =
            self.decided.iter().flat_map(|it| &it.decider_step.requests).filter_map(|it| match &**it {
                CallerRequest::Command(command) => command.entity().cloned(),
                _ => None,
            });
        let mut keys: Vec<_> = uncommitted.collect();
        keys.extend((0..4).filter_map(|_| self.dice.pick(&entities)).map(|it| it.key.clone()));
        for key in keys {
            let Ok(seen) = stepper.entity(&key) else { continue };
            let expected = self.model.world.view.get(&key);
            if seen.as_deref().map(text) != expected.map(text) {
                let what = format!("{seen:?} instead of {expected:?}");
                return Err(BrokenPromise::new(
                    "readers see what is committed, all of it and nothing else",
                    what,
                ));
            }
        }
        self.handed_out(stepper)
    }

    /// Checks that the open effects are those requested and not answered.
    fn handed_out(&self, stepper: &Stepper) -> Result<(), BrokenPromise> {
        let Ok(open) = stepper.outbox().open(None, 0, usize::MAX >> 1) else { return Ok(()) };
        let handed: Vec<_> = open.into_iter().map(|it| (it.id, it.effect, it.entity)).collect();
        let mut owed = Vec::new();
        for entity in self.model.world.view.entities() {
            owed.extend(entity.effects.iter().map(|it| (it.id, it.effect.clone(), entity.key.clone())));
        }
        owed.sort();
        if handed == owed {
            return Ok(());
        }
        Err(BrokenPromise::new(
            "what is asked of the outside is open, each once",
            format!("{handed:?}, not {owed:?}"),
        ))
    }

    pub(super) fn listen(&mut self) -> Result<(), BrokenPromise> {
        let Some(stepper) = &self.stepper else { return Ok(()) };
        let who = usize::from(self.dice.percent(20));
        self.listeners[who].listen(stepper, &self.model.world.journal)
    }

    /// The store works again: everything is answered, written, and as expected.
    pub(super) fn end(&mut self) -> Result<(), BrokenPromise> {
        self.log.add("from here on nothing fails");
        self.disk.calm();
        if self.scene.rot {
            self.rot_ends()?;
        }
        self.go_on()?;
        if !self.is_done() && self.wants_rebuild.lock().unwrap().is_some() {
            // The rest is rebuilt at the next start.
            self.crash()?;
            self.go_on()?;
        }
        if !self.is_done() {
            let open: Vec<usize> = (0..self.requests.len()).filter(|it| !self.requests[*it].over).collect();
            let stepper = self.stepper.as_ref();
            let what = format!(
                "requests {open:?} wait, {} on their way, {} queued, {} decided; committed {:?} of {}, written {:?}; {:?}",
                self.mail.len(),
                self.waiting.len(),
                self.decided.len(),
                stepper.map(Stepper::last_committed),
                self.model.seq(),
                stepper.map(Stepper::last_flushed),
                stepper.and_then(Stepper::problem),
            );
            return Err(BrokenPromise::new("it goes on once the store works again", what));
        }
        self.take_sweep()?;
        if self.scene.rot {
            self.is_repaired()?;
        }
        self.last_look()?;
        // Once more, as a new process finds it.
        self.crash()?;
        for _ in 0..200 {
            self.decider_step()?;
            self.commit()?;
            self.flush()?;
            if self.is_done() {
                break;
            }
        }
        self.last_look()
    }

    /// Everything that waits is done.
    fn go_on(&mut self) -> Result<(), BrokenPromise> {
        for _ in 0..400 {
            self.step += 25;
            if self.stepper.as_ref().is_none_or(Stepper::is_broken) {
                self.recover()?;
            }
            self.deliver();
            self.decider_step()?;
            self.commit()?;
            self.flush()?;
            self.listen()?;
            if self.is_done() {
                break;
            }
        }
        Ok(())
    }

    pub(super) fn is_done(&self) -> bool {
        let Some(stepper) = &self.stepper else { return false };
        self.mail.is_empty()
            && self.waiting.is_empty()
            && self.decided.is_empty()
            && self.journeys.is_empty()
            && stepper.advancing_to().is_none()
            && stepper.last_flushed() == self.model.seq()
    }

    /// Everything is flushed, and unused data has been evicted.
    fn let_go(&mut self) -> Result<(), BrokenPromise> {
        // The sweep finishes: then there is a step without entries.
        for _ in 0..4 {
            self.decider_step()?;
            self.commit()?;
            self.flush()?;
        }
        self.sweep_to_its_end()?;
        self.decider_step()?;
        let Some(stepper) = &self.stepper else { return Ok(()) };
        let (held, most) = (stepper.cached(), &self.options);
        let bounded = held.entities <= most.cached_entities
            && held.groups <= most.cached_groups
            && held.values <= most.cached_values
            && held.keys <= most.cached_keys
            && held.bytes <= most.cached_bytes;
        match bounded {
            true => Ok(()),
            false => {
                let most = (most.cached_entities, most.cached_groups, most.cached_values, most.cached_keys);
                Err(BrokenPromise::new("memory is bounded", format!("{held:?} of {most:?}")))
            }
        }
    }

    pub(super) fn last_look(&mut self) -> Result<(), BrokenPromise> {
        self.let_go()?;
        let (ground, world) = (&*self.scene.ground, &self.model.world);
        final_checks::journal(&*self.store, world, self.options.keys_last)?;
        final_checks::projections(&*self.store, ground, world, self.options.keys_last)?;
        final_checks::made_from_the_journal(&*self.store, world)?;
        orders::agree(ground, world)?;
        self.counts.agree(ground, &world.view)?;
        holds::only_ones(ground, world)?;
        if !self.corrected {
            holds::invariants(ground, world)?;
        }
        let Some(stepper) = &self.stepper else { return Ok(()) };
        for listener in &mut self.listeners {
            for _ in 0..50 {
                listener.listen(stepper, &world.journal)?;
            }
            if !listener.is_up_to(world.journal.len() as u64) {
                let what = format!("{listener:?} of {}", world.journal.len());
                return Err(BrokenPromise::new("a follower sees every entry once, in order", what));
            }
        }
        self.handed_out(stepper)?;
        if let Some(trouble) = stepper.problem() {
            return Err(BrokenPromise::new("no trouble is told of when there is none", trouble));
        }
        self.figures.timers = self.model.timers;
        self.figures.clock_alerts = self.model.clock_alerts;
        self.figures.faults = self.disk.faults();
        self.figures.flips = self.files.as_ref().map_or(0, |it| it.flips);
        self.figures.repairs = self.model.repairs;
        Ok(())
    }
}
