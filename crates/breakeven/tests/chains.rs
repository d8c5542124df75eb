//! Chains: what they compute, what they move, and where their stages run.

use std::sync::Arc;

use breakeven::execute::{RayonCpu, StrategyManager};
use breakeven::kernels::{Connectivity, Conv2d, ImageSegmentation, PixelEntropy, SOBEL_X};
use breakeven::{Chain, ErrorKind, Operator, Tensor};

fn stages() -> (Conv2d, PixelEntropy, ImageSegmentation) {
    let filter = Tensor::new(SOBEL_X.to_vec(), &[3, 3]).unwrap();
    (
        Conv2d::new(filter, 1, 1).unwrap(),
        PixelEntropy::new(5).unwrap(),
        ImageSegmentation::new(1.0, Connectivity::Four).unwrap(),
    )
}

fn chain() -> Chain<f32, u32> {
    let (edges, entropy, segments) = stages();
    edges.then(entropy).then(segments)
}

/// Images of whole numbers, so that every device computes the same.
fn images(count: usize, side: usize) -> Tensor<'static> {
    let len = count * side * side;
    let values: Vec<f32> = (0..len)
        .map(|at| ((at * 7919) % 256) as f32 / 1024.0)
        .collect();
    Tensor::new(values, &[count, side, side]).unwrap()
}

fn by_steps(images: &Tensor<'_>) -> Vec<u32> {
    let (edges, entropy, segments) = stages();
    let texture = entropy.on_cpu(&edges.on_cpu(images).unwrap()).unwrap();
    segments.on_cpu(&texture).unwrap().into_vec().unwrap()
}

#[test]
fn a_chain_is_its_steps() {
    let images = images(3, 20);
    let found = chain().on_cpu(&images).unwrap();
    assert_eq!(found.shape(), [3, 20, 20]);
    assert_eq!(found.into_vec().unwrap(), by_steps(&images));
    let none = Tensor::new(vec![], &[0, 20, 20]).unwrap();
    assert_eq!(chain().on_cpu(&none).unwrap().shape(), [0, 20, 20]);

    let cpu = StrategyManager::cpu_only(Arc::new(RayonCpu::current()));
    let run = cpu.run(&chain(), &images).unwrap();
    assert_eq!(run.operation, "conv2d+pixel_entropy+image_segmentation");
    assert_eq!(run.into_output().into_vec().unwrap(), by_steps(&images));
}

#[test]
fn its_stages_are_a_list_however_it_was_put_together() {
    let (edges, entropy, segments) = stages();
    let nested = edges.then(entropy.then(segments));
    let names = |chain: &Chain<f32, u32>| {
        let stages = chain.stages().unwrap().iter();
        stages
            .map(|stage| stage.name().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        names(&nested),
        ["conv2d", "pixel_entropy", "image_segmentation"]
    );
    assert_eq!(names(&chain()), names(&nested));
    let shapes: [&[usize]; 1] = [&[2, 8, 8]];
    let (edges, entropy, segments) = stages();
    let alone = [
        edges.work(&shapes),
        entropy.work(&shapes),
        segments.work(&shapes),
    ];
    let all = nested.work(&shapes);
    assert_eq!(all.flops, alone.iter().map(|work| work.flops).sum::<u64>());
    assert_eq!(all.bytes, alone.iter().map(|work| work.bytes).sum::<u64>());
    assert_eq!(all.items, 2);
}

#[test]
fn a_stage_that_refuses_its_input_says_so() {
    let (edges, entropy, _) = stages();
    let filter = Tensor::new(vec![1.0; 81], &[9, 9]).unwrap();
    let wide = Conv2d::new(filter, 1, 0).unwrap();
    let chain = edges.then(entropy).then(wide);
    let error = chain.on_cpu(&images(1, 6)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);
    assert!(error.to_string().starts_with("conv2d"), "{error}");
}

#[cfg(feature = "gpu")]
mod on_a_device {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    use breakeven::execute::ExecutionResult;
    use breakeven::gpu::{DeviceForm, Gpu, Launch};
    use breakeven::plan::Basis;
    use breakeven::tune::Space;
    use breakeven::{Costs, DeviceError, DeviceErrorKind, Error, Parameter, Stage, Stages, View};

    use super::*;
    use crate::device::first_gpu;

    fn moved(gpu: &Gpu, calls: impl FnOnce()) -> [u64; 2] {
        let before = gpu.transfers();
        calls();
        let now = gpu.transfers();
        [
            now.uploaded_bytes - before.uploaded_bytes,
            now.downloaded_bytes - before.downloaded_bytes,
        ]
    }

    #[test]
    fn its_data_moves_twice_whatever_its_length() {
        let Some(gpu) = first_gpu() else {
            return;
        };
        let images = images(2, 32);
        let (edges, entropy, segments) = stages();
        let chain = edges.then(entropy).then(segments);
        gpu.run(&chain, &images).unwrap();
        let size = 4 * 2 * 32 * 32;
        let twice = [size, size];
        let mut found = None;
        assert_eq!(
            moved(&gpu, || found = Some(gpu.run(&chain, &images).unwrap())),
            twice
        );
        assert_eq!(found.unwrap().into_vec().unwrap(), by_steps(&images));
        let (edges, _, _) = stages();
        let longer = edges.then(chain);
        gpu.run(&longer, &images).unwrap();
        assert_eq!(
            moved(&gpu, || drop(gpu.run(&longer, &images).unwrap())),
            twice
        );
    }

    /// Doubles on the CPU, for ten milliseconds an item; on a device at once, or fails.
    struct Doubled {
        fails: Arc<AtomicBool>,
        device: Conv2d,
    }

    impl Doubled {
        fn new(fails: &Arc<AtomicBool>) -> Self {
            let two = Tensor::new(vec![2.0], &[1, 1]).unwrap();
            Self {
                fails: Arc::clone(fails),
                device: Conv2d::new(two, 1, 0).unwrap(),
            }
        }
    }

    impl Operator for Doubled {
        type In = f32;
        type Out = f32;

        fn name(&self) -> &str {
            "doubled"
        }

        fn cpu(&self, inputs: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
            std::thread::sleep(Duration::from_millis(10 * inputs[0].shape[0] as u64));
            let pairs = out.iter_mut().zip(inputs[0].values);
            pairs.for_each(|(out, value)| *out = 2.0 * value);
            Ok(())
        }

        fn parameters(&self) -> Vec<&dyn Parameter> {
            self.device.parameters()
        }

        fn device(&self) -> Option<&dyn DeviceForm> {
            Some(self)
        }
    }

    impl DeviceForm for Doubled {
        fn space(&self, gpu: &Gpu, inputs: &[&[usize]]) -> Space {
            self.device.device().unwrap().space(gpu, inputs)
        }

        fn launch(&self, launch: &Launch<'_>) -> Result<(), DeviceError> {
            if self.fails.load(Ordering::Relaxed) {
                return Err(DeviceError::new(DeviceErrorKind::Launch, "it failed"));
            }
            self.device.device().unwrap().launch(launch)
        }
    }

    /// One more than each value, on the CPU only.
    struct OneMore;

    impl Operator for OneMore {
        type In = f32;
        type Out = f32;

        fn name(&self) -> &str {
            "one_more"
        }

        fn cpu(&self, inputs: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
            let pairs = out.iter_mut().zip(inputs[0].values);
            pairs.for_each(|(out, value)| *out = value + 1.0);
            Ok(())
        }
    }

    fn manager(gpu: Gpu) -> StrategyManager<RayonCpu, Gpu> {
        StrategyManager::new(Arc::new(RayonCpu::current()), Arc::new(gpu))
            .allow_software_gpu()
            .with_costs(Arc::new(Costs::new()))
    }

    #[test]
    fn each_stage_runs_where_the_chain_is_fastest() {
        let Some(gpu) = first_gpu() else {
            return;
        };
        let id = gpu.id().to_string();
        let manager = manager(gpu);
        let fails = Arc::new(AtomicBool::new(false));
        let chain = Doubled::new(&fails)
            .then(Doubled::new(&fails))
            .then(OneMore);
        let input = Tensor::new((0..80).map(|at| at as f32).collect::<Vec<_>>(), &[20, 2, 2]);
        let (input, expected) = (input.unwrap(), |at: usize| 4.0 * at as f32 + 1.0);
        let run = || {
            let batch = manager.operation(chain.name());
            let beforehand = batch.decide_run(&chain, &input).unwrap();
            let result = manager.run(&chain, &input).unwrap();
            let decided = &result.decision;
            assert_eq!(
                (beforehand.basis, &beforehand.placement),
                (decided.basis, &decided.placement)
            );
            let found = result.outputs[0].host().unwrap();
            assert!(
                found
                    .iter()
                    .enumerate()
                    .all(|(at, found)| *found == expected(at))
            );
            result
        };
        // The CPU was measured, then the GPU; then each stage is in its place.
        let is_placed = |result: &ExecutionResult<_>| {
            let placement = result.decision.placement.as_deref();
            placement.is_some_and(|placement| !placement.is_uniform())
        };
        let last = (0..20).map(|_| run()).find(is_placed).unwrap();
        assert_eq!(last.decision.basis, Basis::Placed);
        let placement = last.decision.placement.as_deref().unwrap();
        let places: Vec<_> = placement
            .stages
            .iter()
            .map(|stage| stage.device.as_str())
            .collect();
        assert_eq!(places, [&*id, &*id, "cpu"], "{}", last.explain());
        assert_eq!((placement.moves.len(), last.tasks), (2, 20));
        assert_eq!((last.cpu.tasks, last.gpu.tasks), (20, 40));
        let said = last.explain().to_string();
        assert!(
            said.contains("doubled+doubled+one_more: 20 tasks in"),
            "{said}"
        );
        assert!(
            said.contains(&format!("320 B from cpu to {id}: ")),
            "{said}"
        );

        // A device that fails in the middle: the CPU does its part, from its input. (The chain may
        // be tried on the CPU once more before: what was seen of it there is one time.)
        fails.store(true, Ordering::Relaxed);
        let mut runs = (0..20).map(|_| run());
        let failed = runs.find(|run| run.fallback_occurred).unwrap();
        assert_eq!((failed.cpu.tasks, failed.gpu.tasks), (60, 0));
    }

    #[test]
    fn a_device_that_fails_while_it_is_measured_costs_no_result() {
        let Some(gpu) = first_gpu() else {
            return;
        };
        let manager = manager(gpu);
        let (fails, works) = (AtomicBool::new(true), AtomicBool::new(false));
        let chain = Doubled::new(&Arc::new(works)).then(Doubled::new(&Arc::new(fails)));
        let input = Tensor::new(vec![1.0; 8], &[8, 1, 1]).unwrap();
        for _ in 0..6 {
            let output = manager.run(&chain, &input).unwrap().into_output();
            assert_eq!(output.host().unwrap(), [4.0; 8]);
        }
    }

    #[test]
    fn the_kernels_are_placed_by_what_was_measured() {
        let Some(gpu) = first_gpu() else {
            return;
        };
        let manager = manager(gpu);
        let (images, chain) = (images(2, 64), chain());
        let expected = by_steps(&images);
        for turn in 0..12 {
            let result = manager.run(&chain, &images).unwrap();
            assert_eq!(result.outputs[0].host().unwrap(), expected, "run {turn}");
            let placement = result.decision.placement.as_deref();
            // The first runs measure: the steps on each device, then both as one.
            assert!(turn > 1 || placement.is_none(), "{}", result.explain());
            let known = placement.is_none_or(|placement| {
                placement
                    .alone
                    .iter()
                    .all(|alone| alone.predicted_ns.is_some())
            });
            assert!(known, "{}", result.explain());
        }
        let known = manager.costs().operations();
        assert!(known.contains(&"pixel_entropy".to_owned()), "{known:?}");
        assert!(
            known.contains(&"pixel_entropy (on the device)".to_owned()),
            "{known:?}"
        );
    }

    /// Adds one to every value and takes its time; with another one after it, it has a form
    /// that adds two.
    struct Slow {
        name: &'static str,
        adds: f32,
        takes: Duration,
        /// Of the form of two.
        both_take: Duration,
    }

    impl Operator for Slow {
        type In = f32;
        type Out = f32;

        fn name(&self) -> &str {
            self.name
        }

        fn cpu(&self, inputs: &[View<'_, f32>], out: &mut [f32]) -> Result<(), Error> {
            std::thread::sleep(self.takes);
            let pairs = out.iter_mut().zip(inputs[0].values);
            pairs.for_each(|(out, value)| *out = value + self.adds);
            Ok(())
        }

        fn as_any(&self) -> Option<&dyn std::any::Any> {
            Some(self)
        }

        fn fused(&self, next: &[&Stage]) -> Option<(Stages, usize)> {
            let next: &Self = next.first()?.as_any()?.downcast_ref()?;
            let both = Self {
                name: "both",
                adds: self.adds + next.adds,
                takes: self.both_take,
                both_take: self.both_take,
            };
            Some((Stages::one(Arc::new(both)), 1))
        }
    }

    #[test]
    fn neighbours_run_as_one_where_that_was_measured_to_be_faster() {
        let Some(gpu) = first_gpu() else {
            return;
        };
        let input = Tensor::new(vec![1.0; 8], &[1, 2, 4]).unwrap();
        for (both_take, expected) in [(1, vec!["both"]), (9, vec!["first", "second"])] {
            let slow = |name| Slow {
                name,
                adds: 1.0,
                takes: Duration::from_millis(3),
                both_take: Duration::from_millis(both_take),
            };
            let chain = slow("first").then(slow("second"));
            let fused = chain.stages().unwrap().fused().unwrap();
            assert_eq!(fused.name(), "both");
            let manager = manager(gpu.clone());
            let mut last = None;
            for _ in 0..15 {
                let result = manager.run(&chain, &input).unwrap();
                assert_eq!(result.outputs[0].host().unwrap(), [3.0; 8]);
                last = Some(result);
            }
            let last = last.unwrap();
            let placement = last.decision.placement.as_deref().unwrap();
            let stages = placement.stages.iter().map(|stage| stage.stage.as_str());
            assert_eq!(stages.collect::<Vec<_>>(), expected, "{}", last.explain());
        }
    }
}
