//! The formats that are read: a file each, with a `mod` line and a line of [`IMPORTERS`].

use breakeven_profile::file::FileError;
use breakeven_profile::profile::Profile;

use crate::note::Notes;
use crate::source::Source;

pub(crate) mod asv;
pub(crate) mod benchmark_dotnet;
pub(crate) mod bmf;
pub(crate) mod catch2;
pub(crate) mod catch2_console;
pub(crate) mod chrome;
pub(crate) mod collapsed;
pub(crate) mod criterion;
pub(crate) mod criterion_console;
pub(crate) mod divan;
pub(crate) mod github_action_benchmark;
pub(crate) mod go;
pub(crate) mod google_benchmark;
pub(crate) mod gungraun;
pub(crate) mod hyperfine;
pub(crate) mod jmh;
pub(crate) mod libtest;
pub(crate) mod nsys;
pub(crate) mod nvbench;
pub(crate) mod pyperf;
pub(crate) mod pytest_benchmark;
pub(crate) mod rocprofv3;
pub(crate) mod speedscope;
pub(crate) mod table;

/// How a file is to be read.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The format; otherwise the content decides.
    pub from: Option<&'static Format>,
    /// What the columns of a CSV file, or the keys of JSON lines, are. A file that is no
    /// profile is then read as such a table.
    pub columns: Option<table::Columns>,
    /// What one of a count is worth, ns, where a file counts samples and does not say how
    /// often they were taken; [`count_ns`](crate::count_ns) reads it from a text.
    pub count_ns: Option<f64>,
}

/// A format of another tool that can be read. A new one is a file and two lines here.
#[derive(Debug)]
pub struct Format {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// Whether the file can be of this format, from its path, its beginning and the keys
    /// in it.
    pub(crate) recognises: fn(&Source) -> bool,
    /// Reads it. What is left out or unusual is noted.
    pub(crate) read: fn(Source, &Options, &mut Notes) -> Result<Profile, FileError>,
}

impl Format {
    /// All formats, in the order in which they are listed for people.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        IMPORTERS.iter().copied()
    }

    /// The format of that name.
    pub fn named(name: &str) -> Option<&'static Self> {
        Self::all().find(|format| format.name == name)
    }

    /// Its name, as in `hyperfine`.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What writes it, and how.
    pub fn about(&self) -> &'static str {
        self.about
    }
}

static IMPORTERS: &[&Format] = &[
    &criterion::IMPORTER,
    &criterion_console::IMPORTER,
    &libtest::IMPORTER,
    &divan::IMPORTER,
    &gungraun::IMPORTER,
    &google_benchmark::IMPORTER,
    &go::IMPORTER,
    &hyperfine::IMPORTER,
    &pytest_benchmark::IMPORTER,
    &pyperf::IMPORTER,
    &asv::IMPORTER,
    &jmh::IMPORTER,
    &benchmark_dotnet::IMPORTER,
    &catch2::IMPORTER,
    &catch2_console::IMPORTER,
    &github_action_benchmark::IMPORTER,
    &bmf::IMPORTER,
    &nvbench::IMPORTER,
    &chrome::IMPORTER,
    &nsys::IMPORTER,
    &rocprofv3::JSON,
    &rocprofv3::CSV,
    &speedscope::IMPORTER,
    &collapsed::IMPORTER,
    &table::IMPORTER,
];
