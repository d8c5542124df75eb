//! The `breakeven` command.

use std::process::ExitCode;

use breakeven_cli::{exit, run};

fn main() -> ExitCode {
    #[cfg(unix)]
    {
        without_display();
        wait_for_readers();
    }
    let mut out = anstream::stdout();
    let mut err = anstream::stderr();
    exit::code(run(std::env::args_os(), &mut out, &mut err))
}

/// Has writes wait while a reader is slow. Who shares these pipes may have set them not to:
/// then what does not fit at once, and the error that says so, would be lost.
#[cfg(unix)]
fn wait_for_readers() {
    // What is no pipe has no such mode.
    let _ = rustix::io::ioctl_fionbio(std::io::stdout(), false);
    let _ = rustix::io::ioctl_fionbio(std::io::stderr(), false);
}

/// Without the folder that this variable names, Mesa's choice of the first device looks for a
/// display in vain and says so on stderr. Devices are taken by name here: it is not needed.
#[cfg(unix)]
fn without_display() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: this is the only thread so far.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") };
    }
}
