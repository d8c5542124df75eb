//! The device under the GPU tests: the first GPU found, software or not.

use breakeven::gpu::Gpu;
use breakeven::hardware::{Backend, GpuInfo, HardwareCapabilities};
use breakeven::tune::Tuned;

/// Opens the first GPU, or says loudly that GPU forms went untested.
pub(crate) fn first_gpu() -> Option<Gpu> {
    first_of(|_| true)
}

/// The same of a GPU that runs WGSL.
pub(crate) fn first_for_shaders() -> Option<Gpu> {
    first_of(|gpu| gpu.backend != Backend::Cuda)
}

fn first_of(is_wanted: impl Fn(&GpuInfo) -> bool) -> Option<Gpu> {
    let hardware = HardwareCapabilities::detect();
    match hardware.gpus.iter().find(|gpu| is_wanted(gpu)) {
        Some(gpu) => {
            let gpu = Gpu::open(&gpu.id).unwrap_or_else(|error| panic!("{}: {error}", gpu.id));
            // What was tuned on this machine is the user's.
            gpu.set_tuned(Tuned::default());
            Some(gpu)
        }
        None => {
            #[expect(clippy::print_stderr, reason = "a test that cannot run must be heard")]
            {
                eprintln!(
                    "NOT TESTED: there is no such GPU here; {:#?}",
                    hardware.absent
                );
            }
            None
        }
    }
}
