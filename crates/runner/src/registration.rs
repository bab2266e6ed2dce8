//! Registers a runner and its agent, and ends the registrations.

use serde_json::{Value, json};
use trackside_protocol::{CreateBody, TransitionBody};

use crate::agent_loop::{AgentLoop, LoopEnd, LoopError, members};
use crate::held_leases::{HeldLease, HeldLeases};
use crate::launch;
use crate::runner_folder::RegistrationRecord;
use crate::server_api::{ApiError, EntityView, RequestActor};

impl AgentLoop<'_> {
    /// Registers the runner and its agent, or continues with the registrations of the process before.
    pub(crate) fn register(&mut self) -> Result<(), LoopError> {
        let known = self.folder.registration()?;
        for lease in &known.leases {
            self.leases.add(lease.clone());
        }
        if !known.leases.is_empty()
            && let Some(report) = self.leases.beat(&self.api)
        {
            let lost = report?.lost.map(|(lease, _)| lease);
            if lost.as_ref().is_none_or(|it| self.is_agent_record(it)) {
                self.generation = known.generation;
                // A crash may have come between the two registrations. A handoff ends that of the agent only.
                let has_agent = |it: &HeldLease| self.is_agent_record(it);
                if lost.is_some()
                    || (self.settings.rule.agent.is_some() && !known.leases.iter().any(has_agent))
                {
                    self.register_agent()?;
                }
                return Ok(());
            }
        }
        self.leases = HeldLeases::default();
        self.register_runner()?;
        self.register_agent()?;
        Ok(())
    }

    pub(crate) fn register_runner(&mut self) -> Result<(), LoopError> {
        let settings = &self.settings;
        let fields = json!({
            "machine": settings.machine,
            "folder": settings.launch.folder,
            "program": format!("trackside {}", env!("CARGO_PKG_VERSION")),
            "tier": settings.launch.tier.name(),
            "sandbox": settings.launch.sandbox_words(),
            "adapters": [settings.launch.adapter.adapter],
        });
        let body = CreateBody { id: Some(settings.runner.clone()), fields: members(fields) };
        let runner = self.create_once(RequestActor::Runner, "fleet.runner", &settings.runner, &body)?;
        self.generation = runner.fields.get("generation").and_then(Value::as_u64).unwrap_or(1);
        if let Some(lease) = HeldLease::of(&runner, RequestActor::Runner, &settings.actor) {
            self.leases.add(lease.clone());
            let record = RegistrationRecord {
                leases: vec![lease],
                generation: self.generation,
                ..RegistrationRecord::default()
            };
            self.folder.save_registration(&record)?;
        }
        self.end_unknown_runs()
    }

    /// Reports the end of open runs that this runner has no folder for. A process on another machine, or with another
    /// folder, started them under this name. Their processes ended with its lease, before this one could register.
    fn end_unknown_runs(&mut self) -> Result<(), LoopError> {
        let current = self.folder.assignment()?.and_then(|it| it.run).map(|it| it.id);
        let runs = self.api.get(&format!("/v1/runs?runner={}&state=open&limit=200", self.settings.runner))?;
        let items = runs.get("items").and_then(Value::as_array).into_iter().flatten();
        for run in items.filter_map(|it| it.get("id").and_then(Value::as_str)) {
            if Some(run) == current.as_deref() || self.folder.run_folder(run).exists() {
                continue;
            }
            let text = format!("Its runner lost its lease. {} runs its agent now", self.settings.machine);
            let fields = members(json!({ "exitClass": "killed", "exitText": text }));
            self.report_run(run, "ended", fields, &format!("ended-{run}-unknown"))?;
        }
        Ok(())
    }

    /// Registers the agent in the pack's own record of agents, if it has one.
    pub(crate) fn register_agent(&mut self) -> Result<(), LoopError> {
        let Some(rule) = self.settings.rule.agent.clone() else { return Ok(()) };
        let agent = &self.settings.agent;
        let body = CreateBody { id: Some(agent.clone()), fields: rule.fields.clone() };
        let entity = self.create_once(RequestActor::Agent, &rule.lifecycle, agent, &body)?;
        if let Some(lease) = HeldLease::of(&entity, RequestActor::Agent, agent) {
            self.leases.add(lease.clone());
            let mut record = self.folder.registration()?;
            record.leases.retain(|it| !it.is_of(&lease.lifecycle, &lease.id));
            record.leases.push(lease);
            record.unanswered.remove(agent);
            self.folder.save_registration(&record)?;
        }
        if let Some(ready) = rule.ready {
            let body = TransitionBody { event: Some(ready), ..TransitionBody::default() };
            let key = launch::new_uuid();
            if let Err(error) = self.api.fire(RequestActor::Agent, &rule.lifecycle, agent, &body, &key) {
                (self.say)(&format!("{agent}: {}", error.words()));
            }
        }
        Ok(())
    }

    /// Registers an id. Its key is stored before: if the process or the server dies before the answer is stored, the same
    /// request is sent again and gets the same answer.
    fn create_once(
        &self,
        actor: RequestActor,
        lifecycle: &str,
        id: &str,
        body: &CreateBody,
    ) -> Result<EntityView, LoopError> {
        let mut record = self.folder.registration()?;
        let known = record.unanswered.get(id).cloned();
        let key = known.unwrap_or_else(launch::new_uuid);
        record.unanswered.insert(id.to_owned(), key.clone());
        self.folder.save_registration(&record)?;
        self.api.create(actor, lifecycle, body, &key).map_err(|error| {
            if error.is_refusal() {
                record.unanswered.remove(id);
                let _ = self.folder.save_registration(&record);
            }
            collision(error, id)
        })
    }

    /// Ends the registrations in order. After a collision they belong to another process.
    pub(crate) fn leave(&mut self, end: &LoopEnd) {
        if matches!(end, LoopEnd::Collision(_)) {
            let _ = self.folder.clear_registration();
            return;
        }
        let fire =
            |event: &str| TransitionBody { event: Some(event.to_owned()), ..TransitionBody::default() };
        if let Some(rule) = &self.settings.rule.agent
            && let Some(leave) = &rule.leave
        {
            let agent = &self.settings.agent;
            let _ =
                self.api.fire(RequestActor::Agent, &rule.lifecycle, agent, &fire(leave), &launch::new_uuid());
        }
        let runner = &self.settings.runner;
        let fence = self.leases.get("fleet.runner", runner).map(|it| it.fence);
        let body = TransitionBody { fence, ..fire("stop") };
        let _ = self.api.fire(RequestActor::Runner, "fleet.runner", runner, &body, &launch::new_uuid());
        let _ = self.folder.clear_registration();
    }
}

/// A refusal to register is a collision if another process has the name.
fn collision(error: ApiError, id: &str) -> LoopError {
    match &error {
        ApiError::Refused(problem) if problem.status == 409 || problem.code.contains("lease") => {
            LoopError::Collision(format!("{id}: {}", error.words()))
        }
        _ => LoopError::Api(error),
    }
}
