//! A list that returns the default beyond its end.

#[derive(Clone, Debug, Default)]
pub(super) struct PaddedList<T>(Vec<T>);

impl<T: Clone> PaddedList<T> {
    pub fn filled(length: usize, value: T) -> Self {
        Self(vec![value; length])
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn put(&mut self, n: usize, value: T) {
        if let Some(it) = self.0.get_mut(n) {
            *it = value;
        }
    }
}

impl<T: Copy + Default> PaddedList<T> {
    pub fn at(&self, n: usize) -> T {
        self.0.get(n).copied().unwrap_or_default()
    }
}

impl<T> PaddedList<Vec<T>> {
    pub fn row(&self, n: usize) -> &[T] {
        self.0.get(n).map_or(&[], Vec::as_slice)
    }

    pub fn push(&mut self, n: usize, value: T) {
        if let Some(it) = self.0.get_mut(n) {
            it.push(value);
        }
    }
}
