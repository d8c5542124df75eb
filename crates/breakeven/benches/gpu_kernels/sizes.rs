//! At which sizes the kernels are measured.

use breakeven::gpu::Gpu;
use breakeven::hardware::HardwareCapabilities;
use breakeven::suite::{Over, Workload};

use crate::room::on_device;

/// Orders of single matrices beside the suite's 256.
const ORDERS: [usize; 2] = [1_024, 4_096];

/// What there is room for, bytes.
pub(crate) struct Room {
    /// Of a problem on the device.
    pub(crate) device: u64,
    /// Of a measurement on the host.
    host: u64,
}

impl Room {
    pub(crate) fn of(gpu: &Gpu, hardware: &HardwareCapabilities) -> Self {
        Self {
            device: on_device(gpu),
            host: hardware.usable_memory_bytes.get().unwrap_or(u64::MAX) / 2,
        }
    }

    fn has(&self, workload: &Workload) -> bool {
        workload.memory_bytes(false) <= self.device && workload.memory_bytes(true) <= self.host
    }
}

/// A kernel at one size.
pub(crate) struct Point {
    /// The kernel and, past the suite's workload, the size.
    pub(crate) name: String,
    pub(crate) workload: Workload,
}

/// The suite's workload, 8 times as much, the largest power of two times as much
/// that there is room for, and of products larger matrices.
pub(crate) fn points(kernel: &str, room: &Room) -> Vec<Point> {
    let scaled = |scale: usize| Workload::new(kernel, scale).ok();
    let mut points = Vec::new();
    let mut add = |suffix: String, workload: Option<Workload>| {
        if let Some(workload) = workload.filter(|workload| room.has(workload)) {
            let name = format!("{kernel}{suffix}");
            points.push(Point { name, workload });
        }
    };
    add(String::new(), scaled(1));
    add("_8x".to_owned(), scaled(8));
    let larger = (4..usize::BITS).map(|power| 1_usize << power);
    let fits = |scale: &usize| scaled(*scale).is_some_and(|workload| room.has(&workload));
    if let Some(scale) = larger.take_while(fits).last() {
        add(format!("_{scale}x"), scaled(scale));
    }
    if kernel == "matrix_multiply" {
        for order in ORDERS {
            add(
                format!("_n{order}"),
                Workload::at(kernel, Over::Size, order).ok(),
            );
        }
    }
    points
}
