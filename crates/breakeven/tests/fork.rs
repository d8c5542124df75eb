//! A child of a fork has one thread: the one that forked. It works, or gets an error.

use std::sync::Arc;
use std::time::{Duration, Instant};

use breakeven::execute::{CancelToken, OnDevice, RayonCpu, StrategyManager};
use breakeven::kernels::VectorAdd;
use breakeven::plan::GpuSpec;
use breakeven::{Costs, DeviceError, Operator, Tensor};
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use crate::execute_broken::strategy;

// SAFETY: the declaration is that of POSIX.
unsafe extern "C" {
    fn fork() -> i32;
    fn _exit(code: i32) -> !;
}

/// What the child does, within ten seconds.
fn in_a_child(job: impl FnOnce() -> bool) {
    // SAFETY: the child runs the job and ends at once; nothing of the test's harness runs in it.
    let child = match unsafe { fork() } {
        0 => {
            let job = std::panic::AssertUnwindSafe(job);
            let is_right = std::panic::catch_unwind(job).unwrap_or(false);
            // SAFETY: it ends this process.
            unsafe { _exit(i32::from(!is_right)) }
        }
        child => Pid::from_raw(child).expect("a child"),
    };
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        let ended = waitpid(Some(child), WaitOptions::NOHANG).expect("the child is ours");
        if let Some((_, status)) = ended {
            assert_eq!(status.exit_status(), Some(0), "the child fails");
            return;
        }
        if Instant::now() >= until {
            let _ = kill_process(child, Signal::KILL);
            let _ = waitpid(Some(child), WaitOptions::empty());
            panic!("the child hangs");
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn on_gpu(tasks: &[u64]) -> Result<Vec<u64>, DeviceError> {
    Ok(tasks.iter().map(|task| task * 2).collect())
}

#[test]
fn a_child_of_a_fork_runs_batches() {
    let tasks: Vec<u64> = (0..1_000).collect();
    let doubled: Vec<u64> = tasks.iter().map(|task| task * 2).collect();
    let make = |cpu: RayonCpu| {
        let device = OnDevice::new(GpuSpec::named("fork: device"), on_gpu);
        StrategyManager::new(Arc::new(cpu), Arc::new(device)).with_costs(Arc::new(Costs::new()))
    };
    let pool = || {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build();
        Arc::new(pool.expect("threads can be started"))
    };
    let works = |manager: &StrategyManager<_, _>| {
        ["auto", "cpu-only", "gpu-only", "hybrid:50/50"]
            .iter()
            .all(|text| {
                let token = CancelToken::new();
                let batch = || manager.operation(text).strategy(strategy(text));
                let batches = [
                    batch(),
                    batch().cancel(&token).deadline(Duration::from_secs(5)),
                ];
                batches.into_iter().all(|batch| {
                    let result = batch.map(&tasks, |task| task * 2);
                    result.is_ok_and(|result| result.outputs == doubled)
                })
            })
    };
    let two = pool();
    for cpu in [RayonCpu::current(), RayonCpu::with_pool(Arc::clone(&two))] {
        let manager = make(cpu.clone());
        assert!(works(&manager), "the parent's");
        in_a_child(|| works(&manager));
        in_a_child(|| works(&make(cpu.clone())));
        in_a_child(|| works(&make(RayonCpu::with_pool(pool()))));
        let own = manager.clone();
        in_a_child(move || {
            let cpu = StrategyManager::cpu_only(Arc::new(cpu));
            let ones = Tensor::new(vec![1.0; 600_000], &[300_000, 2]).expect("a tensor");
            let sum = VectorAdd.on_cpu(&[&ones, &ones]).is_ok()
                && cpu.run(&VectorAdd, &[&ones, &ones]).is_ok();
            let future = own
                .operation("async")
                .execute_async(vec![1_u64, 2], |task| Ok::<_, String>(task * 2));
            sum && future.wait().is_ok_and(|result| result.outputs == [2, 4])
        });
    }
}

#[test]
fn a_child_of_a_fork_keeps_what_it_learns() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("costs.json");
    let costs = Arc::new(Costs::load(&path).0);
    let manager =
        StrategyManager::cpu_only(Arc::new(RayonCpu::current())).with_costs(Arc::clone(&costs));
    let learn = |operation: &str| manager.operation(operation).map([1, 2, 3], |task| task + 1);
    // Something is learned and not saved yet.
    learn("parent").expect("a batch");
    in_a_child(|| {
        let known = || Costs::load(&path).0.operations();
        let until = Instant::now() + Duration::from_secs(5);
        while learn("child").is_ok() && Instant::now() < until {
            if known().contains(&"child".to_owned()) {
                return true;
            }
        }
        false
    });
}
