//! Times a kernel if the device has no clock.

use std::time::Duration;

use crate::error::DeviceError;

/// The source of a kernel's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelClock {
    /// Time stamps that the device writes before and after the kernel.
    Device,
    /// The host's clock around a lot of launches in a row and one wait for them all,
    /// of which each kernel counts as its share: CubeCL's CUDA side has no device
    /// time stamps.
    Host,
}

impl std::fmt::Display for KernelClock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Host => "host",
        })
    }
}

/// By the host's clock, a launch and its wait take some ten microseconds in addition to the kernel:
/// a lot of launches with one wait lasts at least this long.
const LOT: Duration = Duration::from_millis(2);

/// Most launches in a lot.
const MOST: u32 = 1 << 12;

/// Returns one call's share of a lot that lasts [`LOT`], of at most [`MOST`] calls; `lot` makes
/// that many calls and returns their time.
pub(super) fn share_of_lot(
    mut lot: impl FnMut(u32) -> Result<Duration, DeviceError>,
) -> Result<Duration, DeviceError> {
    let mut calls = 1;
    loop {
        let time = lot(calls)?;
        if time >= LOT || calls == MOST {
            return Ok(time / calls);
        }
        // Slightly more than the last lot suggests, because that includes the lot's overhead.
        let needed = 1.5 * f64::from(calls) * LOT.as_secs_f64() / time.as_secs_f64().max(1e-9);
        #[expect(clippy::cast_sign_loss, reason = "times are not negative")]
        let needed = needed.min(f64::from(MOST)) as u32;
        calls = needed.clamp(calls + 1, MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_lot_takes_beside_its_calls_counts_little() {
        for one in [1_u64, 2, 15, 400, 3_000] {
            let mut made = 0;
            let lot = |calls: u32| {
                made += 1;
                Ok(Duration::from_micros(15 + one * u64::from(calls)))
            };
            let found = share_of_lot(lot).expect("no device, no failure");
            let off = found.as_secs_f64() * 1e6 / one as f64 - 1.0;
            assert!((0.0..0.01).contains(&off), "{one} us: off by {off}");
            assert!(made <= 5, "{one} us: {made} lots");
        }
    }

    #[test]
    fn a_kernel_that_takes_no_time_ends_too() {
        let found = share_of_lot(|_| Ok(Duration::ZERO)).expect("no device, no failure");
        assert_eq!(found, Duration::ZERO);
    }
}
