//! The callers' requests, and their transport.

use trackside_random::Random;

use super::*;

impl SimulationRun<'_> {
    /// A caller makes a request.
    pub(super) fn ask(&mut self) {
        let open = self.requests.iter().filter(|it| !it.over).count();
        if open >= OPEN || !self.installed {
            return;
        }
        if self.dice.percent(10)
            && let Some(twin) = self.twin()
        {
            return self.request(twin);
        }
        let asking = RequestChooser {
            ground: &self.scene.ground,
            world: &self.model.world,
            cast: &self.cast,
            taken: &self.taken,
        };
        let content = match self.dice.below(100) {
            0..=7 => self.question(),
            8..=12 => {
                let two = [asking.choose_guided(&mut self.dice), asking.create(&mut self.dice)];
                let commands: Vec<Command> = two.into_iter().flatten().collect();
                let commands = commands.into_iter().map(|it| self.with_key(it)).collect();
                Some(CallerRequest::All(commands))
            }
            _ => {
                let step = WalkStep::next(&asking, &self.setup, self.again.as_ref(), &mut self.dice);
                match step {
                    WalkStep::Ask(command) => {
                        let command = self.with_key(*command);
                        if command.idempotency_key.is_some() {
                            self.again = Some(command.clone());
                        }
                        Some(CallerRequest::Command(command))
                    }
                    WalkStep::Pass { span, .. } => {
                        self.pass(span);
                        None
                    }
                    WalkStep::Sweep if self.scene.upkeep && self.dice.percent(70) => {
                        Some(CallerRequest::Sweep)
                    }
                    WalkStep::Sweep => self.inspection(),
                    WalkStep::Crash(actor) => {
                        self.cast.crash(&actor);
                        None
                    }
                    WalkStep::ComeBack(actor) => {
                        self.cast.come_back(&actor);
                        None
                    }
                }
            }
        };
        if let Some(content) = content {
            self.request(content);
        }
    }

    /// A copy of the last request under another id: of entities with the same unique value, one is accepted.
    fn twin(&mut self) -> Option<CallerRequest> {
        let has_one =
            |it: &EntityKey| self.scene.ground.life(&it.lifecycle).is_some_and(|it| it.create.same.is_some());
        let lately = self.requests.iter().rev().take(12).filter_map(|it| match &*it.content {
            CallerRequest::Command(command) => Some(command),
            _ => None,
        });
        let created = |it: &&Command| matches!(&it.ask, Ask::Create { entity, .. } if has_one(entity));
        let all: Vec<&Command> = lately.filter(created).collect();
        let mut twin: Command = (*self.dice.pick(&all)?).clone();
        if let Ask::Create { entity, .. } = &mut twin.ask {
            entity.id = Name::from(format!("{}-{}", entity.id, self.step));
        }
        twin.idempotency_key = None;
        Some(CallerRequest::Command(self.with_key(twin)))
    }

    /// A name under which it counts once, mostly.
    pub(super) fn with_key(&mut self, mut command: Command) -> Command {
        if command.idempotency_key.is_none() && self.dice.percent(88) {
            command.idempotency_key =
                Some(Name::from(format!("r-{}-{}", self.step, self.dice.below(1_000_000))));
        }
        command
    }

    pub(super) fn question(&mut self) -> Option<CallerRequest> {
        let world = &self.model.world;
        let entities = world.view.entities();
        let entity = self.dice.pick(&entities)?.key.clone();
        let groups = all_groups(&self.scene.ground, world);
        let group = self.dice.pick(&groups).cloned();
        let lives = self.scene.ground.pack.lifecycles.iter();
        let rankings: Vec<RankingKey> = lives
            .flat_map(|life| {
                let of = |name: &Name| RankingKey { lifecycle: life.name.clone(), name: name.clone() };
                life.rankings.iter().map(move |it| of(&it.name))
            })
            .collect();
        let ranking = self.dice.pick(&rankings).cloned();
        Some(CallerRequest::Look(StateQuery { entity, group, members: self.dice.percent(50), ranking }))
    }

    pub(super) fn inspection(&mut self) -> Option<CallerRequest> {
        let entities = self.model.world.view.entities();
        let entity = self.dice.pick(&entities)?.key.clone();
        let actor = Actor::engine();
        Some(CallerRequest::Command(Command::new(actor, Ask::Inspect { entity })))
    }

    pub(super) fn request(&mut self, content: CallerRequest) {
        let number = self.requests.len();
        self.log.add(format!("request {number}: {}", content.describe()));
        self.requests.push(TrackedRequest {
            content: Arc::new(content),
            attempts: 0,
            over: false,
            answered: false,
        });
        self.send(number);
    }

    /// Sends a request; it may be lost, delayed or duplicated.
    pub(super) fn send(&mut self, number: usize) {
        let request = &mut self.requests[number];
        if request.over {
            return;
        }
        request.attempts += 1;
        if request.attempts > ATTEMPTS && !matches!(*request.content, CallerRequest::Install(_)) {
            request.over = true;
            return;
        }
        let late = |dice: &mut Random| if dice.percent(70) { 0 } else { dice.below(25) };
        let repeated = request.content.can_be_repeated();
        if repeated && self.dice.percent(5) {
            self.log.add(format!("  request {number} is lost"));
            let again = self.step + 1 + self.dice.below(20);
            // Its caller sends it again.
            self.mail.push((again, number));
            return;
        }
        let at = self.step + late(&mut self.dice);
        self.mail.push((at, number));
        if repeated && self.dice.percent(10) {
            let at = self.step + late(&mut self.dice);
            self.mail.push((at, number));
        }
    }

    /// Requests that have arrived are submitted.
    pub(super) fn deliver(&mut self) {
        if self.stepper.is_none() {
            return;
        }
        let (arrived, later): (Vec<_>, Vec<_>) = self.mail.drain(..).partition(|(at, _)| *at <= self.step);
        self.mail = later;
        for (_, number) in self.dice.shuffle(arrived) {
            let Some(stepper) = &self.stepper else { return };
            match self.requests[number].content.submit(stepper) {
                Ok(promise) => {
                    let deaf = self.requests[number].content.can_be_repeated() && self.dice.percent(6);
                    let ticket = stepper.accepted() - 1;
                    self.waiting.push_back(Attempt { request: number, ticket, promise, deaf, known: 0 });
                }
                Err(why) => {
                    self.log.add(format!("  request {number} is sent away: {why}"));
                    self.retry(number);
                }
            }
        }
    }

    /// The caller does not know the outcome, and sends again if that does no harm.
    pub(super) fn retry(&mut self, number: usize) {
        let request = &mut self.requests[number];
        if request.over {
            return;
        }
        if !request.content.can_be_repeated() {
            request.over = true;
            return;
        }
        request.attempts += 1;
        if request.attempts > ATTEMPTS && !matches!(*request.content, CallerRequest::Install(_)) {
            request.over = true;
            return;
        }
        let at = self.step + 1 + self.dice.below(15);
        self.mail.push((at, number));
    }

    /// A caller is answered.
    pub(super) fn receive_answer(&mut self, attempt: &Attempt, outcome: &Result<CallerResponse, Failure>) {
        let number = attempt.request;
        match outcome {
            Err(why) => {
                self.log.add(format!("  request {number} failed: {why}"));
                self.retry(number);
            }
            Ok(_) if attempt.deaf => {
                self.log.add(format!("  the answer to request {number} is lost"));
                self.retry(number);
            }
            Ok(said) => {
                self.figures.answers += 1;
                let word = match said {
                    CallerResponse::One(CommandAnswer::Accepted(_)) => {
                        self.figures.accepted += 1;
                        "accepted".to_owned()
                    }
                    CallerResponse::One(CommandAnswer::Refused(refusal)) => {
                        format!("refused, {}", refusal.code.as_str())
                    }
                    CallerResponse::One(CommandAnswer::Replayed { .. }) => {
                        self.figures.replayed += 1;
                        "the same as before".to_owned()
                    }
                    CallerResponse::All(BatchAnswer::Done(all)) => format!("{} answers", all.len()),
                    CallerResponse::All(BatchAnswer::Refused(_)) => "refused together".to_owned(),
                    CallerResponse::Seen(_) => "seen".to_owned(),
                    CallerResponse::Done => {
                        self.note_installation();
                        "done".to_owned()
                    }
                    CallerResponse::Time(to) => format!("it is {to}"),
                    CallerResponse::Swept(report) => {
                        self.figures.sweeps += 1;
                        format!("{report:?}")
                    }
                    CallerResponse::Unsure => "one or another".to_owned(),
                };
                self.log.add(format!("  request {number}: {word}"));
                let request = &mut self.requests[number];
                (request.over, request.answered) = (true, true);
            }
        }
    }

    /// The pack is there: now the project is set up.
    pub(super) fn note_installation(&mut self) {
        if std::mem::replace(&mut self.installed, true) {
            return;
        }
        let pack = self.scene.ground.pack.name.clone();
        let change = |(setting, value): (&Name, &trackside_lifecycle::value::Value)| SettingChange {
            pack: pack.clone(),
            setting: setting.clone(),
            value: value.clone(),
        };
        let settings = self.setup.settings.iter().map(change).collect();
        let change = ProjectChange { settings, zone: None, people: Some(self.cast.people()) };
        let ada = self.cast.find(&Name::new("ada")).unwrap().clone();
        let mut first = Command::new(ada, Ask::Configure(change));
        first.idempotency_key = Some(Name::new("configure"));
        let lines = openings::of(&self.scene.ground, &self.cast);
        let many = lines.len() * self.setup.opening / 100;
        let mut at = 0;
        for (n, mut command) in std::iter::once(first).chain(lines.into_iter().take(many)).enumerate() {
            command.idempotency_key.get_or_insert(Name::from(format!("opening-{n}")));
            let number = self.requests.len();
            let content = Arc::new(CallerRequest::Command(command));
            self.requests.push(TrackedRequest { content, attempts: 0, over: false, answered: false });
            // One after the other, mostly.
            at += 1 + self.dice.below(4);
            self.mail.push((self.step + at, number));
        }
    }
}
