//! The energy of a run's calls, as counters reported it.

use serde::{Deserialize, Serialize};

use super::Operation;

/// The energy over calls of an operation, by every counter of its device. A counter covers a
/// device, not a process: other programs' energy is included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Energy {
    /// Number of calls in that time, back to back; separate from the samples.
    pub calls: u64,
    /// The time of these calls, ns.
    pub over_ns: f64,
    /// Over how long idle power was measured beforehand, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_over_ns: Option<f64>,
    /// The counters' values, the CPU's first.
    pub counters: Vec<CountedEnergy>,
}

/// The value of one counter.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CountedEnergy {
    /// The id of the device whose energy it counts.
    pub of: String,
    /// The method, in a word: `rapl`, `driver` (the GPU driver's counter), `power` (repeated power
    /// readings, integrated).
    pub how: String,
    /// What it covers of the device, in words: `packages and memory`, `card`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub covers: Option<String>,
    /// Energy over the calls, idle power included, J.
    pub joules: f64,
    /// Power before the calls, while the process waited, W.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_watts: Option<f64>,
}

impl Energy {
    /// Total energy per call, J; `None` if the counters did not advance.
    pub fn joules_per_call(&self) -> Option<f64> {
        let joules: f64 = self.counters.iter().map(|counter| counter.joules).sum();
        let is_known = joules > 0.0 && joules.is_finite() && self.calls > 0;
        is_known.then(|| joules / self.calls as f64)
    }

    /// The idle fraction of [`Energy::joules_per_call`], J: the energy that the devices would have
    /// used in that time without the calls. `None` if a counter's idle power is unknown.
    pub fn idle_joules_per_call(&self) -> Option<f64> {
        let watts: Option<f64> = self.counters.iter().map(|each| each.idle_watts).sum();
        (self.calls > 0).then_some(watts? * self.call_seconds())
    }

    /// The time of a call, s.
    pub fn call_seconds(&self) -> f64 {
        self.over_ns / 1e9 / self.calls as f64
    }

    /// True if both come from the same counters, so that their joules are comparable.
    pub fn is_counted_like(&self, other: &Self) -> bool {
        let kinds = |energy: &Self| {
            let kind = |counter: &CountedEnergy| {
                [
                    Some(counter.of.clone()),
                    Some(counter.how.clone()),
                    counter.covers.clone(),
                ]
            };
            let mut kinds: Vec<_> = energy.counters.iter().map(kind).collect();
            kinds.sort_unstable();
            kinds
        };
        kinds(self) == kinds(other)
    }
}

impl Operation {
    /// The energy of all runs that have it, added up; `None` if none has it, and if different
    /// counters measured some of them.
    pub fn energy(&self) -> Option<Energy> {
        let mut all = self.runs.iter().filter_map(|run| run.energy.as_ref());
        let mut sum = all.next()?.clone();
        for energy in all {
            if !sum.is_counted_like(energy) {
                return None;
            }
            let parts = [sum.over_ns, energy.over_ns].map(|ns| ns / (sum.over_ns + energy.over_ns));
            for counter in &mut sum.counters {
                let mut others = energy.counters.iter();
                let other = others.find(|other| other.of == counter.of)?;
                counter.joules += other.joules;
                let idle = counter.idle_watts.zip(other.idle_watts);
                counter.idle_watts = idle.map(|(one, more)| one * parts[0] + more * parts[1]);
            }
            sum.calls = sum.calls.saturating_add(energy.calls);
            sum.over_ns += energy.over_ns;
            let idle_over = sum.idle_over_ns.zip(energy.idle_over_ns);
            sum.idle_over_ns = idle_over.map(|(one, more)| one + more);
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Run;
    use super::*;

    fn counter(of: &str, joules: f64, idle_watts: Option<f64>) -> CountedEnergy {
        CountedEnergy {
            of: of.to_owned(),
            how: "rapl".to_owned(),
            joules,
            idle_watts,
            ..CountedEnergy::default()
        }
    }

    #[test]
    fn all_counters_add_up_and_idle_is_for_the_time_of_a_call() {
        let mut energy = Energy {
            calls: 4,
            over_ns: 2e9,
            idle_over_ns: None,
            counters: vec![
                counter("cpu", 20.0, Some(3.0)),
                counter("cuda:0", 60.0, Some(5.0)),
            ],
        };
        assert_eq!(energy.joules_per_call(), Some(20.0));
        assert_eq!(energy.idle_joules_per_call(), Some(4.0));
        let mut turned = energy.clone();
        turned.counters.reverse();
        assert!(energy.is_counted_like(&turned));
        turned.counters.pop();
        assert!(!energy.is_counted_like(&turned));
        energy.counters[0].idle_watts = None;
        assert_eq!(energy.idle_joules_per_call(), None);
        for counter in &mut energy.counters {
            counter.joules = 0.0;
        }
        assert_eq!(energy.joules_per_call(), None, "they did not move");
    }

    #[test]
    fn runs_of_the_same_counters_add_up() {
        let run = |calls, over_ns, counters| Run {
            energy: Some(Energy {
                calls,
                over_ns,
                idle_over_ns: Some(1e8),
                counters,
            }),
            ..Run::default()
        };
        let mut operation = Operation::new("f", "cpu");
        operation.runs.push(Run::default());
        assert_eq!(operation.energy(), None);
        let counters = vec![counter("cpu", 20.0, Some(3.0))];
        operation.runs.push(run(4, 3e9, counters));
        let counters = vec![counter("cpu", 10.0, Some(7.0))];
        operation.runs.push(run(1, 1e9, counters));
        let sum = operation.energy().expect("two runs have it");
        assert_eq!(sum.joules_per_call(), Some(6.0));
        assert_eq!((sum.over_ns, sum.idle_over_ns), (4e9, Some(2e8)));
        assert_eq!(sum.counters[0].idle_watts, Some(4.0));
        let counters = vec![counter("cuda:0", 10.0, None)];
        operation.runs.push(run(1, 1e9, counters));
        assert_eq!(operation.energy(), None);
    }
}
