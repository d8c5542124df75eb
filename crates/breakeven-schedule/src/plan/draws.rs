//! What devices use of a resource: energy by their power, or cost by their prices.

use super::objective::Resource;
use super::{Machine, Prices};
use crate::error::{Error, ErrorKind};

/// What a device uses of a resource, per ns.
#[derive(Debug, Clone, Copy)]
struct Draw {
    busy: f64,
    idle: f64,
}

/// What all devices use of a resource.
#[derive(Debug)]
pub(crate) struct Draws {
    cpu: Draw,
    gpus: Vec<Draw>,
}

impl Draws {
    pub(crate) fn of(
        resource: Resource,
        prices: Option<&Prices>,
        machine: &Machine,
    ) -> Result<Self, Error> {
        let gpus = machine.gpus.iter().map(|gpu| match resource {
            Resource::Energy => Draw::of_power(gpu.power.get(), &gpu.name),
            Resource::Cost => Draw::of_price(prices.map(|prices| prices.gpu(&gpu.name)), &gpu.name),
        });
        let gpus = gpus.collect::<Result<_, _>>()?;
        let cpu = match resource {
            Resource::Energy => Draw::of_power(machine.cpu_power.get(), "the CPU"),
            Resource::Cost => Draw::of_price(prices.map(|prices| Some(prices.cpu())), "the CPU"),
        };
        Ok(Self { cpu: cpu?, gpus })
    }

    /// Returns what a batch of `ns` uses if its devices are busy this long; the CPU's busy time
    /// counts all its workers.
    pub(crate) fn spent(&self, ns: f64, cpu_ns: f64, gpu_ns: &[f64]) -> f64 {
        let of = |draw: &Draw, busy: f64| draw.idle * ns + (draw.busy - draw.idle) * busy;
        let gpus = self.gpus.iter().zip(gpu_ns);
        gpus.fold(of(&self.cpu, cpu_ns), |sum, (draw, busy)| {
            sum + of(draw, *busy)
        })
    }
}

impl Draw {
    fn of_power(power: Option<super::Power>, device: &str) -> Result<Self, Error> {
        let power = power.ok_or_else(|| {
            unmeasured(format!(
                "energy cannot be weighed: the power of {device} is not known; state its `watts` and `idle_watts`, or measure it here (RAPL, NVML)"
            ))
        })?;
        Ok(Self {
            busy: power.busy_watts / 1e9,
            idle: power.idle_watts / 1e9,
        })
    }

    /// Fails if there are no prices at all, or none for this device.
    fn of_price(price: Option<Option<super::Price>>, device: &str) -> Result<Self, Error> {
        let price = price.ok_or_else(|| {
            unmeasured(
                "cost cannot be weighed: there are no prices; name their file, here or by BREAKEVEN_PRICES".to_owned(),
            )
        })?;
        let price = price.ok_or_else(|| {
            unmeasured(format!(
                "cost cannot be weighed: there is no price of {device}; add [[gpu]] with name = {device:?} and per_hour to the prices"
            ))
        })?;
        let per_ns = price.per_hour / 3600e9;
        Ok(Self {
            busy: per_ns,
            idle: if price.while_idle { per_ns } else { 0.0 },
        })
    }
}

fn unmeasured(message: String) -> Error {
    Error::new(ErrorKind::Unmeasured, message)
}
