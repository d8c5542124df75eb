//! Joins several profiles of one program on one machine.

use std::collections::HashMap;

use super::{
    BreakEven, Difference, Environment, Evidence, Gpu, Operation, OperationKey, Profile, Stack,
    both,
};

/// Why profiles cannot be joined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JoinError {
    /// There is no profile.
    #[error("there is no profile to join; give at least one")]
    Nothing,
    /// A profile is from a different machine or build than the first.
    #[error(
        "profile {number} differs from the first in its {}: {}, not {}; join \
         only profiles of one machine and one build",
        difference.what, difference.second, difference.first
    )]
    OtherEnvironment {
        /// Which profile, counted from 1.
        number: usize,
        /// The property that differs.
        difference: Difference,
    },
    /// An operation of the same name, device and size does different work.
    #[error(
        "profile {number}: {operation} is not the same work: {what} is {second}, and was {first}; give it another name or size"
    )]
    OtherWork {
        /// Which profile, counted from 1.
        number: usize,
        /// The operation, as in "conv2d on cpu, size 65536".
        operation: String,
        /// The property that differs: `workload`, `items`, `bytes`, `flops`, `counter`.
        what: &'static str,
        /// Its value before.
        first: String,
        /// Its value in this profile.
        second: String,
    },
}

impl Profile {
    /// Joins the runs of all profiles, operation by operation, in the given order.
    ///
    /// A profile with another machine, driver, clock or build is an error, not a warning: the
    /// joined profile has only one environment, which would be wrong for half of its runs in every
    /// later comparison. Properties that are measured at each start (peaks, break-even sizes, the
    /// clock's steps, the recorder's cost) are taken from the first profile that has them. Call paths are added up. What devices did in each trace and recordings of
    /// the machine's load are kept separately. A timeline belongs to one process, so only a single
    /// profile keeps it.
    ///
    /// # Errors
    ///
    /// [`JoinError`].
    pub fn join(profiles: impl IntoIterator<Item = Self>) -> Result<Self, JoinError> {
        let mut profiles = profiles.into_iter();
        let mut joined = profiles.next().ok_or(JoinError::Nothing)?;
        let mut index: HashMap<OperationKey, usize> = (0..)
            .zip(&joined.operations)
            .map(|(at, operation)| (operation.key(), at))
            .collect();
        for (number, profile) in (2..).zip(profiles) {
            let mut differences = joined.environment.differences(&profile.environment);
            if !differences.is_empty() {
                let difference = differences.swap_remove(0);
                return Err(JoinError::OtherEnvironment { number, difference });
            }
            for operation in profile.operations {
                match index.get(&operation.key()) {
                    Some(at) => joined.operations[*at].append(operation, number)?,
                    None => {
                        index.insert(operation.key(), joined.operations.len());
                        joined.operations.push(operation);
                    }
                }
            }
            joined.environment.fill_from(profile.environment);
            joined.interrupted |= profile.interrupted;
            joined.benchmark |= profile.benchmark;
            // RFC 3339 in UTC sorts as text.
            joined.created = both(joined.created.take(), profile.created, Ord::min);
            joined.generator = joined.generator.take().or(profile.generator);
            joined.evidence.fill_from(profile.evidence);
            joined.add_stacks(profile.stacks);
            joined.timeline = None;
            joined.activity.extend(profile.activity);
            joined.load.extend(profile.load);
        }
        Ok(joined)
    }

    /// Copies measurements of the machine from another of its profiles: peaks, break-even sizes,
    /// and the GPUs concerned. Known values are kept.
    ///
    /// # Errors
    ///
    /// The first [`Difference`] between the two machines; nothing is copied then. Profiles of
    /// different programs and builds may share evidence.
    pub fn take_evidence(&mut self, other: Self) -> Result<(), Difference> {
        let differences = self.environment.differences(&other.environment);
        if let Some(difference) = differences.into_iter().find(Difference::is_of_machine) {
            return Err(difference);
        }
        self.environment.add_gpus(other.environment.gpus);
        self.evidence.fill_from(other.evidence);
        Ok(())
    }

    fn add_stacks(&mut self, stacks: Vec<Stack>) {
        let mut index: HashMap<Vec<String>, usize> = (0..)
            .zip(&self.stacks)
            .map(|(at, stack)| (stack.frames.clone(), at))
            .collect();
        for stack in stacks {
            match index.get(&stack.frames) {
                Some(at) => {
                    let known = &mut self.stacks[*at];
                    known.calls = known.calls.saturating_add(stack.calls);
                    known.total_ns = known.total_ns.saturating_add(stack.total_ns);
                    known.self_ns = known.self_ns.saturating_add(stack.self_ns);
                }
                None => {
                    index.insert(stack.frames.clone(), self.stacks.len());
                    self.stacks.push(stack);
                }
            }
        }
    }
}

impl Evidence {
    fn fill_from(&mut self, other: Self) {
        for peak in other.peaks {
            if !self.peaks.iter().any(|known| known.device == peak.device) {
                self.peaks.push(peak);
            }
        }
        for found in other.break_even {
            let same = |known: &BreakEven| {
                (&known.operation, &known.device, &known.over)
                    == (&found.operation, &found.device, &found.over)
            };
            if !self.break_even.iter().any(same) {
                self.break_even.push(found);
            }
        }
    }
}

impl Operation {
    /// Adds the runs of the same operation from another profile.
    fn append(&mut self, mut other: Self, number: usize) -> Result<(), JoinError> {
        if let Some((what, first, second)) = self.other_work(&other) {
            return Err(JoinError::OtherWork {
                number,
                operation: self.key().to_string(),
                what,
                first,
                second,
            });
        }
        if self.memory_bytes != other.memory_bytes {
            // Each run keeps its own profile's values.
            for operation in [&mut *self, &mut other] {
                for run in &mut operation.runs {
                    run.memory_bytes = run.memory_bytes.or(operation.memory_bytes);
                }
            }
        }
        self.memory_bytes = self.memory_bytes.max(other.memory_bytes);
        let calls = [self.calls() as f64, other.calls() as f64];
        self.workload = self.workload.take().or(other.workload);
        let mean = |one, more| both(one, more, |one, more| mean([one, more], calls));
        self.items = mean(self.items, other.items);
        self.bytes = mean(self.bytes, other.bytes);
        self.flops = mean(self.flops, other.flops);
        self.gpu_use = self.gpu_use.or(other.gpu_use);
        self.failure = self.failure.take().or(other.failure);
        self.executions = both(self.executions.take(), other.executions, |mut all, more| {
            all.append(more);
            all
        });
        self.within_execution |= other.within_execution;
        for (name, value) in other.attributes {
            self.attributes.entry(name).or_insert(value);
        }
        self.counters.append(&mut other.counters);
        self.runs.append(&mut other.runs);
        Ok(())
    }

    /// True if a recorder took the samples in a program: its calls may differ, and items, bytes and
    /// flops are means over them.
    pub fn is_recorded(&self) -> bool {
        self.runs.iter().any(|run| run.nested_calls.is_some())
    }

    /// The first property of a call's work that both have and that differs: its name, the value
    /// here, the value there. Means over recorded calls may differ.
    pub fn other_work(&self, other: &Self) -> Option<(&'static str, String, String)> {
        let means = self.is_recorded() && other.is_recorded();
        let count = |count: Option<u64>| count.filter(|_| !means).map(|count| count.to_string());
        let clash = self.counters.iter().find_map(|(name, counter)| {
            let other = other.counters.get(name).filter(|other| *other != counter)?;
            Some([counter, other].map(|counter| Some(format!("{name} {counter}"))))
        });
        let [counter, other_counter] = clash.unwrap_or_default();
        [
            ("workload", self.workload.clone(), other.workload.clone()),
            ("items", count(self.items), count(other.items)),
            ("bytes", count(self.bytes), count(other.bytes)),
            ("flops", count(self.flops), count(other.flops)),
            ("counter", counter, other_counter),
        ]
        .into_iter()
        .find_map(|(what, first, second)| {
            let (first, second) = first.zip(second)?;
            (first != second).then_some((what, first, second))
        })
    }
}

/// The mean of two figures, weighted by their numbers of calls.
fn mean(figures: [u64; 2], calls: [f64; 2]) -> u64 {
    if figures[0] == figures[1] {
        return figures[0];
    }
    let all = (calls[0] + calls[1]).max(1.0);
    let mean = figures[0] as f64 * (calls[0] / all) + figures[1] as f64 * (calls[1] / all);
    #[expect(
        clippy::cast_sign_loss,
        reason = "the mean of two counts is none below zero"
    )]
    let whole = mean.round() as u64;
    whole
}

impl Environment {
    /// Copies unknown values from an environment that does not differ.
    fn fill_from(&mut self, other: Self) {
        self.os = self.os.take().or(other.os);
        self.arch = self.arch.take().or(other.arch);
        self.cpu = self.cpu.take().or(other.cpu);
        self.add_gpus(other.gpus);
        self.clock = self.clock.take().or(other.clock);
        self.recorder = self.recorder.or(other.recorder);
        self.revision = self.revision.take().or(other.revision);
        self.build_profile = self.build_profile.take().or(other.build_profile);
        // Containers on one machine have different host names.
        self.host = self
            .host
            .take()
            .filter(|host| other.host.as_ref() == Some(host));
    }

    fn add_gpus(&mut self, gpus: Vec<Gpu>) {
        for gpu in gpus {
            match self.gpus.iter_mut().find(|known| known.id == gpu.id) {
                Some(known) => known.kernel_clock = known.kernel_clock.take().or(gpu.kernel_clock),
                None => self.gpus.push(gpu),
            }
        }
    }
}
