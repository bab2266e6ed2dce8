//! A model server on loopback whose answers are data, for tests with real agent programs.
//!
//! A script is a list of steps. A step says what the model does (text, a tool call, an error, a fault of the
//! connection); a dialect renders it in the wire format of a provider. The address of a run is
//! `http://127.0.0.1:PORT/s/SCRIPT/RUN`; each run goes through the script on its own, and every request is recorded.
#![expect(clippy::indexing_slicing, reason = "a JSON object takes a new key by its index")]

mod anthropic;
mod responses;
mod script;
mod server;

pub use script::{ModelScript, ModelStep, TokenCounts, ToolStep};
pub use server::{RecordedRequest, ScriptedModel};
