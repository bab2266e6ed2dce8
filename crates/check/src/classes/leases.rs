//! Leases: long enough, and noticed when they are lost.

use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::Way;
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;

use crate::class::Class;
use crate::defaults::by_default;
use crate::finding::Finding;
use crate::parts::parts;
use crate::survey::{Study, Survey};

/// A setting with this word in its name says how often holders are heard of.
const RHYTHM: &str = "heartbeat";

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        short(study, found);
        unwatched(study, found);
    }
}

fn short(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    for slot in &life.slots {
        let way = Way::of(["slots", &slot.name, "for"]);
        let Some(Value::Span(lasts)) = by_default(life, &slot.lasts) else { continue };
        if lasts <= Span(0) {
            let message =
                format!("the lease `{}` lasts {lasts}: it is lost as soon as it is granted", slot.name);
            found.push(Finding::new(
                Class::ShortLease,
                study.name(),
                way,
                message,
                "give it a length, such as 15m",
            ));
            continue;
        }
        let grace = slot.grace.as_ref().and_then(|it| by_default(life, it)).and_then(|it| it.as_span());
        let lost = Span(lasts.0.saturating_add(grace.map_or(0, |it| it.0)));
        for setting in life.settings.iter().filter(|it| it.name.to_lowercase().contains(RHYTHM)) {
            let Value::Span(every) = &setting.default else { continue };
            if *every >= lost {
                let message = format!(
                    "the lease `{}` is lost after {lost}, and a heartbeat is due every {every} (`settings.{}`): it runs out before it is renewed",
                    slot.name, setting.name
                );
                let advice = "let it last at least two heartbeats, so that one may get lost";
                found.push(Finding::new(Class::ShortLease, study.name(), way.clone(), message, advice));
            }
        }
    }
}

/// Leases that nothing ends and whose loss nobody notices.
fn unwatched(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    let grants =
        |slot: &Name| parts(life).iter().any(|it| it.then.lease.as_ref().is_some_and(|it| it.slot == *slot));
    let releases = |slot: &Name| parts(life).iter().any(|it| it.then.release.contains(slot));
    for slot in life.slots.iter().filter(|it| it.lost.is_none()) {
        if grants(&slot.name) && !releases(&slot.name) {
            let message =
                format!("nothing releases the lease `{}`, and when it is lost nothing follows", slot.name);
            let advice =
                "name the transition that follows its loss with `lost`, or `release` it when the work ends";
            found.push(Finding::new(
                Class::UnwatchedLease,
                study.name(),
                Way::of(["slots", &slot.name]),
                message,
                advice,
            ));
        }
    }
}
