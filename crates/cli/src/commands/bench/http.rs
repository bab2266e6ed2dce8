//! `trackside bench --http`: the same over HTTP, with servers of its own.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use trackside_bench::Trouble;
use trackside_bench::plan::SoFar;
use trackside_bench::report::Report;
use trackside_bench::trackside::PACK;
use trackside_bench::web::append::{Sizes, serve};
use trackside_bench::web::{self, Part, Plan, Programs};

use super::Stores;
use crate::args::{BenchArgs, BenchPart};
use crate::{builtin, exit, print};

/// Whether what is asked for can be measured the way that is asked for.
pub(super) fn fits(args: &BenchArgs) -> Result<(), String> {
    for name in &args.only {
        let word =
            clap::ValueEnum::to_possible_value(name).map(|it| it.get_name().to_owned()).unwrap_or_default();
        match (args.http, part(name), super::part(name)) {
            (true, None, _) => return Err(format!("{word} is measured in process: leave --http out")),
            (false, _, None) => return Err(format!("{word} is measured over HTTP: add --http")),
            _ => {}
        }
    }
    Ok(())
}

/// What it is over HTTP, if it is measured there.
fn part(name: &BenchPart) -> Option<Part> {
    match name {
        BenchPart::Throughput => Some(Part::Throughput),
        BenchPart::Latency => Some(Part::Latency),
        BenchPart::Postgres => Some(Part::Postgres),
        BenchPart::Restate => Some(Part::Restate),
        BenchPart::Subscribers => Some(Part::Subscribers),
        BenchPart::Idle => Some(Part::Idle),
        BenchPart::Scale | BenchPart::Start => None,
    }
}

pub(super) fn run(args: &BenchArgs, stores: &Stores, folder: &Path, so_far: SoFar<'_>) -> Report {
    let parts: Vec<Part> = args.only.iter().filter_map(part).collect();
    let plan = Plan {
        fetch: parts.contains(&Part::Restate),
        parts: if parts.is_empty() { Part::ALL.to_vec() } else { parts },
        callers: args.callers,
        entities: args.entities,
        time: Duration::from_secs(args.seconds),
        subscribers: args.subscribers,
        turns: 3,
        cache: cache(),
    };
    match This::program() {
        Ok(programs) => web::run(&plan, stores, &programs, folder, so_far),
        Err(trouble) => {
            let row =
                trackside_bench::report::Row::new("throughput", "this program").failed(trouble.to_string());
            Report { rows: vec![row], ..Report::default() }
        }
    }
}

/// Where programs of others are kept from run to run.
fn cache() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = of("XDG_CACHE_HOME").or_else(|| Some(of("HOME")?.join(".cache")))?;
    Some(cache.join("trackside/restate"))
}

/// This program, which is also what it measures.
struct This(PathBuf);

impl This {
    fn program() -> Result<Self, Trouble> {
        std::env::current_exe().map(Self).map_err(Trouble::other)
    }
}

impl Programs for This {
    fn up(&self, data: &Path) -> Command {
        let mut command = Command::new(&self.0);
        command.args(["up", "--listen", "127.0.0.1:0", "--data"]).arg(data);
        let pack = data.join(PACK);
        if pack.is_dir() {
            let others = builtin::names().filter(|it| *it != super::PACK);
            let packs: Vec<String> = others.map(str::to_owned).chain([pack.display().to_string()]).collect();
            command.args(["--packs", &packs.join(",")]);
        }
        command
    }

    fn append(&self, file: &Path, address: &Path, sizes: Sizes) -> Command {
        let mut command = Command::new(&self.0);
        command.args(["bench", "--append"]).arg(file).arg(address);
        command.arg("--sizes").arg(sizes.written.to_string()).arg(sizes.answer.to_string());
        command
    }
}

/// In a process of its own: the bare handler that the server is held against.
pub(super) fn append_only(files: &[PathBuf], sizes: &[usize]) -> u8 {
    let ([file, address], [written, answer]) = (files, sizes) else { return exit::USAGE };
    match serve(file, address, Sizes { written: *written, answer: *answer }) {
        Ok(()) => exit::DONE,
        Err(trouble) => {
            print::message(&trouble.to_string());
            exit::UNREACHABLE
        }
    }
}
