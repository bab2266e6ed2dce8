//! The loop around one agent: takes work, runs the agent's program for it, and does what the pack's rules say next.
//!
//! Every step is written to disk before it is taken and has an idempotency key, so the next process with the same name
//! repeats the step that a crash interrupted, and the server counts it once.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use trackside_protocol::TransitionBody;
use trackside_shim::{RunFolder, end_leftovers};
use trackside_worktree::Repository;

use crate::changes::ChangeSignal;
use crate::effects::{GitWork, UnfitRepository, work_beside};
use crate::environment::{EnvironmentRequest, RunEnvironment};
use crate::held_leases::{BeatReport, HeldLease, HeldLeases};
use crate::launch::{self, LaunchError, LaunchSettings};
use crate::local_run::LocalRun;
use crate::private_home::PrivateHome;
use crate::run_limits::{FLEET, RunLimits};
use crate::run_monitor::RunMonitor;
use crate::run_start::Started;
use crate::runner_folder::{AssignmentRecord, RunnerFolder};
use crate::server_api::{ApiError, EntityView, RequestActor, ServerApi};
use crate::shim_program::ShimProgram;
use crate::spool::{ReportDelivery, ReportSpool, SpooledReport};
use crate::tool_arguments::relative_to;
use crate::work_reach::WorkReach;
use crate::work_rule::WorkRule;

/// The pause between two looks for work, unless the server signals a change.
const POLL: Duration = Duration::from_secs(5);
/// The pause while something else has to end first: a hold, a usage limit.
pub(crate) const HOLD_POLL: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoopMode {
    /// Takes work and ends each task with the event that its `work:` block names.
    Work { once: bool },
    /// Starts the agent again and again until its role is complete; the agent itself moves its task.
    Supervise,
}

/// The settings of the loop.
#[derive(Clone, Debug)]
pub struct LoopSettings {
    pub mode: LoopMode,
    pub lifecycle: String,
    pub pack: String,
    /// Without the pack's name.
    pub role: String,
    pub agent: String,
    pub runner: String,
    /// The actor of the runner's token.
    pub actor: String,
    pub machine: String,
    pub rule: WorkRule,
    pub launch: LaunchSettings,
    /// The repository in which the effects of the pack are carried out; none outside a repository.
    pub repository: Option<Repository>,
    /// A name of the server that stays the same.
    pub server: String,
    pub shim: ShimProgram,
    /// Where the runner keeps its records. Agents cannot see it.
    pub state: PathBuf,
    /// Where runs keep their home folder and temporary files.
    pub space: PathBuf,
    /// The account at the model provider, for usage limits.
    pub account: String,
}

/// Why the loop ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopEnd {
    /// The role has no more work.
    Complete(String),
    /// With `--once`: one task was done, or there was none.
    Once { had_work: bool },
    /// The user stopped the runner.
    Stopped,
    /// Another runner has this identity.
    Collision(String),
    /// The loop cannot continue.
    Failed(String),
}

pub struct AgentLoop<'a> {
    pub(crate) settings: LoopSettings,
    pub(crate) api: ServerApi,
    pub(crate) folder: RunnerFolder,
    pub(crate) spool: ReportSpool,
    pub(crate) leases: HeldLeases,
    pub(crate) changes: ChangeSignal,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) say: &'a (dyn Fn(&str) + Sync),
    /// Git work for the pack's effects.
    pub(crate) git: Option<GitWork>,
    /// Why this machine takes no work, and until when.
    pub(crate) unfit: Option<UnfitRepository>,
    pub(crate) generation: u64,
    pub(crate) is_manual: bool,
    pub(crate) waited: Duration,
    /// Parameters of the pack's queries: query and name.
    pub(crate) query_takes: Vec<(String, String)>,
    /// The last reason for which a run could not start.
    pub(crate) said: String,
    pub(crate) limits: RunLimits,
    /// The registration of the runner that was lost in a pause, and why.
    pub(crate) lost: Option<(HeldLease, String)>,
    /// Entities without a claim that were worked on, with their version then.
    pub(crate) seen: BTreeMap<String, u64>,
}

impl std::fmt::Debug for AgentLoop<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AgentLoop").field("agent", &self.settings.agent).finish_non_exhaustive()
    }
}

/// What an iteration of the loop leads to.
pub(crate) enum Step {
    Continue,
    End(LoopEnd),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum LoopError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("{}", .0.words())]
    Api(#[from] ApiError),
    #[error("{0}")]
    Launch(#[from] LaunchError),
    #[error("{0}")]
    Collision(String),
    /// The folder of a task cannot be prepared.
    #[error("{0}")]
    Folder(String),
}

/// Runs the loop until it ends. `stop` asks it to end; `say` prints a message for the user.
pub fn run(
    settings: LoopSettings,
    api: ServerApi,
    stop: &AtomicBool,
    say: &(dyn Fn(&str) + Sync),
) -> LoopEnd {
    loop {
        return match AgentLoop::open(settings.clone(), api.clone(), stop, say) {
            Ok(Ok(mut agent)) => {
                let end = work_beside(&mut agent);
                agent.leave(&end);
                end
            }
            Ok(Err(end)) => end,
            Err(LoopError::Collision(why)) => LoopEnd::Collision(why),
            // A run of the process before may live, and this one has to adopt it.
            Err(LoopError::Api(ApiError::Unreachable(why))) if !stop.load(Ordering::Relaxed) => {
                say(&format!("the server cannot be reached: {why}. Waiting for it"));
                std::thread::sleep(HOLD_POLL);
                continue;
            }
            Err(error) => LoopEnd::Failed(error.to_string()),
        };
    }
}

impl<'a> AgentLoop<'a> {
    pub(crate) fn open(
        settings: LoopSettings,
        api: ServerApi,
        stop: &'a AtomicBool,
        say: &'a (dyn Fn(&str) + Sync),
    ) -> Result<Result<Self, LoopEnd>, LoopError> {
        let Some(folder) = RunnerFolder::open(&settings.state)? else {
            let why = format!("another process on this machine runs {}", settings.agent);
            return Ok(Err(LoopEnd::Collision(why)));
        };
        let spool = ReportSpool::open(&folder.path().join("spool"))?;
        let clock = api.clock()?;
        let changes = ChangeSignal::follow(&api)?;
        let is_manual = clock.clock == "manual";
        let git = match settings.repository.clone() {
            Some(repository) => Some(GitWork {
                repository,
                origin: settings.server.clone(),
                environment: environment_of_commands(&settings)?,
            }),
            None => None,
        };
        let mut agent = Self {
            git,
            unfit: None,
            settings,
            api,
            folder,
            spool,
            leases: HeldLeases::default(),
            changes,
            stop,
            say,
            generation: 0,
            is_manual,
            waited: Duration::ZERO,
            query_takes: Vec::new(),
            said: String::new(),
            limits: RunLimits::default(),
            lost: None,
            seen: BTreeMap::new(),
        };
        agent.query_takes = agent.parameters_of_queries()?;
        agent.clean_up()?;
        agent.register()?;
        Ok(Ok(agent))
    }

    fn parameters_of_queries(&self) -> Result<Vec<(String, String)>, LoopError> {
        let listed = self.api.get(&format!("/v1/queries/{}?limit=200", self.settings.pack))?;
        let mut all = Vec::new();
        for query in listed.get("items").and_then(Value::as_array).into_iter().flatten() {
            let name = query.get("name").and_then(Value::as_str).unwrap_or_default();
            let takes = query.get("takes").and_then(Value::as_array).into_iter().flatten();
            all.extend(takes.filter_map(|it| Some((name.to_owned(), it.as_str()?.to_owned()))));
        }
        Ok(all)
    }

    pub(crate) fn api(&self) -> &ServerApi {
        &self.api
    }

    pub(crate) fn pack(&self) -> &str {
        &self.settings.pack
    }

    /// The agent's role, with the name of its pack.
    pub(crate) fn role_name(&self) -> Option<String> {
        WorkRule::role_name(&self.settings.pack, &self.settings.role)
    }

    /// The arguments of a tool call, with paths relative to the agent's folder.
    pub(crate) fn arguments_of(&self, input: Value) -> Value {
        relative_to(input, &self.settings.launch.folder.display().to_string())
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn is_steerable(&self) -> bool {
        self.settings.launch.is_steerable()
    }

    pub(crate) fn beat(&mut self) -> Option<Result<BeatReport, ApiError>> {
        self.leases.beat(&self.api)
    }

    pub(crate) fn time_left(&self) -> Duration {
        self.leases.time_left()
    }

    pub(crate) fn forget_lease(&mut self, lifecycle: &str, id: &str) {
        self.leases.remove(lifecycle, id);
    }

    pub(crate) fn take_change(&self) -> bool {
        self.changes.take()
    }

    pub(crate) fn hurry(&mut self) {
        self.leases.hurry();
    }

    pub(crate) fn save(&self, record: &AssignmentRecord) -> io::Result<()> {
        self.folder.save_assignment(record)
    }

    /// Reports a transition of a run. It is stored first and delivered in order, now or when the server is back.
    pub(crate) fn report_run(
        &mut self,
        run: &str,
        event: &str,
        fields: Map<String, Value>,
        key: &str,
    ) -> io::Result<()> {
        self.store_report(run, event, fields, key)?;
        self.deliver().map(|_| ())
    }

    /// Stores the report of a transition of a run. [`Self::deliver`] sends it.
    pub(crate) fn store_report(
        &mut self,
        run: &str,
        event: &str,
        fields: Map<String, Value>,
        key: &str,
    ) -> io::Result<()> {
        let path = format!("/v1/entities/fleet.run/{run}/transitions");
        let body = json!({ "event": event, "fields": fields });
        self.spool.push(&SpooledReport { key: key.to_owned(), path, body })
    }

    /// The commit that the agent's folder is at; none outside a git repository.
    pub(crate) fn commit_of_folder(&self, record: &AssignmentRecord) -> Option<String> {
        if let (Some(git), Some(worktree)) =
            (&self.git, record.task_folder.as_ref().and_then(|it| it.worktree.as_ref()))
        {
            return git.repository.task_head(worktree).ok().flatten();
        }
        let folder = record.task_folder.as_ref().map_or(&self.settings.launch.folder, |it| &it.path);
        let output = Command::new("git")
            .args(["rev-parse", "--verify", "--quiet", "HEAD"])
            .current_dir(folder)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let commit = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !commit.is_empty()).then_some(commit)
    }

    pub(crate) fn work(&mut self) -> LoopEnd {
        loop {
            if self.is_stopping() {
                return LoopEnd::Stopped;
            }
            match self.step() {
                Ok(Step::Continue) => {}
                Ok(Step::End(end)) => return end,
                Err(LoopError::Collision(why)) => return LoopEnd::Collision(why),
                Err(LoopError::Api(ApiError::Unreachable(why))) => {
                    (self.say)(&format!("the server cannot be reached: {why}. Waiting for it"));
                    let _ = self.pause(HOLD_POLL, false);
                }
                Err(error) => return LoopEnd::Failed(error.to_string()),
            }
        }
    }

    pub(crate) fn step(&mut self) -> Result<Step, LoopError> {
        self.deliver()?;
        let lost = self.lost.take().or_else(|| self.beat()?.ok()?.lost);
        if let Some((lease, why)) = lost
            && (lease.lifecycle == "fleet.runner" || self.is_agent_record(&lease))
        {
            // The server may have been away for longer than the lease: registering again shows who has the name now.
            (self.say)(&format!("{}/{}: {why}. Registering again", lease.lifecycle, lease.id));
            self.leases.remove(&lease.lifecycle, &lease.id);
            // The server would refuse to register a runner again whose own lease is alive.
            if !self.is_agent_record(&lease) {
                self.folder.clear_registration()?;
                self.register_runner()?;
            }
            self.register_agent()?;
        }
        let record = match self.folder.assignment()? {
            Some(record) => Some(record),
            None if !self.is_fit() => None,
            None => self.take_work()?,
        };
        match record {
            Some(record) => self.attend(record),
            None => Ok(self.no_work()),
        }
    }

    pub(crate) fn is_agent_record(&self, lease: &HeldLease) -> bool {
        self.settings.rule.agent.as_ref().is_some_and(|it| it.lifecycle == lease.lifecycle)
    }

    pub(crate) fn no_work(&mut self) -> Step {
        if self.settings.mode == (LoopMode::Work { once: true }) {
            return Step::End(LoopEnd::Once { had_work: false });
        }
        let until = Instant::now() + POLL;
        while Instant::now() < until && !self.is_stopping() && !self.changes.take() {
            let _ = self.beat();
            std::thread::sleep(Duration::from_millis(100));
        }
        Step::Continue
    }

    /// Takes the first entity of the role's query, or claims by the lifecycle's ranking.
    pub(crate) fn take_work(&mut self) -> Result<Option<AssignmentRecord>, LoopError> {
        let mut record = AssignmentRecord { key: launch::new_uuid(), ..AssignmentRecord::default() };
        let by_query = self.settings.rule.query.clone().filter(|_| !self.settings.rule.claims_by_ranking);
        match (by_query, self.settings.rule.claim.clone()) {
            (Some(query), claim) => {
                for row in self.rows(&query)? {
                    if claim.is_none() && self.seen.get(&row.id) == Some(&row.version) {
                        continue;
                    }
                    record.entity = Some((row.lifecycle.clone(), row.id.clone()));
                    self.folder.save_assignment(&record)?;
                    if self.claim_entity(&mut record)? {
                        self.seen.insert(row.id, row.version);
                        return Ok(Some(record));
                    }
                }
                record.entity = None;
            }
            (None, Some(_)) => {
                self.folder.save_assignment(&record)?;
                if self.claim_next(&mut record)? {
                    return Ok(Some(record));
                }
            }
            (None, None) => {}
        }
        self.folder.clear_assignment()?;
        Ok((self.settings.mode == LoopMode::Supervise).then_some(record))
    }

    /// Claims by the ranking. The same assignment gets the same answer again.
    fn claim_next(&mut self, record: &mut AssignmentRecord) -> Result<bool, LoopError> {
        let Some(event) = &self.settings.rule.claim else { return Ok(false) };
        match self.api.claim(&self.settings.lifecycle, event, &format!("claim-{}", record.key))? {
            Some(entity) => self.accept(record, &entity).map(|()| true),
            None => Ok(false),
        }
    }

    /// Claims the entity of the assignment. False if that is not possible any more.
    fn claim_entity(&mut self, record: &mut AssignmentRecord) -> Result<bool, LoopError> {
        let Some((lifecycle, id)) = record.entity.clone() else { return Ok(false) };
        let entity = match &self.settings.rule.claim {
            Some(event) => {
                let body = TransitionBody { event: Some(event.clone()), ..TransitionBody::default() };
                let key = format!("claim-{}-{id}", record.key);
                self.api.fire(RequestActor::Agent, &lifecycle, &id, &body, &key)
            }
            None => self.api.entity(RequestActor::Agent, &lifecycle, &id),
        };
        match entity {
            Ok(entity) => self.accept(record, &entity).map(|()| true),
            // It waits for the role after its first event: it came back from a later state.
            Err(error) if error.code() == Some("no-such-edge") && self.can_act(&lifecycle, &id)? => {
                let entity = self.api.entity(RequestActor::Agent, &lifecycle, &id)?;
                if self.seen.get(&id) == Some(&entity.version) {
                    return Ok(false);
                }
                self.accept(record, &entity).map(|()| true)
            }
            Err(error) if error.is_refusal() => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the agent could fire an event of its role on an entity now.
    fn can_act(&self, lifecycle: &str, id: &str) -> Result<bool, LoopError> {
        Ok(self.reach(lifecycle, id)? > WorkReach::Nothing)
    }

    fn accept(&mut self, record: &mut AssignmentRecord, entity: &EntityView) -> Result<(), LoopError> {
        record.entity = Some((entity.lifecycle.clone(), entity.id.clone()));
        record.is_claimed = true;
        record.lease = HeldLease::of(entity, RequestActor::Agent, &self.settings.agent);
        if let Some(lease) = &record.lease {
            self.leases.add(lease.clone());
        }
        self.folder.save_assignment(record)?;
        (self.say)(&format!("{} works on {}/{}", self.settings.agent, entity.lifecycle, entity.id));
        Ok(())
    }

    /// The rows of a query of the pack. It gets the agent and the role if it takes them.
    pub(crate) fn rows(&self, query: &str) -> Result<Vec<EntityView>, LoopError> {
        let mut params = "?limit=20".to_owned();
        for (name, value) in [("agent", &self.settings.agent), ("role", &self.settings.role)] {
            if self.query_takes.iter().any(|(of, it)| of == query && it == name) {
                params.push_str(&format!("&{name}={value}"));
            }
        }
        let rows = self.api.query(&self.settings.pack, query, &params)?;
        let items = rows.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
        Ok(items.into_iter().filter_map(|it| serde_json::from_value(it).ok()).collect())
    }

    /// Brings an assignment forward by one run.
    pub(crate) fn attend(&mut self, mut record: AssignmentRecord) -> Result<Step, LoopError> {
        if record.ended.is_some() {
            return self.follow_up(record);
        }
        if !record.is_claimed && record.run.is_none() {
            // A crash interrupted the claim: the same key gives the same answer.
            let claimed = match record.entity.is_some() {
                true => self.claim_entity(&mut record)?,
                false if self.settings.rule.claims_by_ranking => self.claim_next(&mut record)?,
                false => false,
            };
            if !claimed {
                record.entity = None;
                if self.settings.mode != LoopMode::Supervise {
                    self.folder.clear_assignment()?;
                    return Ok(Step::Continue);
                }
            }
        }
        if let Some(lease) = &record.lease
            && self.leases.get(&lease.lifecycle, &lease.id).is_none()
        {
            self.leases.add(lease.clone());
        }
        let run = match &record.run {
            Some(run) if run.is_started => Some(LocalRun::adopt(&self.folder.run_folder(&run.id))?),
            _ => match self.start(&mut record)? {
                Started::Running(run) => Some(*run),
                Started::Dropped => {
                    self.drop_work(&record)?;
                    return Ok(self.after_task());
                }
                Started::Waiting => return Ok(Step::Continue),
                Started::Ended => return Ok(Step::End(LoopEnd::Stopped)),
            },
        };
        let Some(run) = run else { return Ok(Step::Continue) };
        if let Ok(settings) = self.api.settings(FLEET) {
            self.limits = RunLimits::read(&settings);
        }
        let result = RunMonitor::new(self, &mut record, run).watch()?;
        self.conclude(record, result)
    }

    pub(crate) fn after_task(&self) -> Step {
        match self.settings.mode {
            LoopMode::Work { once: true } => Step::End(LoopEnd::Once { had_work: true }),
            _ => Step::Continue,
        }
    }

    pub(crate) fn drop_work(&mut self, record: &AssignmentRecord) -> io::Result<()> {
        if let Some((lifecycle, id)) = &record.entity {
            self.leases.remove(lifecycle, id);
        }
        self.folder.clear_assignment()
    }

    /// Delivers stored reports. True if none is left.
    pub(crate) fn deliver(&mut self) -> io::Result<bool> {
        let (api, say, generation) = (&self.api, self.say, self.generation);
        self.spool.deliver(|report| {
            // Only the current registration may report.
            let mut body = report.body.clone();
            if let Some(fields) = body.get_mut("fields").and_then(Value::as_object_mut) {
                fields.insert("byGeneration".to_owned(), json!(generation));
            }
            match api.post_report(&report.path, &body, &report.key) {
                Ok(_) => ReportDelivery::Confirmed,
                // It arrived under an earlier registration, and its answer was lost.
                Err(error) if error.code() == Some("idempotency-conflict") => ReportDelivery::Confirmed,
                Err(error) if error.is_refusal() => {
                    say(&format!("a report was refused and kept: {}: {}", report.path, error.words()));
                    ReportDelivery::Refused
                }
                Err(_) => ReportDelivery::Unreachable,
            }
        })?;
        self.spool.is_empty()
    }

    /// Waits, by the server's clock if `by_server`, and keeps the leases. False if the runner is to end.
    pub(crate) fn pause(&mut self, length: Duration, by_server: bool) -> bool {
        let begun = Instant::now();
        let now = |api: &ServerApi| api.clock().ok().and_then(|it| it.now.parse::<jiff::Timestamp>().ok());
        let due = match by_server && self.is_manual {
            true => now(&self.api)
                .and_then(|it| it.checked_add(jiff::SignedDuration::try_from(length).ok()?).ok()),
            false => None,
        };
        loop {
            let is_due = match due {
                Some(due) => now(&self.api).is_some_and(|it| it >= due),
                None => begun.elapsed() >= length,
            };
            if is_due {
                return true;
            }
            if self.is_stopping() {
                return false;
            }
            // The next step registers again.
            if let Some(Ok(BeatReport { lost: Some((lease, why)), .. })) = self.beat()
                && lease.lifecycle == "fleet.runner"
            {
                self.lost = Some((lease, why));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Where the user's login is kept as it was at the start of a run.
    pub(crate) fn login_folder(&self, run: &str) -> PathBuf {
        self.folder.path().join("logins").join(run)
    }

    /// Removes what earlier runs left on this machine when a crash interrupted it.
    fn clean_up(&self) -> io::Result<()> {
        let current = self.folder.assignment()?.and_then(|it| it.run).map(|it| it.id);
        for run in self.folder.runs()? {
            if Some(&run) != current.as_ref() {
                end_leftovers(&RunFolder::new(self.folder.run_folder(&run)))?;
                self.clean(&run);
            }
        }
        Ok(())
    }

    /// Removes what a run left on this machine once everything is reported. A refreshed login is copied back first.
    pub(crate) fn clean(&self, run: &str) {
        let space = self.settings.space.join(run);
        let home = PrivateHome::reopen(
            &space.join("home"),
            &self.settings.launch.user_home,
            &self.login_folder(run),
        );
        match home.and_then(|it| it.copy_back()) {
            Ok(conflicts) => {
                for file in conflicts {
                    let file = file.display();
                    (self.say)(&format!(
                        "{file} was changed during the run: the run's own login was not copied back"
                    ));
                }
            }
            Err(why) => (self.say)(&format!("the login of {run} was not copied back: {why}")),
        }
        let _ = std::fs::remove_dir_all(self.login_folder(run));
        let _ = std::fs::remove_dir_all(space);
        let _ = std::fs::remove_dir_all(self.folder.run_folder(run));
    }
}

/// The environment of setup commands and checks: the caller's, without credentials.
fn environment_of_commands(settings: &LoopSettings) -> Result<BTreeMap<String, String>, LoopError> {
    let request = EnvironmentRequest { named: &[], login: &[], sandboxed: false };
    let chosen = RunEnvironment::choose(&settings.launch.caller, &request);
    Ok(chosen.map_err(LaunchError::from)?.variables)
}

pub(crate) fn members(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map.into_iter().filter(|(_, it)| !it.is_null()).collect(),
        _ => Map::new(),
    }
}
