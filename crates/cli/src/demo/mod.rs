//! The demo: a scripted story of a small team, played on a real server.
//!
//! `script` reads it, `interface` sends an actor's requests, `story` plays it step by step and compares the
//! results with the script, `story_printer` prints it. Nothing here depends on a state, role or field of a
//! pack.

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
