//! `breakeven monitor --serve`, as a scraper sees it.

mod answers;
mod crowd;
mod prometheus;
pub(crate) mod server;
