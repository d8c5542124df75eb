//! From facts to findings, a subject a file.

mod addresses;
mod clock;
mod cores;
mod frequency;
mod gpu;
mod heat;
mod load;
mod quota;
mod swap;
mod virtualisation;

use super::facts::Facts;
use super::finding::Finding;

/// All rules, in the order in which their findings are told.
const RULES: [fn(&Facts) -> Vec<Finding>; 10] = [
    frequency::look,
    heat::look,
    cores::look,
    quota::look,
    load::look,
    virtualisation::look,
    clock::look,
    swap::look,
    addresses::look,
    gpu::look,
];

/// What the facts say of the machine. Reads nothing.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(facts)).collect()
}
