//! What known tools print for people, or write in formats that are not read: recognised
//! only to say which option writes what is read.

use crate::source::Source;

/// What such a text has in one line, what it is, and what to do.
const TEXTS: [(&[&str], &str, &str); 17] = [
    (
        &["time:   ["],
        "what criterion prints",
        "name its folder, target/criterion, which has the samples",
    ),
    (
        &["test ", "... bench:", "ns/iter"],
        "what `cargo bench` prints of libtest's benchmarks",
        "if criterion printed it (--output-format bencher), name its folder target/criterion; \
         libtest writes no other format: make a table of it and name its columns",
    ),
    (
        &["benchmark name", "samples", "iterations"],
        "what Catch2 prints",
        "run it with --reporter xml --out FILE",
    ),
    (
        &["Benchmark", "Time", "CPU", "Iterations"],
        "what Google Benchmark prints",
        "run it with --benchmark_out=FILE --benchmark_out_format=json",
    ),
    (
        &["name,iterations,real_time,cpu_time,time_unit"],
        "Google Benchmark's CSV",
        "run it with --benchmark_out=FILE --benchmark_out_format=json",
    ),
    (
        &["Benchmark", "Mode", "Cnt", "Score", "Units"],
        "what JMH prints",
        "run it with -rf json -rff FILE",
    ),
    (
        &["\"Benchmark\",\"Mode\",\"Threads\""],
        "JMH's CSV",
        "run it with -rf json -rff FILE",
    ),
    (
        &["| Method", "Mean |"],
        "a table of BenchmarkDotNet",
        "run it with --exporters json, and name BenchmarkDotNet.Artifacts/results/*.json",
    ),
    (
        &["Method", "Job", "Mean", "StdDev"],
        "BenchmarkDotNet's CSV",
        "run it with --exporters json, and name BenchmarkDotNet.Artifacts/results/*.json",
    ),
    (
        &["| Command |", "Mean ["],
        "hyperfine's Markdown",
        "run it with --export-json FILE",
    ),
    (
        &["command,mean,stddev,median,user,system,min,max"],
        "hyperfine's CSV",
        "run it with --export-json FILE, or name the columns: name=command,time=median,unit=s",
    ),
    (
        &["Time (", "mean ± σ"],
        "what hyperfine prints",
        "run it with --export-json FILE",
    ),
    (
        &["-- benchmark", " tests -"],
        "what pytest-benchmark prints",
        "run pytest with --benchmark-json=FILE",
    ),
    (
        &["Mean +- std dev:"],
        "what pyperf prints",
        "run it with -o FILE",
    ),
    (
        &["| Samples |", "GPU Time"],
        "a table of nvbench",
        "run it with --json FILE",
    ),
    (
        &["│", "sec/op"],
        "what benchstat prints",
        "name the files that benchstat was given",
    ),
    (&["[", "%] ", "Running ("], "what asv prints", ASV),
];

const ASV: &str =
    "asv writes no format that is read: make a table of its results and name its columns";

/// What the file is and what to do, where it is known.
pub(crate) fn recognised(source: &Source) -> Option<String> {
    if source.has("commit_hash") && source.has("results") {
        return Some(format!("this is a result of asv; {ASV}"));
    }
    let mut lines = source.lines();
    lines.find_map(|line| {
        let has_all = |marks: &[&str]| marks.iter().all(|mark| line.contains(mark));
        let (_, what, instead) = TEXTS.iter().find(|(marks, ..)| has_all(marks))?;
        Some(format!("this is {what}; {instead}"))
    })
}
