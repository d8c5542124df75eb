//! Jobs: starting a job's process, handling its end, and stopping all jobs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::{fmt, io};

use breakeven::execute::CancelToken;
use breakeven_profile::recorder::Guard;
use indicatif::ProgressBar;

use super::inputs::Input;
use super::printer::Printer;
use super::process::{Ended, How, Process};
use super::running::{Running, lock};
use super::summary::Summary;
use super::template::{Filling, Part, Template};
use super::visible::Visible;
use super::window::{Slot, Ticket};
use super::workers;
use crate::run::args::HaltArg;

/// Why no further job is started.
#[derive(Debug)]
pub(super) enum Stop {
    /// Ctrl-C, or the system requested termination.
    Interrupted,
    /// A job failed.
    Halted,
    /// The output of jobs or the joblog cannot be written.
    Output(io::Error),
}

/// The device of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Device {
    Cpu,
    Gpu(usize),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Gpu(slot) => write!(f, "gpu:{slot}"),
        }
    }
}

/// State that all jobs of a run share.
#[derive(Debug)]
pub(super) struct Jobs {
    pub(super) cpu: Template,
    pub(super) gpu: Option<Template>,
    /// The name in the cost model and in a profile.
    pub(super) operation: String,
    /// The devices that each GPU slot sees.
    pub(super) visible: Vec<Visible>,
    /// Concurrent CPU jobs.
    pub(super) workers: usize,
    pub(super) retries: u32,
    pub(super) halt: HaltArg,
    pub(super) running: Running,
    pub(super) printer: Mutex<Printer>,
    pub(super) summary: Mutex<Summary>,
    pub(super) bar: ProgressBar,
    /// Stops the engine.
    pub(super) cancel: CancelToken,
    pub(super) stop: OnceLock<Stop>,
    /// Running processes may finish.
    pub(super) lets_end: AtomicBool,
}

impl Jobs {
    /// Starts no further job, and ends the running ones, unless a failed job is the reason and they
    /// may finish. The first reason counts.
    pub(super) fn stop(&self, why: Stop) {
        let lets_end = matches!(why, Stop::Halted) && self.halt == HaltArg::Soon;
        self.lets_end.store(lets_end, Ordering::SeqCst);
        let _ = self.stop.set(why);
        self.cancel.cancel();
        if !lets_end {
            self.running.end_all();
        }
    }

    /// Does a task on the CPU.
    pub(super) fn on_cpu(&self, ticket: &Ticket) -> Result<(), How> {
        let Some(slot) = ticket.slot().filter(|slot| !slot.wait()) else {
            return Ok(());
        };
        let slots = [Arc::clone(slot)];
        let mut left = self.retries;
        loop {
            let ended = match self.start(Device::Cpu, &slots) {
                Ok(process) => process.wait(&self.running),
                Err(ended) => *ended,
            };
            let is_over = ended.how.is_good() || self.stop.get().is_some();
            if !is_over && left > 0 {
                left -= 1;
                lock(&self.summary).retried += 1;
                continue;
            }
            let how = ended.how.clone();
            self.ended(Device::Cpu, &slots, &ended);
            return if how.is_good() { Ok(()) } else { Err(how) };
        }
    }

    /// Starts the process of a job.
    pub(super) fn start(&self, device: Device, slots: &[Arc<Slot>]) -> Result<Process, Box<Ended>> {
        let (template, slot) = self.template(device);
        let inputs: Vec<&[u8]> = slots.iter().map(|slot| slot.input.bytes()).collect();
        let mut command = template.command(Filling {
            inputs: &inputs,
            number: slots.first().map_or(0, |slot| slot.input.number),
            slot,
        });
        command.env("BREAKEVEN_SLOT", slot.to_string());
        command.env("BREAKEVEN_DEVICE", device.to_string());
        if let Device::Gpu(slot) = device {
            command.envs(self.visible.get(slot).cloned().unwrap_or_default());
        }
        Process::start(command, &self.running, true)
    }

    /// The command of a device, and the number of its slot.
    fn template(&self, device: Device) -> (&Template, usize) {
        match (device, &self.gpu) {
            (Device::Gpu(slot), Some(gpu)) => (gpu, self.workers + slot + 1),
            _ => (&self.cpu, workers::slot()),
        }
    }

    /// The command lines that an input may have in a joblog: on either device, in any slot.
    pub(super) fn shown(&self, input: &Input) -> Vec<Vec<u8>> {
        let templates = [Some(&self.cpu), self.gpu.as_ref()];
        let all = templates.into_iter().flatten().flat_map(|template| {
            let slots = match template.has(Part::Slot) {
                true => self.workers + self.visible.len(),
                false => 1,
            };
            (1..=slots).map(move |slot| shown(template, input, slot))
        });
        all.collect()
    }

    /// The process of these jobs has ended, with success or failure: its output is printed.
    pub(super) fn ended(&self, device: Device, slots: &[Arc<Slot>], ended: &Ended) {
        if ended.how == How::Unwanted {
            return;
        }
        let (template, slot) = self.template(device);
        let jobs = slots.iter().map(|each| {
            let input = &each.input;
            (input.number, shown(template, input, slot))
        });
        let jobs: Vec<_> = jobs.collect();
        let print = || lock(&self.printer).ended(&jobs, ended);
        if let Err(error) = self.bar.suspend(print) {
            self.stop(Stop::Output(error));
            return;
        }
        let device = device.to_string();
        let mut summary = lock(&self.summary);
        for slot in slots {
            let input = &slot.input;
            summary.ended(&device, input.number, input.bytes(), &ended.how);
        }
        drop(summary);
        self.bar.inc(slots.len() as u64);
        if ended.how.is_good() {
            let name = [&*self.operation, ":job"].concat();
            let mut call = Guard::enter_named(&name, Some(&device), None);
            call.within_execution();
            call.items(slots.len());
            call.began_ago(ended.took);
        } else if self.halt != HaltArg::Never {
            self.stop(Stop::Halted);
        }
    }
}

/// A job's command, quoted for a shell.
fn shown(template: &Template, input: &Input, slot: usize) -> Vec<u8> {
    template.shown(Filling {
        inputs: &[input.bytes()],
        number: input.number,
        slot,
    })
}
