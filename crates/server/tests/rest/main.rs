//! A real server on a free port, a real folder, a manual clock, and a client.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot go on says so"
)]

mod again;
mod alerts;
mod archived;
mod artifacts;
mod asking_for;
mod bounds;
mod control_files;
mod counters;
mod decision_form;
mod delivery;
mod doors;
mod edge;
mod effects;
mod evidence;
mod figures;
mod ground;
mod heartbeats;
mod imports;
mod inbox;
mod keys;
mod limits_of_time;
mod lists;
mod live;
mod long_term;
mod mcp;
mod migrations;
mod notices;
mod observing;
mod openid_provider;
mod packs;
mod parameters;
mod past;
mod patience;
mod people;
mod places;
mod plainly;
mod queries;
mod receiver;
mod requests;
mod revocation;
mod rights;
mod run_scope;
mod runs;
mod scrub;
mod secrets;
mod server_identity;
mod settings;
mod sight;
mod sign_on;
mod table;
mod traces;
mod upkeep;
mod watch;
mod webhooks;
mod work;
mod worktrees;
