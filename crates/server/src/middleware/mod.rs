//! Middleware around the handlers, from the outside in: `guard` for every request, which checks it by `request_rules`,
//! then `idempotency` for requests with a key.

mod guard;
mod idempotency;
mod normalize;
mod request_rules;

pub(crate) use guard::{guard, is_our_name};
pub(crate) use idempotency::{KeptAnswers, replay_or_run};
pub(crate) use request_rules::RequestRules;
