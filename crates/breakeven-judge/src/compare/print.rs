//! A comparison in plain lines, for any writer.

use std::io::{self, Write};

use breakeven_profile::unit;

use super::comparison::{OperationComparison, ProfilerComparison};

impl ProfilerComparison {
    /// Prints how many operations have which verdict, and the warnings.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn print_summary(&self, out: &mut dyn Write) -> io::Result<()> {
        let summary = self.get_summary();
        writeln!(
            out,
            "{} operation(s) compared by {}, threshold {}: {}",
            summary.operations_count,
            self.metric,
            unit::percent(self.threshold),
            summary.text()
        )?;
        for warning in &self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        Ok(())
    }

    /// Prints the regressions, the largest first, at most `top_n`.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn print_regressions(&self, top_n: usize, out: &mut dyn Write) -> io::Result<()> {
        self.print_each(&self.get_regressions(top_n), out)
    }

    /// Prints the improvements, the largest first, at most `top_n`.
    ///
    /// # Errors
    ///
    /// Those of the writer.
    pub fn print_improvements(&self, top_n: usize, out: &mut dyn Write) -> io::Result<()> {
        self.print_each(&self.get_improvements(top_n), out)
    }

    fn print_each(
        &self,
        operations: &[&OperationComparison],
        out: &mut dyn Write,
    ) -> io::Result<()> {
        for operation in operations {
            let value = |value: Option<f64>| {
                value.map_or_else(|| unit::UNKNOWN.to_owned(), |value| self.metric.text(value))
            };
            write!(
                out,
                "{} {}: {} to {}, {}",
                operation.change_type,
                operation.name(),
                value(operation.baseline_value),
                value(operation.current_value),
                operation.change_text()
            )?;
            match operation.interval {
                Some(_) => writeln!(
                    out,
                    " ({}), p {}",
                    operation.interval_text(),
                    operation.p_text()
                )?,
                None => writeln!(out, " ({})", operation.note_text())?,
            }
        }
        Ok(())
    }
}
