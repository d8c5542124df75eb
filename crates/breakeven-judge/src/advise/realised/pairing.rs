//! Which operations of the second profile belong to a suggestion on the first.

use breakeven_profile::profile::Device;

use super::super::case::{Case, Subject};
use super::super::suggestion::{OptimizationSuggestion, Rule};

/// The operations that a suggestion is about, before and after.
pub(super) struct Pair<'c, 'p> {
    pub(super) before: Vec<&'c Subject<'p>>,
    pub(super) after: Vec<&'c Subject<'p>>,
    /// For routing: the same operation on every device, before and after.
    pub(super) all_before: Vec<&'c Subject<'p>>,
    pub(super) all_after: Vec<&'c Subject<'p>>,
}

impl<'c, 'p> Pair<'c, 'p> {
    pub(super) fn of(
        suggestion: &OptimizationSuggestion,
        before: &'c Case<'p>,
        after: &'c Case<'p>,
    ) -> Self {
        let any_size = matches!(
            suggestion.rule,
            // A batch is a larger input; growth is over all sizes.
            Rule::Batching | Rule::Caching | Rule::Algorithm
        );
        let named = |case: &'c Case<'p>| -> Vec<&'c Subject<'p>> {
            case.named(&suggestion.operation)
                .filter(|each| any_size || each.operation.size == suggestion.size)
                .collect()
        };
        let here = |device: &str| device == suggestion.device;
        let there = |device: &str| match (&suggestion.target_device, suggestion.rule) {
            (Some(target), _) => device == target,
            (None, Rule::CpuToGpu) => Device::of(device).is_gpu(),
            (None, _) => here(device),
        };
        let (all_before, all_after) = (named(before), named(after));
        let on = |all: &[&'c Subject<'p>], device: &dyn Fn(&str) -> bool| {
            let mut found = all.to_vec();
            found.retain(|each| device(&each.operation.device));
            found
        };
        Self {
            before: on(&all_before, &here),
            after: on(&all_after, &there),
            all_before,
            all_after,
        }
    }

    /// Operations before and after, size by size; of several devices after, the
    /// one with most calls.
    pub(super) fn matched(&self) -> impl Iterator<Item = (&'c Subject<'p>, &'c Subject<'p>)> + '_ {
        self.before.iter().filter_map(|before| {
            let after = self.after.iter();
            let same = after.filter(|after| after.operation.size == before.operation.size);
            Some((*before, *same.max_by_key(|after| after.summary.count)?))
        })
    }
}
