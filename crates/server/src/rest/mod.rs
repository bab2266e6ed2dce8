//! The HTTP handlers, one file per resource.

pub(crate) mod action_requests;
pub(crate) mod alerts;
pub(crate) mod approvals;
pub(crate) mod archives;
pub(crate) mod artifacts;
pub(crate) mod audiences;
pub(crate) mod audit;
pub(crate) mod backups;
pub(crate) mod batch;
mod bodies;
mod body;
pub(crate) mod changes;
pub(crate) mod claims;
pub(crate) mod clock;
mod command_headers;
mod commands;
pub(crate) mod corrections;
mod cursor;
pub(crate) mod decision_form;
pub(crate) mod deliveries;
pub(crate) mod effects;
pub(crate) mod entities;
pub(crate) mod evidence;
pub(crate) mod explain;
pub(crate) mod export;
mod headline;
pub(crate) mod health;
pub(crate) mod history;
pub(crate) mod home;
pub(crate) mod identity;
pub(crate) mod imports;
pub(crate) mod inbox;
pub(crate) mod journal;
mod json_lines;
mod key_use;
pub(crate) mod lifecycles;
pub(crate) mod messages;
pub(crate) mod metrics;
pub(crate) mod migrations;
pub(crate) mod notices;
pub(crate) mod oidc_sign_in;
mod open_requests;
pub(crate) mod packs;
pub(crate) mod policy;
pub(crate) mod queries;
mod query_string;
pub(crate) mod redactions;
pub(crate) mod run_actions;
mod run_tokens;
pub(crate) mod runs;
pub(crate) mod settings;
pub(crate) mod sign_in;
pub(crate) mod stats;
pub(crate) mod token_rotation;
pub(crate) mod transcripts;
pub(crate) mod transitions;
mod unfit_runners;
pub(crate) mod webhooks;
pub(crate) mod work;
pub(crate) mod worktrees;

pub(crate) use bodies::{entity_bodies, entity_body, entry_text, stored_body};
pub(crate) use body::{Body, Large, Parameters, Required, check_strictly, unknown_parameters, whole};
pub(crate) use command_headers::{CommandHeaders, idempotency_key};
pub(crate) use commands::{Done, command, submit};
pub(crate) use cursor::Cursors;
pub(crate) use key_use::{KeyUse, conflict, entity_of, journalled, made_before, under};

use std::collections::HashMap;

use axum::extract::Query;
use axum::http::Uri;
use serde::Deserialize;
use trackside_runtime::read::{MOST, USUAL};
use utoipa::IntoParams;

use crate::problem::Refused;

/// The parameter of dry runs.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct DryRun {
    /// Decide, and change nothing.
    #[serde(default, rename = "dryRun")]
    #[param(rename = "dryRun")]
    pub dry_run: bool,
}

/// Whether a request is a dry run, which does not use up its key.
pub(crate) fn is_dry_run(uri: &Uri) -> bool {
    Query::<HashMap<String, String>>::try_from_uri(uri)
        .is_ok_and(|it| it.get("dryRun").is_some_and(|it| it == "true"))
}

/// A parameter that is the number of a journal entry.
pub(crate) fn number(name: &str, asked: Option<i64>) -> Result<Option<u64>, Refused> {
    let number =
        |it| u64::try_from(it).map_err(|_| Refused::parameter(name, format!("{name} must not be negative")));
    asked.map(number).transpose()
}

/// The header of an idempotency key.
#[derive(Clone, Debug, IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "it describes what `CommandHeaders` reads")]
pub(crate) struct KeyHeader {
    /// Repeated requests with the same key take effect once. `X-Idempotency-Key` is the same header.
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 255, pattern = "^[!-~]+$")]
    key: Option<String>,
}

/// The page size that was asked for; 0 if none was.
pub(crate) fn limit(asked: Option<usize>) -> Result<usize, Refused> {
    match asked {
        None => Ok(0),
        Some(asked @ 1..=MOST) => Ok(asked),
        Some(_) => Err(Refused::parameter("limit", format!("limit must be 1 to {MOST}"))),
    }
}

/// The same, with the usual size if none was asked for.
pub(crate) fn page_size(asked: Option<usize>) -> Result<usize, Refused> {
    Ok(match limit(asked)? {
        0 => USUAL,
        asked => asked,
    })
}

/// Parameters of a paged list.
#[derive(Clone, Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub(crate) struct Paging {
    /// Page size: 50 by default, 200 at most.
    #[param(minimum = 1, maximum = 200)]
    pub limit: Option<usize>,
    /// The `nextCursor` of the previous page.
    pub cursor: Option<String>,
}
