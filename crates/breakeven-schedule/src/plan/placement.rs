//! Where each stage of a chain runs: the placement with the least total time of stages and
//! transfers, found by dynamic programming over (stage, device).

use breakeven_profile::unit;
use serde::Serialize;

use super::{Evidence, Machine, Tuning};

/// Times of a chain's stages on each device, and of the transfers between devices.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainCosts {
    /// The devices. The first is the CPU, whose memory holds the input and must receive the output.
    pub devices: Vec<DeviceLinks>,
    /// The stages, in order.
    pub stages: Vec<StageCosts>,
    /// Bytes of the chain's input.
    pub input_bytes: u64,
}

/// A device, and the time of transfers to and from it.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct DeviceLinks {
    /// Its id; `cpu`.
    pub device: String,
    /// From the host's memory to the device.
    pub up: TransferTime,
    /// From the device to the host's memory.
    pub down: TransferTime,
}

/// Time of a transfer: `fixed + bytes × per_byte`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct TransferTime {
    /// Whatever the size, ns.
    pub fixed_ns: f64,
    /// ns per byte.
    pub per_byte_ns: f64,
}

impl TransferTime {
    /// Creates it from bytes per second; no time if the rate is not known.
    pub fn at_rate(bytes_per_s: Option<f64>) -> Self {
        Self {
            fixed_ns: 0.0,
            per_byte_ns: bytes_per_s.map_or(0.0, |rate| 1e9 / rate),
        }
    }

    /// Returns the time of a transfer of `bytes`, ns.
    pub fn of(&self, bytes: u64) -> f64 {
        self.fixed_ns + bytes as f64 * self.per_byte_ns
    }
}

/// Costs of one stage.
#[derive(Debug, Clone, PartialEq)]
pub struct StageCosts {
    /// Its name.
    pub name: String,
    /// Bytes of its output.
    pub output_bytes: u64,
    /// Whether it has an implementation for each device.
    pub runs_on: Vec<bool>,
    /// Its time on each device, without transfers; none if it cannot run there, or nothing is
    /// known.
    pub times: Vec<Option<StageTime>>,
}

/// The time of a stage on a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StageTime {
    /// Without transfers, ns.
    pub ns: f64,
    /// What the time is based on.
    pub evidence: Evidence,
    /// Observations; 0 if the time follows from the device's peaks.
    pub observations: u64,
}

/// Where each stage of a chain runs, and the predicted times.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Placement {
    /// The stages, in order.
    pub stages: Vec<PlacedStage>,
    /// Moves of the data, in order.
    pub moves: Vec<Move>,
    /// The chain's predicted time, ns.
    pub predicted_ns: f64,
    /// Predicted time of the chain with every stage on one device, ns.
    pub alone: Vec<Alone>,
}

/// A stage and its device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlacedStage {
    /// Its name.
    pub stage: String,
    /// Where it runs.
    pub device: String,
    /// Its time there.
    pub time: StageTime,
}

/// A transfer of the data from one device to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Move {
    /// The index of the stage that follows; the number of stages for the final transfer to the
    /// host.
    pub before: usize,
    /// The device that has it.
    pub from: String,
    /// The one that needs it.
    pub to: String,
    /// Its size.
    pub bytes: u64,
    /// Time of the transfer, ns.
    pub ns: f64,
}

/// The next step of a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Leg<'p> {
    /// Move the data to another device.
    Move(&'p Move),
    /// Run a stage.
    Stage(&'p PlacedStage),
}

/// All stages on one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alone {
    /// The device.
    pub device: String,
    /// The chain's time there with the transfers, ns; none if a stage cannot run there, or its time
    /// is not known.
    pub predicted_ns: Option<f64>,
}

impl ChainCosts {
    /// Converts the costs from this machine's CPU, with its number of workers, to a described
    /// machine: by the number of its cores, its GPUs' rates relative to a core, their launches and
    /// their transfers.
    #[must_use]
    pub fn on(&self, machine: &Machine, workers: usize) -> Self {
        let cores = machine.cores.max(1) as f64;
        let stated = |ns: f64| StageTime {
            ns,
            evidence: Evidence::Heuristic,
            observations: 0,
        };
        let stages = self.stages.iter().map(|stage| {
            let here = stage.times.first().copied().flatten();
            let on_core = here.map(|time| time.ns * workers.max(1) as f64);
            let cpu = on_core.map(|ns| stated(ns / cores));
            let gpus = machine.gpus.iter().map(|gpu| {
                let launch = gpu.launch.get().unwrap_or_default().as_nanos() as f64;
                Some(stated(on_core? / gpu.speedup.get()? + launch))
            });
            StageCosts {
                runs_on: vec![true; 1 + machine.gpus.len()],
                times: std::iter::once(cpu).chain(gpus).collect(),
                ..stage.clone()
            }
        });
        let gpus = machine.gpus.iter().map(|gpu| {
            let link = TransferTime::at_rate(gpu.transfer_bytes_per_s.get());
            DeviceLinks {
                device: gpu.name.clone(),
                up: link,
                down: link,
            }
        });
        Self {
            devices: self.devices.iter().take(1).cloned().chain(gpus).collect(),
            stages: stages.collect(),
            input_bytes: self.input_bytes,
        }
    }

    /// Returns the placement with the least time; none if the time of a stage is not known on any
    /// device.
    pub fn place(&self) -> Option<Placement> {
        self.placed(&self.best()?)
    }

    /// Returns the device index of each stage in that placement.
    fn best(&self) -> Option<Vec<usize>> {
        // For each device, the fastest path that ends with the data there, and its time.
        let mut ways: Vec<Option<(f64, Vec<usize>)>> = vec![None; self.devices.len()];
        *ways.first_mut()? = Some((0.0, Vec::new()));
        for (place, stage) in self.stages.iter().enumerate() {
            let after = |to: usize| {
                let own = stage.times.get(to).copied().flatten()?.ns;
                let (until, mut devices) = self.moved(&ways, to, place)?;
                devices.push(to);
                Some((until + own, devices))
            };
            ways = (0..ways.len()).map(after).collect();
        }
        Some(self.moved(&ways, 0, self.stages.len())?.1)
    }

    /// Returns the path extended by the transfer of the data to that device.
    fn moved(
        &self,
        ways: &[Option<(f64, Vec<usize>)>],
        to: usize,
        place: usize,
    ) -> Option<(f64, Vec<usize>)> {
        let bytes = self.bytes_before(place);
        let ways = ways.iter().enumerate().filter_map(|(from, way)| {
            let (until, devices) = way.as_ref()?;
            Some((until + self.move_ns(from, to, bytes), devices))
        });
        let first = ways.min_by(|(one, _), (other, _)| one.total_cmp(other));
        first.map(|(until, devices)| (until, devices.clone()))
    }

    /// Returns the bytes of a stage's input; for the number of stages, of the last output.
    fn bytes_before(&self, place: usize) -> u64 {
        let before = place.checked_sub(1);
        before.map_or(self.input_bytes, |place| self.stages[place].output_bytes)
    }

    /// Returns the time of a transfer between two devices, which goes through the host's memory.
    fn move_ns(&self, from: usize, to: usize, bytes: u64) -> f64 {
        if from == to {
            return 0.0;
        }
        let down = self.devices[from].down.of(bytes);
        let up = self.devices[to].up.of(bytes);
        down * f64::from(u8::from(from != 0)) + up * f64::from(u8::from(to != 0))
    }

    /// Returns the placement with the stages on those devices, whether or not it is the best; none
    /// if a stage's time there is not known.
    pub fn placed(&self, devices: &[usize]) -> Option<Placement> {
        let (stages, moves, predicted_ns) = self.priced(devices)?;
        let alone = (0..self.devices.len()).map(|device| Alone {
            device: self.devices[device].device.clone(),
            predicted_ns: self
                .priced(&vec![device; devices.len()])
                .map(|priced| priced.2),
        });
        Some(Placement {
            stages,
            moves,
            predicted_ns,
            alone: alone.collect(),
        })
    }

    fn priced(&self, devices: &[usize]) -> Option<(Vec<PlacedStage>, Vec<Move>, f64)> {
        let name = |device: usize| self.devices[device].device.clone();
        let stages = self.stages.iter().zip(devices).map(|(stage, device)| {
            Some(PlacedStage {
                stage: stage.name.clone(),
                device: name(*device),
                time: stage.times.get(*device).copied().flatten()?,
            })
        });
        let stages = stages.collect::<Option<Vec<_>>>()?;
        let there = [0].iter().chain(devices);
        let next = devices.iter().chain(&[0]);
        let moves = there.zip(next).enumerate();
        let moves = moves.filter(|(_, (from, to))| from != to);
        let moves = moves.map(|(before, (from, to))| {
            let bytes = self.bytes_before(before);
            Move {
                before,
                from: name(*from),
                to: name(*to),
                bytes,
                ns: self.move_ns(*from, *to, bytes),
            }
        });
        let moves: Vec<Move> = moves.collect();
        let own: f64 = stages.iter().map(|stage| stage.time.ns).sum();
        let moved: f64 = moves.iter().map(|each| each.ns).sum();
        Some((stages, moves, own + moved))
    }
}

/// A chain's next run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NextRun {
    /// The index among [`ChainCosts::devices`] of each stage's device.
    pub devices: Vec<usize>,
    /// The prediction; none if it is not known.
    pub placement: Option<Placement>,
    /// True if it runs stage by stage, and each stage is measured.
    pub is_measured: bool,
}

impl ChainCosts {
    /// Decides the next run of a chain for a manager that has run chains `count` times: its best
    /// placement, or one that must be measured. None if it can run nowhere.
    pub fn next_run(&self, count: u64, tuning: &Tuning) -> Option<NextRun> {
        let run = |devices: Vec<usize>, is_measured| NextRun {
            placement: self.placed(&devices),
            devices,
            is_measured,
        };
        // Every stage that has an implementation for the device, and the others on the CPU.
        let all_on = |device: usize| {
            let stages = self.stages.iter();
            let places = stages.map(|stage| if stage.runs_on[device] { device } else { 0 });
            run(places.collect(), true)
        };
        // Nothing is known of a stage there, or only its first run on a GPU: that run may have
        // included a compilation, which takes a second on some devices.
        let is_new = |device: &usize| {
            let is_first = |time: StageTime| *device > 0 && time.observations == 1;
            let here = self.stages.iter().filter(|stage| stage.runs_on[*device]);
            let mut times = here.map(|stage| stage.times[*device]);
            times.any(|time| time.is_none_or(is_first))
        };
        if let Some(device) = (0..self.devices.len()).find(is_new) {
            return Some(all_on(device));
        }
        let best = run(self.best()?, false);
        let most = tuning.failed_prediction * best.placement.as_ref()?.predicted_ns;
        let is_used = |device: &usize| self.stages.iter().any(|stage| stage.runs_on[*device]);
        let alone = (0..self.devices.len()).filter(is_used).map(all_on);
        let is_worth = |run: &NextRun| {
            let placement = run.placement.as_ref();
            placement.is_some_and(|placement| placement.predicted_ns <= most)
        };
        let mut worth: Vec<NextRun> = alone.filter(is_worth).collect();
        let is_unsure = |run: &&NextRun| {
            let mut stages = run.placement.iter().flat_map(|placement| &placement.stages);
            stages.any(|PlacedStage { time, .. }| {
                time.observations == 0 || time.evidence != Evidence::Measured
            })
        };
        if let Some(unsure) = std::iter::once(&best).chain(&worth).find(is_unsure) {
            return Some(run(unsure.devices.clone(), true));
        }
        let every = tuning.runs_before_again.max(1);
        let turn = usize::try_from(count / every).unwrap_or(0);
        match count % every == every - 1 && !worth.is_empty() {
            true => Some(worth.swap_remove(turn % worth.len())),
            false => Some(best),
        }
    }
}

impl Placement {
    /// Returns true if all stages are on one device.
    pub fn is_uniform(&self) -> bool {
        let mut pairs = self.stages.windows(2);
        pairs.all(|pair| pair[0].device == pair[1].device)
    }

    /// Iterates over the steps of a chain: its stages, and the transfers before, between and after
    /// them.
    pub fn way(&self) -> impl Iterator<Item = Leg<'_>> {
        let stages = self.stages.iter().map(Some).chain([None]);
        stages.enumerate().flat_map(|(place, stage)| {
            let mut moves = self.moves.iter();
            let before = moves.find(|each| each.before == place);
            before
                .map(Leg::Move)
                .into_iter()
                .chain(stage.map(Leg::Stage))
        })
    }

    /// Returns the devices that stages run on, each once.
    pub fn devices(&self) -> Vec<&str> {
        let mut devices: Vec<&str> = Vec::new();
        for stage in &self.stages {
            if !devices.contains(&&*stage.device) {
                devices.push(&stage.device);
            }
        }
        devices
    }

    /// Returns the evidence of its times: the weakest of them.
    pub fn evidence(&self) -> Evidence {
        let all = self.stages.iter().map(|stage| stage.time.evidence);
        all.min().unwrap_or(Evidence::Heuristic)
    }

    /// Describes what runs where and what moves, in a line each, and the time on every device
    /// alone.
    pub fn reasons(&self) -> Vec<String> {
        let line = |leg: Leg<'_>| match leg {
            Leg::Move(each) => {
                let (bytes, time) = (unit::bytes(each.bytes), unit::time(each.ns));
                format!("{bytes} from {} to {}: {time}", each.from, each.to)
            }
            Leg::Stage(placed) => {
                let (ns, evidence) = (unit::time(placed.time.ns), placed.time.evidence);
                format!("{} on {}: {ns} ({evidence})", placed.stage, placed.device)
            }
        };
        let mut lines: Vec<String> = self.way().map(line).collect();
        let total = unit::time(self.predicted_ns);
        let alone = self.alone.iter().filter_map(|alone| {
            let ns = alone.predicted_ns?;
            Some(format!("all on {} {}", alone.device, unit::time(ns)))
        });
        let alone: Vec<String> = alone.collect();
        lines.push(format!("together {total}; {}", alone.join(", ")));
        lines
    }
}
