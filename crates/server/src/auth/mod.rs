//! Who asks: an actor is who its token says.

mod access;
mod caller;
mod people;
mod rate;
mod secret;
mod standing;

pub(crate) use access::{Access, Identity, LINK, Minting, TOKEN, is_own, pack};
pub use access::{AccessError, PACK};
pub(crate) use caller::{COOKIE, Caller};
pub(crate) use people::keep_people;
pub(crate) use secret::Secret;
pub(crate) use standing::Standing;
