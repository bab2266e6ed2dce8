//! Failed sign-ins, recorded in the journal: one record per address and minute, without the credential. However many
//! there are, the journal grows by a limited number of entries per minute.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use trackside_engine::actor::Actor;
use trackside_engine::command::{Ask, Command};
use trackside_engine::key::EntityKey;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Timestamp;
use trackside_lifecycle::value::Value;

use super::secret::Secret;
use super::unknown_tokens::network;
use crate::app::App;
use crate::connections::Peer;

/// The lifecycle of the records.
const FAILURE: &str = "access.failure";
/// Most addresses with a record of their own per interval; the others share one.
const MOST: usize = 20;
/// The address of the shared record.
const OTHERS: &str = "others";

/// The way in which a sign-in failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FailedCredential {
    /// An unknown, revoked or expired token.
    Token,
    /// The same in a browser's cookie.
    Session,
    /// A link that was used, has expired or is unknown.
    Link,
    /// A sign-in with the OpenID provider.
    Oidc,
    /// A person that the reverse proxy named and that may not sign in.
    Proxy,
}

impl FailedCredential {
    pub const ALL: [Self; 5] = [Self::Token, Self::Session, Self::Link, Self::Oidc, Self::Proxy];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::Session => "session",
            Self::Link => "link",
            Self::Oidc => "oidc",
            Self::Proxy => "proxy",
        }
    }
}

/// Failures of one address.
#[derive(Clone, Debug)]
struct Failures {
    count: u64,
    credentials: Vec<FailedCredential>,
    first: Timestamp,
    last: Timestamp,
}

/// Failed sign-ins that are not recorded yet, and their numbers since the start.
#[derive(Debug, Default)]
pub(crate) struct FailedSignIns {
    by_address: Mutex<BTreeMap<String, Failures>>,
    totals: [AtomicU64; FailedCredential::ALL.len()],
}

impl FailedSignIns {
    /// Counts a failure.
    pub fn note(&self, peer: Peer, credential: FailedCredential, now: Timestamp) {
        if let Some(total) = self.totals.get(credential as usize) {
            total.fetch_add(1, Ordering::Relaxed);
        }
        let mut all = self.by_address.lock().unwrap_or_else(PoisonError::into_inner);
        let address = peer.0.map_or_else(|| "unknown".to_owned(), |it| network(it).to_string());
        let address =
            if all.len() >= MOST && !all.contains_key(&address) { OTHERS.to_owned() } else { address };
        let one = Failures { count: 0, credentials: Vec::new(), first: now, last: now };
        let failures = all.entry(address).or_insert(one);
        failures.count += 1;
        failures.last = now;
        if !failures.credentials.contains(&credential) {
            failures.credentials.push(credential);
            failures.credentials.sort();
        }
    }

    /// The number of failures since the start.
    pub fn total(&self, credential: FailedCredential) -> u64 {
        self.totals.get(credential as usize).map_or(0, |it| it.load(Ordering::Relaxed))
    }

    fn take(&self) -> BTreeMap<String, Failures> {
        std::mem::take(&mut *self.by_address.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Records the failures since the last call.
async fn record(app: &App) {
    for (address, failures) in app.failed_sign_ins.take() {
        let Some(secret) = Secret::new(None) else { return };
        let credentials = failures.credentials.iter().map(|it| Value::text(it.as_str())).collect();
        let fields = [
            ("address", Value::text(&address)),
            ("attempts", Value::Int(i64::try_from(failures.count).unwrap_or(i64::MAX))),
            ("credentials", Value::list(credentials)),
            ("firstAt", Value::Time(failures.first)),
            ("lastAt", Value::Time(failures.last)),
        ];
        let entity = EntityKey { lifecycle: Name::new(FAILURE), id: Name::new(&secret.id) };
        let ask = Ask::Create { entity, fields: fields.into_iter().collect() };
        // A store that cannot be written has alarms of its own.
        if let Ok(pending) = app.gateway.submit(Command::new(Actor::engine(), ask)) {
            pending.await.ok();
        }
    }
}

/// Records failed sign-ins while the server runs, and once more when it stops.
pub(crate) async fn keep_failures(app: App) {
    let mut stopping = app.stopping.subscribe();
    loop {
        let stops = tokio::select! {
            () = tokio::time::sleep(app.options.record_failures) => false,
            _ = stopping.wait_for(|it| *it) => true,
        };
        record(&app).await;
        if stops {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_from_many_addresses_makes_few_records() {
        let failed = FailedSignIns::default();
        for number in 0..5_000_u32 {
            let peer = Peer(Some(std::net::Ipv4Addr::from_bits(number % 1_000).into()));
            let kind = if number % 2 == 0 { FailedCredential::Token } else { FailedCredential::Link };
            failed.note(peer, kind, Timestamp(i64::from(number)));
        }
        let taken = failed.take();
        assert_eq!(taken.len(), MOST + 1);
        assert_eq!(taken.values().map(|it| it.count).sum::<u64>(), 5_000);
        let others = &taken[OTHERS];
        assert_eq!((others.first, others.last), (Timestamp(20), Timestamp(4_999)));
        assert_eq!(others.credentials, [FailedCredential::Token, FailedCredential::Link]);
        assert_eq!(failed.total(FailedCredential::Token), 2_500);
        assert!(failed.take().is_empty());
    }
}
