//! Prints the output of jobs, one complete job at a time, and records their end in the joblog.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt as _;

use super::joblog::{Joblog, line};
use super::process::{Ended, Written, copy_part};

/// Prints the output of jobs.
#[derive(Debug)]
pub(super) struct Printer {
    out: File,
    err: File,
    order: Option<Order>,
    joblog: Option<Joblog>,
}

/// State of the printing order.
#[derive(Debug)]
struct Order {
    /// The number of the next job to print.
    next: u64,
    /// An unnamed file with the output of later jobs, up to that position.
    spool: File,
    end: u64,
    /// Later jobs that have ended.
    held: BTreeMap<u64, Held>,
}

/// A finished job that waits for earlier ones.
#[derive(Debug, Default)]
struct Held {
    /// Position and lengths of its stdout and stderr in the spool.
    at: u64,
    lengths: [u64; 2],
    /// Its line in the joblog.
    line: Vec<u8>,
}

impl Printer {
    /// Prints to stdout and stderr, in the order of the inputs if `keeps_order`.
    pub(super) fn new(keeps_order: bool, joblog: Option<Joblog>) -> io::Result<Self> {
        let own = |of: &dyn AsFd| Ok::<_, io::Error>(File::from(of.as_fd().try_clone_to_owned()?));
        let order = || {
            Ok::<_, io::Error>(Order {
                next: 1,
                spool: tempfile::tempfile()?,
                end: 0,
                held: BTreeMap::new(),
            })
        };
        Ok(Self {
            out: own(&io::stdout())?,
            err: own(&io::stderr())?,
            order: keeps_order.then(order).transpose()?,
            joblog,
        })
    }

    /// Prints the output of these jobs' process, and then records their end; or stores it until its
    /// turn.
    pub(super) fn ended(&mut self, jobs: &[(u64, Vec<u8>)], ended: &Ended) -> io::Result<()> {
        let first = jobs.iter().map(|(number, _)| *number).min();
        let Some(order) = &mut self.order else {
            self.print(ended)?;
            let lines = jobs
                .iter()
                .flat_map(|(number, shown)| line(*number, ended, shown));
            return self.log(&lines.collect::<Vec<u8>>());
        };
        let is_next = first == Some(order.next);
        for (number, shown) in jobs {
            let mut held = Held {
                line: line(*number, ended, shown),
                ..Held::default()
            };
            if Some(*number) == first && !is_next {
                (held.at, held.lengths) = order.store([&ended.stdout, &ended.stderr])?;
            }
            order.held.insert(*number, held);
        }
        if is_next {
            self.print(ended)?;
        }
        self.advance()
    }

    /// A job that ended in an earlier run.
    pub(super) fn skip(&mut self, number: u64) -> io::Result<()> {
        let Some(order) = &mut self.order else {
            return Ok(());
        };
        order.held.insert(number, Held::default());
        self.advance()
    }

    /// Number of finished jobs that wait for an earlier one.
    pub(super) fn behind(&self) -> usize {
        self.order.as_ref().map_or(0, |order| order.held.len())
    }

    /// Prints the jobs that still wait for one that did not end.
    pub(super) fn end(&mut self) -> io::Result<()> {
        while let Some(order) = &mut self.order
            && let Some(first) = order.held.keys().next()
        {
            order.next = *first;
            self.advance()?;
        }
        Ok(())
    }

    fn print(&mut self, ended: &Ended) -> io::Result<()> {
        ended.stdout.copy(&mut self.out)?;
        // The reader of stderr may have gone.
        let _ = ended.stderr.copy(&mut self.err);
        Ok(())
    }

    fn log(&mut self, lines: &[u8]) -> io::Result<()> {
        self.joblog.as_mut().map_or(Ok(()), |log| log.add(lines))
    }

    /// Prints and records the jobs whose turn has come.
    fn advance(&mut self) -> io::Result<()> {
        while let Some(order) = &mut self.order
            && let Some(held) = order.held.remove(&order.next)
        {
            order.next += 1;
            let [stdout, stderr] = held.lengths;
            copy_part(&order.spool, held.at, stdout, &mut self.out)?;
            let _ = copy_part(&order.spool, held.at + stdout, stderr, &mut self.err);
            if order.held.is_empty() {
                order.end = 0;
                order.spool.set_len(0)?;
            }
            self.log(&held.line)?;
        }
        Ok(())
    }
}

impl Order {
    /// Appends outputs to the spool; returns their position and lengths.
    fn store(&mut self, outputs: [&Written; 2]) -> io::Result<(u64, [u64; 2])> {
        let at = self.end;
        for output in outputs {
            output.copy(self)?;
        }
        Ok((at, outputs.map(Written::len)))
    }
}

/// Writes to the end of the spool.
impl io::Write for Order {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.spool.write_at(bytes, self.end)?;
        self.end += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
