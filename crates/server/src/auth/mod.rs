//! Who asks: an actor is who its token says.

mod access;
mod caller;
mod rate;
mod secret;

pub use access::AccessError;
pub(crate) use access::{Access, Identity, Minting, PACK, TOKEN, is_own, pack};
pub(crate) use caller::{COOKIE, Caller};
pub(crate) use secret::Secret;
