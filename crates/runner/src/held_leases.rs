//! The leases that a runner renews: its own, its agent's registration, and the agent's work.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::server_api::{ApiError, EntityView, RequestActor, ServerApi};

/// The longest and the shortest time between two heartbeats.
const SLOWEST: Duration = Duration::from_secs(10);
const FASTEST: Duration = Duration::from_millis(300);
/// How long before the server's deadline a process must be gone.
const MARGIN: Duration = Duration::from_secs(5);

/// One lease.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct HeldLease {
    pub actor: RequestActor,
    pub lifecycle: String,
    pub id: String,
    pub slot: String,
    pub fence: u64,
    /// Milliseconds that it lasts without a heartbeat.
    pub length: u64,
}

impl HeldLease {
    /// The lease that an entity was just granted to a holder with.
    pub fn of(entity: &EntityView, actor: RequestActor, holder: &str) -> Option<Self> {
        let lease = entity.lease_of(holder)?;
        let moment = |it: &str| it.parse::<jiff::Timestamp>().ok();
        let length = moment(&lease.expires_at)?.duration_since(moment(&entity.updated_at)?).as_millis();
        Some(Self {
            actor,
            lifecycle: entity.lifecycle.clone(),
            id: entity.id.clone(),
            slot: lease.slot.clone(),
            fence: lease.fence,
            length: u64::try_from(length).unwrap_or(0).max(1_000),
        })
    }

    pub fn is_of(&self, lifecycle: &str, id: &str) -> bool {
        self.lifecycle == lifecycle && self.id == id
    }
}

/// What the heartbeats of all leases brought.
#[derive(Debug, Default)]
pub struct BeatReport {
    /// The holder should stop, and why.
    pub stop: Option<String>,
    /// A lease that the server refuses to renew: its entity and why.
    pub lost: Option<(HeldLease, String)>,
    pub notices: Vec<String>,
}

/// All leases, and when they were last renewed.
#[derive(Debug, Default)]
pub struct HeldLeases {
    leases: Vec<(HeldLease, Instant)>,
    next: Option<Instant>,
    failures: u32,
}

impl HeldLeases {
    pub fn add(&mut self, lease: HeldLease) {
        self.remove(&lease.lifecycle, &lease.id);
        self.leases.push((lease, Instant::now()));
        self.next = None;
    }

    pub fn remove(&mut self, lifecycle: &str, id: &str) {
        self.leases.retain(|(it, _)| !it.is_of(lifecycle, id));
    }

    pub fn get(&self, lifecycle: &str, id: &str) -> Option<&HeldLease> {
        self.leases.iter().map(|(it, _)| it).find(|it| it.is_of(lifecycle, id))
    }

    /// Sends the next heartbeats now.
    pub fn hurry(&mut self) {
        if self.failures == 0 {
            self.next = None;
        }
    }

    /// Whether the last heartbeats did not reach the server.
    pub fn is_server_away(&self) -> bool {
        self.failures > 0
    }

    /// How long a process may still run by what the server last confirmed.
    pub fn time_left(&self) -> Duration {
        let left = |(lease, renewed): &(HeldLease, Instant)| {
            let deadline = *renewed + Duration::from_millis(lease.length);
            deadline.saturating_duration_since(Instant::now()).saturating_sub(MARGIN)
        };
        self.leases.iter().map(left).min().unwrap_or(SLOWEST * 6)
    }

    /// Sends heartbeats if they are due. `None` if they are not.
    pub fn beat(&mut self, api: &ServerApi) -> Option<Result<BeatReport, ApiError>> {
        if self.next.is_some_and(|it| Instant::now() < it) {
            return None;
        }
        let shortest = self.leases.iter().map(|(it, _)| it.length / 3).min().unwrap_or(u64::MAX);
        let pause = Duration::from_millis(shortest).clamp(FASTEST, SLOWEST);
        self.next = Some(Instant::now() + pause);
        let answer = self.send(api);
        match answer {
            Err(ApiError::Unreachable(_)) => {
                self.failures += 1;
                let pause = FASTEST * 2u32.saturating_pow(self.failures.min(5));
                self.next = Some(Instant::now() + pause.min(SLOWEST));
            }
            _ => self.failures = 0,
        }
        Some(answer)
    }

    fn send(&mut self, api: &ServerApi) -> Result<BeatReport, ApiError> {
        let mut report = BeatReport::default();
        if self.leases.is_empty() {
            return Ok(report);
        }
        let sent = Instant::now();
        let all: Vec<HeldLease> = self.leases.iter().map(|(it, _)| it.clone()).collect();
        for ((lease, renewed), answer) in self.leases.iter_mut().zip(api.heartbeats(&all)?) {
            match answer {
                Ok(answer) => {
                    *renewed = sent;
                    if let Some(stop) = answer.stop {
                        report.stop.get_or_insert(stop.why);
                    }
                    report.notices.extend(answer.notices.into_iter().map(|it| it.message));
                }
                Err(refused @ ApiError::Refused(_)) => {
                    report.lost.get_or_insert((lease.clone(), refused.words()));
                }
                Err(unreachable) => return Err(unreachable),
            }
        }
        Ok(report)
    }
}
