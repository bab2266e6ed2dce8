//! Packs: list and install.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Json;
use axum::extract::{Path, State};
use trackside_engine::decide::is_reserved_pack;
use trackside_lifecycle::compile::{PackFiles as Parts, compile};
use trackside_lifecycle::model::Pack;
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::{FileId, ProblemSeverity, Problems, Sources};
use trackside_protocol::{PackBody, PackInstalled, PackSummary, Page, Problem, ProblemCode, UnmetBody};
use trackside_runtime::{CatalogError, PackSource, Requester, StartError};
use trackside_study::check::{CheckBudget, ChecksStopped, MOST_STEPS, check_within, locate};

use super::{Body, Cursors, Paging, Parameters};
use crate::app::App;
use crate::auth::Caller;
use crate::problem::Refused;

/// Most errors in one answer.
const MOST: usize = 100;

/// Lists the installed packs.
#[utoipa::path(
    get, path = "/v1/packs", tag = "definitions", operation_id = "listPacks", params(Paging),
    responses((status = 200, body = Page<PackSummary>), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn list(
    State(app): State<App>,
    _: Caller,
    Parameters(page): Parameters<Paging>,
) -> Result<Json<Page<PackSummary>>, Refused> {
    let law = app.runtime.law();
    let all = law.packs().collect();
    let (found, next_cursor) = Cursors::of(&["packs"]).part(all, &page, |it| it.name.to_string())?;
    let items = found.into_iter().map(|it| PackSummary {
        pack: it.name.to_string(),
        version: it.version,
        about: it.about.clone(),
        roles: it.roles.keys().map(Name::to_string).collect(),
        lifecycles: lifecycles(it),
    });
    Ok(Json(Page { items: items.collect(), next_cursor }))
}

fn lifecycles(pack: &Pack) -> Vec<String> {
    pack.lifecycles.iter().map(|it| it.name.to_string()).collect()
}

/// Checks and installs a pack. Running entities keep their version.
#[utoipa::path(
    put, path = "/v1/packs/{pack}", tag = "definitions", operation_id = "putPack", params(("pack" = String, Path)),
    request_body = PackBody,
    responses((status = 200, body = PackInstalled), (status = "4XX", body = Problem, content_type = "application/problem+json")),
)]
pub(crate) async fn put(
    State(app): State<App>,
    caller: Caller,
    Path(pack): Path<String>,
    Body(body): Body<PackBody>,
) -> Result<Json<PackInstalled>, Refused> {
    caller.must_be_admin("install packs")?;
    let by = caller.by();
    // Set when this future ends: also when the client goes away or the request takes too long.
    let ended = Arc::new(AtomicBool::new(false));
    let _end = SetOnDrop(ended.clone());
    app.blocking(move |app| install(app, by, &pack, body.files, &ended)).await.map(Json)
}

/// Sets the flag when it is dropped.
struct SetOnDrop(Arc<AtomicBool>);

impl Drop for SetOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn install(
    app: &App,
    by: Requester,
    named: &str,
    files: BTreeMap<String, String>,
    ended: &AtomicBool,
) -> Result<PackInstalled, Refused> {
    let pack = checked(named, &files, ended).inspect_err(|refused| {
        if refused.0.has_code(ProblemCode::Timeout) {
            app.telemetry.upkeep.cancelled_checks.fetch_add(1, Ordering::Relaxed);
        }
    })?;
    let source = PackSource { files: files.into_iter().collect() };
    let new = app.runtime.install_by(&[source], by).map_err(|error| match error {
        StartError::Catalog(CatalogError::Broken(why)) => invalid(why),
        StartError::Catalog(error @ CatalogError::Unrunnable { .. }) => invalid(error.to_string()),
        StartError::Catalog(error @ (CatalogError::Reserved { .. } | CatalogError::Taken { .. })) => {
            Refused::new(ProblemCode::ReservedPack, error.to_string())
        }
        StartError::Catalog(error @ CatalogError::SameVersion { .. }) => {
            Refused::new(ProblemCode::VersionInUse, error.to_string())
        }
        StartError::Catalog(error @ CatalogError::Older { .. }) => {
            let detail = format!("{error}. Give it a higher `version:` in pack.yaml");
            Refused::new(ProblemCode::OlderVersion, detail)
        }
        StartError::Failure(failure) => failure.into(),
        StartError::Store(error) => trackside_runtime::Failure::Unavailable(error.to_string()).into(),
    })?;
    let (pack, version, lifecycles) = (pack.name.to_string(), pack.version, lifecycles(&pack));
    Ok(PackInstalled { pack, version, lifecycles, installed: !new.is_empty() })
}

fn invalid(detail: impl Into<String>) -> Refused {
    Refused::new(ProblemCode::InvalidPack, detail)
}

/// Compiles the pack, or returns all of its errors.
fn checked(named: &str, files: &BTreeMap<String, String>, ended: &AtomicBool) -> Result<Pack, Refused> {
    if is_reserved_pack(named) {
        let detail = format!("{named} is the name of a pack of the server itself: choose another name");
        return Err(Refused::new(ProblemCode::ReservedPack, detail));
    }
    let mut sources = Sources::default();
    let (mut pack, mut lifecycles) = (None, Vec::new());
    for (path, text) in files {
        let is_lifecycle = path.strip_prefix("lifecycles/").is_some_and(|it| {
            let name = it.strip_suffix(".yaml").or_else(|| it.strip_suffix(".yml"));
            name.is_some_and(|it| !it.is_empty() && !it.contains(['/', '\\']))
        });
        match path.as_str() {
            "pack.yaml" => pack = Some(sources.add(path.clone(), text.clone())),
            _ if is_lifecycle => lifecycles.push(sources.add(path.clone(), text.clone())),
            _ => {
                let detail = format!(
                    "{path} is not a file of a pack: send only `pack.yaml` and `lifecycles/NAME.yaml`"
                );
                return Err(invalid(detail));
            }
        }
    }
    let Some(pack) = pack else { return Err(invalid("There is no pack.yaml among the files")) };
    let all: Vec<FileId> = std::iter::once(pack).chain(lifecycles.iter().copied()).collect();
    let compiled = compile(&sources, &Parts { pack, lifecycles });
    let (compiled, _) = compiled.map_err(|problems| pack_problems(&problems, &sources))?;
    let is_ended = || ended.load(Ordering::Relaxed);
    let findings = check_within(&compiled, &CheckBudget::new(MOST_STEPS, &is_ended));
    let mut findings = findings.map_err(|stopped| match is_ended() {
        // The client no longer waits for the answer.
        true => Refused::new(ProblemCode::Timeout, "The request ended before the pack was checked"),
        false => invalid(format!("The pack was not installed: {stopped}. {}", ChecksStopped::ADVICE)),
    })?;
    findings.retain(|it| it.severity == ProblemSeverity::Error);
    if !findings.is_empty() {
        return Err(pack_problems(&locate(&findings, &sources, &all), &sources));
    }
    if *compiled.name != *named {
        let detail = format!("The pack is named {}: send it to /v1/packs/{}", compiled.name, compiled.name);
        return Err(invalid(detail));
    }
    Ok(compiled)
}

/// The errors with their positions and hints.
fn pack_problems(problems: &Problems, sources: &Sources) -> Refused {
    let errors = problems.sorted().into_iter().filter(|it| it.severity == ProblemSeverity::Error);
    let errors: Vec<UnmetBody> = errors
        .map(|it| {
            let hint = it.hint.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
            let example = it.example.as_ref().map(|it| format!("; {it}")).unwrap_or_default();
            UnmetBody {
                field: Some(it.path.clone()).filter(|it| !it.is_empty()),
                message: format!("{}: {}{hint}{example}", sources.show(it.at), it.message),
                code: it.code.to_owned(),
                rule: None,
                saw: BTreeMap::new(),
            }
        })
        .collect();
    let first = errors.first().map(|it| it.message.clone()).unwrap_or_default();
    let detail = match errors.len() {
        1 => format!("The pack has an error and was not installed: {first}"),
        n => format!("The pack has {n} errors and was not installed; the first is {first}"),
    };
    let mut refused = invalid(detail);
    refused.0.errors = errors;
    refused.0.errors.truncate(MOST);
    refused
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checks_of_a_pack_stop_when_the_request_has_ended() {
        let life = "lifecycle: small.light\ncreate: { by: human }\nstates: { OFF: { initial: true }, ON: { final: true } }\n\
            transitions: { switch: { from: OFF, to: ON, by: human } }\n";
        let files = [("pack.yaml", "pack: small\nversion: 1\n"), ("lifecycles/light.yaml", life)];
        let files = files.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
        assert!(checked("small", &files, &AtomicBool::new(false)).is_ok());
        let ended = Arc::new(AtomicBool::new(false));
        drop(SetOnDrop(ended.clone()));
        let refused = checked("small", &files, &ended).map(|it| it.name).unwrap_err();
        assert!(refused.0.has_code(ProblemCode::Timeout), "{}", refused.0.detail);
    }
}
