//! A bench as it is written for criterion: only the import differs.

use breakeven_bench::{
    BatchSize, BenchmarkId, Criterion, Throughput, black_box, criterion_group, criterion_main,
};

fn fibonacci(n: u64) -> u64 {
    (0..n).fold((0, 1), |(a, b), _| (b, a + b)).0
}

fn simple(c: &mut Criterion) {
    c.bench_function("fibonacci 20", |b| b.iter(|| fibonacci(black_box(20))));
    c.bench_function("reverse", |b| {
        b.iter_batched(
            || vec![1_u8; 100],
            |mut bytes| {
                bytes.reverse();
                bytes
            },
            BatchSize::SmallInput,
        );
    });
}

fn groups(c: &mut Criterion) {
    let mut group = c.benchmark_group("fibonacci");
    for n in [10_u64, 40] {
        group.throughput(Throughput::Elements(n));
        group.bench_with_input(BenchmarkId::new("loop", n), &n, |b, &n| {
            b.iter(|| fibonacci(n));
        });
        group.bench_with_input(BenchmarkId::from_parameter(n), &n, |b, n| {
            b.iter(|| fibonacci(*n));
        });
    }
    group.bench_with_input(BenchmarkId::new("loop", "few"), "12", |b, text| {
        b.iter(|| text.parse().map(fibonacci));
    });
    group.finish();
}

criterion_group!(benches, simple, groups);
criterion_main!(benches);
