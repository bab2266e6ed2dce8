//! `trackside adapter`: which agent programs this machine has, and whether they work.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value as Json, json};
use trackside_runner::adapter::{AdapterCatalogue, AdapterDefinition, ExitClass, FoundAdapter};
use trackside_runner::adapter_trial;
use trackside_runner::launch::LaunchSettings;
use trackside_runner::program_lookup::{self, FoundProgram};
use trackside_runner::shim_program::{ShimProgram, shim_program};
use trackside_shim::ContainmentTier;

use crate::args::{AdapterArgs, AdapterCheckArgs, AdapterCommand, AdapterListArgs};
use crate::folder::CliError;
use crate::print::{Colour, painted_data};
use crate::server_lookup::nearest;
use crate::table::print_table;
use crate::{exit, print};

/// Time of a small run.
const TRIAL: Duration = Duration::from_secs(120);

pub(crate) fn run(args: &AdapterArgs) -> u8 {
    let done = match &args.command {
        AdapterCommand::List(args) => Ok(list(args)),
        AdapterCommand::Check(args) => check(args),
    };
    done.unwrap_or_else(|stopped| stopped.report())
}

/// Adapters of the project and of the user come before the built-in ones.
fn catalogue() -> AdapterCatalogue {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|it| it.is_absolute());
    let config = of("XDG_CONFIG_HOME").or_else(|| of("HOME").map(|it| it.join(".config")));
    let project = std::env::current_dir().ok().and_then(|it| nearest(&it));
    let folders = project.map(|it| it.join("adapters")).into_iter();
    AdapterCatalogue { folders: folders.chain(config.map(|it| it.join("trackside/adapters"))).collect() }
}

fn path() -> String {
    std::env::var("PATH").unwrap_or_default()
}

/// The program, unless the adapter runs any command.
fn program_of(adapter: &FoundAdapter) -> Option<Result<FoundProgram, String>> {
    let has_program = !adapter.definition.program.names.is_empty();
    has_program.then(|| program_lookup::find(&adapter.definition, &path()).map_err(|it| it.to_string()))
}

fn list(args: &AdapterListArgs) -> u8 {
    let catalogue = catalogue();
    let rows: Vec<Json> = catalogue.names().iter().map(|name| row(&catalogue, name)).collect();
    if args.json {
        print::json(&json!({ "items": rows }));
        return exit::DONE;
    }
    let text = |it: &Json, name: &str| it.get(name).and_then(Json::as_str).unwrap_or("-").to_owned();
    print_table(["ADAPTER", "FOR", "VERSION", "PROGRAM", "FILE"], &rows, |it| {
        [
            text(it, "adapter"),
            text(it, "about"),
            text(it, "version"),
            it.get("problem").map_or_else(|| text(it, "program"), |_| text(it, "problem")),
            it.get("file").map_or_else(|| "built in".to_owned(), |_| text(it, "file")),
        ]
    });
    exit::DONE
}

fn row(catalogue: &AdapterCatalogue, name: &str) -> Json {
    let adapter = match catalogue.find(name) {
        Ok(adapter) => adapter,
        Err(error) => return json!({ "adapter": name, "problem": error.to_string() }),
    };
    let mut row = json!({ "adapter": name, "about": adapter.definition.about });
    let mut add = |key: &str, value: Json| row.as_object_mut().map(|it| it.insert(key.to_owned(), value));
    if let Some(file) = &adapter.file {
        add("file", json!(file.display().to_string()));
    }
    match program_of(&adapter) {
        None => {}
        Some(Ok(found)) => {
            add("program", json!(found.path.display().to_string()));
            add("version", json!(found.version));
        }
        Some(Err(_)) => {
            add("problem", json!("not installed"));
        }
    }
    row
}

/// One thing that was checked.
#[derive(Debug)]
struct CheckedPart {
    part: &'static str,
    ok: bool,
    says: String,
}

fn check(args: &AdapterCheckArgs) -> Result<u8, CliError> {
    let catalogue = catalogue();
    let adapters: Vec<FoundAdapter> = match &args.name {
        Some(name) => vec![catalogue.find(name).map_err(|it| CliError::usage(it.to_string()))?],
        None => {
            let all = catalogue.names().into_iter().filter_map(|it| catalogue.find(&it).ok());
            all.filter(|it| program_of(it).is_some_and(|it| it.is_ok())).collect()
        }
    };
    if adapters.is_empty() {
        print::message(
            "no agent program is installed. `trackside adapter list` names those that have an adapter",
        );
        return Ok(exit::REFUSED);
    }
    let failed = |it: std::io::Error| CliError::unreachable(format!("the check cannot start: {it}"));
    let scratch = Scratch::create().map_err(failed)?;
    let shim = shim_program().map_err(failed)?;
    let tier = shim.strongest_tier();
    let sandbox = sandbox_part(&shim, tier, &scratch.0.join("sandbox")).map_err(failed)?;
    let mut all_ok = true;
    let mut documents = Vec::new();
    for adapter in &adapters {
        let mut parts = vec![tier_part(tier)];
        parts.extend(sandbox.iter().map(|it| CheckedPart {
            part: it.part,
            ok: it.ok,
            says: it.says.clone(),
        }));
        match program_of(adapter) {
            None => {}
            Some(Ok(found)) => {
                parts.extend(program_parts(&found));
                parts.extend(login_part(adapter));
                if args.run {
                    let folder = scratch.0.join(&adapter.name);
                    parts.push(trial_part(adapter, args.model.clone(), &shim, tier, &folder));
                }
            }
            Some(Err(why)) => parts.push(CheckedPart { part: "program", ok: false, says: why }),
        }
        all_ok &= parts.iter().all(|it| it.ok);
        if !args.json {
            print_parts(adapter, &parts);
        }
        let of = |it: &CheckedPart| json!({ "part": it.part, "ok": it.ok, "says": it.says });
        documents
            .push(json!({ "adapter": adapter.name, "checks": parts.iter().map(of).collect::<Vec<_>>() }));
    }
    if args.json {
        print::json(&json!({ "ok": all_ok, "items": documents }));
    }
    Ok(if all_ok { exit::DONE } else { exit::REFUSED })
}

fn print_parts(adapter: &FoundAdapter, parts: &[CheckedPart]) {
    let from = adapter.file.as_ref().map_or_else(|| "built in".to_owned(), |it| it.display().to_string());
    print::line(styled!("{} ({from})", painted_data(&adapter.name, Colour::Bold)));
    for it in parts {
        let word = match it.ok {
            true => painted_data("ok    ", Colour::Green),
            false => painted_data("failed", Colour::Red),
        };
        print::line(styled!("  {word}  {:<11}  {}", it.part, it.says));
    }
}

fn tier_part(tier: ContainmentTier) -> CheckedPart {
    let limitation = tier.limitation().map(|it| format!(": {it}")).unwrap_or_default();
    CheckedPart { part: "containment", ok: true, says: format!("{tier}{limitation}") }
}

fn sandbox_part(
    shim: &ShimProgram,
    tier: ContainmentTier,
    folder: &Path,
) -> std::io::Result<Option<CheckedPart>> {
    std::fs::create_dir_all(folder)?;
    let trial = adapter_trial::try_sandbox(shim, tier, folder)?;
    let says = match (&trial.problem, trial.is_tight) {
        (Some(problem), _) => problem.clone(),
        (None, true) => trial.enforced.clone(),
        (None, false) => format!("a sandboxed process read a hidden file ({})", trial.enforced),
    };
    Ok(Some(CheckedPart { part: "sandbox", ok: trial.is_tight, says }))
}

fn program_parts(found: &FoundProgram) -> Vec<CheckedPart> {
    let version = match (&found.version, &found.warning) {
        (Some(version), None) => CheckedPart { part: "version", ok: true, says: version.clone() },
        (_, Some(warning)) => CheckedPart { part: "version", ok: false, says: warning.clone() },
        (None, None) => {
            CheckedPart { part: "version", ok: true, says: "the program does not say it".to_owned() }
        }
    };
    vec![CheckedPart { part: "program", ok: true, says: found.path.display().to_string() }, version]
}

/// The login that a run would get.
fn login_part(adapter: &FoundAdapter) -> Option<CheckedPart> {
    let rule = &adapter.definition.login;
    if rule.files.is_empty() && rule.variables.is_empty() {
        return None;
    }
    let home = home();
    let files = rule.files.iter().filter(|it| home.join(it).is_file()).map(|it| format!("~/{it}"));
    // An address is no login.
    let is_set = |it: &&String| !it.ends_with("_URL") && std::env::var_os(it).is_some();
    let variables = rule.variables.iter().filter(is_set).cloned();
    let found: Vec<String> = files.chain(variables).collect();
    let says = match found.is_empty() {
        true => format!(
            "no login found. Sign in with the program itself, or set one of {}",
            rule.variables.iter().filter(|it| !it.ends_with("_URL")).cloned().collect::<Vec<_>>().join(", ")
        ),
        false => found.join(", "),
    };
    Some(CheckedPart { part: "login", ok: !found.is_empty(), says })
}

fn trial_part(
    adapter: &FoundAdapter,
    model: Option<String>,
    shim: &ShimProgram,
    tier: ContainmentTier,
    folder: &Path,
) -> CheckedPart {
    let failed = |says: String| CheckedPart { part: "run", ok: false, says };
    let work = folder.join("work");
    if let Err(error) = std::fs::create_dir_all(&work) {
        return failed(error.to_string());
    }
    if adapter.definition.start.needs_git {
        let made = std::process::Command::new("git").args(["init", "--quiet"]).current_dir(&work).status();
        if !made.is_ok_and(|it| it.success()) {
            return failed("the program needs a git repository, and git does not work here".to_owned());
        }
    }
    let settings = LaunchSettings {
        adapter_text: adapter.text.clone(),
        // There is no server for it to talk to.
        adapter: AdapterDefinition { mcp: Vec::new(), ..adapter.definition.clone() },
        command: Vec::new(),
        folder: work,
        sandbox: true,
        variables: Vec::new(),
        write: Vec::new(),
        git_folders: None,
        read: Vec::new(),
        model,
        hidden: Vec::new(),
        user_home: home(),
        caller: std::env::vars().collect::<BTreeMap<_, _>>(),
        tier,
        trackside: std::env::current_exe().unwrap_or_default(),
        limit: Some(TRIAL.as_secs()),
    };
    let trial = match adapter_trial::try_program(&settings, shim, folder, TRIAL) {
        Ok(trial) => trial,
        Err(error) => return failed(error.to_string()),
    };
    let Some(outcome) = trial.outcome else { return failed("the shim ended without a report".to_owned()) };
    let ok = outcome.class == ExitClass::Ok;
    let class = serde_json::to_value(outcome.class).ok().and_then(|it| it.as_str().map(str::to_owned));
    let words: Vec<&str> = outcome.text.split_whitespace().collect();
    let figures = format!("{} tokens in, {} out", trial.usage.input, trial.usage.output);
    let says = format!("{}: {} ({figures}; {})", class.unwrap_or_default(), words.join(" "), trial.sandbox);
    CheckedPart { part: "run", ok, says }
}

fn home() -> PathBuf {
    std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default()
}

/// A folder that is deleted at the end.
#[derive(Debug)]
struct Scratch(PathBuf);

impl Scratch {
    fn create() -> std::io::Result<Self> {
        use std::os::unix::fs::DirBuilderExt as _;
        let path = std::env::temp_dir().join(format!("trackside-adapter-{}", std::process::id()));
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path.canonicalize()?))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
