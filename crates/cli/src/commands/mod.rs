//! One file per command.

mod adapter;
mod alerts;
mod approvals;
mod archive;
mod artifact;
mod attach;
mod audience;
mod audit;
mod backup;
mod batch;
mod changes;
mod check;
mod claim;
mod clock;
mod completions;
mod correct;
mod delivery;
mod demo;
mod demo_team;
mod diagram;
mod diff;
mod doctor;
mod effects;
mod evidence;
mod explain;
mod explore;
mod export;
mod fire;
mod fmt;
mod heartbeat;
mod history;
mod hook;
mod hook_test;
mod import;
mod inbox;
mod init;
mod journal;
mod lifecycles;
mod list;
mod logs;
mod man;
mod mcp;
mod messages;
mod migrate;
mod new;
mod notifications;
mod pack;
mod policy;
mod query;
mod redact;
mod reference;
mod runs;
pub(crate) mod schema;
mod settings;
mod show;
mod sign_in;
mod stats;
mod stop;
mod test;
mod token;
mod up;
mod validate;
mod violations;
mod wait;
mod watch;
mod webhook;
mod whoami;
mod work;
mod worktree;

use std::process::ExitCode;

use crate::args::{Args, CliCommand};
use crate::print;

pub(crate) fn run(args: &Args) -> ExitCode {
    let code = match &args.command {
        CliCommand::Up(args) => up::run(args),
        CliCommand::Demo(args) => demo::run(args),
        CliCommand::Init(args) => init::run(args),
        CliCommand::New(args) => new::run(args),
        CliCommand::Fire(args) => fire::run(args),
        CliCommand::Claim(args) => claim::run(args),
        CliCommand::Heartbeat(args) => heartbeat::run(args),
        CliCommand::Work(args) => work::run(args),
        CliCommand::Supervise(args) => work::supervise(args),
        CliCommand::Runs(args) => runs::run(args),
        CliCommand::Logs(args) => logs::run(args),
        CliCommand::Attach(args) => attach::run(args),
        CliCommand::Stop(args) => stop::run(args),
        CliCommand::Worktree(args) => worktree::run(args),
        CliCommand::Adapter(args) => adapter::run(args),
        CliCommand::Hook(args) => hook::run(args),
        CliCommand::Correct(args) => correct::run(args),
        CliCommand::Show(args) => show::run(args),
        CliCommand::List(args) => list::run(args),
        CliCommand::History(args) => history::run(args),
        CliCommand::Explain(args) => explain::run(args),
        CliCommand::Changes(args) => changes::run(args),
        CliCommand::Watch(args) => watch::run(args),
        CliCommand::Mcp(args) => mcp::run(args),
        CliCommand::Journal(args) => journal::run(args),
        CliCommand::Query(args) => query::run(args),
        CliCommand::Lifecycles(args) => lifecycles::run(args),
        CliCommand::Stats(args) => stats::run(args),
        CliCommand::Inbox(args) => inbox::run(args),
        CliCommand::Approvals(args) => approvals::run(args),
        CliCommand::Messages(args) => messages::run(args),
        CliCommand::Notifications(args) => notifications::run(args),
        CliCommand::Alerts(args) => alerts::run(args),
        CliCommand::Violations(args) => violations::run(args),
        CliCommand::Whoami(args) => whoami::run(args),
        CliCommand::Token(args) => token::run(args),
        CliCommand::Webhook(args) => webhook::run(args),
        CliCommand::Audience(args) => audience::run(args),
        CliCommand::Delivery(args) => delivery::run(args),
        CliCommand::SignIn(args) => sign_in::run(args),
        CliCommand::Clock(args) => clock::run(args),
        CliCommand::Pack(args) => pack::run(args),
        CliCommand::Settings(args) => settings::run(args),
        CliCommand::Completions(args) => completions::run(args),
        CliCommand::Man(args) => man::run(args),
        CliCommand::Test(args) => test::run(args),
        CliCommand::Bench(args) => crate::bench::run(args),
        CliCommand::Check(args) => check::run(args),
        CliCommand::Diagram(args) => diagram::run(args),
        CliCommand::Diff(args) => diff::run(args),
        CliCommand::Explore(args) => explore::run(args),
        CliCommand::Fmt(args) => fmt::run(args),
        CliCommand::Audit(args) => audit::run(args),
        CliCommand::Archive(args) => archive::run(args),
        CliCommand::Backup(args) => backup::run(args),
        CliCommand::Restore(args) => backup::run_restore(args),
        CliCommand::Doctor(args) => doctor::run(args),
        CliCommand::Validate(args) => validate::run(args),
        CliCommand::Redact(args) => redact::run(args),
        CliCommand::Migrate(args) => migrate::run(args),
        CliCommand::Export(args) => export::run(args),
        CliCommand::Import(args) => import::run(args),
        CliCommand::Schema(args) => schema::run(args),
        CliCommand::Wait(args) => wait::run(args),
        CliCommand::Effects(args) => effects::run(args),
        CliCommand::Artifact(args) => artifact::run(args),
        CliCommand::Batch(args) => batch::run(args),
        CliCommand::Policy(args) => policy::run(args),
        CliCommand::Reference => reference::run(),
        CliCommand::Version => {
            print::line(concat!("trackside ", env!("CARGO_PKG_VERSION")));
            crate::exit::DONE
        }
    };
    ExitCode::from(if print::all_written() { code } else { code.max(crate::exit::REFUSED) })
}
