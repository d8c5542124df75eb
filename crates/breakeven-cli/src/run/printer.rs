//! Prints the output of jobs, one complete job at a time, and records their end in the joblog.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use super::joblog::Joblog;
use super::process::Ended;
use super::spool::Spool;

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
    spool: Spool,
    /// Later jobs that have ended without output.
    silent: BTreeSet<u64>,
}

impl Printer {
    /// Prints to stdout and stderr, in order if there is a spool.
    pub(super) fn new(spool: Option<Spool>, joblog: Option<Joblog>) -> io::Result<Self> {
        let own = |of: &dyn AsFd| Ok::<_, io::Error>(File::from(of.as_fd().try_clone_to_owned()?));
        Ok(Self {
            out: own(&io::stdout())?,
            err: own(&io::stderr())?,
            order: spool.map(|spool| Order {
                next: 1,
                spool,
                silent: BTreeSet::new(),
            }),
            joblog,
        })
    }

    /// The joblog's file.
    pub(super) fn joblog(&self) -> Option<&File> {
        self.joblog.as_ref().map(Joblog::file)
    }

    /// Prints the output of these jobs' process, or stores it until its turn; then records their
    /// end.
    pub(super) fn ended(&mut self, jobs: &[(u64, Vec<u8>)], ended: &Ended) -> io::Result<()> {
        let numbers = jobs.iter().map(|(number, _)| *number);
        let first = numbers.clone().min().unwrap_or_default();
        match &mut self.order {
            Some(order) if order.next != first => {
                order.silent.extend(numbers);
                if ended.stdout.len() + ended.stderr.len() > 0 {
                    order.silent.remove(&first);
                    order.spool.hold(first, &ended.stdout, &ended.stderr)?;
                }
            }
            order => {
                ended.stdout.copy(&mut self.out)?;
                // The reader of stderr may have gone.
                let _ = ended.stderr.copy(&mut self.err);
                if let Some(order) = order {
                    order.silent.extend(numbers);
                }
            }
        }
        if let Some(joblog) = &mut self.joblog {
            joblog.add(jobs, ended)?;
        }
        self.advance()
    }

    /// Announces a job, with its number if it ended in an earlier run; false if the position of its
    /// stored output has changed.
    pub(super) fn comes(&mut self, number: u64, earlier: Option<u64>) -> io::Result<bool> {
        let Some(order) = &mut self.order else {
            return Ok(true);
        };
        // The earlier run stored output of this job or a later one.
        let is_held = |number: u64| order.spool.holds(number);
        match earlier {
            Some(earlier) if earlier == number && is_held(number) => {}
            _ if is_held(number) => return Ok(false),
            Some(earlier) if earlier > number && is_held(earlier) => return Ok(false),
            Some(_) => _ = order.silent.insert(number),
            None => return Ok(true),
        }
        self.advance()?;
        Ok(true)
    }

    /// Number of finished jobs that wait for an earlier one.
    pub(super) fn behind(&self) -> usize {
        let order = self.order.as_ref();
        order.map_or(0, |order| order.silent.len() + order.spool.len())
    }

    /// Prints stored output whose turn has come.
    fn advance(&mut self) -> io::Result<()> {
        let Some(order) = &mut self.order else {
            return Ok(());
        };
        loop {
            if order.spool.holds(order.next) {
                order
                    .spool
                    .print(order.next, &mut self.out, &mut self.err)?;
            } else if !order.silent.remove(&order.next) {
                return Ok(());
            }
            order.next += 1;
        }
    }

    /// Prints the stored output of an earlier run, if order no longer matters.
    pub(super) fn print_held(&mut self, mut spool: Spool) -> io::Result<()> {
        while let Some(number) = spool.first() {
            spool.print(number, &mut self.out, &mut self.err)?;
        }
        spool.remove()
    }

    /// Ends the printing. Stored output of jobs after a missing one stays in the spool if that
    /// outlives the process, and is printed otherwise. Returns how many outputs stay.
    pub(super) fn end(&mut self) -> io::Result<usize> {
        let Some(order) = &mut self.order else {
            return Ok(0);
        };
        let held = order.spool.len();
        if self.joblog.is_some() {
            if held == 0 {
                order.spool.remove()?;
            }
            return Ok(held);
        }
        while let Some(number) = order.spool.first() {
            order.spool.print(number, &mut self.out, &mut self.err)?;
        }
        Ok(0)
    }
}
