//! What a value comes to where settings have their defaults and nothing else is known.

use trackside_lifecycle::guard::{Outline, Slot};
use trackside_lifecycle::model::{Lifecycle, Read};
use trackside_lifecycle::time::Span;
use trackside_lifecycle::value::Value;

#[derive(Clone, Copy, Debug)]
pub(super) struct Defaults<'a> {
    pub life: &'a Lifecycle,
    pub state: Option<&'a str>,
}

impl Defaults<'_> {
    /// The values it can have, without nothing; none if that cannot be told.
    pub fn possible(&self, outline: &Outline) -> Vec<Value> {
        let all = match outline {
            Outline::If(parts) => {
                let [_, yes, no] = &**parts;
                let both: Option<Vec<Vec<Value>>> =
                    [yes, no].into_iter().map(|it| self.known(it).map(|_| self.possible(it))).collect();
                both.unwrap_or_default().concat()
            }
            outline => self.value(outline).into_iter().collect(),
        };
        let mut unique = Vec::new();
        for value in all.into_iter().filter(|it| !it.is_null()) {
            if !unique.contains(&value) {
                unique.push(value);
            }
        }
        unique
    }

    fn known(&self, outline: &Outline) -> Option<()> {
        match outline {
            Outline::If(parts) => {
                let [_, yes, no] = &**parts;
                self.known(yes).and(self.known(no))
            }
            outline => self.value(outline).map(|_| ()),
        }
    }

    fn value(&self, outline: &Outline) -> Option<Value> {
        match outline {
            Outline::Constant(value) => Some(value.clone()),
            Outline::Read(Slot(slot), members) => {
                let start = match self.life.reads.get(usize::try_from(*slot).ok()?)? {
                    Read::Setting(place) => self.life.settings.get(*place)?.default.clone(),
                    Read::State => Value::text(self.state?),
                    _ => return None,
                };
                members.iter().try_fold(start, |it, name| it.as_map()?.get(name).cloned())
            }
            Outline::Member(of, name) => self.value(of)?.as_map()?.get(name).cloned(),
            Outline::Index(both) => {
                let [of, key] = &**both;
                let key = self.value(key)?;
                match (self.value(of)?, key) {
                    (Value::Map(map), Value::Text(key)) => map.get(&*key).cloned(),
                    (Value::List(list), Value::Int(at)) => list.get(usize::try_from(at).ok()?).cloned(),
                    _ => None,
                }
            }
            Outline::Plus(both) => {
                let [a, b] = &**both;
                match (self.value(a)?, self.value(b)?) {
                    (Value::Text(a), Value::Text(b)) => Some(Value::text(&format!("{a}{b}"))),
                    (Value::Span(a), Value::Span(b)) => Some(Value::Span(Span(a.0.checked_add(b.0)?))),
                    _ => None,
                }
            }
            Outline::Call(name, arguments) => match (name.as_str(), arguments.as_slice()) {
                ("String", [it]) => match self.value(it)? {
                    Value::Text(text) => Some(Value::Text(text)),
                    Value::Int(number) => Some(Value::text(&number.to_string())),
                    _ => None,
                },
                ("Duration", [it]) => Span::parse(self.value(it)?.as_str()?).map(Value::Span),
                _ => None,
            },
            _ => None,
        }
    }
}
