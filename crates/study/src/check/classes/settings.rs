//! Settings whose values make a rule pointless, and unused settings.

use trackside_lifecycle::guard::{Guard, Outline};
use trackside_lifecycle::model::{Lifecycle, Read, Setting, TimerKind};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::source::DefinitionPath;
use trackside_lifecycle::value::Value;

use crate::check::class::Class;
use crate::check::facts::by_default;
use crate::check::finding::{Finding, ProblemSeverity};
use crate::check::reads::expressions;
use crate::check::survey::{Study, Survey};
use crate::graph::{timer_way, timer_word};

/// A setting with this word at its end is a share of a hundred.
const SHARE: &str = "percent";

pub fn check(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    for study in &survey.studies {
        senseless(study, found);
    }
    shares(survey, found);
    unread(survey, found);
}

/// Rules that have no effect with the present values.
fn senseless(study: &Study<'_>, found: &mut Vec<Finding>) {
    let life = study.life();
    let mut add = |guard: &Guard, way: DefinitionPath, what: String, advice: &str| {
        let nothing = match by_default(life, guard) {
            Some(Value::Span(span)) => span.0 <= 0,
            Some(value) => value.as_float().is_some_and(|it| it <= 0.0),
            None => false,
        };
        if nothing {
            let message = format!("{what} `{}`, which is zero", with_setting_values(life, guard));
            found.push(Finding::new(Class::SettingOutOfRange, study.name(), way, message, advice));
        }
    };
    for timer in &life.timers {
        if let TimerKind::After(after) = &timer.kind {
            let way = timer_way(life, timer).key("after");
            add(
                after,
                way,
                format!("{} is due after", timer_word(life, timer)),
                "give the setting a duration",
            );
        }
    }
    for counter in &life.counters {
        let way = |key: &str| DefinitionPath::of(["counters", &counter.name, key]);
        let then = counter.then.as_ref().filter(|it| !is_off(life, it.when.as_ref()));
        if let Some(limit) = counter.limit.as_ref().filter(|_| then.is_some() || !counter.warn.is_empty()) {
            add(
                limit,
                way("limit"),
                format!("the limit of counter `{}` is", counter.name),
                "give the setting a `min` of 1, and a default to match",
            );
        }
        for (key, guard) in [("within", &counter.within), ("last", &counter.last)] {
            if let Some(guard) = guard {
                add(
                    guard,
                    way(key),
                    format!("counter `{}` looks back", counter.name),
                    "give the setting a value above zero",
                );
            }
        }
    }
}

/// Whether a condition on settings switches it off.
fn is_off(life: &Lifecycle, when: Option<&Guard>) -> bool {
    when.and_then(|it| by_default(life, it)) == Some(Value::Bool(false))
}

/// An expression with the values of its settings.
fn with_setting_values(life: &Lifecycle, guard: &Guard) -> String {
    let settings = guard.reads().iter().filter_map(|it| match life.reads.get(it.slot.0 as usize) {
        Some(Read::Setting(place)) => life.settings.get(*place),
        _ => None,
    });
    let values: Vec<String> = settings.map(|it| format!("{} is {}", it.name, shown(&it.default))).collect();
    if values.is_empty() {
        guard.source().to_owned()
    } else {
        format!("{} ({})", guard.source(), values.join(", "))
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Span(span) => span.to_string(),
        other => other.to_json().to_string(),
    }
}

fn shares(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    let named = |it: &&Setting| it.name.to_lowercase().ends_with(SHARE);
    for setting in survey.pack.settings.iter().filter(named) {
        if !survey.pack.lifecycles.iter().any(|it| is_share(it, &setting.name)) {
            continue;
        }
        if let Some(number) = setting.default.as_float().filter(|it| !(0.0..=100.0).contains(it)) {
            let message = format!("`{}` is {number}; a percentage must be between 0 and 100", setting.name);
            let advice = "write it as a percentage, with `min: 0` and `max: 100`";
            let way = DefinitionPath::of(["settings", &setting.name]);
            let finding = Finding::new(Class::SettingOutOfRange, &survey.pack.name, way, message, advice);
            found.push(finding.weighing(ProblemSeverity::Warning));
        }
    }
}

/// Whether a rule divides it by a hundred. A name alone proves nothing.
fn is_share(life: &Lifecycle, setting: &Name) -> bool {
    let is_it = |outline: &Outline| {
        let Outline::Read(slot, _) = outline else { return false };
        matches!(life.reads.get(slot.0 as usize), Some(Read::Setting(n)) if life.settings.get(*n).is_some_and(|it| it.name == *setting))
    };
    expressions(life).iter().any(|guard| {
        let (mut read, mut by_hundred) = (false, false);
        guard.outline().walk(&mut |it| {
            read |= is_it(it);
            if let Outline::Over(both) | Outline::Times(both) = it {
                by_hundred |= both.iter().any(
                    |it| matches!(it, Outline::Constant(it) if it.as_float().is_some_and(|it| it == 100.0 || it == 0.01)),
                );
            }
        });
        read && by_hundred
    })
}

fn unread(survey: &Survey<'_>, found: &mut Vec<Finding>) {
    let pack = survey.pack;
    let mut read: Vec<&Name> = Vec::new();
    for life in &pack.lifecycles {
        let here = life.reads.iter().filter_map(|it| match it {
            Read::Setting(place) => life.settings.get(*place),
            _ => None,
        });
        read.extend(here.map(|it| &it.name));
    }
    let policy = pack.policy.iter().flat_map(|it| &it.reads).chain(&pack.reads);
    read.extend(policy.filter_map(|it| match it {
        Read::Setting(place) => pack.settings.get(*place).map(|it| &it.name),
        _ => None,
    }));
    for setting in pack.settings.iter().filter(|it| !read.contains(&&it.name)) {
        let message = format!("no rule reads `settings.{}`", setting.name);
        let way = DefinitionPath::of(["settings", &setting.name]);
        found.push(Finding::new(Class::UnusedSetting, &pack.name, way, message, "use it, or remove it"));
    }
}
