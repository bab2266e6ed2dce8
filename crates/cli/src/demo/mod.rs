//! A small team by itself: a story, written as data, that is played on a real server.
//!
//! `script` reads it, `door` is how an actor asks, `story` plays it step by step and holds the server to what the
//! script expects, `telling` shows it. Nothing here knows a state, role or field of a pack.

mod http;
mod interface;
mod mcp;
mod pacing;
mod request;
mod script;
mod shell;
mod story;
mod story_printer;

pub(crate) use pacing::Pacing;
pub(crate) use script::{DemoScene, scenes};
pub(crate) use story::{DemoStory, StoryEnd};
