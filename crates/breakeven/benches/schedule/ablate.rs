//! What each constant of [`Tuning`] is worth: it is set to a value that switches its mechanism off, and
//! regrets, efficiencies and what trouble costs are compared with the usual ones.

use breakeven::plan::Tuning;

use crate::metric::metric;
use crate::{chains, efficiency, hindered, noisy, objectives, overlap, regret, trouble, unlike};

/// A constant's name, the value that switches its mechanism off, and how it is set.
type Off = (&'static str, f64, fn(&mut Tuning, f64));

macro_rules! off {
    ($($name:ident = $value:expr,)*) => {
        &[$((stringify!($name), $value as f64, |tuning, value| tuning.$name = value as _),)*]
    };
}

#[expect(clippy::cast_sign_loss, reason = "values are 0 or more")]
const OFF: &[Off] = off![
    least_gain = 0.0,
    exploration_budget = 0.0,
    runs_between_tries = 0.0,
    most_doublings = 0,
    most_probe_tasks = 1,
    most_off = 1.0,
    alike = 1.0,
    worth_correcting_ns = 1e18,
    faster_in_a_row = usize::MAX,
    slow_splits = usize::MAX,
    runs_before_again = u64::MAX,
    like_sizes = 0,
    launch_share = 0.0,
    unexpected_share = 0.0,
    inlier = 1e9,
    worker_part = 0.25,
    least_span_ns = 1.0,
    caution = 0.0,
    look_cost = 1.0,
    sure_part = 1.0,
    guessed_part = 1.0,
    least_overlap = 0.0,
    worth_launches = 0.0,
    growth = 1e9,
    most_pieces = 1,
    measuring_pieces = 2,
    try_cost = 1.0,
    marks = 0,
    shape_step = 1.0,
    most_spread = -1.0,
    known_counts = 0.0,
    least_shown = 0.0,
    rate_step = 0.0,
    failed_prediction = 1e9,
];

/// Tasks of the batches whose regrets are compared.
const TASKS: [usize; 3] = [5, 20, 1_000];

/// The same of tasks that are others in each batch, where the mean is best known.
const MANY_UNLIKE: usize = 10_000;

/// The same with an objective, which take longer.
const OBJECTIVES_TASKS: [usize; 1] = [100];

/// Of all constants, or of those that are named; `name=value` tries another value instead.
pub(crate) fn print(named: &[String]) {
    let parse = |named: &String| {
        let (name, value) = named.split_once('=').unwrap_or((named, ""));
        let found = OFF.iter().find(|(known, ..)| *known == name);
        let (_, off, set) = found.unwrap_or_else(|| panic!("{name} is no constant of `Tuning`"));
        (named.clone(), value.parse().unwrap_or(*off), *set)
    };
    let mut tried: Vec<_> = named.iter().map(parse).collect();
    if named.is_empty() {
        let all = OFF
            .iter()
            .map(|(name, off, set)| ((*name).to_owned(), *off, *set));
        tried.extend(all);
    }
    let usual = figures(Tuning::USUAL);
    for (name, value) in &usual {
        metric(&format!("usual/{name}"), *value, "%");
    }
    for (constant, value, set) in tried {
        let mut tuning = *Tuning::USUAL;
        set(&mut tuning, value);
        let tuning = Box::leak(Box::new(tuning));
        for ((name, value), (_, usual)) in figures(tuning).iter().zip(&usual) {
            // What is lost: a higher regret, a lower efficiency.
            let lost = match is_loss(name) {
                true => value - usual,
                false => usual - value,
            };
            if lost.abs() >= 0.1 {
                metric(&format!("ablate/{constant}/{name}"), lost, "points_lost");
            }
        }
    }
}

/// The figures that are compared, %.
fn figures(tuning: &'static Tuning) -> Vec<(String, f64)> {
    let means = efficiency::points(tuning).means();
    let efficiencies =
        means.map(|(group, efficiency)| (format!("efficiency/{group}"), 100.0 * efficiency));
    let regrets = regret::means(tuning, &TASKS).into_iter();
    let regrets = regrets.map(|(name, regret)| (format!("regret/{name}"), 100.0 * regret));
    let unlike = 100.0 * unlike::mean(tuning, TASKS[2]);
    let many_unlike = 100.0 * unlike::mean(tuning, MANY_UNLIKE);
    let hindered = 100.0 * hindered::mean(tuning);
    let others = [
        ("regret/unlike".to_owned(), unlike),
        (format!("regret/unlike/{MANY_UNLIKE}_tasks"), many_unlike),
        ("regret/hindered".to_owned(), hindered),
        ("regret/noisy".to_owned(), 100.0 * noisy::mean(tuning)),
        (
            "efficiency/short_tasks".to_owned(),
            100.0 * noisy::short_tasks(tuning),
        ),
    ];
    let overlaps = overlap::noisy(tuning).into_iter();
    let overlaps = overlaps.map(|(name, time)| (format!("overlap_time/{name}"), time));
    let gain = std::iter::once(("overlap_gain".to_owned(), overlap::least_gain(tuning)));
    let overlaps = gain.chain(overlaps);
    let overlaps = overlaps.map(|(name, value)| (name, 100.0 * value));
    let trouble = trouble::figures(tuning).into_iter();
    let trouble = trouble.map(|(name, value, _)| match name.contains("batches") {
        true => (name, value),
        false => (name, 100.0 * value),
    });
    let objectives = objectives::means(tuning, &OBJECTIVES_TASKS).into_iter();
    let objectives = objectives.map(|(name, value)| (name.to_owned(), 100.0 * value));
    let chains = chains::programs(tuning).into_iter();
    let chains = chains.map(|(name, regret)| (name, 100.0 * regret));
    let all = efficiencies
        .chain(chains)
        .chain(regrets)
        .chain(others)
        .chain(overlaps)
        .chain(trouble);
    all.chain(objectives).collect()
}

/// True where more of it is worse.
fn is_loss(name: &str) -> bool {
    ["regret", "trouble", "after_", "overlap_time"]
        .iter()
        .any(|part| name.contains(part))
}
