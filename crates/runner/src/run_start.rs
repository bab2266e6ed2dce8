//! Starts a run: its record on the server, its token, its process.

use serde_json::{Value, json};
use trackside_protocol::{CreateBody, NewToken, Problem, TransitionBody};

use crate::agent_loop::{AgentLoop, HOLD_POLL, LoopError, members};
use crate::effects::FolderState;
use crate::held_leases::HeldLease;
use crate::launch::{self, RunIdentity, SessionToResume};
use crate::local_run::LocalRun;
use crate::run_monitor::shortened;
use crate::runner_folder::{AssignmentRecord, RunRecord};
use crate::server_api::{ApiError, RequestActor};
use crate::work_rule::WorkRule;

impl AgentLoop<'_> {
    /// Creates the run's record and starts its process.
    pub(crate) fn start(&mut self, record: &mut AssignmentRecord) -> Result<Started, LoopError> {
        let named = record.entity.clone();
        if record.run.as_ref().is_none_or(|it| !it.is_created) {
            match self.prepare_folder(record)? {
                FolderState::Ready => {}
                FolderState::GivenBack => return Ok(Started::Dropped),
                FolderState::Waiting => {
                    let due = self.pause(HOLD_POLL, false);
                    return Ok(if due { Started::Waiting } else { Started::Ended });
                }
            }
        }
        let launch = self.launch_in_folder(record);
        let task = match &named {
            Some((lifecycle, id)) => match self.api.work(lifecycle, id, &self.settings.role) {
                Ok(task) => task,
                Err(error) if error.is_refusal() => {
                    (self.say)(&format!("{lifecycle}/{id}: {}", error.words()));
                    return Ok(Started::Dropped);
                }
                Err(error) => return Err(error.into()),
            },
            None => json!({ "entity": null, "role": self.settings.role, "agent": self.settings.agent }),
        };
        if let Some(waits) = waits_of(&task) {
            (self.say)(&format!("{} waits: {waits}", self.settings.agent));
            let due = self.pause(HOLD_POLL, false);
            return Ok(if due { Started::Waiting } else { Started::Ended });
        }
        if record.starts > 0 && !self.take_again(record)? {
            return Ok(Started::Dropped);
        }
        let mut run = match record.run.take() {
            Some(run) => run,
            None => RunRecord { id: new_run_id(), next_line: 1, ..RunRecord::default() },
        };
        record.run = Some(run.clone());
        if self.folder.has_process(&run.id) {
            // A crash came between the start of the process and its record.
            let local = LocalRun::adopt(&self.folder.run_folder(&run.id))?;
            self.has_started(record, &local)?;
            return Ok(Started::Running(Box::new(local)));
        }
        self.folder.save_assignment(record)?;
        if !run.is_created {
            match self.create_run(record, &run.id) {
                Ok(()) => {}
                Err(LoopError::Api(ApiError::Refused(problem))) => {
                    return self.cannot_start(record, &problem);
                }
                Err(error) => return Err(error),
            }
        }
        if !self.begin(record, &run.id)? {
            return Ok(Started::Dropped);
        }
        if let Some((lifecycle, id)) = &named {
            let entity = self.api.entity(RequestActor::Agent, lifecycle, id)?;
            (run.version, run.state) = (entity.version, entity.state);
            record.reach = self.reach(lifecycle, id)?;
        }
        if let Some(unused) = &run.token {
            let _ = self.api.revoke_token(unused);
        }
        let entity = named.as_ref().map(|(lifecycle, id)| format!("{lifecycle}/{id}")).unwrap_or_default();
        let token = self.api.new_token(&NewToken {
            actor: self.settings.agent.clone(),
            kind: "agent".to_owned(),
            roles: WorkRule::role_name(&self.settings.pack, &self.settings.role).into_iter().collect(),
            on_behalf: Vec::new(),
            lifetime: None,
            note: Some(run.id.clone()),
            run: (!entity.is_empty()).then(|| run.id.clone()),
            entity: Some(entity.clone()).filter(|it| !it.is_empty()),
        })?;
        let left_empty = launch.adapter.stop.remove_if_empty.iter();
        run.leftovers = left_empty.filter(|it| !launch.folder.join(it).exists()).cloned().collect();
        (run.is_created, run.token) = (true, Some(token.details.id.clone()));
        record.run = Some(run.clone());
        self.folder.save_assignment(record)?;
        let who = RunIdentity {
            run: &run.id,
            agent: &self.settings.agent,
            entity: &entity,
            url: self.api.url(),
            token: &token.token,
        };
        let space = self.settings.space.join(&run.id);
        let resume = SessionToResume { id: record.session.clone(), total: record.total };
        let login = self.login_folder(&run.id);
        self.record_beginning(record);
        let started = launch::prepare(&launch, &who, &space, &login, &task, &resume).and_then(|mut ready| {
            for (name, value) in record.task_folder.iter().flat_map(|it| &it.variables) {
                ready.environment.set(name, value.clone());
            }
            let folder = self.folder.run_folder(&run.id);
            let lease = u64::try_from(self.time_left().as_nanos()).unwrap_or(u64::MAX);
            let (shim, environment) = (&self.settings.shim, &ready.environment);
            let local = LocalRun::start_with_lease(shim, &folder, ready.plan, environment, lease)?;
            Ok((local, ready.session))
        });
        let (local, session) = match started {
            Ok(started) => started,
            Err(error) => {
                self.record_end(record);
                let _ = self.api.revoke_token(&token.details.id);
                let fields = members(json!({ "exitClass": "usage", "exitText": error.to_string() }));
                self.report_run(&run.id, "ended", fields, &format!("ended-{}", run.id))?;
                record.run = None;
                self.folder.save_assignment(record)?;
                return Err(error.into());
            }
        };
        record.session = session.or(record.session.take());
        self.has_started(record, &local)?;
        Ok(Started::Running(Box::new(local)))
    }

    /// Records that the process lives, and reports it.
    fn has_started(&mut self, record: &mut AssignmentRecord, local: &LocalRun) -> Result<(), LoopError> {
        record.starts += 1;
        let session = record.session.clone();
        let Some(run) = &mut record.run else { return Ok(()) };
        (run.is_created, run.is_started) = (true, true);
        let id = run.id.clone();
        let plan = &local.plan;
        let mut command = vec![plan.program.display().to_string()];
        command.extend(plan.args.iter().filter(|it| **it != plan.prompt).map(|it| shortened(it, 2_000)));
        let sandbox = match (local.enforced(), plan.sandbox.is_some()) {
            (Some(words), true) => words,
            (Some(words), false) => format!("off: {words}"),
            (None, true) => "on".to_owned(),
            (None, false) => "off".to_owned(),
        };
        let fields = members(json!({
            "command": command, "folder": plan.folder, "tier": plan.tier.name(), "sandbox": sandbox,
            "session": session,
        }));
        // The report comes first: a process that finds the record does not report the start again.
        self.store_report(&id, "started", fields, &format!("started-{id}"))?;
        self.folder.save_assignment(record)?;
        Ok(self.deliver().map(|_| ())?)
    }

    /// Fires the event that belongs to the start of a run. A refusal keeps the process from starting.
    fn begin(&mut self, record: &mut AssignmentRecord, run: &str) -> Result<bool, LoopError> {
        if record.entity.is_none() || !self.settings.rule.has("begin") {
            return Ok(true);
        }
        match self.apply_of(record, run, "begin", &json!({})) {
            Ok(_) => Ok(true),
            Err(LoopError::Api(error)) if error.is_refusal() => {
                let why = error.words();
                (self.say)(&format!("the run does not begin: {why}"));
                let fields = members(json!({ "exitClass": "usage", "exitText": shortened(&why, 3_900) }));
                self.report_run(run, "ended", fields, &format!("ended-{run}"))?;
                self.finish(record, run, "failed", &json!({ "why": shortened(&why, 1_000) }))?;
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) fn create_run(&mut self, record: &AssignmentRecord, id: &str) -> Result<(), LoopError> {
        let entity = record.entity.as_ref().map(|(lifecycle, id)| format!("{lifecycle}/{id}"));
        let mut fields = members(json!({
            "agent": self.settings.agent,
            "role": format!("{}:{}", self.settings.pack, self.settings.role),
            "runner": self.settings.runner,
            "runnerGeneration": self.generation,
            "adapter": self.settings.launch.adapter.adapter,
            "folder": record.task_folder.as_ref().map_or(&self.settings.launch.folder, |it| &it.path),
            "tier": self.settings.launch.tier.name(),
            "restarts": record.restarts,
            "reruns": record.reruns,
            "account": self.settings.account,
        }));
        if let Some(entity) = entity {
            fields.insert("entity".to_owned(), json!(entity));
        }
        if let Some(previous) = &record.previous {
            fields.insert("previous".to_owned(), json!(previous));
        }
        let body = CreateBody { id: Some(id.to_owned()), fields };
        self.api.create(RequestActor::Runner, "fleet.run", &body, &format!("create-{id}"))?;
        Ok(())
    }

    /// The server does not let a run begin: the account is held, the limit of runs is reached, or the runner is not the
    /// current one.
    pub(crate) fn cannot_start(
        &mut self,
        record: &mut AssignmentRecord,
        problem: &Problem,
    ) -> Result<Started, LoopError> {
        let about = |field: &str| problem.errors.iter().any(|it| it.field.as_deref() == Some(field));
        let words = ApiError::Refused(Box::new(problem.clone())).words();
        if about("runner") || about("runnerGeneration") {
            return Err(LoopError::Collision(words));
        }
        // The run does not exist: the next attempt has another id.
        record.run = None;
        self.folder.save_assignment(record)?;
        // It is asked again every two seconds, and a hold can last for hours.
        if self.said != words {
            (self.say)(&words);
            self.said.clone_from(&words);
        }
        if about("account") {
            let due = self.pause(HOLD_POLL, false);
            return Ok(if due { Started::Waiting } else { Started::Ended });
        }
        self.give_back(record, &words)?;
        Ok(Started::Dropped)
    }

    /// Claims the same entity again before a restart: the pack learns that a new process continues.
    pub(crate) fn take_again(&mut self, record: &mut AssignmentRecord) -> Result<bool, LoopError> {
        let (Some((lifecycle, id)), Some(event)) = (record.entity.clone(), self.settings.rule.claim.clone())
        else {
            return Ok(true);
        };
        let lost = self.settings.rule.agent.clone().filter(|rule| {
            let held = self.leases.get(&rule.lifecycle, &self.settings.agent).cloned();
            held.is_none_or(|lease| self.api.heartbeat(&lease).is_err_and(|it| it.is_refusal()))
        });
        if lost.is_some() {
            self.register_agent()?;
        }
        let body = TransitionBody { event: Some(event), ..TransitionBody::default() };
        let key = format!("again-{}-{}", record.key, record.starts);
        match self.api.fire(RequestActor::Agent, &lifecycle, &id, &body, &key) {
            Ok(entity) => {
                record.lease = HeldLease::of(&entity, RequestActor::Agent, &self.settings.agent);
                if let Some(lease) = &record.lease {
                    self.leases.add(lease.clone());
                }
                self.folder.save_assignment(record)?;
                Ok(true)
            }
            // Not possible here, as for an entity that the agent holds already: continue if it still does.
            Err(error) if error.is_refusal() => {
                let entity = self.api.entity(RequestActor::Agent, &lifecycle, &id)?;
                let holds = record.lease.is_none() || entity.lease_of(&self.settings.agent).is_some();
                Ok(!entity.is_final && holds)
            }
            Err(error) => Err(error.into()),
        }
    }
}

pub(crate) enum Started {
    Running(Box<LocalRun>),
    /// The entity is not for this agent any more.
    Dropped,
    /// Try again.
    Waiting,
    /// The runner is to end.
    Ended,
}

/// The conditions that must hold before an agent starts; none if it may start now.
fn waits_of(task: &Value) -> Option<String> {
    let waits = task.get("waits")?.as_array()?.iter().filter_map(Value::as_str).collect::<Vec<_>>();
    (!waits.is_empty()).then(|| waits.join("; "))
}

/// Ids sort by time.
fn new_run_id() -> String {
    let mut random = [0u8; 3];
    let _ = getrandom::fill(&mut random);
    let suffix: String = random.iter().map(|it| format!("{it:02x}")).collect();
    format!("run-{}-{suffix}", jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S"))
}
