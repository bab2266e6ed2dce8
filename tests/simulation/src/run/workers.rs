//! The steps of the workers, and the checks after each.

use super::*;

impl SimulationRun<'_> {
    pub(super) fn decider_step(&mut self) -> Result<(), BrokenPromise> {
        let awaited = self.awaits_sweep();
        let Some(stepper) = &mut self.stepper else { return self.open() };
        self.disk.read_failed();
        let many = 1 + self.dice.below(8);
        if stepper.waits_for_more() {
            self.figures.waits += 1;
            self.machine.monotonic.fetch_add(1, Ordering::AcqRel);
            self.machine.wall.fetch_add(1, Ordering::AcqRel);
            return Ok(());
        }
        // The step may move the manual clock.
        let manual = Timestamp(self.manual.load(Ordering::Acquire));
        let Some(result) = stepper.step(many) else { return Ok(()) };
        let now = stepper.now();
        let clock = match self.options.clock.is_manual() {
            true => manual,
            false => {
                let machine = self.machine_time();
                self.expected_clock.step(machine)
            }
        };
        let mut attempts = self.take_waiting(&result.taken)?;
        let Some(stepper) = &self.stepper else { return Ok(()) };
        for attempt in &mut attempts {
            if attempt.promise.take().is_some() {
                let what = format!("request {} was answered", attempt.request);
                return Err(BrokenPromise::new("nobody is told before it is on disk", what));
            }
        }
        let decider_step = ObservedStep {
            clock,
            resumed_at: self.expected_clock.resumed_at,
            pauses: self.expected_clock.pauses.clone(),
            jumped_to: self.expected_clock.jumped_to,
            agreed: self.expected_clock.agreed(),
            requests: attempts.iter().map(|it| self.requests[it.request].content.clone()).collect(),
            read_failed: self.disk.read_failed() || self.rotten,
            entries: result.entries,
            failed: Vec::new(),
            now,
            advancing: stepper.advancing_to().is_some(),
            most: stepper.knows_written().saturating_add(self.options.most_behind),
            sweeping: awaited
                || attempts
                    .iter()
                    .any(|it| matches!(*self.requests[it.request].content, CallerRequest::Sweep)),
        };
        if result.taken.len() + result.entries > 0 {
            let numbers: Vec<usize> = attempts.iter().map(|it| it.request).collect();
            self.log.add(format!(
                "a step at {clock}: {numbers:?}, {} entries{}",
                result.entries,
                if decider_step.read_failed { ", a read failed" } else { "" }
            ));
        }
        let weighs = result.to_commit;
        self.decided.push_back(DecidedStep { decider_step, attempts, weighs });
        self.pass_weightless()
    }

    /// The callers whose requests were taken, in the order in which they were decided.
    fn take_waiting(&mut self, tickets: &[u64]) -> Result<Vec<Attempt>, BrokenPromise> {
        let mut attempts = Vec::new();
        for ticket in tickets {
            let place = self.waiting.iter().position(|it| it.ticket == *ticket);
            let Some(attempt) = place.and_then(|it| self.waiting.remove(it)) else {
                let what = format!("request with number {ticket} does not wait");
                return Err(BrokenPromise::new("every request is taken once", what));
            };
            let sender = self.requests[attempt.request].content.sender();
            let earlier =
                |it: &&Attempt| it.ticket < *ticket && self.requests[it.request].content.sender() == sender;
            if let Some(passed) = self.waiting.iter().find(earlier) {
                let what = format!("request {} was taken before {}", attempt.request, passed.request);
                return Err(BrokenPromise::new("requests of one actor are decided in order", what));
            }
            attempts.push(attempt);
        }
        Ok(attempts)
    }

    /// Turns without entries need no commit.
    pub(super) fn pass_weightless(&mut self) -> Result<(), BrokenPromise> {
        while self.decided.front().is_some_and(|it| !it.weighs) {
            let Some(mut decided) = self.decided.pop_front() else { break };
            let known = self.model.world.view.len();
            self.explain(&decided.decider_step)?;
            // Only callers that requested a sweep were taken and have no answer yet.
            decided.attempts.iter_mut().for_each(|it| it.known = known);
            self.journeys.append(&mut decided.attempts);
        }
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Result<(), BrokenPromise> {
        let Some(stepper) = &mut self.stepper else { return self.open() };
        let was_broken = stepper.is_broken();
        if !stepper.commit() {
            return Ok(());
        }
        let failed = stepper.is_broken();
        let Some(mut decided) = self.decided.pop_front() else {
            return Err(BrokenPromise::new("what is committed was decided", "nothing was"));
        };
        let outcomes: Vec<_> = decided.attempts.iter_mut().map(|it| it.promise.take()).collect();
        if !failed {
            decided.decider_step.failed = outcomes.iter().map(|it| matches!(it, Some(Err(_)))).collect();
        }
        let known = self.model.world.view.len();
        let expected = if failed { None } else { Some(self.explain(&decided.decider_step)?) };
        let stepper = self.stepper.as_ref().unwrap();
        if !failed && stepper.last_committed() != self.model.seq() {
            let what = format!("{} is known, {} is on disk", stepper.last_committed(), self.model.seq());
            return Err(BrokenPromise::new("what is on disk is known", what));
        }
        self.log.add(format!("commit {}: {}", self.model.seq(), if failed { "failed" } else { "done" }));
        let DecidedStep { decider_step, attempts, weighs } = decided;
        for (n, (mut attempt, outcome)) in attempts.into_iter().zip(outcomes).enumerate() {
            attempt.known = known;
            let expected = expected.as_ref().and_then(|it| it[n].as_ref());
            let Some(outcome) = outcome else {
                if self.requests[attempt.request].content.takes_long() {
                    self.journeys.push(attempt);
                    continue;
                }
                let what = format!("request {} has no answer after its commit", attempt.request);
                return Err(BrokenPromise::new("everybody is told", what));
            };
            let right = match (&outcome, expected) {
                (Ok(said), Some(expected)) => is_same(said, expected),
                (Ok(_), None) => false,
                (Err(_), None) => true,
                (Err(Failure::Unavailable(_) | Failure::NoSpace(_)), Some(_)) => decider_step.read_failed,
                (Err(_), Some(_)) => false,
            };
            self.looked_at_all(&attempt, &outcome)?;
            if !right {
                let what = format!("request {}: {outcome:?} instead of {expected:?}", attempt.request);
                return Err(BrokenPromise::new("callers are told what happened", what));
            }
            self.receive_answer(&attempt, &outcome);
        }
        self.arrivals()?;
        if failed && !was_broken {
            self.doubt = Some(DecidedStep { decider_step, attempts: Vec::new(), weighs });
        }
        if failed { Ok(()) } else { self.pass_weightless() }
    }

    fn awaits_sweep(&self) -> bool {
        let decided = self.decided.iter().flat_map(|it| &it.attempts);
        self.journeys
            .iter()
            .chain(decided)
            .any(|it| matches!(*self.requests[it.request].content, CallerRequest::Sweep))
    }

    /// Completed moves of the clock and sweeps.
    pub(super) fn arrivals(&mut self) -> Result<(), BrokenPromise> {
        for mut attempt in std::mem::take(&mut self.journeys) {
            match attempt.promise.take() {
                Some(Ok(CallerResponse::Time(to))) if to > self.model.world.now => {
                    let what = format!("it is said to be {to} at {}", self.model.world.now);
                    return Err(BrokenPromise::new("callers are told what happened", what));
                }
                // It runs: every caller is answered, with a result or a failure.
                Some(Err(Failure::Stopped)) => {
                    let what = format!("request {}: it is said to have stopped", attempt.request);
                    return Err(BrokenPromise::new("callers are told what happened", what));
                }
                Some(outcome) => {
                    self.looked_at_all(&attempt, &outcome)?;
                    self.receive_answer(&attempt, &outcome);
                }
                None => self.journeys.push(attempt),
            }
        }
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result<(), BrokenPromise> {
        let Some(stepper) = &self.stepper else { return self.open() };
        let many = 1 + self.dice.below(6);
        let before = stepper.last_flushed();
        stepper.write_workers().flush(many).ok();
        if stepper.last_flushed() < before {
            return Err(BrokenPromise::new("what is written stays written", format!("{before}")));
        }
        if stepper.last_flushed() > before {
            self.figures.flushes += 1;
            self.log.add(format!("written up to {}", stepper.last_flushed()));
        }
        if self.scene.rot {
            stepper.write_workers().tidy().ok();
        }
        if stepper.last_flushed() == self.model.seq() && !self.rotten && self.dice.percent(30) {
            let (ground, world) = (&self.scene.ground, &self.model.world);
            let last = self.options.keys_last;
            self.disk.quietly(|| final_checks::projections(&*self.store, ground, world, last))?;
            if self.dice.percent(20) {
                self.disk.quietly(|| final_checks::made_from_the_journal(&*self.store, world))?;
            }
        }
        Ok(())
    }

    pub(super) fn recover(&mut self) -> Result<(), BrokenPromise> {
        let Some(stepper) = &mut self.stepper else { return self.open() };
        if !stepper.is_broken() {
            return Ok(());
        }
        // Later decisions are rejected first.
        while stepper.has_decided() {
            stepper.commit();
        }
        let dropped: Vec<DecidedStep> = self.decided.drain(..).collect();
        for mut attempt in dropped.into_iter().flat_map(|it| it.attempts) {
            match attempt.promise.take() {
                Some(outcome @ Err(_)) => self.receive_answer(&attempt, &outcome),
                None if self.requests[attempt.request].content.takes_long() => self.journeys.push(attempt),
                outcome => {
                    let what = format!("request {}: {outcome:?} after a failed commit", attempt.request);
                    return Err(BrokenPromise::new("callers are told what happened", what));
                }
            }
        }
        self.figures.recoveries += 1;
        let Some(stepper) = &mut self.stepper else { return Ok(()) };
        match stepper.recover() {
            Ok(()) => {
                self.log.add("it begins again");
                self.settle_doubt()?;
                self.disk.read_failed();
            }
            Err(why) => {
                self.log.add(format!("it cannot begin again: {why}"));
                for mut attempt in std::mem::take(&mut self.waiting) {
                    match attempt.promise.take() {
                        Some(outcome @ Err(_)) => self.receive_answer(&attempt, &outcome),
                        outcome => {
                            let what = format!("request {}: {outcome:?}", attempt.request);
                            return Err(BrokenPromise::new(
                                "callers are sent away while it cannot be done",
                                what,
                            ));
                        }
                    }
                }
            }
        }
        self.arrivals()
    }

    pub(super) fn crash(&mut self) -> Result<(), BrokenPromise> {
        self.figures.crashes += 1;
        self.log.add("it crashes");
        self.interference.move_now(None);
        self.stepper = None;
        self.forget_memory();
        self.rot_between_runs();
        let lost = self.decided.drain(..).flat_map(|it| it.attempts).collect::<Vec<_>>();
        let lost = lost.into_iter().chain(self.waiting.drain(..)).chain(self.journeys.drain(..));
        for attempt in lost.collect::<Vec<_>>() {
            self.retry(attempt.request);
        }
        self.listeners.iter_mut().for_each(JournalListener::cut_off);
        self.open()
    }

    /// Time passes, or one of the machine's clocks fails.
    pub(super) fn time(&mut self) -> Result<(), BrokenPromise> {
        let span = match self.dice.below(17) {
            0..=3 => Span(self.dice.between(1, 3_000)),
            4..=5 => Span(self.dice.between(3_000, 120_000)),
            6 => Span(self.dice.between(1, 40) * 60_000),
            7 => Span(self.dice.between(60, 90) * 60_000),
            8..=9 => Span(self.dice.between(1, 30) * 3_600_000),
            10..=11 => return self.run_for(),
            fault => {
                self.clock_fault(fault);
                return Ok(());
            }
        };
        self.pass(span);
        Ok(())
    }

    /// The loop runs while time passes.
    fn run_for(&mut self) -> Result<(), BrokenPromise> {
        let (steps, wide) = (self.dice.between(3, 40), self.dice.percent(50));
        for _ in 0..steps {
            let span = Span(if wide { 900 } else { self.dice.between(1, 900) });
            self.pass(span);
            if !self.options.clock.is_manual() {
                self.decider_step()?;
                self.commit()?;
            }
        }
        Ok(())
    }

    /// The time of day jumps or stands still, or the monotonic clock goes back.
    fn clock_fault(&mut self, which: usize) {
        if self.options.clock.is_manual() {
            return;
        }
        if which == 16 {
            return self.monotonic_clock_goes_back();
        }
        let right = self.started.plus(Span(self.machine_time().elapsed));
        let day = match which {
            12 => right.plus(Span(self.dice.between(-90_000, 90_000))),
            13 => right.plus(Span(self.dice.between(-30, 30) * 3_600_000)),
            14 => {
                let years = [1_970, 2_248, 9_998][self.dice.below(3)];
                Timestamp::parse(&format!("{years}-01-01T00:00:00Z")).unwrap()
            }
            // It is set right, or it stood still for a while.
            _ if self.dice.percent(70) => right,
            _ => {
                self.machine.monotonic.fetch_add(self.dice.between(1, 90_000), Ordering::AcqRel);
                return;
            }
        };
        self.machine.wall.store(day.0, Ordering::Release);
        self.log.add(format!("the machine's clock says {day}, right is {right}"));
    }

    /// The process reads the clock just before and after, so that no elapsed time is lost with the step.
    fn monotonic_clock_goes_back(&mut self) {
        let by = self.dice.between(1, 30) * [1_000, 3_600_000][self.dice.below(2)];
        // It is never negative.
        let by = by.min(self.machine.monotonic.load(Ordering::Acquire));
        let read = |it: &Option<Stepper>| it.as_ref().map(Stepper::clock_now);
        let before = read(&self.stepper);
        self.machine.monotonic.fetch_sub(by, Ordering::AcqRel);
        self.stepped_back += by;
        let after = read(&self.stepper);
        self.log.add(format!("the monotonic clock goes back by {by} ms: from {before:?} to {after:?}"));
    }

    pub(super) fn pass(&mut self, span: Span) {
        if self.options.clock.is_manual() {
            let moves =
                |it: &Attempt| matches!(*self.requests[it.request].content, CallerRequest::Advance(_));
            if !self.journeys.iter().any(moves) && self.installed {
                let to = self.model.world.now.plus(span);
                self.request(CallerRequest::Advance(to));
            }
            return;
        }
        self.machine.monotonic.fetch_add(span.0, Ordering::AcqRel);
        self.machine.wall.fetch_add(span.0, Ordering::AcqRel);
        self.log.add(format!("{span} pass: it is {}", self.clock_now()));
    }
}

impl SimulationRun<'_> {
    /// A requested sweep must have covered every entity that existed when it began.
    fn looked_at_all(
        &self,
        attempt: &Attempt,
        outcome: &Result<CallerResponse, Failure>,
    ) -> Result<(), BrokenPromise> {
        match outcome {
            Ok(CallerResponse::Swept(report)) if report.looked_at < attempt.known as u64 && !self.rotten => {
                let what = format!("{report:?}, and there were {}", attempt.known);
                Err(BrokenPromise::new("the sweep looks at everything", what))
            }
            _ => Ok(()),
        }
    }
}

fn is_same(said: &CallerResponse, expected: &CallerResponse) -> bool {
    match (said, expected) {
        (CallerResponse::One(a), CallerResponse::One(b)) => alike(a, b),
        (CallerResponse::All(a), CallerResponse::All(b)) => all_alike(a, b),
        (CallerResponse::Seen(a), CallerResponse::Seen(b)) => a == b,
        (CallerResponse::Done, CallerResponse::Done) => true,
        (CallerResponse::Time(a), CallerResponse::Time(b)) => a == b,
        (_, CallerResponse::Unsure) => true,
        _ => false,
    }
}
