//! `breakeven monitor`, watching programs and drawn in a real terminal.

mod program;
mod programs;
mod terminal;
