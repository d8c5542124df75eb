//! The constants that decisions stand on, in one place.

/// What the choice of devices, the cost model and the schedule are tuned by. The bench
/// `schedule --ablate` sets each in turn to a value that switches it off and prints what is lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tuning {
    // The choice.
    /// Part of the better device's time that a split is to save at the least: several devices
    /// at one batch cost energy and attention, and predictions are hardly more exact.
    pub least_gain: f64,
    /// Part of the time without a device that trying it may cost.
    pub exploration_budget: f64,
    /// Runs' time without a device after which it is tried again …
    pub runs_between_tries: f64,
    /// … which is doubled so often at the most by tries that cost something and changed nothing.
    pub most_doublings: u32,
    /// Tries of a GPU that was seen in launches of one size, which need not wait so long: that
    /// may have been the first, with compilation in it.
    pub early_tries: u32,
    /// Runs' time after which a GPU is tried with what the rule calls too small for it.
    pub runs_before_a_try: f64,
    /// Most tasks of a first launch on a GPU of which nothing is known.
    pub most_probe_tasks: usize,
    /// How far a time may be off that nobody measured, as a multiple.
    pub most_off: f64,
    /// Batches shorter than this are not worth watching for a rate that changes, ns.
    pub worth_correcting_ns: f64,

    /// Part of a prediction that a deadline must leave beyond it at the least, where the
    /// prediction is of measured times: these vary.
    pub deadline_margin: f64,
    /// How many times as many tasks (or as few) a batch may have for the time of another to
    /// tell its own, by which an objective judges.
    pub batches_alike: f64,

    // The cost model.
    /// Part of a batch's time for which GPUs wait so that the CPU shows what it takes without
    /// them …
    pub alone_part: f64,
    /// … and part of it that this may cost.
    pub look_cost: f64,
    /// Part of the predicted time below which a device has become another: after it was left
    /// out …
    pub far_faster: f64,
    /// … or so many times in a row. (A time that is far slower may be a stray.)
    pub faster_in_a_row: usize,
    /// Splits in a row that must have lasted longer than their devices' costs say …
    pub slow_splits: usize,
    /// … and other batches after which one of them is forgotten, so that it is tried again.
    pub forgotten_after: u32,
    /// Runs on a GPU after which a launch may be twice as large again as what fitted once:
    /// memory that others held may be free. If it is not, that costs one refused launch.
    pub runs_before_larger: u64,
    /// Batches in one launch after which it is forgotten how far pieces overlapped on a GPU, so
    /// that it is tried again.
    pub uncut_before_a_try: u32,
    /// How many times as long as it was waited for a launch would have taken that was taken
    /// back, as far as anybody knows.
    pub recalled_times: f64,
    /// Doublings of its memory within which a task is like another.
    pub like_sizes: u8,
    /// Part of a launch's time that is at least its tasks'.
    pub least_task_part: f64,
    /// Part of a launch's time that is taken for fixed where launches of one size do not tell.
    /// One half is never wrong by more than a factor of 1.5 at half or twice the size, whatever
    /// the truth; no other part is as good.
    pub launch_share: f32,
    /// What a fixed share that differs wholly from the expected one costs a line through
    /// observations, as a mean residual: sizes that hardly differ cannot tell one share from
    /// another, and this decides there.
    pub unexpected_share: f32,
    /// The residual of a line's prediction that is far too high.
    pub most_residual: f32,
    /// Observed over predicted, or the inverse, of a point that is no stray …
    pub inlier: f32,
    /// … and observed over predicted that a slow point counts as at most.
    pub slowest: f32,
    /// How many times as long as on one of the CPU's workers a task lasts on a GPU at the most,
    /// where launches of one size do not tell it.
    pub slowest_task: f64,

    // The schedule.
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
    /// Part of a worker's task that the last tasks may take on a GPU for which the workers
    /// would begin another wave.
    pub part_of_wave: f64,
    /// How many times as long as a launch a range may be that is taken whole, so that
    /// nothing is left of it before a sample.
    pub rest: f64,
    /// How many times as large as the last one a launch may be while it is not told what
    /// a launch costs.
    pub growth: f64,
    /// Part of a batch's time that must be saved by cutting it into pieces that overlap on a
    /// GPU …
    pub least_overlap: f64,
    /// … the most pieces …
    pub most_pieces: usize,
    /// … those in which a batch is cut that overlaps, to tell what a launch costs …
    pub telling_pieces: usize,
    /// … how many times as long as others pieces must be for both to tell that …
    pub pieces_apart: f64,
    /// … and part of that time that a further launch may cost where it is not known whether
    /// pieces overlap there.
    pub try_cost: f64,
    /// Part of the CPU's time for what is left after which a GPU that got nothing asks again.
    pub look_part: f64,
    /// Part of a launch's cost that a GPU waits for the first times of the CPU, where that
    /// cost is known and nothing else.
    pub patience: f64,
    /// Times the predicted time from which a launch's prediction has failed.
    pub failed_prediction: f64,
    /// Most places in the middle of a batch that workers look at first …
    pub marks: usize,
    /// … and of one where no launch's cost is known yet.
    pub blind_marks: usize,
    /// Part of the batch's time that the launches which they cost may take.
    pub marks_cost: f64,
    /// How far the shape that is remembered moves towards the last batch's …
    pub shape_step: f32,
    /// … and how far tasks differ, which one batch tells badly …
    pub tail_step: f32,
    /// … and where the workers did fewer of them than so many, not at all.
    pub fewest_tell: f64,
    /// How far batches may be off their shape for it to be trusted, on average.
    pub most_spread: f32,
    /// How far places may be apart, as a multiple, for all to count as alike …
    pub even: f32,
    /// … and two that are not neighbours for the one between them to be where tasks change …
    pub edge: f64,
    /// … if places have so many tasks: of fewer a single dear one decides the mean.
    pub large_place: usize,
    /// Tasks that the mean of all counts as at each place: times of few tasks tell of those
    /// tasks more than of the place.
    pub mean_counts: f64,
    /// Most tasks that a place counts as in that mean: where much was done says no more of the
    /// other places.
    pub most_counts: f64,
    /// Tasks that what was known of a task before a batch counts as beside those that workers
    /// did, where tasks differ as far as they can.
    pub known_counts: f64,
    /// Part of a launch's cost that its work must take for the launch's time to tell the work.
    pub least_told: f64,
    /// How far the times of two launches may differ by chance.
    pub unsure: f64,
    /// How far a GPU's rate moves towards what was seen.
    pub rate_step: f64,
    /// Time of all work on the CPU, as a multiple, that a batch may take before the CPU
    /// takes back what a launch holds up.
    pub most_delay: f64,
    /// Times the CPU's own time from which a launch's prediction is that of a try, which is
    /// not waited for.
    pub tried_from: f64,

    // Chains.
    /// First runs of a stage on a GPU that tell nothing of the next ones: they may compile it.
    pub chain_first_runs: u64,
    /// After so many chains one is measured stage by stage again, on a device in turn …
    pub chain_measured_every: u64,
    /// … on which it takes at most so many times as long as in the best placement.
    pub chain_worth_measuring: f64,
}

impl Default for &Tuning {
    fn default() -> Self {
        Tuning::USUAL
    }
}

impl Tuning {
    /// The values that are used.
    pub const USUAL: &'static Self = &Self {
        least_gain: 0.03,
        exploration_budget: 0.06,
        runs_between_tries: 4.0,
        most_doublings: 5,
        early_tries: 2,
        runs_before_a_try: 8.0,
        most_probe_tasks: 32,
        most_off: 3.0,
        worth_correcting_ns: 2e6,
        deadline_margin: 0.02,
        batches_alike: 1.25,
        alone_part: 0.05,
        look_cost: 0.08,
        far_faster: 0.5,
        faster_in_a_row: 3,
        slow_splits: 6,
        forgotten_after: 8,
        runs_before_larger: 32,
        uncut_before_a_try: 32,
        recalled_times: 3.0,
        like_sizes: 4,
        least_task_part: 0.02,
        launch_share: 0.5,
        unexpected_share: 0.02,
        most_residual: 2.0,
        inlier: 1.5,
        slowest: 8.0,
        slowest_task: 3.0,
        worker_part: 0.06,
        least_span_ns: 20_000.0,
        caution: 2.0,
        sure_part: 0.8,
        guessed_part: 0.6,
        stated_part: 0.1,
        worth_launches: 5.0,
        part_of_wave: 0.1,
        rest: 1.2,
        growth: 4.0,
        least_overlap: 0.1,
        most_pieces: 64,
        telling_pieces: 8,
        pieces_apart: 2.0,
        try_cost: 0.015,
        look_part: 0.125,
        patience: 0.1,
        failed_prediction: 2.0,
        marks: 12,
        blind_marks: 3,
        marks_cost: 0.03,
        shape_step: 0.7,
        tail_step: 0.3,
        fewest_tell: 8.0,
        most_spread: 0.3,
        even: 1.25,
        edge: 3.0,
        large_place: 8,
        mean_counts: 0.3,
        most_counts: 4.0,
        known_counts: 16.0,
        least_told: 0.1,
        unsure: 0.1,
        rate_step: 0.8,
        most_delay: 1.25,
        tried_from: 3.0,
        chain_first_runs: 1,
        chain_measured_every: 32,
        chain_worth_measuring: 2.0,
    };
}
