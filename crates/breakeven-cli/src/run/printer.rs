//! Prints what jobs wrote, a whole job at a time, and notes in the joblog that they have ended.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use super::joblog::Joblog;
use super::process::Ended;
use super::spool::Spool;

/// Prints what jobs wrote.
#[derive(Debug)]
pub(super) struct Printer {
    out: File,
    err: File,
    order: Option<Order>,
    joblog: Option<Joblog>,
}

/// What is known of the order of jobs.
#[derive(Debug)]
struct Order {
    /// The number of the job whose turn it is.
    next: u64,
    spool: Spool,
    /// Jobs behind it that have ended and have nothing to print.
    silent: BTreeSet<u64>,
}

impl Printer {
    /// To stdout and stderr, in order if there is a spool.
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

    /// Prints what the process of these jobs wrote, or holds it back until its turn; then
    /// they have ended.
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
                // Who reads stderr may have gone.
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

    /// A job comes, which had that number if it ended in an earlier run; false if what
    /// that run holds back has another place now.
    pub(super) fn comes(&mut self, number: u64, earlier: Option<u64>) -> io::Result<bool> {
        let Some(order) = &mut self.order else {
            return Ok(true);
        };
        // What is held of this job or of one behind it is of the earlier run.
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

    /// Jobs that wait for the turn of another one.
    pub(super) fn behind(&self) -> usize {
        let order = self.order.as_ref();
        order.map_or(0, |order| order.silent.len() + order.spool.len())
    }

    /// Prints what is held back, as far as its turn has come.
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

    /// Prints what an earlier run held back, where order matters no longer.
    pub(super) fn print_held(&mut self, mut spool: Spool) -> io::Result<()> {
        while let Some(number) = spool.first() {
            spool.print(number, &mut self.out, &mut self.err)?;
        }
        spool.remove()
    }

    /// Nothing follows. What is held back of jobs behind one that was not run stays where it
    /// is if that outlives the process, and is printed else. How many outputs stay.
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
