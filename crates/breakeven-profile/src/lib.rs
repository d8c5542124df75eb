//! Record what a program does and keep it.
pub mod profile;
pub mod stats;
