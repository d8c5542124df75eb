//! `breakeven monitor --serve`: the sensors' figures over HTTP.
//!
//! One thread reads the sensors at its interval; the other answers with the last reading. So a
//! driver that hangs delays no scrape, and many scrapers cost no extra reading.

mod http;
mod published;

use std::io::Write;
use std::net::SocketAddr;
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use breakeven_profile::unit;
use published::Reader;
use tokio::sync::watch;

use crate::engine::supervisor::on_interrupt;
use crate::exit::Ending;

/// The second reading follows soon, because rates need two.
const SECOND_AFTER: Duration = Duration::from_millis(250);

pub(super) fn run(
    address: SocketAddr,
    interval: Duration,
    processor: String,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result<Ending> {
    let (stop, stopped) = watch::channel(false);
    on_interrupt(move || {
        stop.send_replace(true);
    })?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .context("cannot start the server")?;
    let most = http::most_connections();
    let (listener, address) = {
        let _inside = runtime.enter();
        http::listen(address)?
    };
    if !address.ip().is_loopback() {
        writeln!(
            err,
            "warning: {address} can be reached from other machines: whoever reaches it can read \
             the load and the names of processes; nothing is encrypted"
        )?;
    }
    let mut reader = Reader::open(processor);
    let page = reader.page();
    reader.publish();
    thread::Builder::new()
        .name("breakeven-sensors".to_owned())
        .spawn(move || reader.keep_reading(SECOND_AFTER.min(interval), interval))
        .context("cannot start the thread that reads the sensors")?;
    let every = unit::time(interval.as_secs_f64() * 1e9);
    writeln!(
        out,
        "serving http://{address}/metrics, read every {every}; Ctrl-C ends it"
    )?;
    out.flush()?;
    runtime.block_on(http::serve(listener, page, most, stopped));
    Ok(Ending::Done)
}
