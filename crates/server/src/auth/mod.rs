//! Who asks: an actor is who its token says.

mod access;
mod caller;
mod people;
mod rate;
mod secret;
mod standing;
mod strangers;

pub(crate) use access::{Access, Identity, LetIn, Minting, TOKEN, is_own, pack};
pub use access::{AccessError, PACK};
pub(crate) use caller::{COOKIE, Caller, must_be_patient};
pub(crate) use people::keep_people;
pub(crate) use secret::Secret;
pub(crate) use standing::Standing;
pub(crate) use strangers::Strangers;
