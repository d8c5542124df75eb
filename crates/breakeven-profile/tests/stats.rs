//! The statistics against SciPy, against their own laws, and against chance.

mod calibration;
mod laws;
mod vectors;
