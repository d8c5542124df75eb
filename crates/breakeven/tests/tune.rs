//! What was tuned: kept, void, used.

use std::fs;
use std::time::Duration;

use breakeven::kernels::{MatrixMultiply, VectorAdd};
use breakeven::tune::{Configuration, Fate, Key, SizeClass, Tuned, TunedKernel, Tuner};
use breakeven::{Error, ErrorKind, Operator, Tensor};

fn candidates() -> [Configuration; 3] {
    [4, 1, 2].map(|sleep| Configuration::from([("sleep", sleep)]))
}

/// A kernel that takes a given number of milliseconds.
fn sleep(configuration: &Configuration) -> Result<(), Error> {
    let ms = configuration.get("sleep").unwrap_or(0);
    std::thread::sleep(Duration::from_millis(1) * ms);
    Ok(())
}

fn tuner(tuned: &Tuned) -> Tuner {
    Tuner::new(tuned)
        .budget(Duration::from_secs(2))
        .on("a GPU", "driver 1")
}

#[test]
fn what_was_found_is_kept_for_its_kernel_device_driver_size_and_choices() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("cache/tuned.json");
    let tuned = Tuned::load(&path);
    let best = tuner(&tuned)
        .tune_kernel("sleeps", &candidates(), 1_000, sleep)
        .unwrap();
    assert_eq!(best.configuration, candidates()[1]);
    assert!(best.gain.unwrap().ratio > 1.5);
    assert_eq!(best.tried.len(), 3);
    assert_eq!(best.tried[0].trial.fate, Fate::Beaten);

    // Another process: it is there, and nothing is run.
    let again = Tuned::load(&path);
    let none = |_: &Configuration| -> Result<(), Error> { panic!("it is known") };
    let known = tuner(&again)
        .tune_kernel("sleeps", &candidates(), 1_023, none)
        .unwrap();
    assert_eq!(known, best);

    // Another driver, another size, other choices.
    let mut runs = 0;
    let mut count = |configuration: &Configuration| {
        runs += 1;
        sleep(configuration)
    };
    let other = tuner(&again).on("a GPU", "driver 2");
    other
        .tune_kernel("sleeps", &candidates(), 1_000, &mut count)
        .unwrap();
    tuner(&again)
        .tune_kernel("sleeps", &candidates(), 5_000, &mut count)
        .unwrap();
    tuner(&again)
        .tune_kernel("sleeps", &candidates()[..2], 1_000, &mut count)
        .unwrap();
    assert!(runs > 3, "{runs}");
    assert_eq!(
        Tuned::load(&path).kernels().len(),
        3,
        "the same key with other choices is one"
    );
    again.forget(|key| key.driver == "driver 1").unwrap();
    assert_eq!(Tuned::load(&path).kernels().len(), 1);
}

#[test]
fn a_search_that_fails_leaves_what_was_kept() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tuned.json");
    let tuned = Tuned::load(&path);
    let best = tuner(&tuned)
        .tune_kernel("sleeps", &candidates(), 1_000, sleep)
        .unwrap();
    let mut calls = 0;
    let lost = tuner(&tuned)
        .again()
        .tune_kernel("sleeps", &candidates(), 1_000, |_| {
            calls += 1;
            if calls > 5 {
                Err(Error::new(ErrorKind::Invalid, "the device is lost"))
            } else {
                Ok(())
            }
        });
    assert_eq!(lost.unwrap_err().to_string(), "the device is lost");
    assert_eq!(Tuned::load(&path).kernels(), std::slice::from_ref(&best));
    assert_eq!(tuned.kernels(), [best]);
    let none = tuner(&tuned).tune_kernel("nothing", &[], 1, sleep);
    assert_eq!(none.unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn a_damaged_file_is_put_aside_and_a_newer_one_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tuned.json");
    let entry = TunedKernel {
        key: Key {
            kernel: "k".to_owned(),
            device: "d".to_owned(),
            driver: "1".to_owned(),
            size: SizeClass::of(1, 1_000),
        },
        source: 1,
        configuration: Configuration::from([("units", 64)]),
        gain: None,
        is_complete: true,
        is_at_roofline: false,
        tried: Vec::new(),
    };
    for damaged in [
        "",
        "{",
        "{\"format\": \"another\", \"version\": 1}",
        "{\"format\": \"breakeven-tuned\", \"version\": 1, \"kernels\": 3}",
    ] {
        fs::write(&path, damaged).unwrap();
        let tuned = Tuned::load(&path);
        assert!(tuned.kernels().is_empty());
        tuned.keep(entry.clone()).unwrap();
        assert_eq!(Tuned::load(&path).kernels(), std::slice::from_ref(&entry));
    }
    assert!(directory.path().join("tuned.json.damaged-4").exists());

    let newer = "{\"format\": \"breakeven-tuned\", \"version\": 2, \"kernels\": {}}";
    fs::write(&path, newer).unwrap();
    let tuned = Tuned::load(&path);
    let error = tuned.keep(entry.clone()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::File);
    assert!(error.to_string().contains("version 2"), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
    assert_eq!(tuned.kernels(), [entry], "in memory all the same");

    // A pipe is not waited for.
    fs::remove_file(&path).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let tuned = Tuned::load(&path);
    assert!(tuned.kernels().is_empty());
    let error = tuned.forget(|_| true).unwrap_err();
    assert!(error.to_string().contains("not a regular file"), "{error}");
}

#[test]
fn many_writers_lose_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("tuned.json");
    std::thread::scope(|scope| {
        for number in 0..8 {
            let path = &path;
            scope.spawn(move || {
                let one = &candidates()[..1];
                let name = format!("kernel {number}");
                tuner(&Tuned::load(path))
                    .tune_kernel(&name, one, 1, |_| Ok(()))
                    .unwrap();
            });
        }
    });
    assert_eq!(Tuned::load(&path).kernels().len(), 8);
}

#[test]
fn a_cpu_form_computes_the_same_with_every_constant() {
    let values = |shape: &[usize]| {
        let len: usize = shape.iter().product();
        let values: Vec<f32> = (0..len).map(|at| (at % 97) as f32 / 97.0).collect();
        Tensor::new(values, shape).unwrap()
    };
    let (a, b) = (values(&[2, 70, 400]), values(&[2, 400, 300]));
    let product = MatrixMultiply;
    let before = product.on_cpu(&[&a, &b]).unwrap();
    let tuned = Tuned::default();
    let tuner = Tuner::new(&tuned).budget(Duration::from_millis(400));
    let best = tuner.tune_host(&product, &[&a, &b]).unwrap();
    assert_eq!(best.tried.len(), 3 * 4 * 3);
    assert!(tuned.find(&best.key, best.source).is_some());
    // (2·70·400 + 2·400·300) elements of 4 bytes are 1.13 MiB.
    assert_eq!(best.key.size.to_string(), "1 item of 1 MiB");
    let after = product.on_cpu(&[&a, &b]).unwrap();
    for (before, after) in before.host().unwrap().iter().zip(after.host().unwrap()) {
        assert!((before - after).abs() < 1e-3, "{before} {after}");
    }
    let nothing = values(&[0, 5]);
    let error = tuner
        .tune_host(&VectorAdd, &[&nothing, &nothing])
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Shape);
}

#[cfg(feature = "gpu")]
mod on_a_device {
    use std::time::Duration;

    use breakeven::kernels::{
        ArForecast, Connectivity, Conv2d, DendriticIntegration, DotProduct,
        FusedConvEntropySegment, ImageSegmentation, LstmCell, Nonlinearity, PixelEntropy, SOBEL_X,
    };
    use breakeven::tune::source_number;
    use breakeven::{DeviceErrorKind, Element};

    use super::*;
    use crate::device::first_gpu;

    fn values(shape: &[usize]) -> Tensor<'static> {
        let len: usize = shape.iter().product();
        let values: Vec<f32> = (0..len).map(|at| (at * 37 % 251) as f32 / 256.0).collect();
        Tensor::new(values, shape).unwrap()
    }

    /// Runs a kernel with every configuration that it has.
    fn same_with_all<O: Element + Into<f64>>(
        gpu: &breakeven::gpu::Gpu,
        operator: &dyn Operator<In = f32, Out = O>,
        inputs: &[&Tensor<'static>],
        configurations: usize,
    ) {
        let mut call = gpu.prepare(operator, &inputs).unwrap();
        call.launch().unwrap();
        let usual = call.download().unwrap();
        let tuned = Tuned::default();
        let tuner = Tuner::new(&tuned).budget(Duration::ZERO);
        let name = operator.name();
        let tried = tuner.tune(gpu, operator, &inputs).unwrap().tried;
        assert!(tried.len() >= configurations, "{name}: {}", tried.len());
        for tried in tried {
            call.set_configuration(&tried.configuration).unwrap();
            call.launch().unwrap();
            let other = call.download().unwrap();
            for (one, other) in usual.host().unwrap().iter().zip(other.host().unwrap()) {
                let [one, other]: [f64; 2] = [(*one).into(), (*other).into()];
                let off = (one - other).abs() / one.abs().max(1.0);
                assert!(
                    off < 1e-4,
                    "{name}, {}: {one} and {other}",
                    tried.configuration
                );
            }
        }
    }

    #[test]
    fn a_kernel_computes_the_same_with_every_configuration() {
        let Some(gpu) = first_gpu() else {
            return;
        };
        let (vectors, images) = (values(&[3, 1_003]), values(&[2, 67, 45]));
        same_with_all(&gpu, &VectorAdd, &[&vectors, &vectors], 9);
        same_with_all(&gpu, &DotProduct, &[&vectors, &vectors], 15);
        let sobel = Tensor::new(SOBEL_X.to_vec(), &[3, 3]).unwrap();
        let conv = Conv2d::new(sobel, 1, 1).unwrap();
        same_with_all(&gpu, &conv, &[&images], 16);
        let entropy = PixelEntropy::new(9).unwrap();
        same_with_all(&gpu, &entropy, &[&images], 10);
        let segment = ImageSegmentation::new(0.5, Connectivity::Four).unwrap();
        same_with_all(&gpu, &segment, &[&images], 1);
        let entropy = PixelEntropy::new(3).unwrap();
        let segment = ImageSegmentation::new(1.41, Connectivity::Four).unwrap();
        let fused = FusedConvEntropySegment::new(conv, entropy, segment);
        // More rows than a unit's mask has bits.
        same_with_all(&gpu, &fused, &[&values(&[2, 150, 45])], 4);
        same_with_all(&gpu, &ArForecast::new(5, 4).unwrap(), &[&vectors], 3);
        let lstm = LstmCell::new(&[0.1; 96], &[0.2; 144], &[0.1; 24], &[0.0; 24], [4, 6]).unwrap();
        let (input, state) = (values(&[5, 4]), values(&[5, 6]));
        same_with_all(&gpu, &lstm, &[&input, &state, &state], 12);
        let (weights, conductances) = (values(&[7, 3, 8]), values(&[7, 3]));
        let sigmoid = Nonlinearity::Sigmoid { k: 1.0, theta: 0.5 };
        let dendrites = DendriticIntegration::new(weights, conductances, sigmoid).unwrap();
        same_with_all(&gpu, &dendrites, &[&values(&[5, 7, 3, 8])], 3);
        // In vectors of four and in single elements, no multiple of a tile; and in parts of the
        // terms, the last of them smaller.
        for [batch, m, k, n] in [[2, 130, 72, 132], [2, 33, 70, 19], [3, 33, 2051, 68]] {
            let (a, b) = (values(&[batch, m, k]), values(&[batch, k, n]));
            same_with_all(&gpu, &MatrixMultiply, &[&a, &b], 3);
        }
    }

    #[test]
    fn the_source_of_a_kernel_is_all_that_it_calls() {
        let Some(gpu) = first_gpu() else {
            return;
        };
        fn source<O: Element>(
            gpu: &breakeven::gpu::Gpu,
            operator: &dyn Operator<In = f32, Out = O>,
            inputs: &[&[usize]],
        ) -> u64 {
            operator.device().unwrap().space(gpu, inputs).source
        }
        macro_rules! sources {
            ($($file:literal),*) => {
                0 $(^ source_number(include_bytes!(concat!("../../breakeven-kernels/src/", $file, ".rs"))))*
            };
        }
        let conv = || {
            let sobel = Tensor::new(SOBEL_X.to_vec(), &[3, 3]).unwrap();
            Conv2d::new(sobel, 1, 1).unwrap()
        };
        let entropy = PixelEntropy::new(3).unwrap();
        let segment = ImageSegmentation::new(2.9, Connectivity::Four).unwrap();
        let fused = FusedConvEntropySegment::new(conv(), entropy, segment);
        assert_eq!(
            source(&gpu, &fused, &[&[2, 9, 9]]),
            sources!(
                "fused_conv_entropy_segment/fused_form",
                "conv2d/conv2d_kernels",
                "pixel_entropy/entropy_kernels",
                "image_segmentation/segmentation_kernels/tiles"
            )
        );
        let lstm = LstmCell::new(&[0.1; 96], &[0.2; 144], &[0.1; 24], &[0.0; 24], [4, 6]).unwrap();
        assert_eq!(
            source(&gpu, &lstm, &[&[5, 4], &[5, 6], &[5, 6]]),
            sources!("lstm_cell/lstm_kernels", "activation/activation_kernels")
        );
        let sigmoid = Nonlinearity::Sigmoid { k: 1.0, theta: 0.5 };
        let (weights, conductances) = (values(&[7, 3, 8]), values(&[7, 3]));
        let dendrites = DendriticIntegration::new(weights, conductances, sigmoid).unwrap();
        assert_eq!(
            source(&gpu, &dendrites, &[&[5, 7, 3, 8]]),
            sources!(
                "dendritic_integration/dendrite_kernels",
                "activation/activation_kernels"
            )
        );
    }

    #[test]
    fn later_calls_use_what_was_tuned_and_what_is_set_goes_before() {
        let Some(gpu) = first_gpu() else {
            return;
        };
        let sobel = Tensor::new(SOBEL_X.to_vec(), &[3, 3]).unwrap();
        let sobel = Conv2d::new(sobel, 1, 1).unwrap();
        let images = values(&[2, 64, 64]);
        let default = gpu
            .prepare(&sobel, &images)
            .unwrap()
            .configuration()
            .clone();
        let tuner = Tuner::new(&gpu.tuned()).budget(Duration::from_millis(200));
        let mut best = tuner.tune(&gpu, &sobel, &images).unwrap();
        assert_eq!(best.tried[0].configuration, default);
        // Whatever was fastest here: as if another had been.
        best.configuration = Configuration::from([("units", 64), ("rows", 2)]);
        gpu.tuned().keep(best.clone()).unwrap();
        let used =
            |images: &Tensor<'static>| gpu.prepare(&sobel, images).unwrap().configuration().clone();
        assert_eq!(used(&images), best.configuration);
        assert_eq!(
            used(&values(&[2, 63, 66])),
            best.configuration,
            "of the same class"
        );
        assert_eq!(used(&values(&[2, 128, 64])), default);
        // Of another source nothing is known.
        gpu.tuned()
            .keep(TunedKernel {
                source: best.source + 1,
                ..best
            })
            .unwrap();
        assert_eq!(used(&images), default);

        let one = |value| Some(Configuration::from([("rows", value)]));
        gpu.set_kernel_config("conv2d", one(8));
        assert_eq!(used(&images).get("rows"), Some(8));
        assert_eq!(used(&images).get("units"), default.get("units"));
        let expected = sobel.on_cpu(&images).unwrap();
        let chained = Conv2d::new(Tensor::new(vec![1.0], &[1, 1]).unwrap(), 1, 0).unwrap();
        let chain = sobel.clone().then(chained);
        let out = gpu.run(&chain, &images).unwrap();
        assert_eq!(out.host().unwrap(), expected.host().unwrap());
        for (name, value) in [("rows", 3), ("cows", 1)] {
            gpu.set_kernel_config("conv2d", Some(Configuration::from([(name, value)])));
            let error = gpu.run(&sobel, &images).unwrap_err();
            assert_eq!(error.kind, DeviceErrorKind::Refused, "{error}");
            assert!(error.to_string().contains(name), "{error}");
        }
        gpu.set_kernel_config("conv2d", None);
        assert_eq!(used(&images), default);
    }
}
