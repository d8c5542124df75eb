//! Taking measurements: for now the clock under them.

mod clock;

pub use clock::{Clock, Instant};
