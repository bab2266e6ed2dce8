//! The demo: scripted stories of small teams, played on a real server.
//!
//! `script` reads the story of the packs, `interface` sends an actor's requests, `story` plays it step by step and compares
//! the results with the script, `story_printer` prints it. `team_story` reads the story of the agents that work in a git
//! repository. Nothing here depends on a state, role or field of a pack.

mod http;
mod interface;
mod mcp;
mod pacing;
mod request;
mod script;
mod shell;
mod story;
mod story_printer;
mod team_story;

pub(crate) use pacing::Pacing;
pub(crate) use script::{DemoScene, scenes};
pub(crate) use story::{DemoStory, StoryEnd};
pub(crate) use team_story::TeamStory;
