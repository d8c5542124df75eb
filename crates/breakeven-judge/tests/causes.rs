//! Causes are tested before they are named: noise alone is blamed on each in at
//! most one of twenty operations, and each is found where it is made.

use breakeven_judge::bottleneck::NextStep;
use breakeven_judge::{Finding, FindingKind, Limits, overview};
use breakeven_profile::profile::{Environment, Gpu, Operation, Profile, RecorderCost, Run};
use rand::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Operations per draw.
const OPERATIONS: usize = 300;

/// Samples of a call: each run a series, from a seed.
struct Noise {
    runs: usize,
    samples: usize,
    /// Standard deviation of the logarithm; 0.294 is a CV of 30 %.
    deviation: f64,
    /// Correlation of a sample with the one before it.
    correlation: f64,
}

const NOISE: Noise = Noise {
    runs: 5,
    samples: 20,
    deviation: 0.294,
    correlation: 0.0,
};

impl Noise {
    /// One run about 1 ms.
    fn run(&self, random: &mut Xoshiro256PlusPlus) -> Vec<f64> {
        let mut normal = || -> f64 { StandardNormal.sample(random) };
        let mut at = normal();
        let fresh = (1.0 - self.correlation * self.correlation).sqrt();
        (0..self.samples)
            .map(|_| {
                at = self.correlation * at + fresh * normal();
                1e6 * (self.deviation * at).exp()
            })
            .collect()
    }

    /// As many operations of noise, each changed by `make`.
    fn profile(&self, seed: u64, make: impl Fn(&mut Vec<Vec<f64>>)) -> Profile {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let operations = (0..OPERATIONS).map(|number| {
            let mut runs: Vec<Vec<f64>> = (0..self.runs).map(|_| self.run(&mut random)).collect();
            make(&mut runs);
            let mut operation = Operation::new(format!("f{number}"), "cpu");
            operation.runs = (runs.into_iter())
                .map(|samples_ns| Run {
                    samples_ns,
                    ..Run::default()
                })
                .collect();
            operation
        });
        Profile {
            operations: operations.collect(),
            ..Profile::default()
        }
    }
}

const CAUSES: [&str; 3] = [
    "the first call of",
    "times fall",
    "runs differ from one another",
];

/// By cause, the fraction of operations that it is named for.
fn blamed(profile: &Profile) -> [f64; 3] {
    let findings = overview(profile, &Limits::default()).findings;
    CAUSES.map(|cause| {
        let named = findings.iter().filter(|each| each.cause.contains(cause));
        let mut names: Vec<&str> = named.map(|each| each.key.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.len() as f64 / OPERATIONS as f64
    })
}

#[test]
fn noise_alone_was_blamed_on_first_calls_and_on_runs() {
    for (runs, samples) in [(5, 20), (1, 20), (2, 20), (3, 100), (10, 20), (5, 5)] {
        let noise = Noise {
            runs,
            samples,
            ..NOISE
        };
        for seed in 0..3 {
            let blamed = blamed(&noise.profile(seed, |_| {}));
            let few = blamed.iter().all(|fraction| *fraction <= 0.05);
            assert!(few, "{runs} runs of {samples}, seed {seed}: {blamed:?}");
        }
    }
}

/// Samples that are like those before them are no trend, where runs can show it.
#[test]
fn noise_that_lasts_for_some_calls_is_no_trend() {
    for correlation in [0.3, 0.6] {
        let noise = Noise {
            correlation,
            samples: 100,
            ..NOISE
        };
        let blamed = blamed(&noise.profile(1, |_| {}));
        let few = blamed.iter().all(|fraction| *fraction <= 0.05);
        assert!(few, "{correlation}: {blamed:?}");
    }
}

#[test]
fn each_cause_is_found_where_it_is_made() {
    let first = |runs: &mut Vec<Vec<f64>>| runs.iter_mut().for_each(|run| run[0] *= 4.0);
    let settling = |runs: &mut Vec<Vec<f64>>| {
        let early = runs.iter_mut().flat_map(|run| &mut run[..8]);
        early.for_each(|ns| *ns *= 1.8);
    };
    let runs_differ = |runs: &mut Vec<Vec<f64>>| runs[3].iter_mut().for_each(|ns| *ns *= 2.0);
    let made = [
        NOISE.profile(7, first),
        NOISE.profile(7, settling),
        NOISE.profile(7, runs_differ),
    ];
    for (place, profile) in made.iter().enumerate() {
        let blamed = blamed(profile);
        assert!(blamed[place] > 0.8, "{}: {blamed:?}", CAUSES[place]);
    }
}

/// The findings of some operation whose first calls are slow.
fn of_cold_starts(environment: Environment) -> Vec<Finding> {
    let profile = Profile {
        environment,
        ..NOISE.profile(7, |runs| runs.iter_mut().for_each(|run| run[0] *= 4.0))
    };
    let mut findings = overview(&profile, &Limits::default()).findings;
    findings.retain(|finding| finding.cause.contains(CAUSES[0]));
    findings
}

#[test]
fn nobody_warms_a_program_up() {
    let warm_up = |findings: Vec<Finding>| {
        assert!(!findings.is_empty());
        let asks = |finding: &Finding| finding.next_step == NextStep::MoreWarmUp;
        findings.iter().filter(|each| asks(each)).count() as f64 / findings.len() as f64
    };
    assert_eq!(warm_up(of_cold_starts(Environment::default())), 1.0);
    let recorder = Some(RecorderCost::default());
    let program = Environment {
        recorder,
        ..Environment::default()
    };
    assert_eq!(warm_up(of_cold_starts(program)), 0.0);
}

/// The slow samples of a full reservoir are in no order.
#[test]
fn a_reservoir_has_no_first_call() {
    let mut profile = NOISE.profile(7, |runs| runs.iter_mut().for_each(|run| run[0] *= 4.0));
    for run in profile
        .operations
        .iter_mut()
        .flat_map(|each| &mut each.runs)
    {
        run.moments = breakeven_profile::stats::Moments::of(&run.samples_ns).ok();
    }
    assert_eq!(blamed(&profile)[0], 0.0);
}

/// The cause and the next step of a call on a GPU whose phase varies `times` as much as
/// the others; their times are of the same order.
fn on_gpu(phase: &str, times: f64) -> (String, String) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut profile = NOISE.profile(3, |_| {});
    profile.operations.truncate(1);
    let operation = &mut profile.operations[0];
    operation.device = "cuda:0".to_owned();
    for run in &mut operation.runs {
        for name in ["upload", "launch", "kernel", "download"] {
            let deviation = if name == phase { 0.1 * times } else { 0.1 };
            let times = Noise { deviation, ..NOISE }.run(&mut random);
            run.phases_ns.insert(name.to_owned(), times);
        }
        run.samples_ns = (0..20)
            .map(|call| run.phases_ns.values().map(|times| times[call]).sum())
            .collect();
    }
    profile.environment.gpus.push(Gpu {
        id: "cuda:0".to_owned(),
        ..Gpu::default()
    });
    let limits = Limits::from_toml("[thresholds]\nhigh_cv = 0.01\n").unwrap();
    let mut findings = overview(&profile, &limits).findings;
    findings.retain(|finding| finding.what == FindingKind::HighVariance);
    let found = findings.remove(0);
    (found.cause, found.next_step.to_string())
}

#[test]
fn the_phase_that_varies_is_named_with_what_shows_why() {
    for (phase, usual) in [
        ("kernel", "clock and power limits"),
        ("upload", "pageable memory"),
        ("download", "PCIe"),
        ("launch", "the driver"),
    ] {
        let (cause, next_step) = on_gpu(phase, 6.0);
        let named = format!("% of the variance is in {phase}: ");
        assert!(cause.contains(&named) && cause.contains(usual), "{cause}");
        assert!(
            next_step.contains("nvidia-smi dmon -s pucvmet"),
            "{next_step}"
        );
        let (cause, _) = on_gpu(phase, 1.0);
        assert!(!cause.contains("of the variance"), "{cause}");
    }
}
