//! `breakeven tune`: searches, keeps, shows, forgets.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::command::{Breakeven, directory, line};
use crate::engine::vulkan::software_gpu;

fn tune(cache: &Path, args: &str) -> Breakeven {
    line("tune")
        .args(args)
        .env_remove("BREAKEVEN_CACHE")
        .env("BREAKEVEN_CACHE_DIR", cache)
}

fn json(cache: &Path, args: &str) -> Value {
    let said = tune(cache, args).args("--format json").run().quietly(0);
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn a_cpu_form_is_tuned_kept_shown_and_forgotten() {
    let cache = directory();
    let nothing = tune(cache.path(), "--show").run().quietly(0).stdout;
    assert_eq!(nothing, "nothing is tuned yet; `breakeven tune` searches\n");
    let said = tune(cache.path(), "vector_add --device cpu --time-limit 1s")
        .run()
        .quietly(0);
    assert!(said.stdout.starts_with("vector_add: "), "{said:#?}");
    assert!(said.stdout.contains("chunk 32768"), "{said:#?}");
    let kept = json(cache.path(), "--show vector_add");
    assert_eq!(kept[0]["tried"].as_array().unwrap().len(), 7, "{kept}");
    // It is known now: nothing is searched.
    let before = fs::read(cache.path().join("tuned.json")).unwrap();
    let again = tune(cache.path(), "vector_add --device cpu --time-limit 60s")
        .run()
        .quietly(0);
    assert!(again.took < Duration::from_secs(10), "{again:#?}");
    assert_eq!(fs::read(cache.path().join("tuned.json")).unwrap(), before);
    assert_eq!(
        json(cache.path(), "--show conv2d"),
        Value::Array(Vec::new())
    );
    tune(cache.path(), "--forget vector_add").run().quietly(0);
    assert_eq!(json(cache.path(), "--show"), Value::Array(Vec::new()));
}

#[test]
fn what_cannot_be_is_refused() {
    let cache = directory();
    let refused = |args: &str| tune(cache.path(), args).run().refusal();
    assert!(refused("conv3d").contains("did you mean \"conv2d\"?"));
    let no_gpu = match cfg!(feature = "gpu") {
        true => "there is no device \"vulkan:none\" here",
        false => "this build has no GPU code",
    };
    assert!(refused("--device vulkan:none").contains(no_gpu));
    assert!(refused("--show --again").contains("cannot be used with"));
    assert!(refused("--time-limit soon").contains("--time-limit"));
    let untunable = tune(cache.path(), "ar_forecast --device cpu --time-limit 1s").run();
    assert_eq!(untunable.code, Some(0));
    assert_eq!(
        untunable.stderr,
        "note: ar_forecast has nothing to tune on cpu\n"
    );
}

#[test]
fn a_kernel_is_tuned_on_a_device_and_compared_there() {
    if software_gpu().is_none() {
        return;
    }
    let cache = directory();
    let found = json(cache.path(), "dot_product --device gpu --time-limit 3s");
    let tried = found[0]["tried"].as_array().unwrap();
    assert_eq!(tried[0]["configuration"]["units"], 256, "{found}");
    assert!(
        tried.len() >= 15 && tried[0]["median_ns"].as_f64() > Some(0.0),
        "{found}"
    );
    let profile = |cache: &Path| {
        let args = "profile --kernel dot_product --device gpu --iterations 2 --format json";
        let line = line(args).env("BREAKEVEN_CACHE_DIR", cache);
        let profile: Value = serde_json::from_str(&line.run().stdout).unwrap();
        let used = &profile["operations"][0]["attributes"];
        (used["tuned"].clone(), used["configuration"].clone())
    };
    // Whatever was found here, what is kept is what is used.
    let path = cache.path().join("tuned.json");
    let mut kept: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    kept["kernels"][0]["configuration"]["units"] = 64.into();
    fs::write(&path, kept.to_string()).unwrap();
    let (tuned, used) = profile(cache.path());
    assert_eq!(tuned, true, "{used}");
    assert!(used.as_str().unwrap().contains("units 64"), "{used}");
    let (tuned, used) = profile(directory().path());
    assert_eq!(tuned, false, "{used}");
    assert!(used.as_str().unwrap().contains("units 256"), "{used}");

    let ab = |a: &str, b: &str| {
        let args = "ab --kernel dot_product --time-limit 3s --warmup 0";
        line(args)
            .arg(a)
            .arg(b)
            .env("BREAKEVEN_CACHE_DIR", cache.path())
    };
    let said = ab("device=gpu,default", "device=gpu,units=64,each=4").run();
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert!(said.stdout.contains("units=64"), "{said:#?}");
    let refused = ab("device=gpu,default", "device=gpu,units=63")
        .run()
        .refusal();
    assert!(
        refused.contains("units cannot be 63; give one of [64, "),
        "{refused}"
    );
}

#[test]
fn two_windows_of_a_kernel_are_compared_and_bad_ways_refused() {
    let ab = |kernel: &str, a: &str, b: &str| {
        // It stops when it is decided, which other tests on the machine can hold up.
        line("ab --time-limit 60s --warmup 0")
            .args(kernel)
            .arg(a)
            .arg(b)
            .run()
    };
    let said = ab(
        "--kernel pixel_entropy",
        "device=cpu,window=8",
        "device=cpu,window=32",
    );
    assert_eq!(said.code, Some(0), "{said:#?}");
    assert!(said.stdout.starts_with("B is slower"), "{said:#?}");
    let refused = |kernel, a| ab(kernel, a, "device=cpu").refusal();
    assert!(refused("--kernel conv2d", "device=cpu,window=8").contains("window"));
    assert!(refused("--kernel conv2d", "sideways").contains("give a list of device="));
    assert!(refused("--kernel conv2d", "device=cpu,size=0").contains("whole number above 0"));
    assert!(refused("--kernel conv2d", "device=cpu,fused").contains("no fused form"));
    let no_gpu = match cfg!(feature = "gpu") {
        true => "the CPU runs it",
        false => "this build has no GPU code",
    };
    assert!(refused("--kernel conv2d", "device=cpu,pool=off").contains(no_gpu));
}
