//! From when a rule speaks, and how much a suggestion must save to matter.

/// The constants of the rules. A measurement that says more replaces the first
/// seven; see the rules.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdviceThresholds {
    /// A GPU call shorter than this is too small for the GPU, ns.
    pub small_gpu_call_ns: f64,
    /// A CPU call longer than this, with memory, may be worth a GPU, ns.
    pub large_cpu_call_ns: f64,
    /// Calls in sequence from which they are worth batching.
    pub sequential_calls: f64,
    /// Memory of a call above which it is worth a look, bytes.
    pub large_memory_bytes: u64,
    /// Calls in a run from which caching is worth a thought.
    pub cached_calls: f64,
    /// ... where a call is shorter than this, ns.
    pub cached_call_ns: f64,
    /// Part of a GPU's units under which it is hardly used.
    pub low_gpu_use: f64,
    /// How far above the expected exponent the whole interval of the measured
    /// one must lie. Sorting 150 elements and more grows by less: n·log n has
    /// the local exponent 1 + 1/ln n.
    pub growth_margin: f64,
    /// Part of a peak from which an operation counts as bound by it, and to
    /// which better use of memory is taken to bring it.
    pub bound_share: f64,
    /// An operation that takes less than this part of a program's time gets no advice.
    pub minor_share: f64,
    /// An operation of which more than this part is recording cost gets no advice.
    pub recording_share: f64,
    /// Part of the whole time from which a saving is CRITICAL: everything
    /// together runs in three quarters of the time.
    pub critical_share: f64,
    /// Part of the whole time from which a saving is HIGH.
    pub high_share: f64,
    /// Part of the whole time from which a saving is MEDIUM.
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
            bound_share: 0.6,
            minor_share: 0.01,
            recording_share: 0.5,
            critical_share: 0.25,
            high_share: 0.10,
            medium_share: 0.02,
        }
    }
}
