//! The wire: what is asked over HTTP and what is answered, as plain data. The server writes it, clients read it.

mod ask;
#[cfg(feature = "client")]
mod client;
mod identity;
mod problem;
mod tell;

pub use ask::{Advance, Batch, BatchCommand, Claim, Correct, Create, EffectResult, Heartbeat, Transition};
#[cfg(feature = "client")]
pub use client::{Client, ClientError, Told};
pub use identity::{NewLink, NewToken, SignInLink, Token, TokenMade, Who};
pub use problem::{Problem, Unmet};
pub use tell::{Clock, Entity, HeartbeatTold, LeaseTold, Moved, Page, TimerTold};
