//! What a perfect split of a batch would take, from times of each device alone.

/// Time of a batch on the GPU: `fixed + per_task × tasks`, s.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GpuTime {
    fixed: f64,
    per_task: f64,
}

impl GpuTime {
    /// The line through the times of one task and of `tasks`.
    pub(crate) fn through(one: f64, tasks: usize, all: f64) -> Self {
        if tasks < 2 {
            return Self {
                fixed: 0.0,
                per_task: all,
            };
        }
        // Noise can have one task take longer than its share of all of them.
        let per_task = ((all - one) / (tasks - 1) as f64).max(0.0);
        Self {
            fixed: (all - per_task * tasks as f64).max(0.0),
            per_task,
        }
    }

    fn of(self, tasks: usize) -> f64 {
        match tasks {
            0 => 0.0,
            tasks => self.fixed + self.per_task * tasks as f64,
        }
    }
}

/// The best split of `tasks`: how many for the GPU, and the time until both are
/// done, s. One launch with its transfers is in it, and no task is divided.
pub(crate) fn best_split(tasks: usize, cpu: f64, gpu: GpuTime) -> (usize, f64) {
    let time = |on_gpu: usize| {
        let on_cpu = cpu * (tasks - on_gpu) as f64 / tasks as f64;
        on_cpu.max(gpu.of(on_gpu))
    };
    (0..=tasks)
        .map(|on_gpu| (on_gpu, time(on_gpu)))
        .min_by(|one, other| one.1.total_cmp(&other.1))
        .unwrap_or((0, cpu))
}
