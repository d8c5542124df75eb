//! Reads the description of a machine from TOML, for decisions about a machine that is not here.

use std::time::Duration;

use breakeven_profile::unit::{self, UnitError};
use serde::Deserialize;
use toml::Spanned;

use super::{GpuSpec, Machine, Power, toml_file};
use crate::error::Error;
use crate::{Fact, GpuKind};

/// Most cores of a description; a larger number is taken for a typing error.
const MOST_CORES: usize = 1 << 20;

/// Longest launch of a description, ns: a minute.
const LONGEST_LAUNCH_NS: f64 = 60e9;

impl Machine {
    /// Reads the description of a machine. All keys but `cores` are optional; the first GPU is the
    /// one to use. What is left out is unknown; a GPU without a kind is discrete.
    ///
    /// ```
    /// # use breakeven_schedule::plan::Machine;
    /// let machine = Machine::from_toml(r#"
    ///     cores = 16
    ///     memory = "64 GiB"
    ///     watts = 180             # while all cores work, and
    ///     idle_watts = 45         # while they wait: for energy
    ///     [[gpu]]
    ///     name = "V100"
    ///     kind = "discrete"       # integrated, virtual, other, software
    ///     memory = "32 GiB"
    ///     memory_used = "2 GiB"
    ///     launch = "20 us"        # what one launch costs, whatever its size
    ///     transfer = "12 GB/s"    # between host and device
    ///     speedup = 20.0          # GPU rate over the rate of one CPU core
    ///     driver = "535.161"
    ///     watts = 300
    ///     idle_watts = 25
    /// "#)?;
    /// assert_eq!(machine.cores, 16);
    /// assert_eq!(machine.gpus[0].free_bytes(), Some(30 << 30));
    /// # Ok::<(), breakeven_types::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](breakeven_types::ErrorKind::File) with line and column, for invalid
    /// TOML, unknown keys, or values that no machine has.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let file: File = toml_file::read(text)?;
        let gpus = file.gpu.into_iter().enumerate();
        let gpus = gpus.map(|(index, entry)| entry.spec(index, text));
        Ok(Self {
            cores: checked(text, file.cores, cores)?,
            memory_bytes: fact(text, file.memory, memory)?,
            cpu_power: power(text, file.watts, file.idle_watts)?,
            gpus: gpus.collect::<Result<_, _>>()?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cores: Spanned<i64>,
    memory: Option<Spanned<String>>,
    watts: Option<Spanned<f64>>,
    idle_watts: Option<Spanned<f64>>,
    #[serde(default)]
    gpu: Vec<GpuEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table, as in [[gpu]]")]
struct GpuEntry {
    name: Option<String>,
    kind: Option<GpuKind>,
    memory: Option<Spanned<String>>,
    memory_used: Option<Spanned<String>>,
    launch: Option<Spanned<String>>,
    transfer: Option<Spanned<String>>,
    speedup: Option<Spanned<f64>>,
    driver: Option<String>,
    watts: Option<Spanned<f64>>,
    idle_watts: Option<Spanned<f64>>,
}

impl GpuEntry {
    /// Converts to a GPU; `index` counts the GPUs before it, to name one without a name.
    fn spec(self, index: usize, text: &str) -> Result<GpuSpec, Error> {
        let place = self.memory_used.as_ref().map(Spanned::span);
        let memory = fact(text, self.memory, memory)?;
        let used = fact(text, self.memory_used, |used| unit::parse_bytes(&used))?;
        if let (Some(memory), Some(used)) = (memory.get(), used.get())
            && used > memory
        {
            let (used, memory) = (unit::bytes(used), unit::bytes(memory));
            let message = format!("memory_used is {used}, and the GPU has {memory}");
            return Err(toml_file::error_at(text, place, &message));
        }
        let name = self.name.unwrap_or_else(|| match index {
            0 => "gpu".to_owned(),
            index => format!("gpu#{}", index + 1),
        });
        Ok(GpuSpec {
            name,
            kind: self.kind.unwrap_or(GpuKind::Discrete),
            memory_bytes: memory,
            memory_used_bytes: used,
            launch: fact(text, self.launch, launch)?,
            transfer_bytes_per_s: fact(text, self.transfer, transfer)?,
            speedup: fact(text, self.speedup, speedup)?,
            driver: Fact::from(self.driver),
            power: power(text, self.watts, self.idle_watts)?,
        })
    }
}

/// Converts a value, or returns what is wrong with it and where.
fn checked<R, T, E: ToString>(
    text: &str,
    value: Spanned<R>,
    check: impl FnOnce(R) -> Result<T, E>,
) -> Result<T, Error> {
    let place = value.span();
    let wrong = |error: E| toml_file::error_at(text, Some(place), &error.to_string());
    check(value.into_inner()).map_err(wrong)
}

/// As [`checked`], for an optional value.
fn fact<R, T, E: ToString>(
    text: &str,
    value: Option<Spanned<R>>,
    check: impl FnOnce(R) -> Result<T, E>,
) -> Result<Fact<T>, Error> {
    let value = value.map(|value| checked(text, value, check));
    Ok(value.transpose()?.into())
}

fn cores(cores: i64) -> Result<usize, String> {
    let counted = usize::try_from(cores).ok();
    let counted = counted.filter(|cores| (1..=MOST_CORES).contains(cores));
    counted
        .ok_or_else(|| format!("there are no {cores} cores; give a number from 1 to {MOST_CORES}"))
}

fn memory(text: String) -> Result<u64, UnitError> {
    match unit::parse_bytes(&text)? {
        0 => Err(UnitError::Bytes(text)),
        bytes => Ok(bytes),
    }
}

#[expect(clippy::cast_sign_loss, reason = "a time that was read is 0 or more")]
fn launch(text: String) -> Result<Duration, String> {
    let ns = unit::parse_time(&text).map_err(|error| error.to_string())?;
    match ns <= LONGEST_LAUNCH_NS {
        true => Ok(Duration::from_nanos(ns as u64)),
        false => Err(format!("a launch of {text}: give at most a minute")),
    }
}

fn transfer(text: String) -> Result<f64, UnitError> {
    match unit::parse_rate(&text)? {
        rate if rate > 0.0 => Ok(rate),
        _ => Err(UnitError::Rate(text)),
    }
}

/// Reads the power of a device while it works and while it waits; unknown if neither is given.
fn power(
    text: &str,
    busy: Option<Spanned<f64>>,
    idle: Option<Spanned<f64>>,
) -> Result<Fact<Power>, Error> {
    let place = |value: &Option<Spanned<f64>>| value.as_ref().map(Spanned::span);
    let (at_busy, at_idle) = (place(&busy), place(&idle));
    let busy = fact(text, busy, watts)?;
    let idle = fact(text, idle, watts)?;
    let wrong = |place, message: &str| Err(toml_file::error_at(text, place, message));
    match (busy.get(), idle.get()) {
        (None, None) => Ok(Fact::Unknown),
        (Some(_), None) => wrong(at_busy, "watts without idle_watts: give both"),
        (None, Some(_)) => wrong(at_idle, "idle_watts without watts: give both"),
        (Some(busy_watts), Some(idle_watts)) if busy_watts < idle_watts => {
            let message =
                format!("{busy_watts} W while it works and {idle_watts} W while it waits");
            wrong(at_busy, &message)
        }
        (Some(busy_watts), Some(idle_watts)) => Ok(Fact::Known(Power {
            busy_watts,
            idle_watts,
        })),
    }
}

fn watts(watts: f64) -> Result<f64, String> {
    match watts.is_finite() && watts >= 0.0 {
        true => Ok(watts),
        false => Err(format!("{watts} W: give a number, 0 or more")),
    }
}

fn speedup(speedup: f64) -> Result<f64, String> {
    match speedup.is_finite() && speedup > 0.0 {
        true => Ok(speedup),
        false => Err(format!(
            "a speedup of {speedup}: give the GPU's rate over that of one CPU core, a number above 0"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_enough() {
        let machine = Machine::from_toml("cores = 2").expect("a machine");
        assert_eq!(machine.cores, 2);
        assert!(machine.memory_bytes == Fact::Unknown && machine.gpus.is_empty());
    }

    #[test]
    fn what_is_left_out_of_a_gpu_is_unknown() {
        let machine = Machine::from_toml("cores = 2\n[[gpu]]\n[[gpu]]\nspeedup = 3\n");
        let machine = machine.expect("a machine");
        assert_eq!(machine.gpus[0], GpuSpec::named("gpu"));
        let second = GpuSpec {
            speedup: Fact::Known(3.0),
            ..GpuSpec::named("gpu#2")
        };
        assert_eq!(machine.gpus[1], second);
    }

    #[test]
    fn all_that_can_be_said() {
        let machine = Machine::from_toml(
            "cores = 16\nmemory = \"64 GiB\"\nwatts = 180\nidle_watts = 45.5\n[[gpu]]\nname = \"V100\"\nkind = \"integrated\"\n\
             memory = \"32 GiB\"\nmemory_used = \"2 GiB\"\nlaunch = \"20 us\"\n\
             transfer = \"12 GB/s\"\nspeedup = 20.0\ndriver = \"535\"\n",
        );
        let expected = Machine {
            cores: 16,
            memory_bytes: Fact::Known(64 << 30),
            cpu_power: Fact::Known(Power {
                busy_watts: 180.0,
                idle_watts: 45.5,
            }),
            gpus: vec![GpuSpec {
                name: "V100".to_owned(),
                kind: GpuKind::Integrated,
                memory_bytes: Fact::Known(32 << 30),
                memory_used_bytes: Fact::Known(2 << 30),
                launch: Fact::Known(Duration::from_micros(20)),
                transfer_bytes_per_s: Fact::Known(12e9),
                speedup: Fact::Known(20.0),
                driver: Fact::Known("535".to_owned()),
                power: Fact::Unknown,
            }],
        };
        assert_eq!(machine, Ok(expected));
    }

    #[test]
    fn errors_name_their_place() {
        let cases = r#"
 => line 1, column 1: missing field `cores`
cores = 0 => line 1, column 9: there are no 0 cores; give a number from 1 to 1048576
cores = -4 => line 1, column 9: there are no -4 cores; give a number from 1 to 1048576
cores = 4; memory = 64 => line 2, column 10: invalid type: integer `64`, expected a text in quotes
cores = 4; memory = "64 gigs" => line 2, column 10: "64 gigs" is not a size of memory; write a number and a unit, as in "64 GiB", "10 kB" or "512 B"
cores = 4; threads = 8 => line 2, column 1: unknown field `threads`, expected one of `cores`, `memory`, `watts`, `idle_watts`, `gpu`
cores = 4; watts = 90 => line 2, column 9: watts without idle_watts: give both
cores = 4; idle_watts = 9 => line 2, column 14: idle_watts without watts: give both
cores = 4; watts = -1; idle_watts = 9 => line 2, column 9: -1 W: give a number, 0 or more
cores = 4; [[gpu]]; watts = 10; idle_watts = 20 => line 3, column 9: 10 W while it works and 20 W while it waits
cores = 4; [[gpu]]; kind = "huge" => line 3, column 8: unknown value `huge`, expected one of `discrete`, `integrated`, `virtual`, `other`, `software`
cores = 4; [[gpu]]; memory = "2 GiB"; memory_used = "3 GiB" => line 4, column 15: memory_used is 3 GiB, and the GPU has 2 GiB
cores = 4; [[gpu]]; memory = "0 GiB" => line 3, column 10: "0 GiB" is not a size of memory; write a number and a unit, as in "64 GiB", "10 kB" or "512 B"
cores = 4; [[gpu]]; launch = "2 h" => line 3, column 10: a launch of 2 h: give at most a minute
cores = 4; [[gpu]]; launch = "-2 us" => line 3, column 10: "-2 us" is not a duration; write a number and a unit, as in "2 ms" or "800 us"
cores = 4; [[gpu]]; transfer = "0 GB/s" => line 3, column 12: "0 GB/s" is not a rate of data; write a number and a unit per second, as in "12 GB/s""#;
        toml_file::refuses(cases, Machine::from_toml);
        for speedup in ["0", "-1", "nan", "inf"] {
            let error = Machine::from_toml(&format!("cores = 4\n[[gpu]]\nspeedup = {speedup}"));
            let error = error.expect_err(speedup).to_string();
            let expected = "line 3, column 11: a speedup of ";
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
