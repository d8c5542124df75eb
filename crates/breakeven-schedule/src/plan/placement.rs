//! Where each stage of a chain should run: the placement whose stages and transfers take
//! least together, found by dynamic programming over (stage, device).

use breakeven_profile::unit;
use serde::Serialize;

use super::{Evidence, Machine, Tuning};

/// What the stages of a chain take on each device, and what moving their data takes.
#[derive(Debug, Clone, PartialEq)]
pub struct ChainCosts {
    /// The devices. The first is the CPU, in whose memory the input is and the output is
    /// wanted.
    pub devices: Vec<DeviceLinks>,
    /// The stages, in order.
    pub stages: Vec<StageCosts>,
    /// Bytes of the chain's input.
    pub input_bytes: u64,
}

/// A device, and what moving data to it and from it takes.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct DeviceLinks {
    /// Its id; `cpu`.
    pub device: String,
    /// To it from the host's memory.
    pub up: TransferTime,
    /// From it to the host's memory.
    pub down: TransferTime,
}

/// What a transfer takes: `fixed + bytes × per_byte`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct TransferTime {
    /// Whatever the size, ns.
    pub fixed_ns: f64,
    /// ns per byte.
    pub per_byte_ns: f64,
}

impl TransferTime {
    /// At so many bytes per second; no time where that is not known.
    pub fn at_rate(bytes_per_s: Option<f64>) -> Self {
        Self {
            fixed_ns: 0.0,
            per_byte_ns: bytes_per_s.map_or(0.0, |rate| 1e9 / rate),
        }
    }

    /// That of so many bytes, ns.
    pub fn of(&self, bytes: u64) -> f64 {
        self.fixed_ns + bytes as f64 * self.per_byte_ns
    }
}

/// What one stage takes.
#[derive(Debug, Clone, PartialEq)]
pub struct StageCosts {
    /// Its name.
    pub name: String,
    /// Bytes of its output.
    pub output_bytes: u64,
    /// The devices that it has a form for.
    pub runs_on: Vec<bool>,
    /// Its time on each device, without transfers; none where it cannot run there, or
    /// nothing is known.
    pub times: Vec<Option<StageTime>>,
}

/// The time of a stage on a device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct StageTime {
    /// Without transfers, ns.
    pub ns: f64,
    /// What that is known from.
    pub evidence: Evidence,
    /// Times that it was observed; 0 where the peaks of the device say what it should take.
    pub observations: u64,
}

/// Where each stage of a chain runs, and what that should take.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Placement {
    /// The stages, in order.
    pub stages: Vec<PlacedStage>,
    /// Moves of the data, in order.
    pub moves: Vec<Move>,
    /// The whole chain's time, ns.
    pub predicted_ns: f64,
    /// What the chain would take with every stage on one device, ns.
    pub alone: Vec<Alone>,
}

/// A stage in its place.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlacedStage {
    /// Its name.
    pub stage: String,
    /// Where it runs.
    pub device: String,
    /// What it takes there.
    pub time: StageTime,
}

/// The data goes from one device to another.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Move {
    /// Before which stage, counted from 0; their number for the last output's way home.
    pub before: usize,
    /// The device that has it.
    pub from: String,
    /// The one that needs it.
    pub to: String,
    /// Its size.
    pub bytes: u64,
    /// What that takes, ns.
    pub ns: f64,
}

/// What happens to the data of a chain next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Leg<'p> {
    /// It goes to another device.
    Move(&'p Move),
    /// A stage works on it.
    Stage(&'p PlacedStage),
}

/// All stages on one device.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alone {
    /// The device.
    pub device: String,
    /// The chain's time there with the transfers, ns; none where a stage cannot run there,
    /// or its time is not known.
    pub predicted_ns: Option<f64>,
}

impl ChainCosts {
    /// What the stages take on a machine that is described, as they take so long on this
    /// one's CPU with so many workers: with the number of its cores, its GPUs' rates over a
    /// core's, their launches and their transfers.
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

    /// The placement that takes least; none where there is a stage of which no time is
    /// known on any device.
    pub fn place(&self) -> Option<Placement> {
        self.placed(&self.best()?)
    }

    /// The places of the devices of that placement, for each stage.
    fn best(&self) -> Option<Vec<usize>> {
        // The way that takes least until the data is on each device, and its time.
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

    /// The way after which the data of a stage is on that device first.
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

    /// Bytes that a stage is given; of the last output for the number of stages.
    fn bytes_before(&self, place: usize) -> u64 {
        let before = place.checked_sub(1);
        before.map_or(self.input_bytes, |place| self.stages[place].output_bytes)
    }

    /// Between two devices the data goes by the host's memory.
    fn move_ns(&self, from: usize, to: usize, bytes: u64) -> f64 {
        if from == to {
            return 0.0;
        }
        let down = self.devices[from].down.of(bytes);
        let up = self.devices[to].up.of(bytes);
        down * f64::from(u8::from(from != 0)) + up * f64::from(u8::from(to != 0))
    }

    /// The placement with the stages on those devices, whether it is the best or not; none
    /// where a stage's time there is not known.
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
    /// The place among [`ChainCosts::devices`] of each stage's device.
    pub devices: Vec<usize>,
    /// What that should take; none where that is not known.
    pub placement: Option<Placement>,
    /// True where it is to go stage by stage, each of which is measured.
    pub is_measured: bool,
}

impl ChainCosts {
    /// What a manager that has run chains `count` times does with this one next: its best
    /// placement, or one that has to be measured. None where it can run nowhere.
    pub fn next_run(&self, count: u64, tuning: &Tuning) -> Option<NextRun> {
        let run = |devices: Vec<usize>, is_measured| NextRun {
            placement: self.placed(&devices),
            devices,
            is_measured,
        };
        // All that can be on a device, and the rest on the CPU.
        let all_on = |device: usize| {
            let stages = self.stages.iter();
            let places = stages.map(|stage| if stage.runs_on[device] { device } else { 0 });
            run(places.collect(), true)
        };
        // Nothing says what a stage takes there, or on a GPU a first run does: that may have
        // compiled it, which takes a second on some devices, and tells nothing of the next.
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
    /// True where all stages are on one device.
    pub fn is_uniform(&self) -> bool {
        let mut pairs = self.stages.windows(2);
        pairs.all(|pair| pair[0].device == pair[1].device)
    }

    /// The way of the data: stages, and the moves before, between and after them.
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

    /// The devices that stages run on, each once.
    pub fn devices(&self) -> Vec<&str> {
        let mut devices: Vec<&str> = Vec::new();
        for stage in &self.stages {
            if !devices.contains(&&*stage.device) {
                devices.push(&stage.device);
            }
        }
        devices
    }

    /// How good its times are: as the worst of them.
    pub fn evidence(&self) -> Evidence {
        let all = self.stages.iter().map(|stage| stage.time.evidence);
        all.min().unwrap_or(Evidence::Heuristic)
    }

    /// What runs where and what moves, in a line each, and what every device alone would
    /// take.
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
