//! The page for scrapes, and the thread that renews it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{fs, thread};

use breakeven::hardware::sensors::{EnergyMeter, Sensors};
use hyper::body::Bytes;

use crate::engine::programs::Programs;
use crate::monitor::metrics::{Format, Own, families, text};

/// The newest page, in both formats. Copies share its bytes.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    openmetrics: Bytes,
    text: Bytes,
}

impl Page {
    pub(super) fn in_format(&self, format: Format) -> Bytes {
        match format {
            Format::OpenMetrics => self.openmetrics.clone(),
            Format::Text => self.text.clone(),
        }
    }
}

/// Holder of the newest page.
#[derive(Debug, Clone, Default)]
pub(super) struct Published(Arc<Mutex<Page>>);

impl Published {
    pub(super) fn newest(&self) -> Page {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn renew(&self, page: Page) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = page;
    }
}

/// Reads the sensors and the programs, and publishes their figures.
pub(super) struct Reader {
    processor: String,
    sensors: Sensors,
    programs: Programs,
    energy: EnergyMeter,
    started: Instant,
    published: Published,
}

impl Reader {
    pub(super) fn open(processor: String) -> Self {
        Self {
            processor,
            sensors: Sensors::open(),
            programs: Programs::open(),
            energy: EnergyMeter::start(),
            started: Instant::now(),
            published: Published::default(),
        }
    }

    pub(super) fn page(&self) -> Published {
        self.published.clone()
    }

    pub(super) fn publish(&mut self) {
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
        self.published.renew(Page {
            openmetrics: text(&families, Format::OpenMetrics).into(),
            text: text(&families, Format::Text).into(),
        });
    }

    /// Publishes after `first` and then at every interval, until the process ends.
    pub(super) fn keep_reading(mut self, first: Duration, interval: Duration) {
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
