//! One format per file.

pub(crate) mod benchmark_dotnet;
pub(crate) mod catch2;
pub(crate) mod chrome;
pub(crate) mod collapsed;
pub(crate) mod criterion;
pub(crate) mod divan;
pub(crate) mod github_action_benchmark;
pub(crate) mod go;
pub(crate) mod google_benchmark;
pub(crate) mod hyperfine;
pub(crate) mod jmh;
pub(crate) mod nsys;
pub(crate) mod nvbench;
pub(crate) mod pyperf;
pub(crate) mod pytest_benchmark;
pub(crate) mod rocprofv3;
pub(crate) mod speedscope;
pub(crate) mod table;
