//! Authentication: the actor of a request is the one its token names.

mod access;
mod caller;
mod people;
mod secret;
mod token_bucket;
mod token_cache;
mod token_liveness;
mod unknown_tokens;

pub(crate) use access::{Access, Identity, LinkGrant, TERMINAL, TOKEN, TokenSpec, is_own, pack};
pub use access::{AccessError, PACK};
pub(crate) use caller::{COOKIE, Caller, limit_unknown_tokens};
pub(crate) use people::keep_people;
pub(crate) use secret::Secret;
pub(crate) use token_bucket::TokenBucket;
pub(crate) use token_liveness::TokenLiveness;
pub(crate) use unknown_tokens::UnknownTokenLimiter;
