//! Trackside over HTTP: who asks, what is asked, and what is answered. The rules are elsewhere.

#![allow(unused_qualifications, reason = "what describes a route writes them")]

mod app;
mod auth;
mod connections;
mod document;
mod events;
mod limits;
mod manners;
mod mcp;
mod notify;
mod page;
mod problem;
mod request_id;
mod rest;
mod routes;
mod serve;
mod tls;
mod watch;
mod webhooks;

pub use app::ServerOptions;
pub use auth::{AccessError, PACK as ACCESS};
pub use limits::Limits;
pub use mcp::TOOLS as MCP_TOOLS;
pub use problem::problem_of;
pub use rest::imports::adopted;
pub use routes::openapi;
pub use serve::{Bound, ServeError, Server};
pub use tls::Tls;
pub use watch::{Level, Log, LogForm, TraceOptions};
pub use webhooks::WebhookOptions;
