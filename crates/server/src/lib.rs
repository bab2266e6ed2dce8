//! Trackside over HTTP and MCP: authentication, routes and answers. The rules are in the engine.

#![expect(unused_qualifications, reason = "what describes a route writes them")]

mod app;
mod auth;
mod connections;
mod document;
mod events;
mod limits;
mod mcp;
mod middleware;
mod page;
mod problem;
mod request_id;
mod rest;
mod routes;
mod scrub;
mod serve;
mod server_key;
mod systemd;
mod telemetry;
mod tls;
mod webhooks;

pub use app::ServerOptions;
pub use auth::{AccessError, PACK as ACCESS};
pub use limits::ServerLimits;
pub use mcp::TOOLS as MCP_TOOLS;
pub use rest::audit::audit_body;
pub use rest::imports::imported_entities;
pub use routes::openapi;
pub use serve::{BoundServer, OwnerTokenUse, ServeError, Server};
pub use telemetry::{LogFormat, LogOptions, TraceOptions};
pub use tls::Tls;
pub use tracing::Level;
pub use webhooks::WebhookOptions;
