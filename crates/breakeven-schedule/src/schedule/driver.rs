//! Decides what a GPU's driver thread does next, and tracks its launches. It reads no clock and
//! touches no device: a thread runs it in real time, and the simulator in virtual time.

use std::collections::VecDeque;

use super::{GpuTurn, LaunchTime, Ns, Span};

/// Shortest and longest time between two polls of a launch, ns.
const SHORTEST_WAIT: Ns = 20_000.0;
const LONGEST_WAIT: Ns = 1_000_000.0;

/// How long a launch is polled without sleeping, ns.
const SPIN: Ns = 30_000.0;

/// Largest growth of the number of tasks between two polls.
const GROWTH: usize = 8;

/// A driver's next action.
#[derive(Debug)]
pub enum Step {
    /// Launch this span.
    Start(Span),
    /// Abandon the launch that was made last.
    Recall,
    /// Poll the oldest launch; if it is not done, [`Driver::pause`] until then.
    Look(Ns),
    /// Sleep for at most this long.
    Sleep(Ns),
    /// This device will get no more tasks.
    Return,
}

/// A driver's action after it polled a launch that was not done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pause {
    /// Poll again at once.
    Spin,
    /// Sleep for this long, unless the launch ends before.
    Sleep(Ns),
    /// The launch has exceeded its time limit.
    TimedOut,
}

/// A GPU's driver: its launches, oldest first.
#[derive(Debug, Default)]
pub struct Driver {
    submitted: VecDeque<Ns>,
    /// When the last launch ended: the next one's time begins then at the earliest.
    last_end: Option<Ns>,
    /// When outputs were last checked: a launch from before that, if it is done at the next poll,
    /// may have been done for long.
    looked_away: Option<Ns>,
    /// The oldest launch was polled while running since the last one ended.
    was_seen: bool,
}

impl Driver {
    /// Returns the action that follows from the schedule's answer.
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

    /// Records a launch that was submitted at `began`.
    pub fn submitted(&mut self, began: Ns) {
        self.submitted.push_back(began);
    }

    /// Returns how long the device has worked at the oldest launch, which began when the previous
    /// one had ended.
    fn waited(&self, now: Ns) -> Ns {
        let Some(submitted) = self.submitted.front() else {
            return 0.0;
        };
        now - submitted.max(self.last_end.unwrap_or(*submitted))
    }

    /// Returns how long the driver sleeps if the oldest launch is not done and there is nothing
    /// else to do until then.
    pub fn pause(&mut self, now: Ns, until: Ns, timeout: Option<Ns>) -> Pause {
        (self.looked_away, self.was_seen) = (None, true);
        let waited = self.waited(now);
        match timeout {
            Some(timeout) if waited >= timeout => Pause::TimedOut,
            _ if waited < SPIN => Pause::Spin,
            timeout => {
                // Polling this often costs a small fraction of the wait.
                let pause = (waited / 16.0).clamp(SHORTEST_WAIT, LONGEST_WAIT);
                let limit = timeout.map_or(pause, |timeout| timeout - waited);
                Pause::Sleep(pause.min(limit).min((until - now).max(SHORTEST_WAIT)))
            }
        }
    }

    /// Removes the oldest launch, which has ended. Returns when it was submitted, how long the
    /// device worked at it, and what is known about its time.
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

    /// Removes the launch that was made last, which was abandoned.
    pub fn gave_up(&mut self) {
        self.submitted.pop_back();
    }

    /// Records that outputs were checked until now.
    pub fn looked_away(&mut self, now: Ns) {
        self.looked_away = Some(now);
    }
}

/// Returns how many tasks a worker does until its next poll, after `tasks` that took `each`.
pub fn until_look(tasks: usize, look: Ns, each: Ns) -> usize {
    crate::whole(look / each.max(1.0)).clamp(1, tasks.saturating_mul(GROWTH))
}
