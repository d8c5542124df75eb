//! The machine's load and the programs' figures as a page: what `breakeven monitor` draws, and
//! prints with `--once`.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::time::Duration;

use breakeven::hardware::Fact;
use breakeven::hardware::sensors::{ClockLimit, CpuReading, GpuReading, GpuState, Reading};
use breakeven_judge::page::figures::{of, per_s, plural, share, time};
use breakeven_judge::page::{Column, Page, Row, Table, Text, Tone, shown};
use breakeven_profile::profile::Device;
use breakeven_profile::{machine, unit};
use serde::Serialize;

use crate::engine::programs::{
    OperationReading, ProgramReading, ProgramsReading, Quantiles, UnreadProgram,
};

/// Readings that the sparklines show.
const KEPT: usize = 256;

/// Most processes of a GPU, and operations and decisions of a program, that are shown.
const MOST_PROCESSES: usize = 8;
const MOST_OPERATIONS: usize = 6;
const MOST_DECISIONS: usize = 2;

/// Longest name, characters.
const MOST_OF_NAME: usize = 120;

/// Columns of a label, of a percentage and of the spaces around it.
const BESIDE_BAR: usize = 18;

/// Eighths of a column's height.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Eighths of a column's width.
const WIDTHS: [char; 8] = ['·', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// The displayed data: the last reading, and the use before it.
pub(super) struct Load {
    /// The processor's name and its cores.
    machine: String,
    /// Time between two readings.
    pub(super) interval: Duration,
    last: Option<Reading>,
    /// The programs that publish.
    programs: ProgramsReading,
    /// The use of the CPU and of every GPU by its address, the newest first.
    curves: HashMap<String, VecDeque<Fact<f64>>>,
}

/// A reading as JSON.
#[derive(Serialize)]
struct Document<'r> {
    #[serde(flatten)]
    reading: Option<&'r Reading>,
    programs: &'r [ProgramReading],
    programs_left_out: &'r [UnreadProgram],
    programs_beyond: usize,
}

impl Load {
    pub(super) fn new(machine: String, interval: Duration) -> Self {
        Self {
            machine,
            interval,
            last: None,
            programs: ProgramsReading::default(),
            curves: HashMap::new(),
        }
    }

    /// The processor's name, and its cores.
    pub(super) fn machine_here() -> String {
        let cpu = machine::cpu(Path::new("/"));
        let model = cpu.model.as_deref().unwrap_or("unknown processor");
        let cores = cpu.logical_cores.unwrap_or(1);
        match cpu.usable_cores.filter(|&usable| usable < cores as f64) {
            Some(usable) => format!("{model}, {usable} of {cores} cores usable"),
            None => format!("{model}, {}", plural(cores, "core")),
        }
    }

    /// Adds a reading.
    pub(super) fn take(&mut self, (reading, programs): (Reading, ProgramsReading)) {
        let gpus = reading.gpus.iter();
        let gpus = gpus.map(|gpu| (gpu.load.pci.to_string(), gpu.load.gpu_use));
        for (device, used) in gpus.chain([(Device::CPU.to_owned(), reading.cpu.used)]) {
            let curve = self.curves.entry(device).or_default();
            curve.push_front(used);
            curve.truncate(KEPT);
        }
        self.last = Some(reading);
        self.programs = programs;
    }

    /// The reading as JSON: the machine's, and `programs`.
    pub(super) fn document(&self) -> impl Serialize {
        Document {
            reading: self.last.as_ref(),
            programs: &self.programs.programs,
            programs_left_out: &self.programs.left_out,
            programs_beyond: self.programs.beyond,
        }
    }

    /// The view for a terminal of `width` columns.
    pub(super) fn page(&self, width: usize) -> Page {
        let mut page = Page::default();
        let Some(reading) = &self.last else {
            page.say("reading the sensors …");
            return page;
        };
        self.add_cpu(&reading.cpu, width, &mut page);
        for gpu in &reading.gpus {
            self.add_gpu(gpu, width, &mut page);
        }
        if let Some(seconds) = reading.nvml_silent_s {
            let silent = unit::time(seconds * 1e9);
            let text = format!("NVIDIA's driver has not answered for {silent}");
            page.say(Text::new(text, Tone::Bad));
        } else if reading.gpus.is_empty() {
            page.aside("no GPU whose driver reports its load (NVML, amdgpu, i915, xe)");
        }
        let programs = &self.programs;
        for program in &programs.programs {
            add_program(program, &mut page);
        }
        for program in &programs.left_out {
            let text = format!("process {}: {}", program.pid, shown(&program.why, 200));
            page.say(Text::new(text, Tone::Bad));
        }
        if programs.beyond > 0 {
            let more = plural(programs.beyond as u64, "more program");
            page.aside(format!("{more}, not queried"));
        }
        if programs.programs.is_empty() && programs.left_out.is_empty() {
            page.aside("no program publishes its figures (BREAKEVEN_MONITOR=1)");
        }
        page
    }

    /// Use with the recent values of that device, and memory.
    fn add_use(
        &self,
        device: &str,
        used: Fact<f64>,
        memory: [Fact<u64>; 2],
        width: usize,
    ) -> [(&'static str, Text); 2] {
        let room = width.saturating_sub(BESIDE_BAR + bar_width(width));
        let curve = self.curves.get(device).into_iter().flatten().take(room);
        let curve: Vec<char> = curve.map(height).collect();
        let [held, all] = memory.map(|bytes| text_of(&bytes, |bytes| unit::bytes(*bytes)));
        let part = memory[0].get().zip(memory[1].get().filter(|all| *all > 0));
        let part = part.map(|(held, all)| held as f64 / all as f64);
        [
            (
                "use",
                bar(used.get(), &curve.iter().rev().collect::<String>(), width),
            ),
            ("memory", bar(part, &format!("{held} of {all}"), width)),
        ]
    }

    fn add_cpu(&self, cpu: &CpuReading, width: usize, page: &mut Page) {
        page.heading(format!("cpu: {}", self.machine));
        let memory = [cpu.memory_used_bytes, cpu.memory_total_bytes];
        let mut facts: Vec<(&str, Text)> =
            self.add_use(Device::CPU, cpu.used, memory, width).into();
        let celsius = cpu.temperature_celsius.get();
        facts.push(figures(&[
            (
                "temperature",
                celsius.map(|celsius| format!("{celsius:.0} °C")),
            ),
            ("power", cpu.power_watts.get().map(watts)),
            ("clock", cpu.clock_hz().get().map(hz)),
        ]));
        facts.extend(slowed(&cpu.limits));
        let queue = text_of(&cpu.run_queue_per_core, |queue| {
            format!("{queue:.1} threads")
        });
        let pressure = text_of(&cpu.pressure, |part| share(*part));
        let waiting = format!("{queue} per core for a core, {pressure} of the last 10 s");
        facts.push(("waiting", waiting.into()));
        // With two cores, the total says enough.
        if cpu.cores.len() > 2 {
            let cores = cpu.cores.iter().map(|core| height(&core.used));
            facts.push(("cores", cores.collect::<String>().into()));
        }
        page.facts(facts);
    }

    fn add_gpu(&self, gpu: &GpuReading, width: usize, page: &mut Page) {
        let load = &gpu.load;
        let name = text_of(&load.name, String::clone);
        page.heading(format!("gpu: {name} ({}, {})", gpu.source.name(), load.pci));
        match gpu.state {
            GpuState::Current => {}
            GpuState::Silent { seconds } => {
                let silent = unit::time(seconds * 1e9);
                let text =
                    format!("its driver has not answered for {silent}; these are its last figures");
                page.say(Text::new(text, Tone::Bad));
            }
            GpuState::Lost => {
                let text = "lost: its driver cannot reach it any more";
                return page.say(Text::new(text, Tone::Bad));
            }
        }
        let of = |now: Fact<f64>, most: Fact<f64>, text: fn(f64) -> String| {
            let most = most.get().map(|most| format!(" of {}", text(most)));
            now.get().map(|now| text(now) + &most.unwrap_or_default())
        };
        let memory = [load.memory_used_bytes, load.memory_total_bytes];
        let device = load.pci.to_string();
        let mut facts: Vec<(&str, Text)> =
            self.add_use(&device, load.gpu_use, memory, width).into();
        let celsius = load.temperature_celsius.get();
        let memory_clock = gpu.memory_clock_hz.get();
        facts.push(figures(&[
            (
                "temperature",
                celsius.map(|celsius| format!("{celsius} °C")),
            ),
            ("power", of(gpu.power_watts, gpu.power_limit_watts, watts)),
            ("clock", of(gpu.clock_hz, gpu.clock_max_hz, hz)),
            (
                "memory clock",
                memory_clock.map(|clock| format!("memory {}", hz(clock))),
            ),
        ]));
        facts.extend(slowed(&gpu.limits));
        let Some(processes) = gpu.processes.known() else {
            facts.push(("processes", "unknown".into()));
            return page.facts(facts);
        };
        for process in processes.iter().take(MOST_PROCESSES) {
            let name = text_of(&process.name, String::clone);
            let bytes = text_of(&process.memory_bytes, |bytes| unit::bytes(*bytes));
            facts.push(("process", format!("{} {name}: {bytes}", process.pid).into()));
        }
        if let more @ 1.. = processes.len().saturating_sub(MOST_PROCESSES) {
            facts.push(("", format!("and {more} more").into()));
        }
        page.facts(facts);
    }
}

/// `██████▌···· 61% ▁▂▃▅▆▇`: a bar, its figure, and a remark or the recent values.
fn bar(used: Option<f64>, rest: &str, width: usize) -> Text {
    let columns = bar_width(width);
    #[expect(clippy::cast_sign_loss, reason = "a fraction is not negative")]
    let eighths = used.map_or(0, |used| {
        (used.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize
    });
    let bar = (0..columns).map(|column| match eighths.saturating_sub(8 * column) {
        8.. => '█',
        part => WIDTHS[part],
    });
    let tone = match used {
        Some(used) if used >= 0.9 => Tone::Bad,
        Some(used) if used >= 0.7 => Tone::Warning,
        Some(_) => Tone::Good,
        None => Tone::Faint,
    };
    let figure = used.map_or_else(|| unit::UNKNOWN.to_owned(), share);
    Text::new(format!("{} {figure} {rest}", bar.collect::<String>()), tone)
}

fn bar_width(width: usize) -> usize {
    (width / 3).clamp(8, 40)
}

/// A column of this height; any use at all is visible.
fn height(used: &Fact<f64>) -> char {
    #[expect(clippy::cast_sign_loss, reason = "a fraction is not negative")]
    let eighths = used
        .get()
        .map(|used| (used.clamp(0.0, 1.0) * 8.0).ceil() as usize);
    let eighths = eighths.and_then(|eighths| eighths.checked_sub(1));
    eighths.map_or('·', |eighths| HEIGHTS[eighths.min(7)])
}

/// A reading with its unit, or `unknown`.
fn text_of<T>(fact: &Fact<T>, text: impl FnOnce(&T) -> String) -> String {
    fact.known().map_or_else(|| "unknown".to_owned(), text)
}

/// `61 °C · 45 W · 2.40 GHz`: the known figures, and which are unknown.
fn figures(known: &[(&str, Option<String>)]) -> (&'static str, Text) {
    let mut texts: Vec<String> = known
        .iter()
        .filter_map(|(_, figure)| figure.clone())
        .collect();
    let missing = known.iter().filter(|(_, figure)| figure.is_none());
    let missing: Vec<&str> = missing.map(|(name, _)| *name).collect();
    if !missing.is_empty() {
        texts.push(format!("unknown: {}", missing.join(", ")));
    }
    ("state", texts.join(" · ").into())
}

/// The reasons of throttling.
fn slowed(limits: &Fact<Vec<ClockLimit>>) -> Option<(&'static str, Text)> {
    let slowing = limits.known().into_iter().flatten();
    let slowing = slowing.filter(|limit| limit.slows());
    let slowing: Vec<_> = slowing.map(|limit| limit.name()).collect();
    (!slowing.is_empty()).then(|| ("slowed by", Text::new(slowing.join(", "), Tone::Warning)))
}

fn hz(hz: f64) -> String {
    format!("{:.2} GHz", hz / 1e9)
}

fn watts(watts: f64) -> String {
    format!("{watts:.0} W")
}

fn add_program(program: &ProgramReading, page: &mut Page) {
    let (name, pid) = (shown(&program.name, MOST_OF_NAME), program.pid);
    let since = unit::time(program.since_s * 1e9);
    page.heading(format!(
        "program {name} (process {pid}), published for {since}"
    ));
    let rate = program.batches_per_s.map(unit::per_s);
    let rate = rate.map(|rate| format!("{rate}, ")).unwrap_or_default();
    let batches = unit::count(program.stats.batches as f64);
    let mut facts = vec![("batches", format!("{rate}{batches} in all").into())];
    let shares = shares(&program.stats.tasks);
    facts.extend((!shares.is_empty()).then(|| ("tasks", shares.into())));
    let failures = failures(program).join(" · ");
    facts.extend((!failures.is_empty()).then(|| ("failures", Text::new(failures, Tone::Warning))));
    page.facts(facts);
    let all = program.operations.iter();
    page.table(Table {
        columns: vec![
            Column::words("operation", Column::KEPT),
            Column::figures("batch/s", 5),
            Column::figures("p50", 3),
            Column::figures("p95", 2),
            Column::figures("p99", 4),
            Column::words("tasks", 1),
        ],
        rows: all.take(MOST_OPERATIONS).map(row).collect(),
        ..Table::default()
    });
    if let more @ 1.. = program.operations.len().saturating_sub(MOST_OPERATIONS) {
        let more = plural(more as u64, "more operation");
        page.aside(format!("{more}: --once --format json lists all"));
    }
    page.facts(
        program
            .decisions
            .iter()
            .take(MOST_DECISIONS)
            .map(|decision| {
                let ago = format!("{} ago", time(decision.ago_s * 1e9));
                (ago, shown(&decision.text, usize::MAX))
            }),
    );
}

/// Failures, if there are any.
fn failures(program: &ProgramReading) -> Vec<String> {
    let stats = &program.stats;
    let incomplete = program.operations.iter().map(|each| each.incomplete);
    let incomplete = incomplete.fold(0, u64::saturating_add);
    let tasks =
        |count: u64, what: &str| (count > 0).then(|| format!("{} {what}", plural(count, "task")));
    let incomplete =
        (incomplete > 0).then(|| format!("{} incomplete", unit::count(incomplete as f64)));
    let quarantines = program.quarantines.iter();
    let quarantines = quarantines.map(|(device, count)| {
        let device = shown(device, MOST_OF_NAME);
        format!("{}: {device}", plural(*count, "quarantine"))
    });
    let errors = stats.device_errors.iter();
    let errors = errors.map(|(kind, count)| {
        format!(
            "{}: {}",
            shown(kind, MOST_OF_NAME),
            unit::count(*count as f64)
        )
    });
    let parts = [
        incomplete,
        tasks(stats.fallback_tasks, "fell back"),
        tasks(stats.recalled_tasks, "recalled"),
    ];
    parts
        .into_iter()
        .flatten()
        .chain(quarantines)
        .chain(errors)
        .collect()
}

fn row(operation: &OperationReading) -> Row {
    let quantile = |quantile: fn(&Quantiles) -> f64| {
        of(operation.latency.as_ref().map(quantile), |seconds| {
            time(seconds * 1e9)
        })
    };
    let mut tasks = shares(&operation.tasks);
    if operation.fallback_tasks > 0 {
        tasks += &format!(" · {} fell back", plural(operation.fallback_tasks, "task"));
    }
    Row::new([
        shown(&operation.name, MOST_OF_NAME).into(),
        of(operation.batches_per_s, per_s),
        quantile(|all| all.p50_s),
        quantile(|all| all.p95_s),
        quantile(|all| all.p99_s),
        Text::from(tasks),
    ])
}

/// The fraction of the tasks that each device did, the largest first.
fn shares(tasks: &BTreeMap<String, u64>) -> String {
    let all: f64 = tasks.values().map(|tasks| *tasks as f64).sum();
    let mut tasks: Vec<_> = tasks.iter().collect();
    tasks.sort_by_key(|(_, tasks)| std::cmp::Reverse(**tasks));
    let of_one = |(device, tasks): (&String, &u64)| {
        let part = share(*tasks as f64 / all.max(1.0));
        format!("{} {part}", shown(device, MOST_OF_NAME))
    };
    tasks.into_iter().map(of_one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
pub(crate) mod tests;
