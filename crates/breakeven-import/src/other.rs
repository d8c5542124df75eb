//! What tools write and is not read, and what of the same tool is.

use crate::source::Source;

/// Ends of names, in small letters and without `.gz`.
const ENDS: [(&str, &str); 7] = [
    ("nsys-rep", NSYS),
    ("qdrep", NSYS),
    (
        "ncu-rep",
        "a report of Nsight Compute, which is not read; trace with nsys profile, then give what \
         nsys export --type sqlite writes",
    ),
    ("pb", PPROF),
    ("pprof", PPROF),
    ("pftrace", PERFETTO),
    ("perfetto-trace", PERFETTO),
];

const NSYS: &str = "a report or statistics of Nsight Systems; give what nsys export --type \
                    sqlite REPORT writes";
const PPROF: &str = "a profile of pprof; give what pprof -raw FILE | stackcollapse-go.pl writes";
const PERFETTO: &str = "a binary trace of Perfetto; give what traceconv json FILE writes";
const PERF_SCRIPT: &str = "samples of perf script; give what inferno-collapse-perf makes of them";
const ROCPROF: &str = "statistics of rocprof; give what rocprofv3 --sys-trace --output-format \
                       json writes";

/// Texts that are all in one line of the beginning.
const LINES: [(&[&str], &str); 25] = [
    (
        &["<svg"],
        "a picture; give the stacks that it was drawn from, as py-spy record --format \
         speedscope or inferno-collapse-perf writes them",
    ),
    (
        &["PERFILE2"],
        "a recording of perf; give what perf script | inferno-collapse-perf writes",
    ),
    (&[" cycles:"], PERF_SCRIPT),
    (&[" cpu-clock:"], PERF_SCRIPT),
    (
        &["\"timeDeltas\""],
        "a CPU profile of V8; open it in speedscope, and give what its Export writes",
    ),
    (
        &["Self CPU %"],
        "the table that PyTorch's profiler prints; give what its export_chrome_trace writes",
    ),
    (&["Total Time (ns)"], NSYS),
    (&["TotalDurationNs"], ROCPROF),
    (&["DurationNs"], ROCPROF),
    (
        &["Benchmark", "Time", "CPU", "Iterations"],
        GOOGLE_BENCHMARK,
    ),
    (&["name,iterations,real_time,cpu_time"], GOOGLE_BENCHMARK),
    (&["Benchmark", "Mode", "Cnt", "Score", "Units"], JMH),
    (&["\"Benchmark\",\"Mode\",\"Threads\""], JMH),
    (&["| Method", " Mean "], BENCHMARK_DOT_NET),
    (&["Method", "Job", "Mean", "StdDev"], BENCHMARK_DOT_NET),
    (&["| Command |", "Mean ["], HYPERFINE),
    (&["command,mean,stddev,median,user,system"], HYPERFINE),
    (&["Time (", "mean ± σ"], HYPERFINE),
    (
        &["-- benchmark", " tests -"],
        "a table of pytest-benchmark; give what pytest --benchmark-json=FILE writes",
    ),
    (
        &["Mean +- std dev:"],
        "what pyperf prints; give what its option -o FILE writes",
    ),
    (
        &["│", "sec/op"],
        "what benchstat prints; give the files that benchstat was given",
    ),
    (&["[", "%] ", "Running ("], ASV),
    (&["[", "%] ··· "], ASV),
    (&["· Creating environments"], ASV),
    (&["· Discovering benchmarks"], ASV),
];

const GOOGLE_BENCHMARK: &str = "a table of Google Benchmark; give what --benchmark_out=FILE \
                                --benchmark_out_format=json writes";
const JMH: &str = "a table of JMH; give what -rf json -rff FILE writes";
const BENCHMARK_DOT_NET: &str = "a table of BenchmarkDotNet; run it with --exporters json, and \
                                 give BenchmarkDotNet.Artifacts/results/*.json";
const HYPERFINE: &str = "a table of hyperfine; give what --export-json FILE writes, or for CSV \
                         name the columns: name=command,time=median,unit=s";
const ASV: &str = "what asv prints; give a file of .asv/results/MACHINE";

/// What to give in place of the file; `None` if nothing is known of it.
pub(crate) fn what_to_give(source: &Source) -> Option<&'static str> {
    let end = source.extension().unwrap_or_default();
    let ends = ENDS.iter().find(|(known, _)| *known == end);
    let is_in = |(all, _): &&(&[&str], _)| {
        let mut lines = source.lines();
        lines.any(|line| all.iter().all(|mark| line.contains(mark)))
    };
    let lines = || LINES.iter().find(is_in).map(|(_, message)| *message);
    ends.map(|(_, message)| *message).or_else(lines)
}
