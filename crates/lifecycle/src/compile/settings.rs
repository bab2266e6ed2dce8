//! Settings: their defaults give their types.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::CompileContext;
use super::queries::PackCompiler;
use crate::guard::{Fault, Guard, Scope, Type, VarSlot};
use crate::model::{Read, Setting, SettingCheck};
use crate::name::Name;
use crate::source::{At, Json, Named, Problems};
use crate::syntax::{Expr, SettingDecl};
use crate::time::Span;
use crate::value::Value;

/// A setting before its `from` expressions are compiled for a lifecycle.
#[derive(Clone, Debug)]
pub(super) struct SettingDraft {
    pub setting: Setting,
    pub from: Vec<Expr>,
}

pub(super) fn drafts(from: &Named<SettingDecl>, problems: &mut Problems) -> Vec<SettingDraft> {
    from.iter().map(|(name, decl)| draft(name, decl, problems)).collect()
}

fn draft(name: &At<Name>, decl: &SettingDecl, problems: &mut Problems) -> SettingDraft {
    let (default, ty, min, max, about, from) = match decl {
        SettingDecl::Bare(value) | SettingDecl::BareList(value) | SettingDecl::BareMap(value) => {
            (value, None, None, None, None, Vec::new())
        }
        SettingDecl::Full(map) => {
            let from = map.from.as_ref().map(|it| it.iter().cloned().collect()).unwrap_or_default();
            (&map.default, map.r#type.as_ref(), map.min, map.max, map.about.clone(), from)
        }
    };
    let Json(raw) = &default.it;
    let value = match ty.map(|it| it.it.as_str()) {
        Some("string") => raw.clone(),
        Some("number") => raw.as_float().map_or_else(|| raw.clone(), Value::Float),
        _ => with_spans(raw),
    };
    let ty = match ty.map(|it| it.it.as_str()) {
        None => type_of(&value),
        Some("string") => Type::Text,
        Some("number") => Type::Float,
        Some("integer") => Type::Int,
        Some("boolean") => Type::Bool,
        Some("span") => Type::Span,
        Some("any") => Type::Any,
        Some(_) => {
            if let Some(word) = ty {
                problems
                    .error("unknown-type", word.at, format!("a setting cannot be of type `{}`", word.it))
                    .hint("string, number, integer, boolean, span or any; lists and maps need no type");
            }
            Type::Any
        }
    };
    if (min.is_some() || max.is_some()) && !matches!(ty, Type::Int | Type::Float) {
        problems
            .error("bounds", name.at, format!("`min` and `max` are for numbers, `{}` is {ty}", name.it))
            .hint("leave them out, or give it `type: integer` or `type: number`");
    }
    super::types::check_bounds_order(min, max, ("min", "max"), name.at, problems);
    if let Some(number) = value.as_float()
        && (min.is_some_and(|it| number < it) || max.is_some_and(|it| number > it))
    {
        problems.error("out-of-range", default.at, "the default is outside its own bounds");
    }
    let setting = Setting {
        name: name.it.clone(),
        about: about.unwrap_or_default(),
        ty,
        default: value,
        min,
        max,
        from: Vec::new(),
    };
    SettingDraft { setting, from }
}

/// Text that reads as a span is one, also inside lists and maps.
fn with_spans(value: &Value) -> Value {
    match value {
        Value::Text(text) => Span::parse(text).map_or_else(|| value.clone(), Value::Span),
        Value::List(list) => Value::list(list.iter().map(with_spans).collect()),
        Value::Map(map) => Value::map(map.iter().map(|(name, it)| (name.clone(), with_spans(it))).collect()),
        other => other.clone(),
    }
}

fn type_of(value: &Value) -> Type {
    match value {
        Value::Null => Type::Any,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Float(_) => Type::Float,
        Value::Text(_) => Type::Text,
        Value::Time(_) => Type::Time,
        Value::Span(_) => Type::Span,
        Value::List(list) => Type::List(Box::new(common(list.iter()))),
        Value::Map(map) => match common(map.values()) {
            Type::Any if !map.is_empty() => {
                let members: BTreeMap<Name, Type> =
                    map.iter().map(|(name, it)| (name.clone(), type_of(it))).collect();
                Type::Record(Arc::new(members))
            }
            one => Type::Map(Box::new(one)),
        },
    }
}

/// The type they all have, or any.
fn common<'v>(values: impl Iterator<Item = &'v Value>) -> Type {
    let mut common: Option<Type> = None;
    for value in values {
        let ty = type_of(value);
        common = Some(match common {
            None => ty,
            Some(seen) if seen == ty => seen,
            Some(Type::Int | Type::Float) if matches!(ty, Type::Int | Type::Float) => Type::Float,
            Some(_) => return Type::Any,
        });
    }
    common.unwrap_or(Type::Any)
}

/// The settings at their defaults.
struct Defaults<'a> {
    settings: &'a [Setting],
    reads: &'a [Read],
}

impl Scope for Defaults<'_> {
    fn read(&self, slot: VarSlot) -> Result<Value, Fault> {
        Ok(match self.reads.get(slot.0 as usize) {
            Some(Read::Setting(place)) => {
                self.settings.get(*place).map(|it| it.default.clone()).unwrap_or_default()
            }
            _ => Value::Null,
        })
    }

    fn call(&self, _: u16, _: &[Value]) -> Result<Value, Fault> {
        Err(Fault::Failed("no functions here".to_owned()))
    }
}

impl PackCompiler<'_> {
    /// Compiles the `check` of every setting. The defaults must fulfil it.
    pub fn setting_checks<'d>(
        &mut self,
        declared: impl Iterator<Item = &'d Named<SettingDecl>>,
    ) -> Vec<SettingCheck> {
        let mut checks = Vec::new();
        for (name, decl) in declared.flat_map(|it| it.iter()) {
            let SettingDecl::Full(map) = decl else { continue };
            let Some(source) = &map.check else {
                if map.says.is_some() {
                    self.problems
                        .error("setting-check", name.at, format!("`{}` has `says` and no `check`", name.it))
                        .hint("add `check: CONDITION`, or leave out `says`");
                }
                continue;
            };
            let Some(guard) = self.condition_on_settings(source) else { continue };
            let scope = Defaults { settings: self.settings, reads: &self.reads };
            if !matches!(guard.test(&scope), Ok(true)) {
                let message = format!("`{}` is false with the defaults", source.text);
                self.problems
                    .error("setting-check", source.at, message)
                    .hint("change the condition or a default");
            }
            let says = map.says.clone().unwrap_or_else(|| format!("`{}` must be true", source.text));
            checks.push(SettingCheck { setting: name.it.clone(), guard, says });
        }
        checks
    }
}

impl CompileContext<'_> {
    /// Compiles the `from` of each setting for this lifecycle; returns which could not be.
    ///
    /// A setting of the pack may read a field that only one lifecycle has.
    pub fn settings_from(&mut self, drafts: &[SettingDraft]) -> Vec<(usize, Expr)> {
        let mut strangers = Vec::new();
        for (n, draft) in drafts.iter().enumerate() {
            let Some(first) = draft.from.first() else { continue };
            let name = format!("settings.{}", draft.setting.name);
            self.with_cost(name.clone(), &name, first.at, |context| {
                context.setting_from(n, draft, &mut strangers)
            });
        }
        strangers
    }

    fn setting_from(&mut self, n: usize, draft: &SettingDraft, strangers: &mut Vec<(usize, Expr)>) {
        for source in &draft.from {
            match self.try_guard(source) {
                Ok(guard) => {
                    self.stands_for(&guard, draft, source);
                    let plain =
                        guard.reads().iter().all(|it| match self.table.reads.get(it.slot.0 as usize) {
                            Some(Read::Field(_) | Read::Ref(..) | Read::Me(_) | Read::Id | Read::State) => {
                                true
                            }
                            // Only earlier settings, which rules out cycles.
                            Some(Read::Setting(place)) => *place < n,
                            _ => false,
                        });
                    if !plain {
                        let message =
                            "`from` may only read stored fields, refs, `me` and settings declared before it";
                        self.error("setting-from", source.at, message);
                    }
                    if let Some(setting) = self.settings.get_mut(n) {
                        setting.from.push(guard);
                    }
                }
                Err(_) => strangers.push((n, source.clone())),
            }
        }
    }

    /// A `from` expression must have the type of its setting.
    fn stands_for(&mut self, guard: &Guard, draft: &SettingDraft, source: &Expr) {
        let (found, expected) = (guard.ty(), &draft.setting.ty);
        if !found.fits(expected) {
            let message = format!(
                "setting `{}` is {expected}, but in {} this is {found}",
                draft.setting.name, self.shape.name
            );
            self.error("setting-from", source.at, message)
                .hint("read something of the same type, or change the type of the field");
        }
    }
}
