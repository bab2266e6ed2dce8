//! The metrics page.

use std::sync::atomic::Ordering;

use trackside_lifecycle::name::Name;
use trackside_lifecycle::time::Span;
use trackside_runtime::read::{ProjectOverview, UNKNOWN};
use trackside_runtime::{Figures, Observed};
use trackside_store::store::DwellTimes;

use super::metrics_page::{Labels, MetricsFormat, MetricsPage, Unit};
use super::process::{Disk, Process};
use crate::app::App;
use crate::auth::{FailedCredential, is_own};
use crate::rest::runs::RUN;
use crate::rest::stats::is_guarded;
use crate::webhooks::{DeliveryState, WEBHOOK};

/// Writes all metrics. Lifecycles with restricted reading are included only if `sees_all`. Reads the store: blocking.
pub(crate) fn write_metrics(app: &App, form: MetricsFormat, sees_all: bool) -> String {
    let law = app.runtime.law();
    let is_told = |it: &Name| !is_own(it) && (sees_all || !is_guarded(&law, it));
    let mut page = MetricsPage::new(form);
    commands(app, &mut page, &|it| sees_all || !is_guarded(&law, it));
    commits(app, &mut page);
    // While the store is unusable, the rest is still shown.
    if let Ok(survey) = app.telemetry.survey(&app.reads) {
        project_metrics(&survey, &mut page, &is_told);
        webhook_metrics(app, &survey, &mut page);
        run_metrics(app, &survey, &mut page);
    }
    told_outside(app, &mut page);
    upkeep(app, &mut page);
    requests(app, &mut page);
    sign_ins(app, &mut page);
    machine(app, &mut page);
    page.finish()
}

fn one(value: impl Into<f64>) -> [(Labels, f64); 1] {
    [(Vec::new(), value.into())]
}

fn unlabelled(value: u64) -> [(Labels, f64); 1] {
    one(value as f64)
}

fn labelled<const N: usize>(labels: [(&'static str, &str); N], value: u64) -> (Labels, f64) {
    (labels.map(|(name, value)| (name, value.to_owned())).to_vec(), value as f64)
}

fn seconds(span: Span) -> f64 {
    span.0 as f64 / 1_000.0
}

fn commands(app: &App, page: &mut MetricsPage, is_told: &dyn Fn(&Name) -> bool) {
    let (figures, since) = (app.runtime.figures(), app.runtime.since_start());
    let outcomes = [
        ("accepted", &figures.accepted),
        ("refused", &figures.refused),
        ("replayed", &figures.replayed),
        ("failed", &figures.failed),
    ];
    let outcomes = outcomes.map(|(name, count)| labelled([("outcome", name)], Figures::get(count)));
    page.counter("trackside_commands", "Commands, by outcome.", outcomes);
    let told = since.refusals.iter().filter(|((it, _), _)| it.as_ref().is_none_or(is_told));
    let refusals = told.map(|((lifecycle, code), count)| {
        labelled([("lifecycle", lifecycle.as_deref().unwrap_or("none")), ("code", code.as_str())], *count)
    });
    page.counter("trackside_refusals", "Commands that were refused, by lifecycle and reason.", refusals);
    let told = since.transitions.iter().filter(|(it, _)| is_told(it));
    let moves = told.map(|(lifecycle, count)| labelled([("lifecycle", lifecycle)], *count));
    page.counter("trackside_transitions", "Transitions, by lifecycle.", moves);
    let entries = since.entries.iter().map(|(event, count)| labelled([("event", event)], *count));
    page.counter("trackside_journal_entries", "Entries that were written to the journal, by kind.", entries);
    let severity = |it: &'static str| {
        let count = since.alerts.get(it).copied().unwrap_or_default();
        labelled([("severity", it)], count)
    };
    let alerts = ["info", "warning", "error", "critical"].map(severity);
    page.counter("trackside_alerts_raised", "Alerts that were raised, by severity.", alerts);
    let late = [(Vec::new(), figures.lateness.snapshot())];
    let help = "Delay between the due time of timers and their firing.";
    page.histogram("trackside_timer_lateness_seconds", help, Unit::Seconds, late);
}

fn commits(app: &App, page: &mut MetricsPage) {
    let (runtime, figures) = (&app.runtime, app.runtime.figures());
    let took = [(Vec::new(), figures.commit_span.snapshot())];
    page.histogram("trackside_commit_duration_seconds", "Duration of durable commits.", Unit::Seconds, took);
    let sizes = [(Vec::new(), figures.commit_size.snapshot())];
    page.histogram("trackside_commit_commands", "Commands per commit.", Unit::One, sizes);
    let failed = unlabelled(Figures::get(&figures.failed_commits));
    page.counter("trackside_failed_commits", "Commits that failed.", failed);
    let bytes = [("header", &figures.header_bytes), ("payload", &figures.payload_bytes)];
    let bytes = bytes.map(|(part, count)| labelled([("part", part)], Figures::get(count)));
    page.counter("trackside_journal_bytes", "Bytes that were written to the journal, by part.", bytes);
    page.gauge(
        "trackside_journal_sequence",
        "The number of the last entry on disk.",
        unlabelled(runtime.seq()),
    );
    let help = "Journal entries that are not in the projections yet.";
    page.gauge("trackside_projections_behind_entries", help, unlabelled(runtime.lag()));
    let flushes = unlabelled(Figures::get(&figures.flushes));
    page.counter("trackside_projections_written", "Writes of projections.", flushes);
    page.gauge("trackside_queue_depth", "Commands and reads in the queue.", unlabelled(figures.waiting()));
    let most = app.runtime.options().queue as u64;
    page.gauge("trackside_queue_limit", "The limit of the queue.", unlabelled(most));
    let overloaded = unlabelled(Figures::get(&figures.overloaded));
    page.counter("trackside_overloaded", "Requests rejected because the queue is full.", overloaded);
    let available = unlabelled(u64::from(runtime.problem().is_none()));
    page.gauge("trackside_store_available", "1 while the store can be used, 0 while it cannot.", available);
    let cached =
        [("entities", &figures.cached), ("values", &figures.cached_values), ("keys", &figures.cached_keys)];
    let cached = cached.map(|(what, count)| labelled([("what", what)], Figures::get(count)));
    page.gauge("trackside_cached", "Entries of the in-memory caches, by kind.", cached);
    let bytes = unlabelled(Figures::get(&figures.cached_bytes));
    page.gauge("trackside_cached_bytes", "Memory of cached entities and groups, about.", bytes);
}

fn project_metrics(survey: &ProjectOverview, page: &mut MetricsPage, is_told: &dyn Fn(&Name) -> bool) {
    let entities = survey.entities.iter().filter(|(lifecycle, _)| is_told(lifecycle));
    let entities = entities.flat_map(|(lifecycle, states)| {
        let told = move |(state, count): (&_, &u64)| {
            let state: &Name = state;
            labelled([("lifecycle", lifecycle.as_str()), ("state", state.as_str())], *count)
        };
        states.iter().map(told)
    });
    page.gauge("trackside_entities", "Entities, by lifecycle and state.", entities);
    let stays = survey.dwell_times.iter().filter(|(lifecycle, _)| is_told(lifecycle));
    let stays = stays.flat_map(|(lifecycle, states)| {
        states.iter().map(move |(state, times)| {
            let labels = vec![("lifecycle", lifecycle.to_string()), ("state", state.to_string())];
            (labels, time_in_state(times))
        })
    });
    let help = "Time that entities spent in a state before they left it, by lifecycle and state.";
    page.histogram("trackside_time_in_state_seconds", help, Unit::Seconds, stays);
    let waiting = survey.waiting;
    page.gauge(
        "trackside_timers_pending",
        "Running timers, including those of leases.",
        unlabelled(waiting.timers),
    );
    let help = "How long the oldest pending timer is overdue.";
    page.gauge("trackside_timer_overdue_seconds", help, one(seconds(survey.overdue)));
    page.gauge("trackside_leases", "Leases that are held.", unlabelled(waiting.leases));
    let help = "Open effects.";
    page.gauge("trackside_effects_waiting", help, unlabelled(waiting.effects));
    let help = "Age of the oldest open effect.";
    page.gauge("trackside_effect_oldest_seconds", help, one(seconds(survey.oldest_effect)));
    let lost = survey.alerts.keys().any(|(it, _)| *it == UNKNOWN).then_some(UNKNOWN);
    let alerts = ["info", "warning", "error", "critical"].into_iter().chain(lost).flat_map(|severity| {
        [("true", true), ("false", false)].map(|(word, is_seen)| {
            let count = survey.alerts.get(&(severity, is_seen)).copied().unwrap_or_default();
            labelled([("severity", severity), ("acknowledged", word)], count)
        })
    });
    let help = "Open alerts, by severity and whether they are acknowledged.";
    page.gauge("trackside_alerts_open", help, alerts);
    let help = "Age of the oldest unacknowledged alert.";
    page.gauge("trackside_alert_oldest_seconds", help, one(seconds(survey.oldest_alert)));
    let help = "Open violations of invariants.";
    page.gauge("trackside_violations_open", help, unlabelled(waiting.violations));
    let help = "The last entry that was moved to the archive; 0 if none was.";
    page.gauge("trackside_archived_sequence", help, unlabelled(survey.archived));
}

/// The bounds of the time in a state, in seconds: from a second to thirty days.
const TIME_IN_STATE: [u64; 11] = [1, 10, 60, 300, 900, 3_600, 14_400, 43_200, 86_400, 604_800, 2_592_000];

fn time_in_state(times: &DwellTimes) -> Observed {
    let bounds = TIME_IN_STATE.into_iter();
    let up_to = bounds.map(|bound| {
        let ms = i64::try_from(bound * 1_000).unwrap_or(i64::MAX);
        (bound * 1_000_000, times.count_up_to(ms))
    });
    let sum = u64::try_from(times.total_ms).unwrap_or_default().saturating_mul(1_000);
    Observed { up_to: up_to.collect(), count: times.count, sum }
}

/// Webhooks by each state that is not final.
fn webhook_metrics(app: &App, survey: &ProjectOverview, page: &mut MetricsPage) {
    let law = app.runtime.law();
    let Some(life) = law.newest(&Name::new(WEBHOOK)) else { return };
    let known = survey.entities.get(&life.name);
    let count = |state: &Name| known.and_then(|it| it.get(state)).copied().unwrap_or_default();
    let states = life.states.iter().filter(|it| !it.last);
    let states = states.map(|it| labelled([("state", it.name.as_str())], count(&it.name)));
    page.gauge("trackside_webhooks", "Webhooks that are not removed, by state.", states);
}

/// Runs of agents. Labels never name a run, an agent or an entity.
fn run_metrics(app: &App, survey: &ProjectOverview, page: &mut MetricsPage) {
    let (law, totals) = (app.runtime.law(), app.run_figures.totals(&app.reads));
    let life = law.newest(&Name::new(RUN));
    let is_open = |state: &Name| life.and_then(|it| it.state(state)).is_some_and(|it| !it.last);
    let states = survey.entities.get(&Name::new(RUN)).into_iter().flatten();
    let open = states.filter(|(state, _)| is_open(state)).map(|(_, count)| *count).sum();
    page.gauge("trackside_runs_open", "Runs of agents that have not ended.", unlabelled(open));
    let ended = totals.ended.iter();
    let ended =
        ended.map(|((adapter, class), count)| labelled([("adapter", adapter), ("class", class)], *count));
    page.counter("trackside_runs", "Runs of agents that have ended, by adapter and class of exit.", ended);
    let tokens = totals.tokens.iter();
    let tokens =
        tokens.map(|((adapter, kind), count)| labelled([("adapter", adapter), ("kind", kind)], *count));
    page.counter("trackside_run_tokens", "Tokens of ended runs, by adapter and kind.", tokens);
    let cost = totals.cost.iter().map(|(adapter, cost)| (vec![("adapter", adapter.clone())], *cost));
    page.counter("trackside_run_cost_dollars", "Cost of ended runs in US dollars, by adapter.", cost);
    let bytes = unlabelled(app.transcripts.bytes());
    page.gauge("trackside_transcripts_bytes", "Bytes of all transcripts.", bytes);
}

fn told_outside(app: &App, page: &mut MetricsPage) {
    let counted = [DeliveryState::Failing, DeliveryState::Dead, DeliveryState::Queued]
        .into_iter()
        .filter_map(|state| {
            let count = app.webhooks.ledger.count_all(state).ok()?;
            Some(labelled([("state", state.as_str())], count))
        });
    let help = "Undelivered webhook messages, by state.";
    page.gauge("trackside_webhook_messages", help, counted);
    let sent = app.webhooks.sent.counts().map(|(outcome, count)| labelled([("outcome", outcome)], count));
    let help = "Webhook delivery attempts, by outcome.";
    page.counter("trackside_webhook_attempts", help, sent);
}

fn upkeep(app: &App, page: &mut MetricsPage) {
    let upkeep = &app.telemetry.upkeep;
    let at = |it: &super::upkeep::LastRun| one(it.at().map_or(0.0, |it| it.0 as f64 / 1_000.0));
    let help = "When the journal was last verified since the start; 0 if it was not.";
    page.gauge("trackside_journal_verified_timestamp_seconds", help, at(&upkeep.verified));
    let forged = Figures::get(&app.runtime.figures().forged) > 0;
    let damaged = unlabelled(u64::from(upkeep.is_damaged() || forged));
    let help = "1 if the last audit, or a sweep since the start, found the journal changed.";
    page.gauge("trackside_journal_damaged", help, damaged);
    let help = "When the scrub last read everything that is stored, since the start; 0 if it did not yet.";
    page.gauge("trackside_scrub_timestamp_seconds", help, at(&upkeep.scrub.passes));
    let help = "The share of the journal that the present pass of the scrub has read.";
    page.gauge("trackside_scrub_progress_ratio", help, one(upkeep.scrub.ratio()));
    let help = "Damaged parts that the scrub found: entries, archive files, artifacts and pages.";
    page.gauge("trackside_scrub_damaged", help, unlabelled(upkeep.scrub.damaged()));
    let cancelled = unlabelled(upkeep.cancelled_checks.load(Ordering::Relaxed));
    let help =
        "Checks of packs that were cancelled, because the client went away or the request took too long.";
    page.counter("trackside_pack_checks_cancelled", help, cancelled);
    let help = "When the last backup was made since the start; 0 if none was.";
    page.gauge("trackside_backup_timestamp_seconds", help, at(&upkeep.backed_up));
    let backups = [("done", upkeep.backed_up.times()), ("failed", upkeep.backed_up.failures())];
    let backups = backups.map(|(outcome, count)| labelled([("outcome", outcome)], count));
    page.counter("trackside_backups", "Backups, by outcome.", backups);
}

fn requests(app: &App, page: &mut MetricsPage) {
    let http = &app.telemetry.http;
    let answered = http.answered();
    let requests = answered.iter().flat_map(|it| {
        let told = move |(status, count): &(String, u64)| {
            labelled([("route", it.route.as_str()), ("method", it.method), ("status", status)], *count)
        };
        it.statuses.iter().map(told)
    });
    page.counter("trackside_http_requests", "Requests, by route, method and status.", requests);
    let took = answered.iter().map(|it| {
        let labels = vec![("route", it.route.clone()), ("method", it.method.to_owned())];
        (labels, it.took.clone())
    });
    let help = "Duration of requests, by route and method; for streams until the first byte.";
    page.histogram("trackside_http_request_duration_seconds", help, Unit::Seconds, took);
    let help = "Requests in progress.";
    page.gauge("trackside_http_requests_under_way", help, unlabelled(http.under_way()));
    let streams = unlabelled(app.streams.load(Ordering::Acquire) as u64);
    page.gauge("trackside_feed_followers", "Open event streams.", streams);
    let behind = unlabelled(Figures::get(&app.runtime.figures().fell_behind));
    let help = "Times that a slow follower had to read from the journal.";
    page.counter("trackside_feed_fell_behind", help, behind);
    if let Some(exporter) = &app.telemetry.exporter {
        let (sent, dropped) = exporter.counted();
        let spans = [("sent", sent), ("dropped", dropped)];
        let spans = spans.map(|(outcome, count)| labelled([("outcome", outcome)], count));
        page.counter("trackside_trace_spans", "Trace spans, by outcome.", spans);
    }
}

fn sign_ins(app: &App, page: &mut MetricsPage) {
    let failed = FailedCredential::ALL
        .map(|it| labelled([("credential", it.as_str())], app.failed_sign_ins.total(it)));
    page.counter("trackside_sign_in_failures", "Sign-ins that failed, by credential.", failed);
}

fn machine(app: &App, page: &mut MetricsPage) {
    if let Some(disk) = Disk::of(&app.options.data) {
        let help = "Bytes that are free on the disk of the data folder.";
        page.gauge("trackside_disk_free_bytes", help, one(disk.free));
        page.gauge("trackside_disk_size_bytes", "The size of the disk of the data folder.", one(disk.size));
    }
    let process = Process::now();
    if let Some(seconds) = process.cpu_seconds {
        page.counter("process_cpu_seconds", "CPU time used.", one(seconds));
    }
    let gauges = [
        ("process_resident_memory_bytes", "Resident memory.", process.resident_bytes),
        ("process_virtual_memory_bytes", "Virtual memory.", process.virtual_bytes),
        ("process_open_fds", "Open files.", process.open_files),
        ("process_max_fds", "The limit of open files.", process.most_open_files),
        ("process_threads", "Threads.", process.threads),
        ("process_start_time_seconds", "When the process was started.", process.started_at),
    ];
    for (name, help, value) in gauges {
        if let Some(value) = value {
            page.gauge(name, help, one(value));
        }
    }
    let about = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    page.gauge("trackside_build_info", "What is running.", [(about, 1.0)]);
}
