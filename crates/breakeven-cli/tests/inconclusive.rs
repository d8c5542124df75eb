//! `breakeven compare` where runs are too few for a verdict.

use insta::assert_snapshot;

use crate::command::directory;
use crate::compare::{within, write};

#[test]
fn what_many_operations_lack_is_said_once() {
    let directory = directory();
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let two = names.map(|name| {
        format!(
            "{{\"name\": \"{name}\", \"runs\": [{{\"samples_ns\": [99, 99, 99, 99, 99]}}, \
            {{\"samples_ns\": [101, 101, 101, 101, 101]}}]}}"
        )
    });
    for file in ["a.json", "b.json"] {
        write(directory.path(), file, &two);
    }
    let said = within(&directory, "compare a.json b.json --gate").quietly(3);
    assert_snapshot!(said.stdout, @r"
    baseline  a.json · 2 runs · revision 4f2a91c · release build ·
              2026-01-02T03:04:05Z
    current   b.json · 2 runs · revision 4f2a91c · release build ·
              2026-01-02T03:04:05Z
    by time, threshold 5.0 %, false alarms 5.0 %, corrected by Benjamini–Hochberg

    operation  baseline  current  change   runs
    INCONCLUSIVE
    a on cpu     100 ns   100 ns   0.0 %  2 → 2
    b on cpu     100 ns   100 ns   0.0 %  2 → 2
    c on cpu     100 ns   100 ns   0.0 %  2 → 2
    d on cpu     100 ns   100 ns   0.0 %  2 → 2
    e on cpu     100 ns   100 ns   0.0 %  2 → 2
    f on cpu     100 ns   100 ns   0.0 %  2 → 2
    g on cpu     100 ns   100 ns   0.0 %  2 → 2
    h on cpu     100 ns   100 ns   0.0 %  2 → 2

    Warnings
    too few runs to estimate the noise: 2 runs on the baseline and the current
      side of a on cpu; b on cpu; c on cpu and 5 more; make at least 4, or give
      earlier profiles as the history

    8 inconclusive; gate inconclusive
    ");
}
