//! `trackside mcp`: MCP over standard input and output, carried to the server and back.

use crate::args::McpArgs;
use crate::bridge::Bridge;
use crate::exit;

pub(crate) fn run(args: &McpArgs) -> u8 {
    Bridge::new(args.reach.clone(), args.on_behalf.clone()).run(std::io::stdin().lock());
    exit::DONE
}
