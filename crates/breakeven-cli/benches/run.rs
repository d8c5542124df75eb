//! Measures `breakeven run`: against `xargs -P` and GNU parallel in turns, Auto against the best
//! split, and the memory for many inputs.
//!
//! ```sh
//! cargo bench -p breakeven-cli --no-default-features --features engine --bench run             # minutes
//! cargo bench -p breakeven-cli --no-default-features --features engine --bench run -- --quick  # less than one
//! ```
#![allow(clippy::print_stdout, reason = "a bench prints its figures")]

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

#[path = "../../../bench/metric.rs"]
#[allow(dead_code, reason = "shared by all benches")]
mod metric;

use metric::{is_quick, metric};

/// Jobs of `true`.
const TRUE_JOBS: usize = 2000;

/// Jobs that Auto divides.
const AUTO_JOBS: usize = 200;

/// Bytes that a slow reader reads at a time, and its pause between two reads.
const SIP: usize = 2048;
const PAUSE: Duration = Duration::from_micros(500);

fn main() {
    let folder = tempfile::tempdir().expect("a folder");
    let bench = Bench {
        folder: folder.path().to_owned(),
        turns: if is_quick() { 3 } else { 11 },
        workers: std::thread::available_parallelism().map_or(1, |cores| cores.get()),
    };
    bench.beside_peers();
    for (name, cpu_s, gpu_s) in [("", 0.1, 0.02), ("_reverse", 0.02, 0.1)] {
        bench.auto(name, cpu_s, gpu_s);
    }
    bench.gpu_always_fails();
    bench.memory();
}

struct Bench {
    folder: PathBuf,
    turns: usize,
    workers: usize,
}

impl Bench {
    /// A file with this number of lines.
    fn list(&self, jobs: usize, line: &str) -> PathBuf {
        let path = self.folder.join(format!("list-{jobs}"));
        fs::write(&path, format!("{line}\n").repeat(jobs)).expect("a list");
        path
    }

    /// `breakeven run`, with a cost model of this name.
    fn run(&self, cache: &str, list: &Path, cpu: &str, gpu: Option<&str>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_breakeven"));
        command.env("BREAKEVEN_CACHE_DIR", self.folder.join(cache));
        command.args(["run", "--cpu", cpu]).arg("-a").arg(list);
        command.args(gpu.into_iter().flat_map(|gpu| ["--gpu", gpu]));
        command
    }

    fn beside_peers(&self) {
        let list = self.list(TRUE_JOBS, "x");
        let jobs = self.workers.to_string();
        let ours = || self.run("true", &list, "true", None);
        let xargs = || {
            let mut command = Command::new("xargs");
            command
                .args(["-n", "1", "-P", &jobs, "-a"])
                .arg(&list)
                .arg("true");
            command
        };
        let parallel = || {
            let mut command = Command::new("parallel");
            command
                .args(["--will-cite", "-j", &jobs, "-a"])
                .arg(&list)
                .arg("true");
            command
        };
        let has_parallel = Command::new("parallel").arg("--version").output();
        let has_parallel =
            has_parallel.is_ok_and(|found| found.stdout.starts_with(b"GNU parallel"));
        let mut times: [Vec<f64>; 3] = Default::default();
        for _ in 0..self.turns {
            times[0].push(seconds(ours()));
            times[1].push(seconds(xargs()));
            if has_parallel {
                times[2].push(seconds(parallel()));
            }
        }
        let [ours, xargs, parallel] = times.map(median);
        metric("run_job", ours / TRUE_JOBS as f64 * 1e6, "us");
        metric("run_vs_xargs", xargs / ours, "times");
        match has_parallel {
            true => metric("run_vs_parallel", parallel / ours, "times"),
            false => println!("run_vs_parallel: GNU parallel is not installed"),
        }
    }

    /// Auto's time compared with the best split of whole jobs, given the times of the commands
    /// alone, measured in turns.
    fn auto(&self, name: &str, cpu_s: f64, gpu_s: f64) {
        let list = self.list(AUTO_JOBS, "0");
        let command = |seconds: f64| format!("sleep {seconds}");
        let (cpu, gpu) = (command(cpu_s), command(gpu_s));
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        let mut alone = [Vec::new(), Vec::new()];
        for turn in 0..self.turns.div_ceil(2) {
            for (times, job) in alone.iter_mut().zip([cpu_s, gpu_s]) {
                let sleep = || {
                    let mut sleep = Command::new("sleep");
                    sleep.args([&job.to_string(), "0"]);
                    sleep
                };
                times.extend((0..5).map(|_| seconds(sleep())));
            }
            let run = || seconds(self.run(&format!("auto{name}-{turn}"), &list, &cpu, Some(&gpu)));
            cold.push(run());
            warm.push(run());
        }
        let [cpu_took, gpu_took] = alone.map(median);
        let split = |on_gpu: usize| {
            let waves = (AUTO_JOBS - on_gpu).div_ceil(self.workers);
            f64::max(waves as f64 * cpu_took, on_gpu as f64 * gpu_took)
        };
        let ideal = (0..=AUTO_JOBS).map(split).fold(f64::INFINITY, f64::min);
        metric(&format!("run_auto{name}_ideal"), ideal, "s");
        metric(
            &format!("run_auto{name}_over_ideal"),
            median(cold) / ideal,
            "times",
        );
        metric(
            &format!("run_auto{name}_warm_over_ideal"),
            median(warm) / ideal,
            "times",
        );
    }

    /// Cost of a GPU command that always fails, in multiples of its own time.
    fn gpu_always_fails(&self) {
        let list = self.list(AUTO_JOBS, "0");
        let lost = (0..self.turns).map(|turn| {
            let cache = format!("fails-{turn}");
            let failing = Some("sleep 0.02; false");
            let with = seconds(self.run(&cache, &list, "sleep 0.02", failing));
            with - seconds(self.run(&cache, &list, "sleep 0.02", None))
        });
        let lost = median(lost.collect());
        metric("run_gpu_always_fails", lost / 0.02, "jobs");
    }

    /// Peak memory for many inputs: with a slow reader, in order, and with a joblog.
    fn memory(&self) {
        let jobs = if is_quick() { 5_000 } else { 200_000 };
        let list = self.list(jobs, "an input of some length");
        let mut command = self.run("memory", &list, "echo {} {#}", None);
        command
            .arg("--keep-order")
            .arg("--joblog")
            .arg(self.folder.join("log"));
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        let mut stdout = child.stdout.take().expect("a pipe");
        let mut sip = [0; SIP];
        let (mut peak_kb, mut read, mut reads) = (0, 0, 0_u64);
        while let Ok(length @ 1..) = stdout.read(&mut sip) {
            read += length;
            reads += 1;
            if reads.is_multiple_of(50) {
                peak_kb = peak_kb.max(high_water_kb(child.id()));
            }
            std::thread::sleep(PAUSE);
        }
        assert!(child.wait().expect("it ends").success());
        assert!(read > 25 * jobs, "{read} bytes");
        metric("run_peak_inputs", jobs as f64, "inputs");
        metric("run_peak_mb", peak_kb as f64 / 1024.0, "MB");
    }
}

/// The most memory that a process had so far, KiB.
fn high_water_kb(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap_or(0)
}

/// Runs a command and returns the elapsed time.
fn seconds(mut command: Command) -> f64 {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().expect("it starts");
    assert!(status.success(), "{command:?}: {status}");
    start.elapsed().as_secs_f64()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}
