//! The texts of a comparison that come from files.

use super::comparison::{OperationComparison, ProfilerComparison};
use super::warning::Warning;

impl ProfilerComparison {
    /// Hands over every text that a file had a say in, so that who prints them
    /// can take out what a terminal would obey.
    pub fn each_text(&mut self, mut change: impl FnMut(&mut String)) {
        for operation in &mut self.operations {
            let OperationComparison {
                operation,
                device,
                workload,
                ..
            } = operation;
            let texts = [operation, device].into_iter().chain(workload);
            texts.for_each(&mut change);
        }
        for held in &mut self.budgets {
            [&mut held.operation, &mut held.device]
                .into_iter()
                .for_each(&mut change);
        }
        for idle in &mut self.idle_budgets {
            change(&mut idle.budget);
        }
        for warning in &mut self.warnings {
            warning.texts().into_iter().for_each(&mut change);
        }
    }
}

impl Warning {
    fn texts(&mut self) -> Vec<&mut String> {
        match self {
            Self::OneRun { operations, .. }
            | Self::FewRuns { operations, .. }
            | Self::FewSamples { operations, .. }
            | Self::NearClock { operations, .. }
            | Self::MostlyRecording { operations }
            | Self::Failed { operations, .. } => operations.iter_mut().collect(),
            Self::OtherWork {
                operation: text,
                baseline,
                current,
                ..
            }
            | Self::OtherMachine {
                what: text,
                baseline,
                current,
            } => vec![text, baseline, current],
            Self::Clock { baseline, current } | Self::OtherBuild { baseline, current } => {
                vec![baseline, current]
            }
            Self::Mixed { what, .. } => vec![what],
            Self::Interrupted { .. } => Vec::new(),
        }
    }
}
