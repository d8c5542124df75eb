//! Operations while a file is read: samples by operation and run.

use std::collections::HashMap;

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{
    Counter, Environment, Failure, Operation, OperationKey, Profile, Run,
};

use crate::kept::Kept;
use crate::name::{bounded, one_line};
use crate::note::{Note, Notes};
use crate::unit::is_rate;

/// The longest time that counts, ns: 2^53, a hundred days, as in a profile file.
const MOST_NS: f64 = 9_007_199_254_740_992.0;

/// The operations of a file, in the order in which it names them first.
#[derive(Default)]
pub(crate) struct Gather {
    operations: Vec<Gathered>,
    by_key: HashMap<OperationKey, usize>,
    /// By name and device: what tells the entries of that name apart, and their numbers.
    marks: HashMap<(String, String), HashMap<String, usize>>,
    /// The first name that was there before.
    twice: Option<String>,
    long_names: u64,
}

/// One operation while its samples come in.
pub(crate) struct Gathered {
    /// What is told of it beside its samples. Its runs are made at the end.
    pub(crate) told: Operation,
    runs: Vec<Kept>,
    not_times: u64,
    is_skipped: bool,
}

impl Gather {
    /// The operation of that name on that device.
    pub(crate) fn on(&mut self, name: &str, device: &str, size: Option<u64>) -> &mut Gathered {
        let (name, device) = (bounded(name), bounded(device));
        let key = OperationKey {
            name: name.text.into_owned(),
            device: device.text.into_owned(),
            size,
        };
        let next = self.operations.len();
        let index = *self.by_key.entry(key.clone()).or_insert(next);
        if index == next {
            self.long_names += u64::from(name.is_shortened || device.is_shortened);
            self.operations.push(Gathered {
                told: Operation {
                    size,
                    ..Operation::new(key.name, key.device)
                },
                runs: Vec::new(),
                not_times: 0,
                is_skipped: false,
            });
        }
        &mut self.operations[index]
    }

    /// The operation of that name on the CPU.
    pub(crate) fn operation(&mut self, name: &str) -> &mut Gathered {
        self.on(name, "cpu", None)
    }

    /// The operation of an entry of a file in which others may have its name: the second
    /// is `name #2`. Entries with the same mark are one; without a mark each is another.
    pub(crate) fn entry(
        &mut self,
        name: &str,
        device: &str,
        mark: Option<String>,
    ) -> &mut Gathered {
        let marks = self.marks.entry((name.to_owned(), device.to_owned()));
        let marks = marks.or_default();
        let next = marks.len();
        let number = *(marks.entry(mark.unwrap_or_else(|| next.to_string()))).or_insert(next);
        match number {
            0 => self.on(name, device, None),
            number => {
                self.twice.get_or_insert_with(|| one_line(name));
                self.on(&format!("{name} #{}", number + 1), device, None)
            }
        }
    }

    /// The profile of all; a file without a single sample or failure is an error.
    pub(crate) fn profile(
        self,
        environment: Environment,
        notes: &mut Notes,
    ) -> Result<Profile, FileError> {
        if self.long_names > 0 {
            let count = self.long_names;
            notes.add(Note::LongNames { count });
        }
        if let Some(operation) = self.twice {
            notes.add(Note::SameName { operation });
        }
        let operations = self.operations.into_iter();
        let operations = operations.filter(|each| !each.is_skipped || !each.runs.is_empty());
        let mut operations: Vec<Operation> = operations
            .map(|gathered| gathered.into_operation(notes))
            .collect();
        let is_nothing = |each: &Operation| each.runs.is_empty() && each.failure.is_none();
        if operations.iter().all(is_nothing) {
            let told = match notes.why_nothing_is_left() {
                Some(note) => format!("the file holds no times; {note}"),
                None => "the file holds no times; look whether its benchmarks ran".to_owned(),
            };
            return Err(FileError::new(FileErrorKind::Empty, told));
        }
        // What the file names and has no time of was asked for and gave none.
        for nothing in operations.iter_mut().filter(|each| is_nothing(each)) {
            nothing.failure = Some(Failure {
                kind: "no result".to_owned(),
                message: "the file has no time of it; see the tool's output".to_owned(),
            });
        }
        unequal_runs(&operations, notes);
        Ok(Profile {
            environment,
            operations,
            benchmark: true,
            ..Profile::default()
        })
    }
}

impl Gathered {
    /// A call's time in a run, counted from 0, ns. What is no time is counted apart.
    pub(crate) fn sample(&mut self, run: usize, ns: f64) {
        // Not -0.0, which a difference of equal times may give.
        if !(0.0..=MOST_NS).contains(&ns) || self.run(run).push(ns + 0.0).is_err() {
            self.not_times += 1;
        }
    }

    /// A new run behind those that there are: its number. One without samples is dropped
    /// at the end.
    pub(crate) fn new_run(&mut self) -> usize {
        self.runs.push(Kept::default());
        self.runs.len() - 1
    }

    /// The number of runs.
    pub(crate) fn runs(&self) -> usize {
        self.runs.len()
    }

    // Runs follow each other in every format; a gap would be an invented run.
    fn run(&mut self, run: usize) -> &mut Kept {
        let run = run.min(self.runs.len());
        if run == self.runs.len() {
            self.runs.push(Kept::default());
        }
        &mut self.runs[run]
    }

    /// A figure beside the time of a call, in a run. Of rates more is better, of all else
    /// less, unless the caller knows more of the counter, which is returned.
    pub(crate) fn counter(
        &mut self,
        run: usize,
        name: &str,
        unit: &str,
        value: f64,
    ) -> &mut Counter {
        if value.is_finite() {
            self.run(run).count(bounded(name).text.into_owned(), value);
        }
        let name = bounded(name).text.into_owned();
        self.told
            .counters
            .entry(name)
            .or_insert_with_key(|name| Counter {
                unit: one_line(unit),
                higher_is_better: is_rate(name, unit),
            })
    }

    /// A figure of each call in one of the units that Go prints, as in `64 B/op`.
    pub(crate) fn per_call(&mut self, run: usize, value: f64, unit: &str) {
        match unit {
            "B/op" => self.memory(run, value),
            "allocs/op" => {
                self.counter(run, "allocations", "allocs", value);
            }
            unit => {
                self.counter(run, unit, unit, value);
            }
        }
    }

    /// The memory that a call holds or allocates in a run, bytes.
    #[expect(clippy::cast_sign_loss, reason = "the range begins at zero")]
    pub(crate) fn memory(&mut self, run: usize, bytes: f64) {
        if (0.0..9e15).contains(&bytes) {
            let memory = &mut self.run(run).memory_bytes;
            *memory = (*memory).max(Some(bytes.round() as u64));
        }
    }

    /// Something that the file tells and a profile has no field for.
    pub(crate) fn attribute(&mut self, name: &str, value: impl Into<serde_json::Value>) {
        self.told.attributes.insert(name.to_owned(), value.into());
    }

    /// Why the operation has no (or not all) samples: the kind in a word, and the tool's
    /// own words. The first reason stays.
    pub(crate) fn failed(&mut self, kind: &str, message: &str) {
        self.told.failure.get_or_insert_with(|| Failure {
            kind: kind.to_owned(),
            message: one_line(message),
        });
    }

    /// The tool left it out on purpose: it is not there, which is noted, unless other entries
    /// measured it.
    pub(crate) fn skipped(&mut self, message: Option<&str>, notes: &mut Notes) {
        self.is_skipped = true;
        let place = format!(
            "{}: {}",
            self.told.name,
            message.unwrap_or("without a reason")
        );
        notes.leave_out("benchmark(s)", "their tool skipped them", &place);
    }

    fn into_operation(self, notes: &mut Notes) -> Operation {
        if self.not_times > 0 {
            notes.add(Note::NotTimes {
                operation: self.told.name.clone(),
                values: self.not_times,
            });
        }
        let runs = self.runs.into_iter().map(Kept::into_run);
        let runs: Vec<Run> = runs.filter(|run| !run.samples_ns.is_empty()).collect();
        Operation { runs, ..self.told }
    }
}

fn unequal_runs(operations: &[Operation], notes: &mut Notes) {
    let measured = || operations.iter().filter(|each| each.failure.is_none());
    let fewest = measured().min_by_key(|operation| operation.runs.len());
    let most = measured().map(|operation| operation.runs.len()).max();
    if let (Some(fewest), Some(most)) = (fewest, most)
        && fewest.runs.len() != most
    {
        notes.add(Note::UnequalRuns {
            fewest: fewest.runs.len(),
            most,
            operation: fewest.name.clone(),
        });
    }
}
