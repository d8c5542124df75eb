//! The constants of decisions, in one place.
//!
//! Some state what is lost without them, in points of the bench's figures. In `after_load` the
//! result depends on which batch a trial falls on, so a difference of 80 points in its worst batch
//! alone means nothing.

/// Defines the struct of the constants and their usual values from one list.
macro_rules! tuning {
    ($($(#[$doc:meta])* $name:ident: $type:ty = $value:expr,)*) => {
        /// The constants of the choice of devices, the cost model and the schedule. The bench
        /// `schedule --ablate` sets each in turn to a value that disables it and prints what is
        /// lost.
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct Tuning {
            $($(#[$doc])* pub $name: $type,)*
        }

        impl Tuning {
            /// The default values.
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
    /// Smallest saving that justifies a split, as a fraction of the best single-device time.
    /// Several devices cost energy and complexity, and predictions are hardly more accurate than
    /// this.
    least_gain: f64 = 0.03,
    /// Largest cost of trying a device, as a fraction of the time without it.
    exploration_budget: f64 = 0.06,
    /// Time without a device after which it is tried again, in runs …
    runs_between_tries: f64 = 4.0,
    /// … doubled at most this often by trials that cost something and changed nothing.
    most_doublings: u32 = 5,
    /// Most tasks of a first launch on an unknown GPU.
    most_probe_tasks: usize = 32,
    /// Factor by which an unmeasured time may be wrong: a stated time; that of a launch that was
    /// taken back; a task on a GPU compared with one worker, if launches of one size do not show
    /// it; a line's prediction that is far too high; the work at a place compared with its
    /// neighbour, if a launch there covers more than its own place.
    most_off: f64 = 3.0,
    /// Factor within which two values count as equal: the tasks of two batches that an objective
    /// compares; the work at two places of a batch; a batch's time and the time of all its work on
    /// the CPU, when the CPU may take back an overdue launch.
    alike: f64 = 1.25,
    /// Batches shorter than this are not watched for a changing rate, ns.
    worth_correcting_ns: f64 = 2e6,

    // The cost model.
    /// Number of predictions in a row that must fail because a device was faster, before the device
    /// counts as changed; one is enough after it was left out. (A far slower time may be an
    /// outlier.) With 1: `regret/second_size` +10, `regret/warm` +7.
    faster_in_a_row: usize = 3,
    /// Number of splits in a row that must take longer than their devices' costs predict before the
    /// split is corrected; also the number of other batches after which one of them is forgotten,
    /// so that a split is tried again. Without forgetting: `after_load_batches` +17 to +32.
    slow_splits: usize = 6,
    /// Runs after which a past result is checked again: whether a launch twice the size that fitted
    /// once is possible, how far pieces overlap, how long a chain's stages take.
    runs_before_again: u64 = 32,
    /// Tasks count as similar if their memory differs by at most this many doublings.
    like_sizes: u8 = 4,
    /// Fraction of a launch's time that is assumed to be fixed, if launches of only one size are
    /// known. One half is never wrong by more than a factor of 1.5 at half or twice the size,
    /// whatever the truth; no other value is as good.
    launch_share: f32 = 0.5,
    /// Penalty, as a mean residual, for a line whose fixed fraction differs completely from the
    /// expected one. It decides if the sizes hardly differ, because then the residuals cannot.
    /// Without: `efficiency/4_gpus/warm` −3.1.
    unexpected_share: f32 = 0.02,
    /// Observed over predicted, or the inverse, of a point that is no outlier. Without:
    /// `regret/after_compiling` +9, `regret/second_size` +7.
    inlier: f32 = 1.5,

    // The schedule.
    /// Fraction of the remaining time that a worker takes at once, and after which a GPU that got
    /// nothing asks again (guided self-scheduling, Polychronopoulos and Kuck 1987, by time instead
    /// of count). Also the fraction of a batch's time for which GPUs wait so that the CPU is
    /// measured without them …
    worker_part: f64 = 0.06,
    /// … and the largest fraction of it that this may cost.
    look_cost: f64 = 0.08,
    /// Least duration of a worker's span, so that the cost of taking it is negligible, ns.
    least_span_ns: f64 = 20_000.0,
    /// Number of standard errors that a worker adds to the expected time of a span, if tasks differ
    /// (their deviation is assumed to equal their mean). Without: `efficiency/block_at_5/cold`
    /// −3.5.
    caution: f64 = 2.0,
    /// Fraction of its share that a GPU takes at once if it is known where the work lies (with 1:
    /// `trouble_mean/10_times/warm` +13) …
    sure_part: f64 = 0.8,
    /// … and if it is not, multiplied by its share of all free work (with 0.8:
    /// `trouble_mean/100_times/cold` +3).
    guessed_part: f64 = 0.6,
    /// If the remainder of a GPU's share takes less than this many launch costs, the GPU takes it
    /// all at once. Without: `regret/unlike` +72, `trouble_most/stalls/warm` +31.
    worth_launches: f64 = 5.0,
    /// Largest growth from one launch to the next while the launch cost is not known.
    growth: f64 = 4.0,
    /// Smallest saving that justifies cutting a batch into pieces that overlap on a GPU, as a
    /// fraction of its time …
    least_overlap: f64 = 0.1,
    /// … the most pieces …
    most_pieces: usize = 64,
    /// … the number of pieces used to measure the launch cost if pieces overlap (with 2:
    /// `overlap_time/equal` +25) …
    measuring_pieces: usize = 8,
    /// … and the largest cost of a further launch, as a fraction of the batch time, if it is not
    /// known whether pieces overlap. Without: `trouble_most/stalls/warm` +57.
    try_cost: f64 = 0.015,
    /// Observed over predicted time from which a prediction has failed. For a launch; for a chain,
    /// a placement that takes this much longer than the best is not measured again.
    failed_prediction: f64 = 2.0,
    /// Most places in the middle of a batch that workers sample first. The launches for these
    /// samples may cost at most the fraction of the batch time that a split must save.
    marks: usize = 12,
    /// How far the remembered shape moves towards that of the last batch.
    shape_step: f32 = 0.7,
    /// Largest mean deviation of batches from their shape for it to be trusted.
    most_spread: f32 = 0.3,
    /// Number of tasks that the prior estimate counts as, if tasks differ as much as possible.
    known_counts: f64 = 16.0,
    /// Smallest work of a launch from whose time the work can be estimated, as a fraction of the
    /// launch cost.
    least_shown: f64 = 0.1,
    /// How far a GPU's rate moves towards the observed one. With 1: three GPUs among cheap and
    /// expensive tasks take 3.4 times the ideal's time.
    rate_step: f64 = 0.8,
}
