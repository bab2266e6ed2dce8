//! What can be typed to the bridge for coding agents.

use clap::Args as ClapArgs;

use super::ReachArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: claude mcp add trackside -- trackside mcp --data /path/to/project/.trackside\n\nAn agent host starts this program and speaks MCP to it, one message to a line; every message goes on to /mcp of the server. Give each agent a token of its own in TRACKSIDE_TOKEN: it acts as whom that token says."
)]
pub(crate) struct McpArgs {
    /// Acts for this agent: the token must be made with --for
    #[arg(long = "for", value_name = "AGENT")]
    pub(crate) on_behalf: Option<String>,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}
