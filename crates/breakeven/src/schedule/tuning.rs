//! The constants of the schedule, in one place.

use crate::plan::STEADY;

/// What the schedule is tuned by. The bench `schedule --ablate` sets each in turn to
/// a value that switches it off and prints what is lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    /// Part of the time left that a worker takes at once (guided self-scheduling,
    /// Polychronopoulos and Kuck 1987, by time instead of count).
    pub worker_part: f64,
    /// What a worker's span takes at the least, so that taking it costs nothing, ns.
    pub least_span_ns: f64,
    /// How many standard errors of unlike tasks (whose deviation is their mean) a
    /// worker reckons with when it takes a span.
    pub caution: f64,
    /// Part of its share that a GPU takes at once where it is known where the work lies …
    pub sure_part: f64,
    /// … and where it is not, times its share of all that is left.
    pub guessed_part: f64,
    /// The same of a first launch where all that is known of a GPU was stated.
    pub stated_part: f64,
    /// Launches' cost that another launch is worth: where the rest of its share takes less,
    /// a GPU takes the whole.
    pub worth_launches: f64,
    /// How many times as long as a launch a range may be that is taken whole, so that
    /// nothing is left of it before a sample.
    pub rest: f64,
    /// How many times as large as the last one a launch may be while it is not told what
    /// a launch costs.
    pub growth: f64,
    /// Part of a launch's cost that a GPU waits for the first times of the CPU, where that
    /// cost is known and nothing else.
    pub patience: f64,
    /// Times the predicted time from which a launch's prediction has failed.
    pub failed_prediction: f64,
    /// Most places in the middle of a batch that workers look at first.
    pub marks: usize,
    /// Part of the batch's time that the launches which they cost may take.
    pub marks_cost: f64,
    /// How far batches may be off their shape for it to be trusted, on average.
    pub most_spread: f32,
    /// Tasks that the mean of all counts as at each place: times of few tasks tell of those
    /// tasks more than of the place.
    pub mean_counts: f64,
    /// How far a GPU's rate moves towards what was seen.
    pub rate_step: f64,
    /// Time of all work on the CPU, as a multiple, that a batch may take before the CPU
    /// takes back what a launch holds up.
    pub most_delay: f64,
}

impl Tuning {
    /// The values that are used.
    pub const USUAL: &'static Self = &Self {
        worker_part: 0.06,
        least_span_ns: 20_000.0,
        caution: 2.0,
        sure_part: 0.8,
        guessed_part: 0.6,
        stated_part: 0.1,
        worth_launches: 5.0,
        rest: 1.2,
        growth: 4.0,
        patience: 0.1,
        failed_prediction: 2.0,
        marks: 12,
        marks_cost: 0.03,
        most_spread: STEADY,
        mean_counts: 0.3,
        rate_step: 0.8,
        most_delay: 1.25,
    };
}
