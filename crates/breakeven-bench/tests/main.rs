//! Tests of the harness.
