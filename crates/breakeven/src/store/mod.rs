//! What outlives a process: files of one cache directory, shared by processes.
//!
//! [`Costs::open_default`] reads `costs.json` of the cache directory, [`Costs::save`] joins with
//! what other processes wrote meanwhile; managers have that done in the background.
//! `docs/cost-model.md` has the fields, when what is in it is void, and how to look at it.
//!
//! Not being able to read or write it costs what would have been learned, never
//! the run: reading gives a [`CostsWarning`](crate::CostsWarning) and an empty model, writing an
//! error and the model as it is.

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
