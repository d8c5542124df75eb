//! What `rocprofv3` writes of programs on AMD's GPUs: one JSON file of all, or a CSV file
//! per kind of event, which belong together. A kernel, a copy, a call of HIP or HSA, and a
//! range of ROCTx is an operation by its name; a process is part of the one run.

mod csv;
mod json;

use crate::trace::{Trace, When};

pub(crate) use self::csv::IMPORTER as CSV;
pub(crate) use self::json::IMPORTER as JSON;

/// A call of the host, as both have it.
struct Call<'a> {
    name: &'a str,
    category: &'a str,
    process: u64,
    thread: u64,
    when: When,
    correlation: Option<u64>,
}

impl Call<'_> {
    fn add(&self, trace: &mut Trace) {
        let cpu = trace.operations.device("cpu");
        let operation = trace.operations.number(self.name, cpu, self.category);
        let track = trace.track(&format!("thread {}", self.thread));
        trace.call(operation, track, self.when);
        if let Some(number) = self.correlation.filter(|_| self.name.contains("aunch")) {
            trace.launch((self.process, number), self.when);
        }
    }
}
