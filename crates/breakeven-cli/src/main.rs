//! The `breakeven` command.

use std::process::ExitCode;

use breakeven_cli::run;

fn main() -> ExitCode {
    #[cfg(unix)]
    {
        without_display();
        wait_for_readers();
    }
    let mut out = anstream::stdout();
    let mut err = anstream::stderr();
    ExitCode::from(run(std::env::args_os(), &mut out, &mut err))
}

/// Makes writes block while a reader is slow. Another process that shares these pipes may have made
/// them non-blocking; output that does not fit at once would then be lost, and the error message
/// too.
#[cfg(unix)]
fn wait_for_readers() {
    // Only a pipe has this mode.
    let _ = rustix::io::ioctl_fionbio(std::io::stdout(), false);
    let _ = rustix::io::ioctl_fionbio(std::io::stderr(), false);
}

/// Without the folder that this variable names, Mesa's device selection looks for a display in vain
/// and reports that on stderr. Devices are chosen by name here, so it is not needed.
#[cfg(unix)]
fn without_display() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: this is the only thread so far.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}
