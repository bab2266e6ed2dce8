//! Constants, lists, maps, and constant text where only certain words will do.

use std::collections::BTreeMap;
use std::sync::Arc;

use cel::IdedExpr;
use cel::common::ast::{LiteralValue, MapExpr};

use super::{Checker, Typed};
use crate::guard::ir::Ir;
use crate::guard::parse::entries;
use crate::guard::{GuardError, Type, nearest};
use crate::name::Name;
use crate::value::Value;

impl<'c> Checker<'c, '_> {
    pub(super) fn literal(&mut self, node: &IdedExpr, literal: &LiteralValue) -> Typed {
        let (value, ty) = match literal {
            LiteralValue::Null => (Value::Null, Type::Null),
            LiteralValue::Boolean(it) => (Value::Bool(*it.inner()), Type::Bool),
            LiteralValue::Int(it) => (Value::Int(*it.inner()), Type::Int),
            LiteralValue::Double(it) => (Value::Float(*it.inner()), Type::Float),
            LiteralValue::String(it) => (Value::text(it.inner()), Type::Text),
            LiteralValue::UInt(_) => {
                let error = GuardError::new("there are no unsigned numbers", self.parsed.range(node));
                return self.report(error.hint("write it without the `u`"));
            }
            LiteralValue::Bytes(_) => {
                let error = GuardError::new("there are no bytes, only text", self.parsed.range(node));
                return self.report(error.hint("write it without the `b`"));
            }
        };
        Typed::new(Ir::Constant(value), ty)
    }

    pub(super) fn list(&mut self, elements: &'c [IdedExpr]) -> Typed {
        let mut of = Type::Null;
        let mut items = Vec::with_capacity(elements.len());
        for element in elements {
            let it = self.node(element);
            of = of.or(it.ty);
            items.push(it.ir);
        }
        let constant = items.iter().all(|it| it.constant().is_some());
        Self::fold_constant(Ir::List(items.into()), Type::list(of), constant)
    }

    /// With constant keys it is a record whose members are known; otherwise a map.
    pub(super) fn map(&mut self, map: &'c MapExpr) -> Typed {
        let mut members = BTreeMap::new();
        let mut all = Type::Null;
        let mut items = Vec::new();
        let mut known = true;
        for (key_node, value_node) in entries(map) {
            let key = self.node(key_node);
            let value = self.node(value_node);
            if !key.ty.is_text() {
                let error = format!("a key of a map is text, this is {}", key.ty);
                self.errors.push(GuardError::new(error, self.parsed.range(key_node)));
            }
            all = all.or(value.ty.clone());
            match key.ir.constant().and_then(Value::as_str) {
                Some(name) => {
                    if members.insert(Name::new(name), value.ty).is_some() {
                        let error = format!("the map has the key `{name}` twice");
                        self.errors.push(GuardError::new(error, self.parsed.range(key_node)));
                    }
                }
                None => known = false,
            }
            items.push((key.ir, value.ir));
        }
        let ty = if known { Type::Record(Arc::new(members)) } else { Type::map(all) };
        let constant =
            items.iter().all(|(key, value)| key.constant().is_some() && value.constant().is_some());
        Self::fold_constant(Ir::Map(items.into()), ty, constant)
    }

    /// Reports constant text, also within a list or behind a `?`, that is none of the expected words.
    pub(super) fn choices(&mut self, node: &IdedExpr, ir: &Ir, expected: &Type) {
        let mut wrong = Vec::new();
        strangers(ir, expected, &mut wrong);
        for (word, words) in wrong {
            let at = self.parsed.literal(node, &word).unwrap_or_else(|| self.parsed.range(node));
            let error = GuardError::new(format!("`{word}` is not {}", Type::Choice(words.clone())), at);
            let meant = nearest(&word, words.iter().map(Name::as_str)).map(|it| format!("\"{it}\""));
            self.errors.push(error.did_you_mean(meant.as_deref()));
        }
    }
}

type Words = Arc<Vec<Name>>;

fn strangers(ir: &Ir, expected: &Type, found: &mut Vec<(String, Words)>) {
    match (ir, expected) {
        (Ir::Constant(value), _) => strange_values(value, expected, found),
        (Ir::If(parts), _) => {
            let [_, then, otherwise] = &**parts;
            strangers(then, expected, found);
            strangers(otherwise, expected, found);
        }
        (Ir::List(items), Type::List(of)) => items.iter().for_each(|it| strangers(it, of, found)),
        (Ir::Map(entries), Type::Record(members)) => {
            for (key, value) in entries {
                let member = key.constant().and_then(Value::as_str).and_then(|it| members.get(it));
                if let Some(member) = member {
                    strangers(value, member, found);
                }
            }
        }
        _ => {}
    }
}

fn strange_values(value: &Value, expected: &Type, found: &mut Vec<(String, Words)>) {
    match (value, expected) {
        (Value::Text(text), Type::Choice(words)) if !words.iter().any(|it| **it == **text) => {
            found.push((text.to_string(), words.clone()));
        }
        (Value::List(items), Type::List(of)) => items.iter().for_each(|it| strange_values(it, of, found)),
        (Value::Map(entries), Type::Map(of)) => entries.values().for_each(|it| strange_values(it, of, found)),
        (Value::Map(entries), Type::Record(members)) => {
            for (name, it) in entries.iter() {
                if let Some(member) = members.get(name) {
                    strange_values(it, member, found);
                }
            }
        }
        _ => {}
    }
}
