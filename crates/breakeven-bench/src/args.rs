//! The arguments of a bench: the harness's own, and those that cargo passes.

use std::ffi::OsString;
use std::time::Duration;

use breakeven_judge::Threshold;
use breakeven_profile::unit;

use crate::Wrong;

/// What was asked for.
#[derive(Debug, Default)]
pub(crate) struct Args {
    pub(crate) help: bool,
    pub(crate) list: bool,
    /// Measure; call each benchmark once otherwise.
    pub(crate) measure: bool,
    /// Names of benchmarks, or what is in them; all if there is none.
    pub(crate) filters: Vec<String>,
    exact: bool,
    pub(crate) runs: usize,
    /// Of one benchmark in one run, with its warm-up.
    pub(crate) time: Duration,
    pub(crate) output: Option<String>,
    pub(crate) baseline: Option<String>,
    pub(crate) gate: bool,
    pub(crate) threshold: Threshold,
    pub(crate) nocapture: bool,
}

impl Args {
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self, Wrong> {
        let mut read = Self {
            runs: 5,
            time: Duration::from_secs(1),
            ..Self::default()
        };
        let (mut test, mut measures) = (false, false);
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            let arg = arg.to_string_lossy();
            let (option, given) = match arg.split_once('=') {
                Some((option, value)) => (option, Some(value.into())),
                None => (&*arg, None),
            };
            match &*arg {
                "--bench" => read.measure = true,
                "--exact" => read.exact = true,
                "--gate" => (read.gate, measures) = (true, true),
                "--help" => read.help = true,
                "--list" => read.list = true,
                "--nocapture" => read.nocapture = true,
                "--test" => test = true,
                filter if !filter.starts_with('-') => read.filters.push(filter.to_owned()),
                _ => {
                    let value = given.or_else(|| args.next()).unwrap_or_default();
                    let set = read.set(option, value.to_string_lossy().into());
                    set.map_err(|why| format!("{option}: {why}"))?;
                    measures = true;
                }
            }
        }
        if read.gate && read.baseline.is_none() {
            let how = "run the accepted version without --gate, and copy its profile to FILE";
            return Err(format!("--gate needs --baseline FILE: {how}").into());
        }
        // What needs measurements has them: a gate must not pass without.
        read.measure = !read.list && (measures || (read.measure && !test));
        Ok(read)
    }

    fn set(&mut self, option: &str, value: String) -> Result<(), Wrong> {
        match option {
            "--baseline" | "--output" if value.is_empty() => return Err("it needs a value".into()),
            "--baseline" => self.baseline = Some(value),
            "--output" => self.output = Some(value),
            "--runs" => {
                let runs = value.parse().ok().filter(|runs| *runs > 0);
                self.runs = runs.ok_or("give a whole number, 1 or more")?;
            }
            "--time" => self.time = Duration::try_from_secs_f64(unit::parse_time(&value)? / 1e9)?,
            "--threshold" => {
                self.threshold = Threshold::percent(unit::parse_fraction(&value)? * 100.0)?;
            }
            _ => return Err("there is no such option; --help lists them".into()),
        }
        Ok(())
    }

    /// True for the name of a benchmark that the filters choose.
    pub(crate) fn matches(&self, id: &str) -> bool {
        let is = |text: &String| id == text || (!self.exact && id.contains(text.as_str()));
        self.filters.is_empty() || self.filters.iter().any(is)
    }
}
