//! The constants of the schedule, in one place.

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
    /// Part of its share that a GPU takes at once where its rate was measured …
    pub measured_part: f64,
    /// … and where it was not.
    pub guessed_part: f64,
    /// Launches' cost that another launch is worth: below so many of them, a GPU's
    /// share is taken whole.
    pub worth_launches: f64,
    /// Tasks of a first launch where nothing is known of a device.
    pub probe_tasks: usize,
    /// How many times as large as the last one a launch may be while little is known.
    pub growth: f64,
    /// Part of a launch's cost that a GPU waits for the first times of the CPU, where
    /// nothing is known of either.
    pub patience: f64,
    /// How far batches may be off their shape for it to be trusted.
    pub most_spread: f32,
    /// Range over launch below which a launch takes all of the range.
    pub rest: f64,
    /// Part of the time left that a sample of tasks may take.
    pub sample_part: f64,
    /// Part of a worker's change of pace that counts for all, times √workers.
    pub pace_step: f64,
    /// Times the predicted time from which a launch's prediction has failed.
    pub failed_prediction: f64,
    /// Gain below which a device is left out, as part of the time without it.
    pub least_gain: f64,
    /// Most places in the middle of a batch that workers look at first.
    pub marks: usize,
    /// Part of the batch's time that the launches which they cost may take.
    pub marks_cost: f64,
    /// Time of all work on the CPU, as a multiple, that a batch may take before the CPU
    /// takes back what a launch holds up.
    pub most_delay: f64,
    /// Time that a worker's span must have left for its tail to be given to others, ns.
    pub least_tail_ns: f64,
}

impl Tuning {
    /// Hack
    pub fn env(mut self) -> Self {
        if let Ok(all) = std::env::var("TUNE") { for one in all.split(',') { let (k, v) = one.split_once('=').unwrap(); let f: f64 = v.parse().unwrap();
            match k { "wp" => self.worker_part = f, "mp" => self.measured_part = f, "gp" => self.guessed_part = f, "wl" => self.worth_launches = f, "marks" => self.marks = f as usize, "mc" => self.marks_cost = f, "caution" => self.caution = f, "ls" => self.least_span_ns = f, "growth" => self.growth = f, "lg" => self.least_gain = f, "pt" => self.probe_tasks = f as usize, "pat" => self.patience = f, "fp" => self.failed_prediction = f, "sp" => self.sample_part = f, "ms" => self.most_spread = f as f32, "rest" => self.rest = f, "ps" => self.pace_step = f, "md" => self.most_delay = f, "lt" => self.least_tail_ns = f, _ => panic!("{k}") } } }
        self
    }
    /// The values that are used.
    pub const USUAL: Self = Self {
        worker_part: 0.06,
        least_span_ns: 20_000.0,
        caution: 2.0,
        measured_part: 0.8,
        guessed_part: 0.6,
        worth_launches: 5.0,
        probe_tasks: 32,
        growth: 4.0,
        patience: 0.1,
        failed_prediction: 2.0,
        pace_step: 0.0,
        sample_part: 0.02,
        rest: 1.2,

        most_spread: 0.3,
        
        least_gain: 0.003,
        marks: 12,
        marks_cost: 0.03,
        most_delay: 1.25,
        least_tail_ns: 20_000.0,
    };
}
