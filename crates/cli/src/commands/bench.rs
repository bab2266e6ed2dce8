//! `trackside bench`: how fast it is here, beside controls in the same run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use trackside_bench::control::pipeline::Pipelines;
use trackside_bench::control::sqlite::Settings;
use trackside_bench::plan::{self, Part, Plan};
use trackside_bench::scratch::Scratch;
use trackside_bench::start::{self, Started};
use trackside_bench::table::{Tone, render};
use trackside_bench::{Maker, Subject, Trouble};

use crate::args::{BenchArgs, BenchPart};
use crate::exit;
use crate::print::{self, Colour, Progress};

/// Fewest entities of the small store that a large one is held against.
const SMALL: u64 = 10_000;

pub(crate) fn run(args: &BenchArgs) -> u8 {
    if let Some(folder) = &args.start {
        return start_only(folder);
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
    let plan = Plan {
        parts: parts(&args.only),
        callers: args.callers,
        entities: args.entities,
        time: Duration::from_secs(args.seconds),
        large: args.large,
        small: SMALL.min(args.large).max(callers),
        ..Plan::default()
    };
    let bar = Progress::new("bench");
    let mut report = plan::run(&plan, &Stores, scratch.path(), &|what, share| bar.show(share, what));
    bar.done();
    report.warnings.push(NOT_YET.to_owned());
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

fn parts(only: &[BenchPart]) -> Vec<Part> {
    let of = |it: &BenchPart| match it {
        BenchPart::Throughput => Part::Throughput,
        BenchPart::Latency => Part::Latency,
        BenchPart::Postgres => Part::Postgres,
        BenchPart::Scale => Part::Scale,
        BenchPart::Start => Part::Start,
    };
    if only.is_empty() { Part::ALL.to_vec() } else { only.iter().map(of).collect() }
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
    match start::here(&|it| Stores.open(it), folder) {
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

/// What is measured until the runtime is there: it shows the load and the controls, not Trackside.
const STAND_IN: Pipelines = Pipelines { settings: Settings::USUAL };
const NOT_YET: &str = "this measured a stand-in that decides nothing and keeps no entities: its aims say nothing about Trackside";

/// The stores that are measured.
struct Stores;

impl Maker for Stores {
    fn name(&self) -> &str {
        STAND_IN.name()
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Subject>, Trouble> {
        STAND_IN.open(folder)
    }

    fn start(&self, folder: &Path) -> Result<Started, Trouble> {
        let program = std::env::current_exe().map_err(Trouble::file(folder))?;
        start::apart(Command::new(program).args(["bench", "--start"]).arg(folder))
    }
}
