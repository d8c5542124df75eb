//! A portion of a batch as a value, for workers that split a batch themselves.

use super::engine::Engine;
use crate::schedule::Span;

/// A portion of a batch that has not been run: split it, or run it. Tasks of a dropped portion are
/// run in the end by the caller.
#[must_use = "a portion must be run"]
pub struct Portion<'r> {
    /// None once it was split or run.
    span: Option<Span>,
    batch: &'r Engine<'r>,
}

impl<'r> Portion<'r> {
    pub(super) fn new(span: Span, batch: &'r Engine<'r>) -> Self {
        let span = Some(span);
        Self { span, batch }
    }

    /// Returns its number of tasks, never zero.
    #[expect(clippy::len_without_is_empty, reason = "a portion is never empty")]
    pub fn len(&self) -> usize {
        self.span.as_ref().map_or(0, Span::len)
    }

    /// Splits it into its first half and the rest; none if it is a single task.
    pub fn halve(mut self) -> (Portion<'r>, Option<Portion<'r>>) {
        let half = self.len() / 2;
        let span = self
            .span
            .take()
            .expect("only what takes the whole portion takes its span");
        let (first, rest) = span.split(half.max(1));
        let of = |span| Portion::new(span, self.batch);
        (of(first), rest.map(of))
    }

    /// Runs its tasks, one after the other, on this thread.
    pub fn run(mut self) {
        if let Some(span) = self.span.take() {
            self.batch.run(span);
        }
    }
}

impl Drop for Portion<'_> {
    fn drop(&mut self) {
        if let Some(span) = self.span.take() {
            self.batch.give_back(span);
        }
    }
}

impl std::fmt::Debug for Portion<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tasks = self.span.as_ref().map(Span::range);
        f.debug_tuple("Portion").field(&tasks).finish()
    }
}
