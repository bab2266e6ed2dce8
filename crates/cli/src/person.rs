//! Decides whether a person started this process. Only then it may use the owner's credential.

use std::io::IsTerminal as _;

use crate::folder::CliError;
use crate::print;
use crate::styled::BREAK;

/// Variables that coding agents set for the processes they start, and the runner's own.
const OF_AGENTS: &[&str] = &[
    "TRACKSIDE_AGENT",
    "TRACKSIDE_RUN",
    "AGENT",
    "AI_AGENT",
    "AMP_CURRENT_THREAD_ID",
    "ANTIGRAVITY_AGENT",
    "ANTIGRAVITY_CLI_ALIAS",
    "AUGMENT_AGENT",
    "CLAUDECODE",
    "CLAUDE_CODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLINE_ACTIVE",
    "CODEX_CI",
    "CODEX_SANDBOX",
    "CODEX_SANDBOX_NETWORK_DISABLED",
    "CODEX_THREAD_ID",
    "COPILOT_CLI",
    "CRUSH",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "GOOSE_TERMINAL",
    "JUNIE_DATA",
    "JUNIE_SHIM_PATH",
    "OPENCLAW_SHELL",
    "OPENCODE",
    "OPENCODE_CLIENT",
    "PI_CODING_AGENT",
    "QWEN_CODE",
    "TRAE_AI_SHELL_ID",
];

/// A variable that editors set in people's terminals too: only this value is an agent's.
const VALUE_OF_AGENTS: (&str, &str) = ("CURSOR_EXTENSION_HOST_ROLE", "agent-exec");

/// Why this process is not taken for a person's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoPerson {
    /// A coding agent set this variable.
    Agent(&'static str),
    /// Agents run this command: it never uses the owner's credential.
    AgentCommand,
    /// Standard input or standard error is no terminal.
    NoTerminal(&'static str),
    /// The command has a token, which may be an agent's, and no server checks it.
    Token,
}

impl NoPerson {
    pub(crate) fn reason(self) -> String {
        match self {
            Self::AgentCommand => "this command is for agents".to_owned(),
            Self::Agent(name) => format!("{name} is set, so a coding agent started this command"),
            Self::NoTerminal(stream) => format!("{stream} of this command is no terminal"),
            Self::Token => {
                "TRACKSIDE_TOKEN is set, which only a server checks: unset it to act as the owner".to_owned()
            }
        }
    }

    /// The error for a command that needs a token.
    pub(crate) fn needs_token(self) -> CliError {
        CliError::forbidden(styled!(
            "TRACKSIDE_TOKEN is not set. Commands act as the owner only when a person types them at a terminal, and {}.{BREAK}\
             Set TRACKSIDE_TOKEN to a token of your own, and TRACKSIDE_URL to the server's address if it is not that of this folder's server. \
             The owner creates a token with: trackside token create NAME --kind agent",
            self.reason()
        ))
    }
}

/// The variable by which a coding agent announces itself, if one is set.
pub(crate) fn agent_variable() -> Option<&'static str> {
    let (name, value) = VALUE_OF_AGENTS;
    let by_value = std::env::var_os(name).is_some_and(|it| it == value).then_some(name);
    let is_set = |it: &&str| std::env::var_os(it).is_some_and(|value| !value.is_empty());
    OF_AGENTS.iter().copied().find(is_set).or(by_value)
}

/// Checks that a person typed this command: standard input and standard error are a terminal, and no variable of a
/// coding agent is set. Standard output may be a pipe or a file.
pub(crate) fn check() -> Result<(), NoPerson> {
    if let Some(name) = agent_variable() {
        return Err(NoPerson::Agent(name));
    }
    if !std::io::stdin().is_terminal() {
        return Err(NoPerson::NoTerminal("standard input"));
    }
    if !print::messages_are_shown() {
        return Err(NoPerson::NoTerminal("standard error"));
    }
    Ok(())
}

/// Checks that a person typed this command to act as the owner without a server.
pub(crate) fn check_without_server() -> Result<(), NoPerson> {
    check()?;
    match has_token() {
        true => Err(NoPerson::Token),
        false => Ok(()),
    }
}

/// Whether the environment has a token, also one that cannot be used.
pub(crate) fn has_token() -> bool {
    std::env::var_os("TRACKSIDE_TOKEN").is_some_and(|it| !it.is_empty())
}

/// Whether a message may name a command that starts a server: only to a person who acts as the owner. A token in the
/// environment may be an agent's, at a terminal too.
pub(crate) fn may_start_server() -> bool {
    check_without_server().is_ok()
}

/// The next step where no server runs.
pub(crate) fn start_server(command: &str) -> String {
    match may_start_server() {
        true => format!("Start the server with: {command}"),
        false => "Ask the person who runs the server to start it".to_owned(),
    }
}
