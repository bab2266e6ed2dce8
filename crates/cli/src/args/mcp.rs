//! Arguments of the MCP bridge.

use clap::Args as ClapArgs;

use super::ReachArgs;

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example:\n  claude mcp add trackside -- trackside mcp\n\nThe agent host starts this program and exchanges MCP messages with it, one per line; each is forwarded to /mcp of the server.\nGive each agent its own token in TRACKSIDE_TOKEN: the agent acts as that token's actor, and without a token no request is sent."
)]
pub(crate) struct McpArgs {
    /// Act on behalf of this agent; needs a token from `trackside token create --for PATTERN` that matches it [default: act as yourself]
    #[arg(long = "for", value_name = "AGENT")]
    pub(crate) on_behalf: Option<String>,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}
