//! One format per file.

pub(crate) mod benchmark_dotnet;
pub(crate) mod catch2;
pub(crate) mod criterion;
pub(crate) mod divan;
pub(crate) mod github_action_benchmark;
pub(crate) mod go;
pub(crate) mod google_benchmark;
pub(crate) mod hyperfine;
pub(crate) mod jmh;
pub(crate) mod pyperf;
pub(crate) mod pytest_benchmark;
pub(crate) mod table;
