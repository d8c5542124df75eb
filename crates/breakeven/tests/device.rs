//! The device under the GPU tests: the first GPU found, software or not.

use breakeven::gpu::Gpu;
use breakeven::hardware::HardwareCapabilities;
use breakeven::tune::Tuned;

/// Opens the first GPU, or says loudly that GPU forms went untested.
pub(crate) fn first_gpu() -> Option<Gpu> {
    let hardware = HardwareCapabilities::detect();
    match hardware.gpus.first() {
        Some(gpu) => {
            let gpu = Gpu::open(&gpu.id).unwrap_or_else(|error| panic!("{}: {error}", gpu.id));
            // What was tuned on this machine is the user's.
            gpu.set_tuned(Tuned::default());
            Some(gpu)
        }
        None => {
            #[expect(clippy::print_stderr, reason = "a test that cannot run must be heard")]
            {
                eprintln!("NOT TESTED: there is no GPU here; {:#?}", hardware.absent);
            }
            None
        }
    }
}
