//! What happens in the periodic mode, a line each.

use std::io::Write;

use anyhow::Result;
use breakeven_judge::page::clean;
use breakeven_judge::page::figures::{plural, times};
use breakeven_profile::unit;

use crate::engine::periodic::alert::{Alert, By, State};
use crate::engine::periodic::event::Event;
use crate::output::unless_closed;

/// Prints it. It happened even if nobody is left to tell.
pub(crate) fn write(event: &Event, out: &mut dyn Write) -> Result<()> {
    let line = clean(&format!(
        "{}  {}",
        crate::engine::session::now(),
        text(event)
    ));
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    unless_closed(written.map_err(Into::into))
}

fn text(event: &Event) -> String {
    match event {
        Event::Measured {
            entry,
            operations,
            took_s,
            interrupted,
        } => format!(
            "entry {entry}: {} in {}{}",
            plural(*operations as u64, "operation"),
            seconds(*took_s),
            if *interrupted { ", interrupted" } else { "" }
        ),
        Event::Failed { reason, took_s } => {
            format!("failed after {}: {reason}", seconds(*took_s))
        }
        Event::Alert(alert) => of_alert(alert),
        Event::NotTold { by, reason } => format!("not told by {by}: {reason}"),
        Event::Late {
            took_s,
            period_s,
            left_out,
        } => format!(
            "that took {}, longer than the period of {}: {} left out",
            seconds(*took_s),
            seconds(*period_s),
            plural(*left_out, "start")
        ),
    }
}

fn seconds(s: f64) -> String {
    unit::time(s * 1e9)
}

fn of_alert(alert: &Alert) -> String {
    let [old, new, now] = [alert.old_ns, alert.new_ns, alert.value_ns].map(unit::time);
    let key = alert.key();
    match alert.state {
        State::Open => format!(
            "ALERT {key}: {old} before, {new} now, × {}, {}",
            times(alert.ratio),
            match alert.by {
                By::Factor => "by its newest value",
                By::Significance => "significantly",
            }
        ),
        State::Recovered => format!("recovered {key}: {now}, after {new}; {old} before"),
    }
}
