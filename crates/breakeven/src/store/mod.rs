//! What outlives a process: files of one cache directory, shared by processes.
//!
//! [`Costs::open_default`] reads `costs.json` of the cache directory, [`Costs::save`] merges it
//! with what other processes wrote meanwhile; managers save in the background. `docs/cost-model.md`
//! describes the fields, when they become void, and how to inspect them.
//!
//! If it cannot be read or written, only what would have been learned is lost, never the run:
//! reading gives a [`CostsWarning`](crate::CostsWarning) and an empty model, writing an error and
//! an unchanged model.

mod chain;
mod costs;
#[cfg(test)]
mod damage_tests;
mod peaks;
#[cfg(test)]
mod process_tests;
pub(crate) mod saver;
#[cfg(test)]
mod tests;

pub(crate) use chain::without_transfers;

pub use costs::Costs;
