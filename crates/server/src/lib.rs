//! Trackside over HTTP and MCP: authentication, routes and answers. The rules are in the engine.

#![expect(unused_qualifications, reason = "what describes a route writes them")]

mod app;
mod artifact_use;
mod auth;
mod backup_schedule;
mod connection_slots;
mod connections;
mod control_files;
mod delivery;
mod document;
mod events;
mod large_answers;
mod limits;
mod mcp;
mod middleware;
mod own_packs;
mod pack_log;
mod page;
mod problem;
mod quotas;
mod request_id;
mod rest;
mod routes;
mod scrub;
mod serve;
mod server_key;
mod sign_on;
mod systemd;
mod telemetry;
mod tls;
mod transcript_retention;
mod transcripts;
mod webhooks;

pub use app::ServerOptions;
pub use auth::{AccessError, revoke_credentials};
pub use backup_schedule::BackupSchedule;
pub use limits::ServerLimits;
pub use mcp::TOOLS as MCP_TOOLS;
pub use own_packs::{own_pack_files, own_pack_names, reserved_name};
pub use rest::audit::audit_body;
pub use rest::imports::imported_entities;
pub use routes::openapi;
pub use serve::{BoundServer, OWNER, OwnerTokenUse, ServeError, Server, TerminalToken};
pub use sign_on::{OidcOptions, PeopleFile, ProxyOptions};
pub use telemetry::{LogFormat, LogOptions, TraceOptions};
pub use tls::Tls;
pub use tracing::Level;
pub use webhooks::WebhookOptions;
