//! Files that benchmarks wrote; `tests/data/README.md` says with which command.

use breakeven_import::{Entry, Imported};
use breakeven_profile::profile::{Operation, Profile};
use insta::assert_snapshot;

use crate::support::{imported, summary};

#[track_caller]
fn operation<'p>(profile: &'p Profile, name: &str) -> &'p Operation {
    let found = profile.operations.iter().find(|each| each.name == name);
    found.expect(name)
}

/// What a file states of the machine and of its writer.
fn stated(imported: &Imported) -> String {
    let Profile {
        created,
        generator,
        environment,
        ..
    } = &imported.profile;
    let environment = serde_json::to_string(environment).unwrap();
    format!(
        "{}created {created:?}\ngenerator {generator:?}\n{environment}\n",
        summary(imported)
    )
}

#[test]
fn criterion_samples_are_means_of_their_iterations() {
    let imported = imported("criterion/two");
    assert_snapshot!(summary(&imported));
    // iters 74 074, times 4 852 345 ns: the first sample of the file.
    let of_64 = operation(&imported.profile, "sum/fold/64");
    let text = std::fs::read_to_string(crate::support::data(
        "criterion/two/sum/fold/64/new/sample.json",
    ));
    let sample: serde_json::Value = serde_json::from_str(&text.unwrap()).unwrap();
    let first = sample["times"][0].as_f64().unwrap() / sample["iters"][0].as_f64().unwrap();
    assert_eq!(of_64.runs[0].samples_ns[0], first);
    assert_eq!((of_64.runs.len(), of_64.bytes), (1, Some(512)));
}

#[test]
fn criterion_reads_a_file_of_one_benchmark_too() {
    let folder = imported("criterion/two");
    let sample = imported("criterion/two/sum/fold/64/new/sample.json");
    let whole = operation(&folder.profile, "sum/fold/64");
    assert_eq!(&sample.profile.operations[..], std::slice::from_ref(whole));
    // A saved baseline is read where it is named itself.
    let first = imported("criterion/two/sum/fold/64/first");
    assert_eq!(first.profile.operations[0].name, "sum/fold/64");
    assert_snapshot!(summary(&imported(
        "criterion/two/sum/fold/1024/new/estimates.json"
    )));
}

#[test]
fn criterion_prints_an_estimate_per_process() {
    let imported = imported("criterion/console.txt");
    assert_snapshot!(summary(&imported));
    let of_64 = operation(&imported.profile, "sum/fold/64");
    let samples = of_64.runs.iter().map(|run| run.samples_ns[0]);
    assert_eq!(samples.collect::<Vec<_>>(), [90.307, 115.98]);
    let throughput = of_64.runs[1].counters["throughput"];
    assert_eq!(throughput, 4.1114 * 1024_f64.powi(3));
}

#[test]
fn libtest_has_medians_and_failures() {
    assert_snapshot!(summary(&imported("libtest/bench.txt")));
}

#[test]
fn libtest_processes_one_behind_the_other_are_runs() {
    let imported = imported("libtest/twice.txt");
    assert_snapshot!(summary(&imported));
    let of_64 = operation(&imported.profile, "sums::of_64");
    assert_eq!(of_64.runs[1].counters["MB/s"], 34133.0);
    assert!(of_64.counters["MB/s"].higher_is_better);
}

#[test]
fn divan_has_medians() {
    assert_snapshot!(summary(&imported("divan/table.txt")));
}

#[test]
fn divan_tables_behind_each_other_are_runs() {
    assert_snapshot!(summary(&imported("divan/twice_coloured.txt")));
}

#[test]
fn google_benchmark_repetitions_share_a_process() {
    assert_snapshot!(stated(&imported("google-benchmark/repetitions.json")));
}

#[test]
fn google_benchmark_aggregates_alone_give_medians() {
    assert_snapshot!(summary(&imported("google-benchmark/aggregates.json")));
}

#[test]
fn go_lines_of_count_share_a_process() {
    let imported = imported("go/count.txt");
    assert_snapshot!(stated(&imported));
    let nothing = operation(&imported.profile, "example.com/made.BenchmarkNothing-2");
    assert_eq!(nothing.runs[0].samples_ns, [0.3149, 0.6146, 0.4932]);
}

#[test]
fn go_failures_have_their_reason() {
    assert_snapshot!(summary(&imported("go/failure.txt")));
}

#[test]
fn go_events_are_read_as_the_text_that_they_hold() {
    assert_snapshot!(summary(&imported("go/events.json")));
}

#[test]
fn go_processes_one_behind_the_other_are_runs() {
    assert_snapshot!(summary(&imported("go/repeated.txt")));
}

#[test]
fn pytest_benchmark_rounds_are_samples_of_one_run() {
    assert_snapshot!(stated(&imported("pytest-benchmark/run.json")));
}

#[test]
fn pytest_benchmark_without_rounds_gives_medians() {
    assert_snapshot!(summary(&imported("pytest-benchmark/saved.json")));
}

#[test]
fn pyperf_processes_are_runs() {
    assert_snapshot!(stated(&imported("pyperf/workers.json")));
}

#[test]
fn jmh_forks_are_runs_and_rates_become_times() {
    let imported = imported("jmh/forks.json");
    assert_snapshot!(stated(&imported));
    let both = operation(&imported.profile, "made.Queue.both (thrpt, 2 threads)");
    // 25 and 20 operations per µs; of the second fork 25, and one rate of zero.
    assert_eq!(both.runs[0].samples_ns, [40.0, 50.0]);
    assert_eq!(both.runs[1].samples_ns, [40.0]);
}

/// What JMH printed beside `sorting.json` and `group.json`: benchmark, size, mode,
/// measurements, score, unit.
const JMH_REPORT: &str = "
Sorting.quick         100  thrpt     9    0.250  ops/us
Sorting.quick        1000  thrpt     9    0.017  ops/us
Sorting.sum           100  thrpt     9   17.805  ops/us
Sorting.sum          1000  thrpt     9    2.771  ops/us
Sorting.quick         100   avgt     9    5.322   us/op
Sorting.quick        1000   avgt     9   78.611   us/op
Sorting.sum           100   avgt     9    0.067   us/op
Sorting.sum          1000   avgt     9    0.472   us/op
Sorting.quick         100 sample  1386   29.870   us/op
Sorting.quick        1000 sample   390  267.628   us/op
Sorting.sum           100 sample  1360    0.090   us/op
Sorting.sum          1000 sample  1529    0.334   us/op
Queue.both              -  thrpt     6   74.470  ops/us
Queue.both:full         -  thrpt     6   22.299  ops/us
Queue.both:get          -  thrpt     6   52.259  ops/us
Queue.both:put          -  thrpt     6   22.211  ops/us
Start.pattern           -     ss     6    0.064   ms/op
";

#[test]
fn jmh_scores_are_those_of_its_report() {
    let sorting = imported("jmh/sorting.json");
    let group = imported("jmh/group.json");
    assert_snapshot!(stated(&sorting));
    assert_snapshot!(stated(&group));
    let mut lines = 0;
    for line in JMH_REPORT.trim().lines() {
        let [name, size, mode, count, score, unit] =
            line.split_whitespace().collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        let (profile, name, forks) = match size {
            "-" => {
                let threads = if mode == "thrpt" { ", 2 threads" } else { "" };
                let name = format!("made.{name} ({mode}{threads})");
                (&group.profile, name, 2)
            }
            _ => {
                let name = format!("made.{name}(size={size}) ({mode})");
                (&sorting.profile, name, 3)
            }
        };
        let runs = &operation(profile, &name).runs;
        let samples: Vec<f64> = runs
            .iter()
            .flat_map(|run| run.samples_ns.iter().copied())
            .collect();
        let score_of = |ns: &f64| match unit {
            "ops/us" => 1e3 / ns,
            "us/op" => ns / 1e3,
            "ms/op" => ns / 1e6,
            other => panic!("{other}"),
        };
        let mean = samples.iter().map(score_of).sum::<f64>() / samples.len() as f64;
        assert_eq!(format!("{mean:.3}"), score, "{line}");
        assert_eq!(samples.len().to_string(), count, "{line}");
        assert_eq!(runs.len(), forks, "{line}");
        lines += 1;
    }
    let operations = [&sorting, &group].map(|each| each.profile.operations.len());
    assert_eq!(lines, operations.iter().sum::<usize>());
}

#[test]
fn benchmark_dotnet_launches_are_runs() {
    let imported = imported("benchmarkdotnet/full.json");
    assert_snapshot!(stated(&imported));
    let merge = operation(
        &imported.profile,
        "Made.Sorting.Merge(N: 1000) (Runtime=.NET 8.0)",
    );
    assert_eq!(
        merge.runs[1].samples_ns,
        [1500.0 * 1.02, 1500.0 * 1.02 * 1.02]
    );
}

#[test]
fn benchmark_dotnet_brief_has_no_launches() {
    assert_snapshot!(summary(&imported("benchmarkdotnet/brief.json")));
}

#[test]
fn catch2_has_means() {
    assert_snapshot!(stated(&imported("catch2/v2.xml")));
}

#[test]
fn catch2_prints_means() {
    let imported = imported("catch2/console.txt");
    assert_snapshot!(stated(&imported));
    let small = operation(&imported.profile, "sums / small");
    assert_eq!(small.runs[0].samples_ns, [44.2652]);
}

#[test]
fn asv_samples_are_of_one_run() {
    let imported = imported("asv/v2.json");
    assert_snapshot!(stated(&imported));
    let list = operation(&imported.profile, "bench.mem_list");
    assert_eq!(list.runs[0].memory_bytes, Some(8056));
}

#[test]
fn gungraun_has_counts_and_no_times() {
    let lines = imported("gungraun/lines.json");
    assert_snapshot!(stated(&lines));
    let one = imported("gungraun/summary.json");
    let name = "counts::sums::sum small:(64)";
    let counts = |imported: &Imported| operation(&imported.profile, name).runs[0].counters.clone();
    assert_eq!(counts(&one), counts(&lines));
    assert_eq!(counts(&one)["Instructions"], 334.0);
}

#[test]
fn bmf_has_a_value_per_measure() {
    let imported = imported("bmf/measures.json");
    assert_snapshot!(summary(&imported));
    let rate = operation(&imported.profile, "pkg.sort(n=10)");
    assert_eq!(rate.runs[0].samples_ns, [1e9 / 5.55]);
    let binary = operation(&imported.profile, "release binary");
    assert_eq!(binary.runs[0].counters["file-size"], 1_048_576.0);
    assert_eq!(binary.counters["file-size"].unit, "B");
}

#[test]
fn what_a_custom_tool_wrote_for_github_action_benchmark_is_a_run() {
    let imported = imported("github-action-benchmark/custom.json");
    assert_snapshot!(summary(&imported));
    assert!(imported.history.is_empty());
    let requests = operation(&imported.profile, "Requests");
    assert_eq!(requests.runs[0].samples_ns, [50_000.0]);
    let rate = operation(&imported.profile, "Decode #2");
    assert!(rate.counters["MB/s"].higher_is_better);
}

#[test]
fn github_action_benchmark_is_its_newest_entry_and_a_history() {
    let imported = imported("github-action-benchmark/data.js");
    assert_snapshot!(stated(&imported));
    let entry = |entry: &Entry| {
        let first = &entry.profile.operations[0];
        let commit = entry.commit.as_deref().unwrap();
        let (name, ns) = (&first.name, first.runs[0].samples_ns[0]);
        format!(
            "{} {} {} {name} {ns}",
            &commit[36..],
            entry.date.as_deref().unwrap(),
            entry.profile.operations.len()
        )
    };
    let history: Vec<String> = imported.history.iter().map(entry).collect();
    assert_snapshot!(history.join("\n"));
}
