//! What can be typed to a server: entities and what becomes of them.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};

/// Where the server is.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ReachArgs {
    /// The folder of the project whose server is asked [default: .trackside, here or in a folder above]
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// Where the server is, and how its answer is printed.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct AskArgs {
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
    /// Prints the answer as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Through whose eyes.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct EyesArgs {
    /// Shows what this agent sees and may do: the token must be made with --for
    #[arg(long = "for", value_name = "AGENT")]
    pub(crate) on_behalf: Option<String>,
}

/// How a command counts.
#[derive(Clone, Debug, ClapArgs)]
pub(crate) struct CountArgs {
    /// Acts for this agent: the token must be made with --for
    #[arg(long = "for", value_name = "AGENT")]
    pub(crate) on_behalf: Option<String>,
    /// An idempotency key: the same command under the same key counts once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside new mission.task --id T-1 title='Write the notes' assigneeIds:='[\"ada\"]'\n\nFields: name=text, name:=json, name=@file. Without --id the server makes one."
)]
pub(crate) struct NewArgs {
    /// Such as mission.task
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: String,
    /// What it brings
    #[arg(value_name = "FIELD=VALUE")]
    pub(crate) fields: Vec<String>,
    /// Its id: letters, digits and ._@-
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Decides, and changes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) count: CountArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "trackside fire LIFECYCLE/ID (EVENT | --to STATE) [FIELD=VALUE]... [OPTIONS]",
    after_help = "Example: trackside fire mission.task/T-1 start workPlan:='[\"read\",\"write\",\"check\"]'\n         trackside fire mission.task/T-1 --to BLOCKED blockReason='no access' --dry-run\n\nFields: name=text, name:=json, name=@file. A refusal exits with 1 and says every reason and what would work."
)]
pub(crate) struct FireArgs {
    /// Such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    /// The event, such as start
    #[arg(value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// What it brings
    #[arg(value_name = "FIELD=VALUE")]
    pub(crate) fields: Vec<String>,
    /// The state it is to go to, instead of an event
    #[arg(long, value_name = "STATE")]
    pub(crate) to: Option<String>,
    /// Why, for the journal
    #[arg(long, value_name = "REASON")]
    pub(crate) reason: Option<String>,
    /// The number of the lease under which you work
    #[arg(long, value_name = "N")]
    pub(crate) fence: Option<u64>,
    /// Only if it is still at this version
    #[arg(long, value_name = "N")]
    pub(crate) if_version: Option<u64>,
    /// Decides, and changes nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) count: CountArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside claim coding.task --where 'priority <= 2'\n\nTakes the next one that can be claimed, and prints it with the fence to work under. Exits with 1 if there is none."
)]
pub(crate) struct ClaimArgs {
    /// Such as coding.task
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: String,
    /// The event that takes it, where several could
    #[arg(value_name = "EVENT")]
    pub(crate) event: Option<String>,
    /// What it brings
    #[arg(value_name = "FIELD=VALUE")]
    pub(crate) fields: Vec<String>,
    /// Only one for which this is true
    #[arg(long = "where", value_name = "CEL")]
    pub(crate) only: Option<String>,
    /// Why, for the journal
    #[arg(long, value_name = "REASON")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) count: CountArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside heartbeat coding.task/T-1 --fence 3\n\nExits with 1 if the lease is lost: stop working on it then. Says so, too, when you should stop."
)]
pub(crate) struct HeartbeatArgs {
    /// Such as coding.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    /// Which lease, where there are several
    #[arg(long, value_name = "SLOT")]
    pub(crate) slot: Option<String>,
    /// The number of the lease, as it was granted
    #[arg(long, value_name = "N")]
    pub(crate) fence: Option<u64>,
    /// Acts for this agent: the token must be made with --for
    #[arg(long = "for", value_name = "AGENT")]
    pub(crate) on_behalf: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

/// What a hook says where it cannot decide.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Otherwise {
    Deny,
    Ask,
    Allow,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example, in .claude/settings.json:\n  { \"hooks\": { \"PreToolUse\": [ { \"matcher\": \"*\", \"hooks\": [ { \"type\": \"command\", \"command\": \"trackside hook\" } ] } ] } }\n\nReads what a coding agent is about to do, as JSON on standard input, and asks the risk policy of the project. What the policy denies is blocked (exit code 2, the reason on standard error). What needs an approval is put to the person at the agent, or blocked where nobody is there. What it allows goes on to the agent's own rules."
)]
pub(crate) struct HookArgs {
    /// The role that acts [default: those of your token]
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Option<String>,
    /// The pack whose policy is asked, where several have one
    #[arg(long, value_name = "PACK")]
    pub(crate) pack: Option<String>,
    /// Also says yes for the agent's own rules to what the policy allows
    #[arg(long)]
    pub(crate) allow: bool,
    /// Nobody sits at the agent: what needs an approval is blocked
    #[arg(long)]
    pub(crate) unattended: bool,
    /// What is said where the server cannot be asked
    #[arg(long, value_enum, default_value = "deny", value_name = "ANSWER")]
    pub(crate) unreachable: Otherwise,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside correct mission.task/T-1 --to INBOX --reason 'assigned by mistake'\n\nThe loud override, for people with role admin: sets an entity right outside its edges. It is journalled and raises an alert."
)]
pub(crate) struct CorrectArgs {
    /// Such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    /// What a field becomes: name=text, name:=json (null clears it) or name=@file
    #[arg(value_name = "FIELD=VALUE")]
    pub(crate) fields: Vec<String>,
    /// The state it belongs in
    #[arg(long, value_name = "STATE")]
    pub(crate) to: Option<String>,
    /// Why, for the journal
    #[arg(long, value_name = "REASON")]
    pub(crate) reason: String,
    /// An idempotency key: the same command under the same key counts once
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example: trackside show mission.task/T-1")]
pub(crate) struct ShowArgs {
    /// Such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    /// As it was right after this entry of the journal
    #[arg(long, value_name = "SEQ")]
    pub(crate) at: Option<u64>,
    #[command(flatten)]
    pub(crate) eyes: EyesArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside explain mission.task/T-1\n\nWhy it is not moving, who must act, since when, what happens next and when."
)]
pub(crate) struct ExplainArgs {
    /// Such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    #[command(flatten)]
    pub(crate) eyes: EyesArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside list mission.task --state BLOCKED,REVIEW --where 'priority == 1'\n\nAn expression takes comparisons, &&, ||, ! and in, over fields."
)]
pub(crate) struct ListArgs {
    /// Such as mission.task
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: String,
    /// Only those in this state; several with commas between them
    #[arg(long, value_name = "STATE")]
    pub(crate) state: Option<String>,
    /// Only those for which this is true
    #[arg(long = "where", value_name = "CEL")]
    pub(crate) only: Option<String>,
    /// Only those that are overdue
    #[arg(long)]
    pub(crate) overdue: bool,
    /// At most so many [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) eyes: EyesArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside history mission.task/T-1\n\nThe oldest first, and how long it was in each state."
)]
pub(crate) struct HistoryArgs {
    /// Such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    /// At most so many entries [default: all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Renewals of leases too
    #[arg(long)]
    pub(crate) renewals: bool,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside journal --after 120 --follow\n\nWith --json each entry is a line of its own."
)]
pub(crate) struct JournalArgs {
    /// Entries after this one [default: from the first; with --follow from now on]
    #[arg(long, value_name = "SEQ")]
    pub(crate) after: Option<u64>,
    /// At most so many [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,
    /// Goes on with what happens, until you stop it
    #[arg(long, short, conflicts_with_all = ["limit", "all"])]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside query build\n         trackside query build tasksByState state=testing"
)]
pub(crate) struct QueryArgs {
    /// A pack, such as build
    #[arg(value_name = "PACK")]
    pub(crate) pack: String,
    /// One of its queries [default: lists them]
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// What it takes
    #[arg(value_name = "PARAM=VALUE")]
    pub(crate) asked: Vec<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example: trackside lifecycles\n         trackside lifecycles mission.task")]
pub(crate) struct LifecyclesArgs {
    /// One of them, with its states and what leads where [default: lists them]
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example: trackside stats mission.task")]
pub(crate) struct StatsArgs {
    /// Of this lifecycle [default: of every one that has entities]
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

/// A list of what people should look at.
#[derive(Debug, ClapArgs)]
pub(crate) struct NoticesArgs {
    /// At most so many [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example: trackside approvals\n         trackside approvals approve A-1 --note 'go ahead'\n         trackside approvals deny A-1 --note 'not on a Friday'\n\nThe urgent ones come first. Nobody decides on a request of their own."
)]
pub(crate) struct ApprovalsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ApprovalsCommand>,
    #[command(flatten)]
    pub(crate) list: NoticesArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// Says yes to a request
    Approve(DecideArgs),
    /// Says no to a request
    Deny(DecideArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DecideArgs {
    /// Its id, as trackside approvals shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    /// Where it is to lead, where the request lets people choose
    #[arg(long, value_name = "STATE")]
    pub(crate) to: Option<String>,
    /// Its lifecycle, where several have a request of this id
    #[arg(long, value_name = "LIFECYCLE")]
    pub(crate) lifecycle: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside messages mission.task/T-1\n\nTold are the words that are meant for you."
)]
pub(crate) struct MessagesArgs {
    /// Such as mission.task/T-1
    #[arg(value_name = "LIFECYCLE/ID")]
    pub(crate) entity: String,
    #[command(flatten)]
    pub(crate) list: NoticesArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Example: trackside notifications --to me")]
pub(crate) struct NotificationsArgs {
    /// Only what this audience of a pack was told
    #[arg(long, value_name = "AUDIENCE")]
    pub(crate) audience: Option<String>,
    /// Only what this actor was told by name; `me` is you
    #[arg(long, value_name = "ACTOR")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) list: NoticesArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example: trackside alerts\n         trackside alerts acknowledge 41 --note 'I am looking at it'\n         trackside alerts resolve 41 --note 'the disk was full'\n\nOnly people acknowledge and resolve. What arises again after it was resolved is a new alert."
)]
pub(crate) struct AlertsArgs {
    #[command(subcommand)]
    pub(crate) command: Option<AlertsCommand>,
    /// Those that were resolved, too
    #[arg(long)]
    pub(crate) resolved: bool,
    #[command(flatten)]
    pub(crate) list: NoticesArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AlertsCommand {
    /// Says that an alert is seen
    Acknowledge(AttendArgs),
    /// Says that an alert is seen to: it leaves the list
    Resolve(AttendArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct AttendArgs {
    /// Its number, as trackside alerts shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// A word for the journal
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WhoamiArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Makes a token and prints it, this once
    Create(TokenCreateArgs),
    /// Lists tokens, without their secrets
    List(TokenListArgs),
    /// Takes a token back, from now on
    Revoke(TokenRevokeArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WebhookArgs {
    #[command(subcommand)]
    pub(crate) command: WebhookCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Adds a receiver and prints the secret by which it knows our messages, this once
    Add(WebhookAddArgs),
    /// Lists receivers, without their secrets
    List(WebhookListArgs),
    /// Ends a webhook: nothing more is sent
    Remove(WebhookRemoveArgs),
    /// Tells what became of messages
    Deliveries(WebhookDeliveriesArgs),
    /// Tries dead letters once more, and at once what is failing; turns a webhook on again
    Replay(WebhookReplayArgs),
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside webhook add https://example.com/hooks --lifecycle mission.task --event STATE_TRANSITION\n\nThe secret alone goes to standard output. It is kept nowhere and cannot be shown again.\nMessages are CloudEvents with the signatures of Standard Webhooks. The webhook tells what your token may see, as long as that is good."
)]
pub(crate) struct WebhookAddArgs {
    /// Where messages go: https://…
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Only of this lifecycle or pack; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) lifecycle: Vec<String>,
    /// Only entries of this kind, such as ALERT_RAISED; may be given several times
    #[arg(long, value_name = "KIND")]
    pub(crate) event: Vec<String>,
    /// What is told: what people follow, or every entry of the journal
    #[arg(long, value_enum, default_value_t = AudienceArg::User)]
    pub(crate) audience: AudienceArg,
    /// A word for the list of webhooks
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AudienceArg {
    User,
    All,
}

impl AudienceArg {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::All => "all",
        }
    }
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WebhookListArgs {
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WebhookRemoveArgs {
    /// Its id, as webhook list shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct WebhookDeliveriesArgs {
    /// Its id, as webhook list shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Only those that are delivered, failing, dead or queued
    #[arg(long, value_name = "STATE", value_parser = ["delivered", "failing", "dead", "queued"])]
    pub(crate) state: Option<String>,
    /// At most so many [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// All of them
    #[arg(long, conflicts_with = "limit")]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside webhook replay 0f1e2d3c4b5a\n\nA message that comes twice has the same webhook-id: its receiver can tell."
)]
pub(crate) struct WebhookReplayArgs {
    /// Its id, as webhook list shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Only these, by the numbers of their journal entries [default: all dead letters]
    #[arg(value_name = "SEQ")]
    pub(crate) seqs: Vec<u64>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ActorKindArg {
    Human,
    Agent,
    System,
}

impl ActorKindArg {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Human => "human",
            Self::Agent => "agent",
            Self::System => "system",
        }
    }
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: export TRACKSIDE_TOKEN=$(trackside token create ada --kind agent --role mission:specialist)\n\nThe token alone goes to standard output. It is kept as a hash and cannot be shown again."
)]
pub(crate) struct TokenCreateArgs {
    /// Whom it speaks for
    #[arg(value_name = "ACTOR")]
    pub(crate) actor: String,
    /// What that is
    #[arg(long, value_enum)]
    pub(crate) kind: ActorKindArg,
    /// A role, as pack:role or bare where that is unique; may be given several times
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Vec<String>,
    /// Whom it may act for, such as 'coder-*'; may be given several times
    #[arg(long = "for", value_name = "PATTERN")]
    pub(crate) on_behalf: Vec<String>,
    /// How long it is good for, such as 8h or 30d [default: until it is revoked]
    #[arg(long, value_name = "SPAN")]
    pub(crate) lifetime: Option<String>,
    /// A word for the list of tokens
    #[arg(long, value_name = "TEXT")]
    pub(crate) note: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TokenListArgs {
    /// Those that are revoked or have expired, too
    #[arg(long)]
    pub(crate) ended: bool,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct TokenRevokeArgs {
    /// Its id, as token list shows it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) reach: ReachArgs,
}

#[derive(Debug, ClapArgs)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ClockArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ClockCommand>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ClockCommand {
    /// Moves the manual clock: what becomes due happens, in order
    Advance(ClockAdvanceArgs),
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside clock advance 24h\n         trackside clock advance --to 2026-02-01T00:00:00Z\n\nOnly where the server was started with --clock manual."
)]
pub(crate) struct ClockAdvanceArgs {
    /// By how much, such as 90s, 15m, 24h or 7d
    #[arg(value_name = "SPAN", required_unless_present = "to", conflicts_with = "to")]
    pub(crate) by: Option<String>,
    /// Up to this time instead
    #[arg(long, value_name = "TIME")]
    pub(crate) to: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside sign-in\n         trackside sign-in hank --role mission:lead\n\nOpen the link in a browser. It works once, within 15 minutes."
)]
pub(crate) struct SignInArgs {
    /// For this person [default: you]
    #[arg(value_name = "ACTOR")]
    pub(crate) actor: Option<String>,
    /// A role the person has; may be given several times [default: your own, if it is for you]
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Vec<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Example: trackside watch mission.task\n\nOn a terminal a view that moves: how many are where, what happened last, what is overdue; q quits. Elsewhere every event is a line."
)]
pub(crate) struct WatchArgs {
    /// Of this lifecycle [default: of all]
    #[arg(value_name = "LIFECYCLE")]
    pub(crate) lifecycle: Option<String>,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}
