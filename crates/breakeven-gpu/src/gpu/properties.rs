//! What a device reports of itself: the source of kernels' defaults and of their counted work.

use breakeven_machine::GpuKind;

use super::{Gpu, with_client};

/// Multiprocessors of a GPU that does not report them, as by Vulkan: a card of medium size.
const USUAL_MULTIPROCESSORS: usize = 64;

/// Most units and cubes that a multiprocessor runs at once (CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability": 8.0 and 9.0).
const UNITS_AT_ONCE: u32 = 2048;
const CUBES_AT_ONCE: u32 = 32;

/// A device's own figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Properties {
    /// Its multiprocessors; none if the driver does not report them.
    pub multiprocessors: Option<usize>,
    /// Shared memory that one cube may use, bytes: about that of a multiprocessor.
    pub shared_memory_bytes: usize,
    /// The most units that a cube may have.
    pub max_units: u32,
    /// Units that run in step.
    pub plane: u32,
    /// Whether the CPU does its work.
    pub is_software: bool,
}

impl Properties {
    /// Returns true if that many units, or cubes, keep the device busy, of which it takes `each`
    /// on a multiprocessor. A software GPU has as many threads as the CPU has cores: any number
    /// does.
    pub fn is_filled_by(&self, count: usize, each: usize) -> bool {
        let all = self.multiprocessors.unwrap_or(USUAL_MULTIPROCESSORS);
        self.is_software || count >= each.saturating_mul(all)
    }

    /// Units of a multiprocessor that is full of cubes of that many units with that much shared
    /// memory.
    pub fn units_at_once(&self, units: u32, shared_bytes: usize) -> usize {
        let units = units.max(1);
        let by_memory = self.shared_memory_bytes / shared_bytes.max(1);
        let cubes = (UNITS_AT_ONCE / units).min(CUBES_AT_ONCE) as usize;
        cubes.min(by_memory).max(1) * units as usize
    }

    /// Units of the smallest cube of which a multiprocessor runs as many units as it can.
    pub fn smallest_cube(&self) -> u32 {
        (UNITS_AT_ONCE / CUBES_AT_ONCE)
            .max(self.plane)
            .min(self.max_units)
    }

    /// How often the device is filled by that many cubes; 0 if its multiprocessors are unknown.
    pub fn rounds(&self, cubes: u64, units: u32, shared_bytes: usize) -> u64 {
        let Some(multiprocessors) = self.multiprocessors else {
            return 0;
        };
        let each = self.units_at_once(units, shared_bytes) / units.max(1) as usize;
        cubes.div_ceil((each * multiprocessors).max(1) as u64)
    }
}

impl Gpu {
    /// What the device reports of itself.
    pub fn properties(&self) -> Properties {
        let plane = with_client!(self, client => client.properties().hardware.plane_size_max);
        Properties {
            multiprocessors: self.multiprocessors(),
            shared_memory_bytes: self.shared_memory_bytes(),
            max_units: self.max_units(),
            plane,
            is_software: self.info().kind == GpuKind::Software,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_multiprocessor_is_full_by_units_cubes_or_memory() {
        let h200 = Properties {
            multiprocessors: Some(132),
            shared_memory_bytes: 227 << 10,
            max_units: 1024,
            plane: 32,
            is_software: false,
        };
        assert_eq!(h200.units_at_once(128, 0), 2048);
        assert_eq!(h200.units_at_once(32, 0), 1024);
        assert_eq!(h200.units_at_once(64, 16 << 10), 14 * 64);
        assert_eq!(h200.smallest_cube(), 64);
        assert_eq!(h200.rounds(132 * 14, 64, 16 << 10), 1);
        assert_eq!(h200.rounds(132 * 14 + 1, 64, 16 << 10), 2);
        assert!(h200.is_filled_by(132 * 3, 3) && !h200.is_filled_by(132 * 3 - 1, 3));
        let by_vulkan = Properties {
            multiprocessors: None,
            ..h200
        };
        assert_eq!(by_vulkan.rounds(1_000, 64, 0), 0);
        assert!(by_vulkan.is_filled_by(64, 1) && !by_vulkan.is_filled_by(63, 1));
        let mesa = Properties {
            plane: 8,
            shared_memory_bytes: 32 << 10,
            is_software: true,
            ..by_vulkan
        };
        assert!(mesa.is_filled_by(1, 2048));
    }
}
