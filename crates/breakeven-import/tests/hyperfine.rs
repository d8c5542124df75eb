//! Files that hyperfine 1.15 wrote: `hyperfine -r 5 'sleep 0.01' 'sleep 0.02' --export-json`.

use insta::assert_snapshot;

use crate::support::{imported, summary};

#[test]
fn every_execution_is_a_sample_of_the_one_run() {
    assert_snapshot!(summary(&imported("hyperfine/sleeps.json")));
}
