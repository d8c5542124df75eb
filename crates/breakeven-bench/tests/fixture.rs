//! A bench that the tests run. `FIXTURE` says what goes wrong in it.

use std::io::Write;
use std::process;
use std::thread::sleep;
use std::time::Duration;

use breakeven_bench::{Bench, BenchmarkId};

/// True if `FIXTURE` names this.
fn is_on(what: &str) -> bool {
    std::env::var("FIXTURE").is_ok_and(|given| given.split(' ').any(|each| each == what))
}

fn first(b: &mut Bench) {
    let wait = Duration::from_millis(if is_on("slow") { 50 } else { 10 });
    b.bench("nap", || sleep(wait));
    b.bench("second", || {
        let _ = writeln!(std::io::stdout(), "a benchmark prints");
        assert!(!is_on("panic"), "made up\nin two lines");
        if is_on("abort") {
            process::abort();
        }
        if is_on("exit") {
            process::exit(0);
        }
        sleep(Duration::from_millis(1));
    });
    if is_on("twice") {
        b.bench("nap", || 1);
    }
    if is_on("never") {
        b.bench_function("never", |_| ());
    }
    assert!(!is_on("outside"), "made up outside");
}

breakeven_bench::bench!(first, |b| {
    let sum = |input: &Vec<u64>| input.iter().sum::<u64>();
    for n in [10, 1_000] {
        let input: Vec<u64> = (0..n).collect();
        b.bench(BenchmarkId::new("sum", n), || sum(&input));
    }
    b.bench(BenchmarkId::new("sum", "none"), || sum(&Vec::new()));
});
