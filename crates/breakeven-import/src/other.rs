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

/// Texts in the beginning of a file.
const MARKS: [(&str, &str); 9] = [
    (
        "PERFILE2",
        "a recording of perf; give what perf script | inferno-collapse-perf writes",
    ),
    (" cycles:", PERF_SCRIPT),
    (" cpu-clock:", PERF_SCRIPT),
    (
        "<svg",
        "a picture; give the stacks that it was drawn from, as py-spy record --format \
         speedscope or inferno-collapse-perf writes them",
    ),
    (
        "\"timeDeltas\"",
        "a CPU profile of V8; open it in speedscope, and give what its Export writes",
    ),
    (
        "Self CPU %",
        "the table that PyTorch's profiler prints; give what its export_chrome_trace writes",
    ),
    ("Total Time (ns)", NSYS),
    ("TotalDurationNs", ROCPROF),
    ("DurationNs", ROCPROF),
];

const NSYS: &str = "a report or statistics of Nsight Systems; give what nsys export --type \
                    sqlite REPORT writes";
const PPROF: &str = "a profile of pprof; give what pprof -raw FILE | stackcollapse-go.pl writes";
const PERFETTO: &str = "a binary trace of Perfetto; give what traceconv json FILE writes";
const PERF_SCRIPT: &str = "samples of perf script; give what inferno-collapse-perf makes of them";
const ROCPROF: &str = "statistics of rocprof; give what rocprofv3 --sys-trace --output-format \
                       json writes";

/// What to give in place of the file; `None` if nothing is known of it.
pub(crate) fn what_to_give(source: &Source) -> Option<&'static str> {
    let end = source.extension().unwrap_or_default();
    let ends = ENDS.iter().find(|(known, _)| *known == end);
    let marks = || MARKS.iter().find(|(mark, _)| source.text().contains(mark));
    ends.or_else(marks).map(|(_, told)| *told)
}
