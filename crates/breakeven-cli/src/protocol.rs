//! What a worker process is asked and what it answers: one JSON value a line.
//! Drivers may write to stdout as well; lines that are no message are skipped.

use std::path::PathBuf;

use breakeven::hardware::{HardwareCapabilities, SystemLoad};
use breakeven::suite::{Event, Workload};
use breakeven_profile::profile::{Clock, Failure, Operation, Peak};
use serde::{Deserialize, Serialize};

/// All that one worker is to do, in order.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) cells: Vec<Cell>,
    pub(crate) warmup: u32,
    pub(crate) iterations: u32,
    pub(crate) image: Option<PathBuf>,
    pub(crate) device_timeout_s: u32,
}

/// One piece of a worker's work: what a failure costs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Cell {
    /// Look at the machine and at its GPUs.
    Detect,
    /// See how busy it is.
    Load,
    /// Measure the clock.
    Clock,
    /// Measure a device's peaks.
    Peak { device: String },
    /// Measure a kernel on a device.
    Kernel {
        kernel: String,
        scale: usize,
        /// On the user's image instead of the synthetic one.
        on_image: bool,
        device: String,
    },
}

impl Cell {
    /// True where a driver is at work, which can hang.
    pub(crate) fn touches_a_driver(&self) -> bool {
        matches!(self, Self::Detect | Self::Load) || self.gpu().is_some()
    }

    /// The operation that it measures, as far as it is known beforehand.
    pub(crate) fn operation(&self) -> Option<Operation> {
        let Self::Kernel {
            kernel,
            scale,
            on_image,
            device,
        } = self
        else {
            return None;
        };
        if *on_image {
            return Some(Operation::new(format!("{kernel}:image"), device));
        }
        let size = Workload::new(kernel, *scale)
            .ok()
            .map(|workload| workload.size());
        Some(Operation {
            size,
            ..Operation::new(kernel, device)
        })
    }

    /// The GPU that it runs on.
    pub(crate) fn gpu(&self) -> Option<&str> {
        match self {
            Self::Peak { device } | Self::Kernel { device, .. } if device != "cpu" => Some(device),
            _ => None,
        }
    }
}

/// What a worker tells, as it happens.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Message {
    /// The cell of that index has begun.
    Begin(usize),
    Hardware(Box<HardwareCapabilities>),
    Load(Box<SystemLoad>),
    Clock(Clock),
    Peak(Box<Peak>),
    /// An operation that is about to be measured, without samples.
    Operation(Box<Operation>),
    /// Where kernel times of the cell's device come from.
    KernelClock(String),
    Event(Event),
    /// The cell failed; the worker ends, so that the next cell has a fresh process.
    Failed(Failure),
    /// The cell is done.
    End,
}
