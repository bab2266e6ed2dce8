//! `cargo run --release -p bench-peers`: Trackside beside SQLite, PostgreSQL and Restate, measured in one run.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "the report goes to the terminal")]

mod args;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use bench_peers::load::Pace;
use bench_peers::plan::{self, InProcessPlan};
use bench_peers::report::Report;
use bench_peers::scratch::Scratch;
use bench_peers::start::{self, StoreStart};
use bench_peers::table::render;
use bench_peers::trackside::{PACK, TracksideMaker};
use bench_peers::web::append::{AppendSizes, serve};
use bench_peers::web::{self, Programs};
use bench_peers::{BenchError, Maker, Subject};
use clap::Parser as _;
use trackside_runtime::{Options, PackSource};
use trackside_store::sqlite::SqliteOptions;

use args::PeersArgs;

/// The system's allocator is slower, and not the one that `trackside` uses.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The smallest store that a large one is compared with.
const SMALL: u64 = 10_000;
const USAGE: u8 = 2;
const FAILED: u8 = 3;

fn main() -> ExitCode {
    ExitCode::from(run(&PeersArgs::parse()))
}

fn run(args: &PeersArgs) -> u8 {
    if let Some(folder) = &args.start {
        if !folder.is_dir() {
            eprintln!("{}: there is no such folder", folder.display());
            return FAILED;
        }
        return answer(
            Stores::new()
                .and_then(|stores| start::here(&|it| stores.open(it), folder))
                .map(|started| println!("{}", serde_json::json!(started))),
        );
    }
    if let (Some([file, address]), Some([written, size])) = (args.append.as_deref(), args.sizes.as_deref()) {
        return answer(serve(file, address, AppendSizes { written: *written, answer: *size }));
    }
    if let Err(message) = args.check() {
        eprintln!("{message}");
        return USAGE;
    }
    match measure(args) {
        Ok(code) => code,
        Err(trouble) => answer(Err(trouble)),
    }
}

fn answer(result: Result<(), BenchError>) -> u8 {
    match result {
        Ok(()) => 0,
        Err(trouble) => {
            eprintln!("{trouble}");
            FAILED
        }
    }
}

fn measure(args: &PeersArgs) -> Result<u8, BenchError> {
    let inside = args.data.clone().unwrap_or_else(|| PathBuf::from("."));
    let scratch = Scratch::make(&inside, args.keep)?;
    let stores = Stores::new()?;
    let show = |what: &str, share: f64| eprint!("\r\u{1b}[2K{:3.0} % {what}", share * 100.0);
    let quiet = |_: &str, _: f64| {};
    #[expect(clippy::disallowed_methods, reason = "a bench prints nothing of others")]
    let terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let progress: plan::ShowProgress<'_> = if terminal { &show } else { &quiet };
    let mut report = match args.http {
        true => over_http(args, &stores, scratch.path(), progress)?,
        false => in_process(args, &stores, scratch.path(), progress),
    };
    if terminal {
        eprint!("\r\u{1b}[2K");
    }
    if cfg!(debug_assertions) {
        report.warnings.push("this is a debug build; its figures mean nothing".to_owned());
    }
    if args.json {
        println!("{:#}", report.to_json());
    } else {
        println!("{}", render(&report, 140, &|text, _| text.to_owned()));
    }
    if args.keep {
        eprintln!("kept: {}", scratch.path().display());
    }
    let failed = report.rows.iter().any(|it| it.failed);
    Ok(u8::from(failed || args.strict && !report.reached()))
}

fn in_process(args: &PeersArgs, stores: &Stores, folder: &Path, progress: plan::ShowProgress<'_>) -> Report {
    let plan = InProcessPlan {
        parts: args.in_process_parts(),
        callers: args.callers,
        entities: args.entities,
        time: Duration::from_secs(args.seconds),
        large: args.large,
        small: SMALL.min(args.large).max(u64::from(args.callers)),
        ..InProcessPlan::default()
    };
    plan::run(&plan, stores, folder, progress)
}

fn over_http(
    args: &PeersArgs,
    stores: &Stores,
    folder: &Path,
    progress: plan::ShowProgress<'_>,
) -> Result<Report, BenchError> {
    let parts = args.http_parts();
    let plan = web::HttpPlan {
        fetch: args.only.contains(&args::MeasurementArg::Restate),
        parts,
        callers: args.callers,
        entities: args.entities,
        time: Duration::from_secs(args.seconds),
        subscribers: args.subscribers,
        turns: 3,
        cache: cache_folder(),
    };
    let here = std::env::current_exe().map_err(BenchError::other)?;
    let trackside = args.trackside.clone().unwrap_or_else(|| here.with_file_name("trackside"));
    if !trackside.is_file() {
        return Err(BenchError::other(format!(
            "{} does not exist: run `cargo build --release -p trackside` first, or name the program with --trackside",
            trackside.display()
        )));
    }
    Ok(web::run(&plan, stores, &Binaries { trackside, here }, folder, progress))
}

/// The folder that keeps programs of peers from run to run.
fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|it| !it.is_empty()).map(PathBuf::from);
    let cache = folder("XDG_CACHE_HOME").or_else(|| Some(folder("HOME")?.join(".cache")))?;
    Some(cache.join("trackside/restate"))
}

/// The server that is measured, and this program as the bare handler beside it.
struct Binaries {
    trackside: PathBuf,
    here: PathBuf,
}

impl Programs for Binaries {
    fn up(&self, data: &Path) -> Command {
        let mut command = Command::new(&self.trackside);
        command.args(["up", "--listen", "127.0.0.1:0", "--data"]).arg(data);
        let state = std::path::absolute(data).unwrap_or_else(|_| data.to_owned()).join("state");
        command.arg("--token-file").arg(data.join("token")).env("XDG_STATE_HOME", state);
        let pack = data.join(PACK);
        if pack.is_dir() {
            command.args(["--packs", &format!("build,coding,research,turns,{}", pack.display())]);
        }
        command
    }

    fn append(&self, file: &Path, address: &Path, sizes: AppendSizes) -> Command {
        let mut command = Command::new(&self.here);
        command.arg("--append").arg(file).arg(address);
        command.arg("--sizes").arg(sizes.written.to_string()).arg(sizes.answer.to_string());
        command
    }
}

/// Opens the stores that are measured: the mission pack on SQLite.
struct Stores(TracksideMaker);

impl Stores {
    fn new() -> Result<Self, BenchError> {
        let pack = mission_pack()?;
        Ok(Self(TracksideMaker { pack, options: Options::default(), store: SqliteOptions::default() }))
    }
}

/// The files of `packs/mission` in the repository this program was built from.
fn mission_pack() -> Result<PackSource, BenchError> {
    let pack = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs/mission");
    let read = |path: &str| {
        let file = pack.join(path);
        std::fs::read_to_string(&file).map(|text| (path.to_owned(), text)).map_err(BenchError::file(&file))
    };
    let mut files = vec![read("pack.yaml")?];
    let folder = pack.join("lifecycles");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .map_err(BenchError::file(&folder))?
        .flatten()
        .map(|it| format!("lifecycles/{}", it.file_name().to_string_lossy()))
        .collect();
    names.sort();
    for name in names {
        files.push(read(&name)?);
    }
    Ok(PackSource { files })
}

impl Maker for Stores {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn open(&self, folder: &Path) -> Result<Box<dyn Subject>, BenchError> {
        self.0.open(folder)
    }

    fn decide(&self, entities: u64, time: Duration) -> Option<Result<Pace, BenchError>> {
        self.0.decide(entities, time)
    }

    fn start(&self, folder: &Path) -> Result<StoreStart, BenchError> {
        let program = std::env::current_exe().map_err(BenchError::file(folder))?;
        start::start_apart(Command::new(program).arg("--start").arg(folder))
    }
}
