//! Where each stage of a chain should run: the placement whose stages and transfers take
//! least together, found by dynamic programming over (stage, device).

use breakeven_profile::unit;
use serde::Serialize;

use super::{Evidence, Machine};

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
#[derive(Debug, Clone, PartialEq, Serialize)]
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
            let rate = gpu.transfer_bytes_per_s.get();
            let link = TransferTime {
                fixed_ns: 0.0,
                per_byte_ns: rate.map_or(0.0, |rate| 1e9 / rate),
            };
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
    pub(crate) fn best(&self) -> Option<Vec<usize>> {
        let devices = self.devices.len();
        // The least time until a stage is done on each device, and where it was before.
        let mut least: Vec<Option<f64>> = vec![None; devices];
        *least.first_mut()? = Some(0.0);
        let mut came_from: Vec<Vec<usize>> = Vec::with_capacity(self.stages.len());
        for (place, stage) in self.stages.iter().enumerate() {
            let ways = (0..devices).map(|to| {
                let own = stage.times.get(to).copied().flatten()?.ns;
                let (from, until) = self.best_way(&least, to, place)?;
                Some((from, until + own))
            });
            let ways: Vec<_> = ways.collect();
            came_from.push(ways.iter().map(|way| way.map_or(0, |way| way.0)).collect());
            least = ways.iter().map(|way| way.map(|way| way.1)).collect();
        }
        let (last, _) = self.best_way(&least, 0, self.stages.len())?;
        let mut chosen = vec![last; self.stages.len()];
        for place in (1..chosen.len()).rev() {
            chosen[place - 1] = came_from[place][chosen[place]];
        }
        Some(chosen)
    }

    /// From where the data of a stage comes in the least time to that device, and when it
    /// is there.
    fn best_way(&self, least: &[Option<f64>], to: usize, place: usize) -> Option<(usize, f64)> {
        let ways = least.iter().enumerate();
        let ways = ways.filter_map(|(from, until)| {
            Some((
                from,
                (*until)? + self.move_ns(from, to, self.bytes_before(place)),
            ))
        });
        ways.min_by(|(_, one), (_, other)| one.total_cmp(other))
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

impl Placement {
    /// True where all stages are on one device.
    pub fn is_uniform(&self) -> bool {
        let mut pairs = self.stages.windows(2);
        pairs.all(|pair| pair[0].device == pair[1].device)
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
        let mut lines = Vec::new();
        let moved = |each: &Move| {
            let (bytes, time) = (unit::bytes(each.bytes), unit::time(each.ns));
            format!("{bytes} from {} to {}: {time}", each.from, each.to)
        };
        let mut moves = self.moves.iter().peekable();
        for (place, stage) in self.stages.iter().enumerate() {
            lines.extend(moves.next_if(|each| each.before == place).map(moved));
            let PlacedStage {
                stage,
                device,
                time,
            } = stage;
            let (ns, evidence) = (unit::time(time.ns), time.evidence);
            lines.push(format!("{stage} on {device}: {ns} ({evidence})"));
        }
        lines.extend(moves.map(moved));
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

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus as Random;

    use super::*;

    fn random(numbers: &mut Random, stages: usize, devices: usize) -> ChainCosts {
        let link = |numbers: &mut Random| TransferTime {
            fixed_ns: numbers.random_range(0.0..20.0),
            per_byte_ns: numbers.random_range(0.0..0.2),
        };
        let device = |at: usize, numbers: &mut Random| DeviceLinks {
            device: at.to_string(),
            up: link(numbers),
            down: link(numbers),
        };
        let time = |device: usize, numbers: &mut Random| {
            let ns = numbers.random_range(0.0..200.0);
            let (evidence, observations) = (Evidence::Measured, 9);
            // Some have no form for a device.
            let has_form = device == 0 || numbers.random_bool(0.9);
            has_form.then_some(StageTime {
                ns,
                evidence,
                observations,
            })
        };
        let stage = |at: usize, numbers: &mut Random| StageCosts {
            name: at.to_string(),
            output_bytes: numbers.random_range(0..1_000),
            runs_on: vec![true; devices],
            times: (0..devices).map(|device| time(device, numbers)).collect(),
        };
        ChainCosts {
            devices: (0..devices).map(|at| device(at, numbers)).collect(),
            input_bytes: numbers.random_range(0..1_000),
            stages: (0..stages).map(|at| stage(at, numbers)).collect(),
        }
    }

    #[test]
    fn no_other_placement_takes_less() {
        let mut numbers = Random::seed_from_u64(6);
        for case in 0..400 {
            let (stages, devices) = (1 + case % 8, 1 + case % 3);
            let costs = random(&mut numbers, stages, devices);
            let found = costs.place().expect("the CPU can do all");
            let all = devices.pow(u32::try_from(stages).expect("few"));
            let placements = (0..all).filter_map(|code| {
                let digit = |place| code / devices.pow(place) % devices;
                let chosen: Vec<usize> = (0..8).take(stages).map(digit).collect();
                Some(costs.placed(&chosen)?.predicted_ns)
            });
            let best = placements.fold(f64::INFINITY, f64::min);
            let off = found.predicted_ns - best;
            assert!(off.abs() < 1e-6, "case {case}: {off} ns more than the best");
        }
    }

    fn costs(input_bytes: u64, cpu: [f64; 3], gpu: [Option<f64>; 3]) -> ChainCosts {
        let time = |ns: f64| StageTime {
            ns,
            evidence: Evidence::Measured,
            observations: 9,
        };
        let link = TransferTime {
            fixed_ns: 10_000.0,
            per_byte_ns: 0.1,
        };
        let device = |name: &str, link: TransferTime| DeviceLinks {
            device: name.to_owned(),
            up: link,
            down: link,
        };
        let names = ["conv2d", "pixel_entropy", "image_segmentation"];
        let stages = names.iter().zip(cpu).zip(gpu);
        ChainCosts {
            devices: vec![
                device("cpu", TransferTime::default()),
                device("cuda:0", link),
            ],
            input_bytes,
            stages: stages
                .map(|((name, cpu), gpu)| StageCosts {
                    name: (*name).to_owned(),
                    output_bytes: 1_048_576,
                    runs_on: vec![true, gpu.is_some()],
                    times: vec![Some(time(cpu)), gpu.map(time)],
                })
                .collect(),
        }
    }

    #[test]
    fn a_stage_that_is_dear_on_the_device_comes_home() {
        let gpu = [Some(5e4), Some(1e5), Some(4e6)];
        let found = costs(1_048_576, [3e5, 9e6, 6e5], gpu)
            .place()
            .expect("known");
        insta::assert_snapshot!(found.reasons().join("\n"), @r"
        1 MiB from cpu to cuda:0: 115 µs
        conv2d on cuda:0: 50.0 µs (measured)
        pixel_entropy on cuda:0: 100 µs (measured)
        1 MiB from cuda:0 to cpu: 115 µs
        image_segmentation on cpu: 600 µs (measured)
        together 980 µs; all on cpu 9.90 ms, all on cuda:0 4.38 ms
        ");
        assert!(!found.is_uniform());
    }

    #[test]
    fn where_the_transfers_cost_more_than_they_gain_nothing_moves() {
        let found = costs(1 << 30, [1e5, 1e5, 1e5], [Some(1.0), Some(1.0), None]).place();
        let found = found.expect("known");
        assert!(found.is_uniform() && found.moves.is_empty());
        let alone: Vec<_> = found.alone.iter().map(|alone| alone.predicted_ns).collect();
        assert_eq!(alone, [Some(3e5), None]);
        let mut unknown = costs(1, [1.0; 3], [None; 3]);
        unknown.stages[1].times = vec![None, None];
        assert_eq!(unknown.place(), None);
    }
}
