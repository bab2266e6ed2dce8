//! What can be said of a condition before it runs: true, false, or that it depends.

use trackside_lifecycle::guard::{Guard, Outline, Slot};
use trackside_lifecycle::model::{Lifecycle, Read};
use trackside_lifecycle::value::Value;

/// What is known: the state, and whether the engine itself asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    pub life: &'a Lifecycle,
    pub state: Option<&'a str>,
    pub engine: Option<bool>,
}

/// Relations may read relations, but not without end.
const DEPTH: usize = 8;

impl Known<'_> {
    /// Its truth, if that is already decided.
    pub fn truth(&self, guard: &Guard) -> Option<bool> {
        self.of(&guard.outline(), DEPTH)
    }

    pub fn part(&self, outline: &Outline) -> Option<bool> {
        self.of(outline, DEPTH)
    }

    fn of(&self, outline: &Outline, depth: usize) -> Option<bool> {
        match outline {
            Outline::Constant(value) => value.as_bool(),
            Outline::Not(of) => self.of(of, depth).map(|it| !it),
            Outline::All(parts) => self.junction(parts, depth, false),
            Outline::Any(parts) => self.junction(parts, depth, true),
            Outline::Equal(both) => self.same(both),
            Outline::Differ(both) => self.same(both).map(|it| !it),
            Outline::In(both) => {
                let [one, list] = &**both;
                let state = self.text(one)?;
                let Outline::List(items) = list else { return self.listed(list, state) };
                let found =
                    items.iter().map(|it| Some(self.text(it)? == state)).collect::<Option<Vec<_>>>()?;
                Some(found.contains(&true))
            }
            Outline::Read(slot, members) if members.is_empty() => self.read(*slot, depth),
            _ => None,
        }
    }

    fn junction(&self, parts: &[Outline], depth: usize, any: bool) -> Option<bool> {
        let truths: Vec<Option<bool>> = parts.iter().map(|it| self.of(it, depth)).collect();
        if truths.contains(&Some(any)) {
            return Some(any);
        }
        truths.iter().all(Option::is_some).then_some(!any)
    }

    fn read(&self, slot: Slot, depth: usize) -> Option<bool> {
        let depth = depth.checked_sub(1)?;
        match (self.meaning(slot)?, self.engine) {
            (Read::Engine, known) => known,
            (Read::Human | Read::Agent | Read::Admin | Read::Role(_), Some(true)) => Some(false),
            (Read::System, Some(true)) => Some(true),
            (Read::Relation(guard) | Read::Computed(guard), _) => self.of(&guard.outline(), depth),
            _ => None,
        }
    }

    fn meaning(&self, slot: Slot) -> Option<&Read> {
        self.life.reads.get(usize::try_from(slot.0).ok()?)
    }

    fn same(&self, both: &[Outline; 2]) -> Option<bool> {
        let [a, b] = both;
        Some(self.text(a)? == self.text(b)?)
    }

    fn listed(&self, list: &Outline, text: &str) -> Option<bool> {
        let Outline::Constant(Value::List(items)) = list else { return None };
        Some(items.iter().any(|it| it.as_str() == Some(text)))
    }

    fn text<'b>(&'b self, outline: &'b Outline) -> Option<&'b str> {
        match outline {
            Outline::Constant(value) => value.as_str(),
            Outline::Read(slot, members) if members.is_empty() => {
                matches!(self.meaning(*slot)?, Read::State).then_some(self.state?)
            }
            _ => None,
        }
    }
}
