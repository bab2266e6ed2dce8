//! Authentication: the actor of a request is the one its token names.

mod access;
mod caller;
mod cookies;
mod derived;
mod failed_sign_ins;
mod people;
mod roles;
mod secret;
mod token_bucket;
mod token_cache;
mod token_liveness;
mod unknown_tokens;

pub(crate) use access::{
    Access, Identity, LinkGrant, LinkSpec, OIDC, SESSION, TERMINAL, TOKEN, TokenSpec, is_own,
};
pub use access::{AccessError, PACK, revoke_credentials};
pub(crate) use caller::{Caller, limit_unknown_tokens};
pub(crate) use cookies::{SecureTransport, cookie};
pub(crate) use derived::{end_derived, keep_derived};
pub(crate) use failed_sign_ins::{FailedCredential, FailedSignIns, keep_failures};
pub(crate) use people::keep_people;
pub(crate) use roles::resolve as resolve_roles;
pub(crate) use secret::Secret;
pub(crate) use token_bucket::TokenBucket;
pub(crate) use token_liveness::TokenLiveness;
pub(crate) use unknown_tokens::UnknownTokenLimiter;
