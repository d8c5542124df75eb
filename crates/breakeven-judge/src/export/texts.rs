//! Texts by number.

use std::collections::HashMap;

/// Texts, each once, in the order in which they came.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) all: Vec<String>,
    pub(super) numbers: HashMap<String, usize>,
}

impl Texts {
    /// The number of a text; assigns one if it is new.
    pub(super) fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.all.len();
        self.all.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }
}
