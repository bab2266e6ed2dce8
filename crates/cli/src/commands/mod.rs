//! One file per command.

mod alerts;
mod approvals;
mod archive;
mod audit;
mod backup;
mod bench;
mod check;
mod claim;
mod clock;
mod completions;
mod correct;
mod demo;
mod diagram;
mod diff;
mod doctor;
mod evidence;
mod explain;
mod explore;
mod export;
mod fire;
mod fmt;
mod heartbeat;
mod history;
mod hook;
mod import;
mod init;
mod journal;
mod lifecycles;
mod list;
mod man;
mod mcp;
mod messages;
mod migrate;
mod new;
mod notifications;
mod pack;
mod query;
mod redact;
mod reference;
mod schema;
mod settings;
mod show;
mod sign_in;
mod stats;
mod test;
mod token;
mod up;
mod validate;
mod violations;
mod watch;
mod webhook;
mod whoami;

use std::process::ExitCode;

use crate::args::{Args, Command};
use crate::print;

pub(crate) fn run(args: &Args) -> ExitCode {
    let code = match &args.command {
        Command::Up(args) => up::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Init(args) => init::run(args),
        Command::New(args) => new::run(args),
        Command::Fire(args) => fire::run(args),
        Command::Claim(args) => claim::run(args),
        Command::Heartbeat(args) => heartbeat::run(args),
        Command::Hook(args) => hook::run(args),
        Command::Correct(args) => correct::run(args),
        Command::Show(args) => show::run(args),
        Command::List(args) => list::run(args),
        Command::History(args) => history::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Watch(args) => watch::run(args),
        Command::Mcp(args) => mcp::run(args),
        Command::Journal(args) => journal::run(args),
        Command::Query(args) => query::run(args),
        Command::Lifecycles(args) => lifecycles::run(args),
        Command::Stats(args) => stats::run(args),
        Command::Approvals(args) => approvals::run(args),
        Command::Messages(args) => messages::run(args),
        Command::Notifications(args) => notifications::run(args),
        Command::Alerts(args) => alerts::run(args),
        Command::Violations(args) => violations::run(args),
        Command::Whoami(args) => whoami::run(args),
        Command::Token(args) => token::run(args),
        Command::Webhook(args) => webhook::run(args),
        Command::SignIn(args) => sign_in::run(args),
        Command::Clock(args) => clock::run(args),
        Command::Pack(args) => pack::run(args),
        Command::Settings(args) => settings::run(args),
        Command::Completions(args) => completions::run(args),
        Command::Man(args) => man::run(args),
        Command::Test(args) => test::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Check(args) => check::run(args),
        Command::Diagram(args) => diagram::run(args),
        Command::Diff(args) => diff::run(args),
        Command::Explore(args) => explore::run(args),
        Command::Fmt(args) => fmt::run(args),
        Command::Audit(args) => audit::run(args),
        Command::Archive(args) => archive::run(args),
        Command::Backup(args) => backup::run(args),
        Command::Restore(args) => backup::run_restore(args),
        Command::Doctor(args) => doctor::run(args),
        Command::Validate(args) => validate::run(args),
        Command::Redact(args) => redact::run(args),
        Command::Migrate(args) => migrate::run(args),
        Command::Export(args) => export::run(args),
        Command::Import(args) => import::run(args),
        Command::Schema(args) => schema::run(args),
        Command::Reference => reference::run(),
        Command::Version => {
            print::line(concat!("trackside ", env!("CARGO_PKG_VERSION")));
            crate::exit::DONE
        }
    };
    ExitCode::from(if print::all_written() { code } else { code.max(crate::exit::REFUSED) })
}
