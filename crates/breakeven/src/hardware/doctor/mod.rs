//! Whether this machine is fit to measure on, as far as the system tells.
//!
//! An [`Observer`] collects [`Facts`]: settings of the processor and of the system, how
//! busy others were while nothing was asked of the machine, what happened to it under
//! load. [`findings`] is a pure function of them: each [`Finding`] says what was seen and
//! where, what it does to measured times, and the command that changes it. Nothing here
//! changes anything. The facts are Linux's `/proc` and `/sys`, and the sensors'; elsewhere
//! most of them are unknown. How noisy times are has to be measured beside it.
//!
//! ```no_run
//! use breakeven::hardware::doctor::{Observer, Standing, findings};
//! use std::time::Duration;
//!
//! let mut observer = Observer::start();
//! std::thread::sleep(Duration::from_secs(1));
//! observer.quiet_has_ended();
//! // … the work, or a part of it …
//! let facts = observer.end(None);
//! for finding in findings(&facts).iter().filter(|it| it.standing == Standing::Bad) {
//!     println!("{}: {}", finding.subject, finding.seen);
//! }
//! ```

mod activity;
mod facts;
mod finding;
mod list;
mod observer;
mod rights;
mod rules;
mod settings;

pub use activity::{Activity, BusyProcess};
pub use facts::{
    Boost, ClockSource, Container, Cores, Facts, Frequency, Memory, Quota, Scaling, Setting,
    Settings, Virtualisation,
};
pub use finding::{Finding, Remedy, Standing, Subject};
pub use observer::Observer;
pub use rules::findings;

#[cfg(test)]
mod tests;
