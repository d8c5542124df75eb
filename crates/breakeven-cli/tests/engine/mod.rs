//! The commands that measure and run.

#[cfg(unix)]
mod ab;
mod bad_use;
mod detection;
mod doctor;
mod energy;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod interrupt;
#[cfg(unix)]
mod monitor;
mod no_gpu;
mod plan;
mod profile;
mod profile_strategy;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod progress;
#[cfg(unix)]
mod record;
#[cfg(unix)]
mod run;
#[cfg(unix)]
mod serve;
mod sweep;
#[cfg(unix)]
mod sweep_commands;
mod tune;
mod vulkan;
