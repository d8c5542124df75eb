//! Runs a function when the process ends other than by a signal.

/// Registers a function to be called then, on the thread that ends the process; other threads still
/// run. On Windows a library's threads have ended before, so nothing is called.
pub fn at_exit(call: extern "C" fn()) {
    #[cfg(unix)]
    // SAFETY: `atexit` is the C library's, which the standard library links; it keeps a pointer
    // to a function that lives as long as this code is loaded (it runs when a library is
    // unloaded, if it is one), takes nothing and does not unwind.
    let _ = unsafe { atexit(call) };
    #[cfg(not(unix))]
    let _ = call;
}

// SAFETY: the declaration is that of C11, 7.22.4.2.
#[cfg(unix)]
unsafe extern "C" {
    fn atexit(function: extern "C" fn()) -> std::ffi::c_int;
}
