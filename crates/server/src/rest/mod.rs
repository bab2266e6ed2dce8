//! One file per noun.

pub(crate) mod alerts;
mod answers;
pub(crate) mod approvals;
pub(crate) mod archives;
pub(crate) mod artifacts;
mod asked;
pub(crate) mod audit;
pub(crate) mod backups;
pub(crate) mod batch;
mod body;
mod carry;
pub(crate) mod claims;
pub(crate) mod clock;
pub(crate) mod corrections;
mod cursor;
pub(crate) mod effects;
pub(crate) mod entities;
pub(crate) mod evidence;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod home;
pub(crate) mod identity;
pub(crate) mod imports;
pub(crate) mod journal;
mod keys;
pub(crate) mod lifecycles;
pub(crate) mod messages;
pub(crate) mod metrics;
pub(crate) mod migrations;
pub(crate) mod notices;
pub(crate) mod packs;
pub(crate) mod policy;
pub(crate) mod queries;
pub(crate) mod redactions;
mod runs;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod stats;
mod streamed;
pub(crate) mod transitions;
mod wanted;
pub(crate) mod webhooks;

pub(crate) use answers::{Answers, answer_once};
pub(crate) use body::{Body, Large, Parameters, whole};
pub(crate) use carry::{Done, carry_out, command};
pub(crate) use cursor::Cursors;
pub(crate) use keys::{KeyUse, entity_of, journalled, made_before, under};
pub(crate) use wanted::Wanted;

use serde::Deserialize;
use utoipa::IntoParams;

use crate::problem::Refused;

/// Whether to decide and change nothing.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct DryRun {
    /// Decides, and changes nothing.
    #[serde(default, rename = "dryRun")]
    #[param(rename = "dryRun")]
    pub dry_run: bool,
}

/// The number of a journal entry, as a parameter.
pub(crate) fn number(name: &str, asked: Option<i64>) -> Result<Option<u64>, Refused> {
    let number =
        |it| u64::try_from(it).map_err(|_| Refused::parameter(name, format!("{name} must not be negative")));
    asked.map(number).transpose()
}

/// How a command that counts once says so.
#[derive(Clone, Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it describes what `Wanted` reads")]
pub(crate) struct Keyed {
    /// The same key counts once. `X-Idempotency-Key` is the same header.
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 255, pattern = "^[!-~]+$")]
    key: Option<String>,
}

/// How many items a page is to have; 0 says nothing.
pub(crate) fn limit(asked: Option<usize>) -> Result<usize, Refused> {
    match asked {
        Some(0) => Err(Refused::parameter("limit", "limit must be 1 to 200")),
        asked => Ok(asked.unwrap_or(0)),
    }
}

/// A page of a list, and where it goes on.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paging {
    /// How many: 50 if nothing is said; of more than 200, 200.
    #[param(minimum = 1)]
    pub limit: Option<usize>,
    /// The `nextCursor` of the page before.
    pub cursor: Option<String>,
}
