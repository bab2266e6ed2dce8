//! `trackside bench`: how fast it is here, beside controls in the same run.

mod http;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use trackside_bench::load::Pace;
use trackside_bench::plan::{self, Part, Plan};
use trackside_bench::report::Report;
use trackside_bench::scratch::Scratch;
use trackside_bench::start::{self, Started};
use trackside_bench::table::{Tone, render};
use trackside_bench::trackside::Tracksides;
use trackside_bench::{Maker, Subject, Trouble};
use trackside_runtime::Options;
use trackside_store::sqlite::SqliteOptions;

use crate::args::{BenchArgs, BenchPart};
use crate::print::{self, Colour, Progress};
use crate::{builtin, exit, open_files};

/// Fewest entities of the small store that a large one is held against.
const SMALL: u64 = 10_000;

pub(crate) fn run(args: &BenchArgs) -> u8 {
    if let Some(folder) = &args.start {
        return start_only(folder);
    }
    if let (Some(files), Some(sizes)) = (&args.append, &args.sizes) {
        return http::append_only(files, sizes);
    }
    if let Err(why) = http::fits(args) {
        print::message(&why);
        return exit::USAGE;
    }
    let callers = u64::from(args.callers);
    if args.entities < callers || args.large < callers {
        print::message(&format!(
            "{callers} callers need at least as many entities, or they would wait for each other: raise --entities and --large, or lower --callers"
        ));
        return exit::USAGE;
    }
    let inside = args.data.clone().unwrap_or_else(|| PathBuf::from("."));
    let scratch = match Scratch::make(&inside, args.keep) {
        Ok(it) => it,
        Err(trouble) => {
            print::message(&format!("{trouble}: choose a folder that can be written with --data"));
            return exit::UNREACHABLE;
        }
    };
    open_files::raise();
    let stores = match Stores::new() {
        Ok(it) => it,
        Err(trouble) => {
            print::message(&trouble.to_string());
            return exit::UNREACHABLE;
        }
    };
    let bar = Progress::new("bench");
    let so_far = |what: &str, share: f64| bar.show(share, what);
    let mut report = match args.http {
        true => http::run(args, &stores, scratch.path(), &so_far),
        false => in_process(args, &stores, scratch.path(), &so_far),
    };
    bar.done();
    if cfg!(debug_assertions) {
        report.warnings.push("this is a debug build: its figures say nothing".to_owned());
    }
    if args.json {
        print::line(&format!("{:#}", report.to_json()));
    } else {
        print::line(&render(&report, print::columns(), &painted));
    }
    if args.keep {
        print::message(&format!("kept: {}", scratch.path().display()));
    }
    let unmeasured = report.rows.iter().any(|it| it.failed);
    if unmeasured || args.strict && !report.reached() { exit::REFUSED } else { exit::DONE }
}

fn in_process(args: &BenchArgs, stores: &Stores, folder: &Path, so_far: plan::SoFar<'_>) -> Report {
    let plan = Plan {
        parts: parts(&args.only),
        callers: args.callers,
        entities: args.entities,
        time: Duration::from_secs(args.seconds),
        large: args.large,
        small: SMALL.min(args.large).max(u64::from(args.callers)),
        ..Plan::default()
    };
    plan::run(&plan, stores, folder, so_far)
}

fn parts(only: &[BenchPart]) -> Vec<Part> {
    if only.is_empty() { Part::ALL.to_vec() } else { only.iter().filter_map(part).collect() }
}

/// What it is in process, if it is measured there.
fn part(name: &BenchPart) -> Option<Part> {
    match name {
        BenchPart::Throughput => Some(Part::Throughput),
        BenchPart::Latency => Some(Part::Latency),
        BenchPart::Postgres => Some(Part::Postgres),
        BenchPart::Scale => Some(Part::Scale),
        BenchPart::Start => Some(Part::Start),
        BenchPart::Restate | BenchPart::Subscribers | BenchPart::Idle => None,
    }
}

fn painted(text: &str, tone: Tone) -> String {
    let colour = match tone {
        Tone::Good => Colour::Green,
        Tone::Bad => Colour::Red,
        Tone::Aside => Colour::Dim,
    };
    print::painted_data(text, colour)
}

/// In a process of its own: opens a store, asks one command, tells how long that took.
fn start_only(folder: &Path) -> u8 {
    if !folder.is_dir() {
        print::message(&format!("{}: there is no such folder to start from", folder.display()));
        return exit::UNREACHABLE;
    }
    match Stores::new().and_then(|stores| start::here(&|it| stores.open(it), folder)) {
        Ok(started) => {
            print::line(&serde_json::json!(started).to_string());
            exit::DONE
        }
        Err(trouble) => {
            print::message(&trouble.to_string());
            exit::UNREACHABLE
        }
    }
}

/// The pack whose tasks go round.
const PACK: &str = "mission";

/// The stores that are measured.
struct Stores(Tracksides);

impl Stores {
    fn new() -> Result<Self, Trouble> {
        let pack =
            builtin::pack(PACK).ok_or_else(|| Trouble::other(format!("the pack {PACK} is missing")))?;
        Ok(Self(Tracksides { pack, options: Options::default(), store: SqliteOptions::default() }))
    }
}

impl Maker for Stores {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Subject>, Trouble> {
        self.0.open(folder)
    }

    fn decide(&self, entities: u64, time: Duration) -> Option<Result<Pace, Trouble>> {
        self.0.decide(entities, time)
    }

    fn start(&self, folder: &Path) -> Result<Started, Trouble> {
        let program = std::env::current_exe().map_err(Trouble::file(folder))?;
        start::apart(Command::new(program).args(["bench", "--start"]).arg(folder))
    }
}
