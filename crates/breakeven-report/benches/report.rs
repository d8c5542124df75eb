//! Measures how long a page of 1 000 operations takes to make and to open, and its size.
//!
//!     cargo bench -p breakeven-report --bench report
//!
//! Opening is measured by the page's own clock, from the request to a headless Chromium until the
//! page is drawn: the median of seven. Each operation has ten runs of 100 samples.
#![allow(
    clippy::print_stdout,
    dead_code,
    missing_docs,
    reason = "a bench prints its figures, and uses a part of what the tests do"
)]

#[path = "../tests/browser.rs"]
mod browser;
#[path = "../tests/made.rs"]
mod made;
#[path = "../../../bench/metric.rs"]
mod metric;

use std::time::Instant;

use metric::metric;

fn main() {
    let profile = made::many(1_000, 10, 100);
    let begin = Instant::now();
    let html = made::page(&profile, None, &[]);
    metric("report_make_s", begin.elapsed().as_secs_f64(), "s");
    metric("report_bytes_1000_operations", html.len() as f64, "bytes");
    metric(
        "report_bytes_small",
        made::page(&made::whole(), None, &[]).len() as f64,
        "bytes",
    );
    let Some(mut browser) = browser::Browser::start() else {
        return;
    };
    let file = browser.file(&html);
    let mut times = [0; 7].map(|_| browser.open(&file, ""));
    times.sort_by(f64::total_cmp);
    metric("report_open_s", times[3], "s");
}
