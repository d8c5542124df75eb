//! What fails on CubeCL's thread reaches the batch that it failed for.

use cubecl::prelude::*;

use super::*;
use crate::gpu::with_client;
use crate::hardware::HardwareCapabilities;
use crate::kernels::{VectorAdd, Work};

#[cube(launch)]
fn ones(out: &mut Array<f32>) {
    if ABSOLUTE_POS < out.len() {
        out[ABSOLUTE_POS] = 1.0;
    }
}

/// Ones, from so many units in one cube: more than a device has are refused on
/// CubeCL's thread, long after the launch returned.
struct Ones {
    units: u32,
}

const LEN: usize = 64;

impl Kernel for Ones {
    type Element = f32;

    fn output_len(&self) -> usize {
        LEN
    }

    fn work(&self) -> Work {
        Work {
            items: 1,
            elements: LEN as u64,
            flops: 0,
            bytes: self.memory_bytes(),
        }
    }

    fn memory_bytes(&self) -> u64 {
        4 * LEN as u64
    }

    fn cpu_into(&self, out: &mut [f32]) {
        out.fill(1.0);
    }

    fn device_inputs(&self) -> Vec<&[u8]> {
        Vec::new()
    }

    fn launch(&self, gpu: &Gpu, _: &[Buffer], out: &Buffer) -> Result<(), DeviceError> {
        with_client!(gpu, client => {
            // SAFETY: the output has that many elements, and the kernel looks at
            // no position past its length.
            let out = unsafe { out.array(LEN) };
            ones::launch(client, CubeCount::Static(1, 1, 1), CubeDim::new_1d(self.units), out);
        });
        Ok(())
    }
}

fn finish(gpu: &Gpu, mut pending: Pending<f32>) -> Result<Vec<f32>, DeviceError> {
    loop {
        match gpu.poll(&mut pending) {
            Poll::Ready(output) => return output,
            Poll::Pending => gpu.wait_for(&pending, Duration::from_secs(1)),
        }
    }
}

#[test]
fn a_launch_that_fails_later_fails_its_batch_and_no_other() {
    let Some(info) = HardwareCapabilities::detect().gpus.into_iter().next() else {
        #[expect(clippy::print_stderr, reason = "a test that cannot run must be heard")]
        {
            eprintln!("NOT TESTED: there is no GPU here");
        }
        return;
    };
    let gpu = Gpu::open(&info.id).expect("a GPU that was found");
    let (good, bad) = (Ones { units: 64 }, Ones { units: 1 << 20 });
    assert_eq!(gpu.solve(&good), Ok(vec![1.0; LEN]));
    assert!(
        gpu.solve(&bad).is_err(),
        "a kernel that never ran has an output"
    );
    assert_eq!(gpu.solve(&good), Ok(vec![1.0; LEN]));

    let before = gpu.submit(&good).expect("nothing is wrong yet");
    assert_eq!(finish(&gpu, before), Ok(vec![1.0; LEN]));
    // Refused at once or when it is looked at, but refused.
    let refused = gpu.submit(&bad).and_then(|pending| finish(&gpu, pending));
    assert!(refused.is_err(), "{refused:?}");
    let after = gpu.submit(&good).expect("the fault was told");
    assert_eq!(finish(&gpu, after), Ok(vec![1.0; LEN]));
    assert_eq!(
        gpu.lanes.idle().len(),
        1,
        "one batch at a time needs one lane"
    );
    assert!(
        VectorAdd::new(vec![1.0], vec![1.0], 1).is_ok_and(|sum| gpu.solve(&sum) == Ok(vec![2.0]))
    );
}
