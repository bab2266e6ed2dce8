//! Named values in order, cheap to copy until one changes.

use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};
use trackside_lifecycle::name::Name;
use trackside_lifecycle::value::Value;

/// Values by name. A name that is not there is null.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fields(Arc<Vec<(Name, Value)>>);

/// All that are empty are one.
static EMPTY: LazyLock<Arc<Vec<(Name, Value)>>> = LazyLock::new(Arc::default);

impl Default for Fields {
    fn default() -> Self {
        Self(EMPTY.clone())
    }
}

impl Fields {
    pub fn get(&self, name: &str) -> Option<&Value> {
        // Few, and of different lengths: looking at each is quicker than dividing.
        self.0.iter().find(|(it, _)| it == name).map(|(_, value)| value)
    }

    pub fn value(&self, name: &str) -> Value {
        self.get(name).cloned().unwrap_or_default()
    }

    /// The text of a field; none if it is not text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    /// The texts in a list.
    pub fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.get(name).and_then(Value::as_list).unwrap_or_default().iter().filter_map(Value::as_str)
    }

    /// Puts a value; null takes the name away.
    pub fn set(&mut self, name: &Name, value: Value) {
        let place = self.place(name);
        if value.is_null() {
            if let Ok(place) = place {
                Arc::make_mut(&mut self.0).remove(place);
            }
            return;
        }
        let list = Arc::make_mut(&mut self.0);
        match place {
            Ok(place) => {
                if let Some(slot) = list.get_mut(place) {
                    slot.1 = value;
                }
            }
            Err(place) => list.insert(place, (name.clone(), value)),
        }
    }

    /// Sets a value exactly as it was sent, null included.
    pub fn put(&mut self, name: &Name, value: Value) {
        let list = Arc::make_mut(&mut self.0);
        match list.binary_search_by(|(it, _)| it.as_str().cmp(name)) {
            Ok(place) => {
                if let Some(slot) = list.get_mut(place) {
                    slot.1 = value;
                }
            }
            Err(place) => list.insert(place, (name.clone(), value)),
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Value)> {
        self.0.iter().map(|(name, value)| (name, value))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The memory that they take, about.
    pub fn bytes(&self) -> usize {
        self.0.iter().map(|(name, value)| name.bytes() + value.bytes()).sum()
    }

    fn place(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(it, _)| it.as_str().cmp(name))
    }
}

impl<N: Into<Name>> FromIterator<(N, Value)> for Fields {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(from: I) -> Self {
        let mut fields = Self::default();
        for (name, value) in from {
            fields.put(&name.into(), value);
        }
        fields
    }
}
