//! Names the machine that a series belongs to.

use breakeven_profile::profile::{Cpu, Environment};

/// The machine and the kind of build in words. A different description starts a different series.
/// Driver, clock and revision are left out, so that the series shows what they change.
pub(crate) fn describe(environment: &Environment) -> String {
    let cpu = environment.cpu.clone().unwrap_or_default();
    let Cpu {
        model,
        logical_cores,
        usable_cores,
        ..
    } = cpu;
    let cores = match (logical_cores, usable_cores) {
        (Some(all), Some(usable)) if usable < all as f64 => {
            Some(format!("{usable} of {all} cores"))
        }
        (Some(1), _) => Some("1 core".to_owned()),
        (Some(all), _) => Some(format!("{all} cores")),
        (None, usable) => usable.map(|usable| format!("{usable} cores")),
    };
    let system = [environment.os.clone(), environment.arch.clone()];
    let system = system.into_iter().flatten().collect::<Vec<_>>().join(" ");
    let gpus = environment.gpus.iter().map(|gpu| match &gpu.name {
        Some(name) => format!("{} {name}", gpu.id),
        None => gpu.id.clone(),
    });
    let build = (environment.build_profile.as_deref()).filter(|build| *build != "release");
    let parts = [model, cores, Some(system).filter(|text| !text.is_empty())];
    let parts = parts.into_iter().flatten().chain(gpus);
    let parts: Vec<String> = parts
        .chain(build.map(|build| format!("{build} build")))
        .collect();
    match parts.is_empty() {
        true => "unknown machine".to_owned(),
        false => parts.join(", "),
    }
}
