//! Operations while a file is read: samples by operation and run.

use std::collections::HashMap;

use breakeven_profile::file::{FileError, FileErrorKind};
use breakeven_profile::profile::{Environment, Failure, Operation, OperationKey, Profile, Run};

use crate::kept::Kept;
use crate::name::{bounded, one_line};
use crate::note::{Note, Notes};

/// The longest time that counts, ns: 2^53, a hundred days, as in a profile file.
const MOST_NS: f64 = 9_007_199_254_740_992.0;

/// The operations of a file, in the order in which it names them first.
#[derive(Default)]
pub(crate) struct Gather {
    operations: Vec<Gathered>,
    by_key: HashMap<OperationKey, usize>,
    long_names: u64,
}

/// One operation while its samples come in.
pub(crate) struct Gathered {
    /// What is told of it beside its samples. Its runs are made at the end.
    pub(crate) told: Operation,
    runs: Vec<Kept>,
    not_times: u64,
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
            });
        }
        &mut self.operations[index]
    }

    /// The operation of that name on the CPU.
    pub(crate) fn operation(&mut self, name: &str) -> &mut Gathered {
        self.on(name, "cpu", None)
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
        let operations: Vec<Operation> = (self.operations.into_iter())
            .map(|gathered| gathered.into_operation(notes))
            .filter(|operation| !operation.runs.is_empty() || operation.failure.is_some())
            .collect();
        if operations.is_empty() {
            let told = match notes.why_nothing_is_left() {
                Some(note) => format!("the file holds no times; {note}"),
                None => "the file holds no times; look whether its benchmarks ran".to_owned(),
            };
            return Err(FileError::new(FileErrorKind::Empty, told));
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
        // Runs follow each other in every format; a gap would be an invented run.
        let run = run.min(self.runs.len());
        if !(0.0..=MOST_NS).contains(&ns) {
            self.not_times += 1;
            return;
        }
        if run == self.runs.len() {
            self.runs.push(Kept::default());
        }
        // Not -0.0, which a difference of equal times may give.
        if self.runs[run].push(ns + 0.0).is_err() {
            self.not_times += 1;
        }
    }

    /// A new run behind those that there are: its number.
    pub(crate) fn next_run(&self) -> usize {
        self.runs.len()
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

    fn into_operation(self, notes: &mut Notes) -> Operation {
        if self.not_times > 0 {
            notes.add(Note::NotTimes {
                operation: self.told.name.clone(),
                values: self.not_times,
            });
        }
        let runs: Vec<Run> = self.runs.into_iter().map(Kept::into_run).collect();
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
