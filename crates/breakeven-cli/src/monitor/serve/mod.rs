//! `breakeven monitor --serve`: the sensors' figures over HTTP.
//!
//! One thread reads the sensors at its interval; the other answers with the last reading. So a
//! driver that hangs delays no scrape, and many scrapers cost no extra reading.

use breakeven_judge::Outcome;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, thread};

use anyhow::{Context as _, Result};
use breakeven::hardware::sensors::{EnergyMeter, Sensors};
use breakeven_profile::unit;
use hyper::body::Bytes;
use tokio::sync::watch;

use crate::engine::programs::Programs;
use crate::engine::supervisor::on_interrupt;
use crate::monitor::metrics::{Own, families, text};

mod http;

/// The second reading follows soon, because rates need two.
const SECOND_AFTER: Duration = Duration::from_millis(250);

pub(super) fn run(
    address: SocketAddr,
    interval: Duration,
    processor: String,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Outcome> {
    let (stop, stopped) = watch::channel(false);
    on_interrupt(move || {
        stop.send_replace(true);
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .context("cannot start the server")?;
    let (listener, address) = runtime.block_on(http::listen(address))?;
    if !address.ip().is_loopback() {
        writeln!(
            err,
            "warning: {address} can be reached from other machines: whoever reaches it can read \
             the load and the names of processes; nothing is encrypted"
        )?;
    }
    let mut reader = Reader::open(processor);
    let page = reader.published.clone();
    reader.publish();
    thread::Builder::new()
        .name("breakeven-sensors".to_owned())
        .spawn(move || reader.keep_reading(SECOND_AFTER.min(interval), interval))
        .context("cannot start the thread that reads the sensors")?;
    let every = unit::time(interval.as_secs_f64() * 1e9);
    writeln!(
        out,
        "serving http://{address}/metrics, read every {every}; Ctrl-C ends it"
    )?;
    out.flush()?;
    runtime.block_on(http::serve(listener, page, stopped));
    Ok(Outcome::Passed)
}

/// The newest page.
#[derive(Debug, Clone, Default)]
struct Published(Arc<Mutex<Bytes>>);

impl Published {
    fn page(&self) -> MutexGuard<'_, Bytes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the sensors and the programs, and publishes their figures.
struct Reader {
    processor: String,
    sensors: Sensors,
    programs: Programs,
    energy: EnergyMeter,
    started: Instant,
    published: Published,
}

impl Reader {
    fn open(processor: String) -> Self {
        Self {
            processor,
            sensors: Sensors::open(),
            programs: Programs::open(),
            energy: EnergyMeter::start(),
            started: Instant::now(),
            published: Published::default(),
        }
    }

    fn publish(&mut self) {
        let mut reading = self.sensors.read();
        let read_at = SystemTime::now();
        self.sensors.add_processes(&mut reading);
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let own = Own {
            read_at,
            uptime: self.started.elapsed(),
            memory_bytes: resident(&status),
        };
        let (energy, programs) = (self.energy.read(), self.programs.read());
        let families = families(&self.processor, &reading, &energy, &programs, own);
        *self.published.page() = text(&families).into();
    }

    /// Publishes after `first` and then at every interval, until the process ends.
    fn keep_reading(mut self, first: Duration, interval: Duration) {
        let mut due = Instant::now() + first;
        loop {
            thread::sleep(due.saturating_duration_since(Instant::now()));
            self.publish();
            // Readings that a slow driver delays are skipped.
            due = (due + interval).max(Instant::now());
        }
    }
}

/// Resident memory, by `/proc/<pid>/status`.
fn resident(status: &str) -> Option<u64> {
    let rest = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = rest.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}
