//! At which sizes the kernels are measured.

use breakeven::gpu::Gpu;
use breakeven::hardware::HardwareCapabilities;

use crate::room::on_device;
use crate::subject::{Outcome, Subject, product, subject};

/// Orders of single matrices beside the default 256.
const ORDERS: [usize; 2] = [1_024, 4_096];

/// What there is room for, bytes.
pub(crate) struct Room {
    /// Of a problem on the device.
    pub(crate) device: u64,
    /// Of a measurement on the host: CubeCL copies an upload twice, and a software
    /// GPU's memory is the host's.
    host: u64,
}

impl Room {
    pub(crate) fn of(gpu: &Gpu, hardware: &HardwareCapabilities) -> Self {
        Self {
            device: on_device(gpu),
            host: hardware.usable_memory_bytes.get().unwrap_or(u64::MAX) / 2,
        }
    }

    pub(crate) fn has(&self, bytes: u64) -> bool {
        bytes <= self.device && bytes.saturating_mul(5) <= self.host
    }
}

/// A kernel at one size.
pub(crate) struct Point {
    /// The kernel and, past the default size, the size.
    pub(crate) name: String,
    pub(crate) make: Box<dyn Fn() -> Outcome<Box<dyn Subject>>>,
}

/// The default size, 8 times as much, the largest power of two times as much that
/// there is room for, and of products larger matrices.
pub(crate) fn points(kernel: &'static str, room: &Room) -> Outcome<Vec<Point>> {
    let bytes = subject(kernel, 1)?.work().bytes;
    let has = |scale: &usize| room.has(bytes.saturating_mul(*scale as u64));
    let larger = (4..usize::BITS).map(|power| 1_usize << power);
    let largest = larger.take_while(has).last();
    let scales = [1, 8].into_iter().filter(has).chain(largest);
    let mut points: Vec<Point> = scales
        .map(|scale| Point {
            name: match scale {
                1 => kernel.to_owned(),
                scale => format!("{kernel}_{scale}x"),
            },
            make: Box::new(move || subject(kernel, scale)),
        })
        .collect();
    let orders = ORDERS.into_iter().filter(|_| kernel == "matrix_multiply");
    points.extend(
        orders
            .filter(|order| room.has(12 * (order * order) as u64))
            .map(|order| Point {
                name: format!("{kernel}_n{order}"),
                make: Box::new(move || product(1, order)),
            }),
    );
    Ok(points)
}
