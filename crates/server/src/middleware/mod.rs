//! Middleware around the handlers, from the outside in: `guard` for every request, then `idempotency` for
//! requests with a key.

mod guard;
mod idempotency;
mod normalize;

pub(crate) use guard::{guard, is_our_name};
pub(crate) use idempotency::{KeptAnswers, replay_or_run};
