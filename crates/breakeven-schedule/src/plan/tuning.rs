//! The constants that decisions stand on, in one place.
//!
//! Behind some is what is lost without them, in points of the bench's figures. What a device's
//! load leaves behind (`after_load`) is another batch's number if a try falls on another batch,
//! so that differences of 80 points in its worst one alone say nothing.

/// The struct of the constants and the values that are used, from one list of both.
macro_rules! tuning {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr,)*) => {
        /// What the choice of devices, the cost model and the schedule are tuned by. The bench
        /// `schedule --ablate` sets each in turn to a value that switches it off and prints
        /// what is lost.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct Tuning {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Tuning {
            /// The values that are used.
            pub const USUAL: &'static Self = &Self { $($name: $value,)* };
        }
    };
}

impl Default for &Tuning {
    fn default() -> Self {
        Tuning::USUAL
    }
}

tuning! {
    // The choice.
    /// Part of the better device's time that a split is to save at the least: several devices
    /// at one batch cost energy and attention, and predictions are hardly more exact.
    least_gain: f64 = 0.03,
    /// Part of the time without a device that trying it may cost.
    exploration_budget: f64 = 0.06,
    /// Runs' time without a device after which it is tried again …
    runs_between_tries: f64 = 4.0,
    /// … which is doubled so often at the most by tries that cost something and changed nothing.
    most_doublings: u32 = 5,
    /// Most tasks of a first launch on a GPU of which nothing is known.
    most_probe_tasks: usize = 32,
    /// How far a time may be off that nobody measured, as a multiple: a stated one, that of a
    /// launch which was taken back, that of a task on a GPU over one worker's where launches of
    /// one size do not tell it, a line's prediction that is far too high, the work of a place
    /// over its neighbour's if a launch there tells more than its own.
    most_off: f64 = 3.0,
    /// How many times as much or as little counts as alike: the tasks of two batches by which an
    /// objective judges, the work at two places of a batch, a batch and all its work on the CPU
    /// when that is to take back what a launch holds up.
    alike: f64 = 1.25,
    /// Batches shorter than this are not worth watching for a rate that changes, ns.
    worth_correcting_ns: f64 = 2e6,

    // The cost model.
    /// So many times in a row a prediction must have failed because a device was faster, for it to
    /// have become another; once after it was left out. (A time that is far slower may be a stray.)
    /// With once: `regret/second_size` +10, `regret/warm` +7.
    faster_in_a_row: usize = 3,
    /// Splits in a row that must have lasted longer than their devices' costs say, and other
    /// batches after which one of them is forgotten, so that it is tried again. Without forgetting:
    /// `after_load_batches` +17 to +32.
    slow_splits: usize = 6,
    /// Runs after which it is tried again whether something is as it was: whether a launch may be
    /// twice as large again as what fitted once, how far pieces overlap, what a chain's stages
    /// take.
    runs_before_again: u64 = 32,
    /// Doublings of its memory within which a task is like another.
    like_sizes: u8 = 4,
    /// Part of a launch's time that is taken for fixed where launches of one size do not tell.
    /// One half is never wrong by more than a factor of 1.5 at half or twice the size, whatever
    /// the truth; no other part is as good.
    launch_share: f32 = 0.5,
    /// What a fixed share that differs wholly from the expected one costs a line through
    /// observations, as a mean residual: sizes that hardly differ cannot tell one share from
    /// another, and this decides there. Without: `efficiency/4_gpus/warm` −3.1.
    unexpected_share: f32 = 0.02,
    /// Observed over predicted, or the inverse, of a point that is no stray. Without:
    /// `regret/after_compiling` +9, `regret/second_size` +7.
    inlier: f32 = 1.5,

    // The schedule.
    /// Part of the time left that a worker takes at once, and after which a GPU that got nothing
    /// asks again (guided self-scheduling,
    /// Polychronopoulos and Kuck 1987, by time instead of count); part of a batch's for which GPUs
    /// wait so that the CPU shows what it takes without them …
    worker_part: f64 = 0.06,
    /// … and part of it that this may cost.
    look_cost: f64 = 0.08,
    /// What a worker's span takes at the least, so that taking it costs nothing, ns.
    least_span_ns: f64 = 20_000.0,
    /// How many standard errors of unlike tasks (whose deviation is their mean) a
    /// worker reckons with when it takes a span. Without: `efficiency/block_at_5/cold` −3.5.
    caution: f64 = 2.0,
    /// Part of its share that a GPU takes at once where it is known where the work lies
    /// (with 1: `trouble_mean/10_times/warm` +13) …
    sure_part: f64 = 0.8,
    /// … and where it is not, times its share of all that is left (with 0.8:
    /// `trouble_mean/100_times/cold` +3).
    guessed_part: f64 = 0.6,
    /// Launches' cost that another launch is worth: where the rest of its share takes less,
    /// a GPU takes the whole. Without: `regret/unlike` +72, `trouble_most/stalls/warm` +31.
    worth_launches: f64 = 5.0,
    /// How many times as large as the last one a launch may be while it is not told what
    /// a launch costs.
    growth: f64 = 4.0,
    /// Part of a batch's time that must be saved by cutting it into pieces that overlap on a
    /// GPU …
    least_overlap: f64 = 0.1,
    /// … the most pieces …
    most_pieces: usize = 64,
    /// … those in which a batch is cut that overlaps, to tell what a launch costs (with 2:
    /// `overlap_time/equal` +25) …
    telling_pieces: usize = 8,
    /// … and part of its time that a further launch may cost where it is not known whether
    /// pieces overlap there. Without: `trouble_most/stalls/warm` +57.
    try_cost: f64 = 0.015,
    /// Times the predicted time from which a prediction has failed: a launch's; a chain's, of a
    /// placement which is not worth measuring again if it takes that much longer than the best.
    failed_prediction: f64 = 2.0,
    /// Most places in the middle of a batch that workers look at first, as far as the launches
    /// which they cost take no more of the batch's time than a split is to save.
    marks: usize = 12,
    /// How far the shape that is remembered moves towards the last batch's.
    shape_step: f32 = 0.7,
    /// How far batches may be off their shape for it to be trusted, on average.
    most_spread: f32 = 0.3,
    /// Tasks that what was known of a task before a batch counts as, if tasks differ as far as
    /// they can.
    known_counts: f64 = 16.0,
    /// Part of a launch's cost that its work must take for the launch's time to tell the work.
    least_told: f64 = 0.1,
    /// How far a GPU's rate moves towards what was seen. With 1: three GPUs among cheap and
    /// expensive tasks take 3.4 times the ideal's time.
    rate_step: f64 = 0.8,
}
