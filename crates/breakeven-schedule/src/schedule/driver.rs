//! What a GPU's driver does next, and what it knows of its launches. It reads no clock and
//! touches no device: a thread follows it in real time, and the simulator in virtual time.

use std::collections::VecDeque;

use super::{GpuTurn, LaunchTime, Ns, Span};

/// Shortest and longest time between two looks at a launch, ns.
const SHORTEST_WAIT: Ns = 20_000.0;
const LONGEST_WAIT: Ns = 1_000_000.0;

/// For how long a launch is looked at without sleeping, ns.
const SPIN: Ns = 30_000.0;

/// How many times as many tasks as before a worker does at most until its next look.
const GROWTH: usize = 8;

/// What a driver does.
#[derive(Debug)]
pub enum Step {
    /// Launch this span.
    Start(Span),
    /// Give the launch up that was made last.
    Recall,
    /// Look at the oldest launch; if it is not done, [`Driver::pause`] until then.
    Look(Ns),
    /// Sleep for so long at the most.
    Sleep(Ns),
    /// Nothing will ever be left for this device.
    Return,
}

/// What a driver does after a look at a launch that was not done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pause {
    /// Look again at once.
    Spin,
    /// Sleep for so long, unless the launch ends before.
    Sleep(Ns),
    /// The launch has lasted longer than it may.
    TimedOut,
}

/// A GPU's driver: its launches, oldest first.
#[derive(Debug, Default)]
pub struct Driver {
    submitted: VecDeque<Ns>,
    /// When the last launch ended: the next one's time begins then at the earliest.
    last_end: Option<Ns>,
    /// When outputs were last checked: a launch from before that is done at the next look
    /// may have been for long.
    looked_away: Option<Ns>,
    /// The oldest launch was seen under way since the last one ended.
    was_seen: bool,
}

impl Driver {
    /// What it does after the schedule's answer.
    pub fn step(&self, turn: GpuTurn, now: Ns) -> Step {
        match turn {
            GpuTurn::Run(span) => Step::Start(span),
            GpuTurn::Recall => Step::Recall,
            GpuTurn::Wait(until) if self.submitted.is_empty() => {
                Step::Sleep((until - now).clamp(SHORTEST_WAIT, LONGEST_WAIT))
            }
            GpuTurn::Wait(until) => Step::Look(until),
            GpuTurn::Done if self.submitted.is_empty() => Step::Return,
            GpuTurn::Done => Step::Look(Ns::INFINITY),
        }
    }

    /// A launch was submitted, which began then.
    pub fn submitted(&mut self, began: Ns) {
        self.submitted.push_back(began);
    }

    /// For how long the device has been at the oldest launch, which it began when the one
    /// before had ended.
    fn waited(&self, now: Ns) -> Ns {
        let Some(submitted) = self.submitted.front() else {
            return 0.0;
        };
        now - submitted.max(self.last_end.unwrap_or(*submitted))
    }

    /// The oldest launch is not done: for how long the driver sleeps, if it has nothing else
    /// to do until then.
    pub fn pause(&mut self, now: Ns, until: Ns, timeout: Option<Ns>) -> Pause {
        (self.looked_away, self.was_seen) = (None, true);
        let waited = self.waited(now);
        match timeout {
            Some(timeout) if waited >= timeout => Pause::TimedOut,
            _ if waited < SPIN => Pause::Spin,
            timeout => {
                // A look now and then costs a small part of the wait.
                let pause = (waited / 16.0).clamp(SHORTEST_WAIT, LONGEST_WAIT);
                let limit = timeout.map_or(pause, |timeout| timeout - waited);
                Pause::Sleep(pause.min(limit).min((until - now).max(SHORTEST_WAIT)))
            }
        }
    }

    /// The oldest launch has ended: when it was submitted, for how long the device was at it,
    /// and what of that is known to be its time.
    pub fn ended(&mut self, now: Ns) -> (Ns, Ns, LaunchTime) {
        let ns = self.waited(now);
        let submitted = self.submitted.pop_front().unwrap_or(now);
        let last_end = self.last_end.replace(now);
        let is_from_before = |then: Option<Ns>| then.is_some_and(|then| submitted < then);
        let is_known = !is_from_before(self.looked_away.take());
        let took = LaunchTime {
            ns: is_known.then_some(ns),
            is_joint: !std::mem::take(&mut self.was_seen) && is_from_before(last_end),
            moved: None,
        };
        (submitted, ns, took)
    }

    /// The launch that was made last was given up.
    pub fn gave_up(&mut self) {
        self.submitted.pop_back();
    }

    /// Outputs were checked until now.
    pub fn looked_away(&mut self, now: Ns) {
        self.looked_away = Some(now);
    }
}

/// Tasks that a worker does until its next look, after so many that took `each`.
pub fn until_look(tasks: usize, look: Ns, each: Ns) -> usize {
    crate::whole(look / each.max(1.0)).clamp(1, tasks.saturating_mul(GROWTH))
}
