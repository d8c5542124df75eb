//! What the commands that read profiles have in common.

use breakeven_import::{Columns, Format, Options};
use clap::Args;

#[derive(Debug, Default, Args)]
pub(crate) struct InputArgs {
    /// Format of the files, where their content does not tell it; `breakeven convert --list`
    /// names all
    #[arg(long, value_name = "FORMAT", value_parser = format)]
    pub(crate) from: Option<Format>,

    /// What the columns of a CSV file or the keys of JSON lines are, as in
    /// name=case,time=wall,unit=ms,run=process (also device= and size=)
    #[arg(long, value_name = "name=…,time=…")]
    pub(crate) columns: Option<Columns>,

    /// What the counts of collapsed stacks count: ns, us, ms, s, or samples at a rate, as
    /// in 99hz
    #[arg(long, value_name = "UNIT", value_parser = unit)]
    pub(crate) unit: Option<f64>,
}

impl InputArgs {
    /// How files are to be read.
    pub(crate) fn options(&self) -> Options {
        Options {
            from: self.from,
            columns: self.columns.clone(),
            count_ns: self.unit,
        }
    }
}

fn unit(text: &str) -> Result<f64, String> {
    breakeven_import::count_ns(text).ok_or_else(|| {
        "there is no such unit; give ns, us, ms, s, or a rate such as 99hz".to_owned()
    })
}

fn format(text: &str) -> Result<Format, String> {
    Format::named(text).ok_or_else(|| {
        let names = || Format::all().map(Format::name);
        let hint = super::similar(text, names());
        let names: Vec<&str> = names().collect();
        format!(
            "there is no such format; {hint}there are {}",
            names.join(", ")
        )
    })
}
