//! When a rule makes a suggestion, and how much a suggestion must save to matter.

/// The constants of the rules. More specific measurements replace the first seven;
/// see the rules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdviceThresholds {
    /// A GPU call shorter than this is too small for the GPU, ns.
    pub small_gpu_call_ns: f64,
    /// A CPU call longer than this, with memory, may be worth a GPU, ns.
    pub large_cpu_call_ns: f64,
    /// Calls in sequence from which batching is suggested.
    pub sequential_calls: f64,
    /// Memory of a call above which it is examined, bytes.
    pub large_memory_bytes: u64,
    /// Calls in a run from which caching is considered ...
    pub cached_calls: f64,
    /// ... if a call is shorter than this, ns.
    pub cached_call_ns: f64,
    /// Fraction of a GPU's units in use below which it counts as hardly used.
    pub low_gpu_use: f64,
    /// How far above the expected exponent the complete interval of the measured one must lie.
    /// Sorting 150 or more elements grows by less: n·log n has the local exponent 1 + 1/ln n.
    pub growth_margin: f64,
    /// Fraction by which two devices must differ in energy, or in time, for it to count.
    pub least_difference: f64,
    /// Fraction of a peak from which an operation counts as bound by it, and which
    /// better use of memory is assumed to reach.
    pub bound_share: f64,
    /// An operation below this fraction of a program's time gets no advice.
    pub minor_share: f64,
    /// An operation with more than this fraction of recording cost gets no advice.
    pub recording_share: f64,
    /// Fraction of the total time from which a saving is CRITICAL: the program then runs in three
    /// quarters of the time.
    pub critical_share: f64,
    /// Fraction of the total time from which a saving is HIGH.
    pub high_share: f64,
    /// Fraction of the total time from which a saving is MEDIUM.
    pub medium_share: f64,
}

impl Default for AdviceThresholds {
    fn default() -> Self {
        Self {
            small_gpu_call_ns: 1e6,
            large_cpu_call_ns: 1e7,
            sequential_calls: 10.0,
            large_memory_bytes: 100_000_000,
            cached_calls: 100.0,
            cached_call_ns: 1e6,
            low_gpu_use: 0.5,
            growth_margin: 0.2,
            least_difference: 0.05,
            bound_share: 0.6,
            minor_share: 0.01,
            recording_share: 0.5,
            critical_share: 0.25,
            high_share: 0.10,
            medium_share: 0.02,
        }
    }
}
