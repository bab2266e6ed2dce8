//! A small team by itself: a story, written as data, that is played on a real server.
//!
//! `script` reads it, `door` is how an actor asks, `story` plays it step by step and holds the server to what the
//! script expects, `telling` shows it. Nothing here knows a state, role or field of a pack.

mod ask;
mod door;
mod http;
mod mcp;
mod pace;
mod script;
mod shell;
mod story;
mod telling;

pub(crate) use pace::Pace;
pub(crate) use script::{Scene, scenes};
pub(crate) use story::{Ended, Story};
