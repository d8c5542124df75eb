//! Where a chain runs next: in its best placement, or in one that is worth a try.

use super::{ChainCosts, Evidence, Placement, StageTime, Tuning};

/// A chain's next run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NextRun {
    /// The place among [`ChainCosts::devices`] of each stage's device.
    pub devices: Vec<usize>,
    /// What that should take; none where that is not known.
    pub placement: Option<Placement>,
    /// True where it is to go stage by stage, each of which is measured.
    pub is_measured: bool,
}

impl NextRun {
    /// True where it may be measured, as the other form of the chain takes so long.
    pub(crate) fn is_worth(&self, other_ns: Option<f64>, tuning: &Tuning) -> bool {
        let own = self.placement.as_ref().map(|all| all.predicted_ns);
        let pair = own.zip(other_ns);
        pair.is_none_or(|(own, other)| own <= tuning.chain_worth_measuring * other)
    }
}

impl ChainCosts {
    /// What a manager that has run chains `count` times does with this one next; none where it
    /// can run nowhere.
    pub fn next_run(&self, count: u64, tuning: &Tuning) -> Option<NextRun> {
        let measured = |device: usize| NextRun {
            devices: self.all_on(device),
            placement: self.placed(&self.all_on(device)),
            is_measured: true,
        };
        // Nothing says what a stage takes there, or on a GPU a first run does: that may have
        // compiled it, which takes a second on some devices, and tells nothing of the next.
        let is_new = |device: usize| {
            let tells_nothing = |time: StageTime| {
                device > 0 && (1..=tuning.chain_first_runs).contains(&time.observations)
            };
            let mut stages = self.stages.iter();
            stages
                .any(|stage| stage.runs_on[device] && stage.times[device].is_none_or(tells_nothing))
        };
        let mut devices = 0..self.devices.len();
        if let Some(device) = devices.find(|device| is_new(*device)) {
            return Some(NextRun {
                placement: None,
                ..measured(device)
            });
        }
        let best = self.best()?;
        let placement = self.placed(&best)?;
        let is_sure =
            |time: StageTime| time.observations > 0 && time.evidence == Evidence::Measured;
        let of_best = best.iter().zip(&self.stages);
        let mut of_best = of_best.filter_map(|(device, stage)| stage.times[*device]);
        if !of_best.all(is_sure) {
            return Some(NextRun {
                devices: best,
                placement: Some(placement),
                is_measured: true,
            });
        }
        // Devices on which the chain takes little enough, and whether that is sure.
        let most = tuning.chain_worth_measuring * placement.predicted_ns;
        let alone = (0..self.devices.len()).filter_map(|device| {
            let times = self.stages.iter().filter_map(|stage| stage.times[device]);
            let times: Vec<_> = times.collect();
            let ns = self.placed(&self.all_on(device))?.predicted_ns;
            (!times.is_empty() && ns <= most).then(|| (device, times.into_iter().all(is_sure)))
        });
        let (sure, unsure): (Vec<_>, Vec<_>) = alone.partition(|(_, is_sure)| *is_sure);
        if let Some(&(device, _)) = unsure.first() {
            return Some(measured(device));
        }
        let every = tuning.chain_measured_every.max(1);
        if count % every == every - 1 && !sure.is_empty() {
            let turn = usize::try_from(count / every).unwrap_or(0);
            return Some(measured(sure[turn % sure.len()].0));
        }
        Some(NextRun {
            devices: best,
            placement: Some(placement),
            is_measured: false,
        })
    }

    /// All that can be on that device, and the rest on the CPU.
    fn all_on(&self, device: usize) -> Vec<usize> {
        let stages = self.stages.iter();
        let place = stages.map(|stage| if stage.runs_on[device] { device } else { 0 });
        place.collect()
    }
}
