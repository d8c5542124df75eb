//! A machine that was described, in TOML: for decisions about one that isn't here.

use std::time::Duration;

use breakeven_profile::unit::{self, UnitError};
use serde::Deserialize;
use toml::Spanned;

use super::{GpuSpec, Machine, toml_file};
use crate::error::Error;
use crate::hardware::{Fact, GpuKind};

/// Most cores of a description: more is a slip of the hand.
const MOST_CORES: usize = 1 << 20;

/// Longest launch of a description, ns: a minute.
const LONGEST_LAUNCH_NS: f64 = 60e9;

impl Machine {
    /// Reads the description of a machine. All keys but `cores` are optional; the
    /// first GPU is the one to use. What is left out is unknown; the kind of a
    /// GPU is discrete then.
    ///
    /// ```
    /// # use breakeven::plan::Machine;
    /// let machine = Machine::from_toml(r#"
    ///     cores = 16
    ///     memory = "64 GiB"
    ///     [[gpu]]
    ///     name = "V100"
    ///     kind = "discrete"       # integrated, virtual, other, software
    ///     memory = "32 GiB"
    ///     memory_used = "2 GiB"
    ///     launch = "20 us"        # what one launch costs, whatever its size
    ///     transfer = "12 GB/s"    # between host and device
    ///     speedup = 20.0          # GPU rate over the rate of one CPU core
    ///     driver = "535.161"
    /// "#)?;
    /// assert_eq!(machine.cores, 16);
    /// assert_eq!(machine.gpus[0].free_bytes(), Some(30 << 30));
    /// # Ok::<(), breakeven::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`ErrorKind::File`](crate::ErrorKind::File) with line and column, for what
    /// is no TOML, has other keys, or values that no machine has.
    pub fn from_toml(text: &str) -> Result<Self, Error> {
        let file: File = toml_file::read(text)?;
        let gpus = file.gpu.into_iter().enumerate();
        Ok(Self {
            cores: file.cores.0,
            memory_bytes: file.memory.map(|memory| memory.0).into(),
            gpus: gpus
                .map(|(index, entry)| entry.spec(index, text))
                .collect::<Result<_, _>>()?,
        })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cores: Cores,
    memory: Option<Memory>,
    #[serde(default)]
    gpu: Vec<GpuEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GpuEntry {
    name: Option<String>,
    kind: Option<GpuKind>,
    memory: Option<Memory>,
    memory_used: Option<Spanned<MemoryUsed>>,
    launch: Option<Launch>,
    transfer: Option<Transfer>,
    speedup: Option<Speedup>,
    driver: Option<String>,
}

impl GpuEntry {
    /// The GPU; `index` counts those before it, for a GPU without a name.
    fn spec(self, index: usize, text: &str) -> Result<GpuSpec, Error> {
        let memory = self.memory.map(|memory| memory.0);
        if let (Some(memory), Some(used)) = (memory, &self.memory_used)
            && used.get_ref().0 > memory
        {
            let (used_bytes, memory) = (unit::bytes(used.get_ref().0), unit::bytes(memory));
            let message = format!("memory_used is {used_bytes}, and the GPU has {memory}");
            return Err(toml_file::error_at(text, Some(used.span()), &message));
        }
        let name = self.name.unwrap_or_else(|| match index {
            0 => "gpu".to_owned(),
            index => format!("gpu#{}", index + 1),
        });
        Ok(GpuSpec {
            name,
            kind: self.kind.unwrap_or(GpuKind::Discrete),
            memory_bytes: memory.into(),
            memory_used_bytes: self.memory_used.map(|used| used.into_inner().0).into(),
            launch: self.launch.map(|launch| launch.0).into(),
            transfer_bytes_per_s: self.transfer.map(|transfer| transfer.0).into(),
            speedup: self.speedup.map(|speedup| speedup.0).into(),
            driver: Fact::from(self.driver),
        })
    }
}

#[derive(Deserialize)]
#[serde(try_from = "i64")]
struct Cores(usize);

impl TryFrom<i64> for Cores {
    type Error = String;

    fn try_from(cores: i64) -> Result<Self, String> {
        let counted = usize::try_from(cores)
            .ok()
            .filter(|cores| (1..=MOST_CORES).contains(cores));
        counted.map(Self).ok_or_else(|| {
            format!("there are no {cores} cores; give a number from 1 to {MOST_CORES}")
        })
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Memory(u64);

impl TryFrom<String> for Memory {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        match unit::parse_bytes(&text)? {
            0 => Err(UnitError::Bytes(text)),
            bytes => Ok(Self(bytes)),
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct MemoryUsed(u64);

impl TryFrom<String> for MemoryUsed {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        unit::parse_bytes(&text).map(Self)
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Launch(Duration);

impl TryFrom<String> for Launch {
    type Error = String;

    #[expect(clippy::cast_sign_loss, reason = "a time that was read is 0 or more")]
    fn try_from(text: String) -> Result<Self, String> {
        let ns = unit::parse_time(&text).map_err(|error| error.to_string())?;
        match ns <= LONGEST_LAUNCH_NS {
            true => Ok(Self(Duration::from_nanos(ns as u64))),
            false => Err(format!("a launch of {text}: give at most a minute")),
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Transfer(f64);

impl TryFrom<String> for Transfer {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        let rate = unit::parse_rate(&text)?;
        match rate > 0.0 {
            true => Ok(Self(rate)),
            false => Err(UnitError::Rate(text)),
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "f64")]
struct Speedup(f64);

impl TryFrom<f64> for Speedup {
    type Error = String;

    fn try_from(speedup: f64) -> Result<Self, String> {
        match speedup.is_finite() && speedup > 0.0 {
            true => Ok(Self(speedup)),
            false => Err(format!(
                "a speedup of {speedup}: give the GPU's rate over that of one CPU core, a number above 0"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

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
            "cores = 16\nmemory = \"64 GiB\"\n[[gpu]]\nname = \"V100\"\nkind = \"integrated\"\n\
             memory = \"32 GiB\"\nmemory_used = \"2 GiB\"\nlaunch = \"20 us\"\n\
             transfer = \"12 GB/s\"\nspeedup = 20.0\ndriver = \"535\"\n",
        );
        let expected = Machine {
            cores: 16,
            memory_bytes: Fact::Known(64 << 30),
            gpus: vec![GpuSpec {
                name: "V100".to_owned(),
                kind: GpuKind::Integrated,
                memory_bytes: Fact::Known(32 << 30),
                memory_used_bytes: Fact::Known(2 << 30),
                launch: Fact::Known(Duration::from_micros(20)),
                transfer_bytes_per_s: Fact::Known(12e9),
                speedup: Fact::Known(20.0),
                driver: Fact::Known("535".to_owned()),
            }],
        };
        assert_eq!(machine, Ok(expected));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let check = |text: &str, expected: &str| {
            let error = Machine::from_toml(text).expect_err(text);
            assert_eq!(error.to_string(), expected, "{text}");
            assert_eq!(error.kind(), ErrorKind::File);
        };
        check("", "line 1, column 1: missing field `cores`");
        check(
            "cores = 0",
            "line 1, column 9: there are no 0 cores; give a number from 1 to 1048576",
        );
        check(
            "cores = -4",
            "line 1, column 9: there are no -4 cores; give a number from 1 to 1048576",
        );
        check(
            "cores = 4\nmemory = 64",
            "line 2, column 10: invalid type: integer `64`, expected a string",
        );
        check(
            "cores = 4\nmemory = \"64 gigs\"",
            "line 2, column 10: \"64 gigs\" is not a size of memory; write a number and a unit, as in \"64 GiB\", \"10 kB\" or \"512 B\"",
        );
        check(
            "cores = 4\nthreads = 8",
            "line 2, column 1: unknown field `threads`, expected one of `cores`, `memory`, `gpu`",
        );
        let gpu =
            |keys: &str, expected: &str| check(&format!("cores = 4\n[[gpu]]\n{keys}"), expected);
        gpu(
            "kind = \"huge\"",
            "line 3, column 8: unknown variant `huge`, expected one of `discrete`, `integrated`, `virtual`, `other`, `software`",
        );
        gpu(
            "memory = \"2 GiB\"\nmemory_used = \"3 GiB\"",
            "line 4, column 15: memory_used is 3 GiB, and the GPU has 2 GiB",
        );
        gpu(
            "memory = \"0 GiB\"",
            "line 3, column 10: \"0 GiB\" is not a size of memory; write a number and a unit, as in \"64 GiB\", \"10 kB\" or \"512 B\"",
        );
        gpu(
            "launch = \"2 h\"",
            "line 3, column 10: a launch of 2 h: give at most a minute",
        );
        gpu(
            "launch = \"-2 us\"",
            "line 3, column 10: \"-2 us\" is not a duration; write a number and a unit, as in \"2 ms\" or \"800 us\"",
        );
        gpu(
            "transfer = \"0 GB/s\"",
            "line 3, column 12: \"0 GB/s\" is not a rate of data; write a number and a unit per second, as in \"12 GB/s\"",
        );
        for speedup in ["0", "-1", "nan", "inf"] {
            let error = Machine::from_toml(&format!("cores = 4\n[[gpu]]\nspeedup = {speedup}"));
            let error = error.expect_err(speedup).to_string();
            assert!(
                error.starts_with("line 3, column 11: a speedup of "),
                "{error}"
            );
        }
    }
}
