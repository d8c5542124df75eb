//! Publishing on systems without Unix sockets: returns an error.

use thiserror::Error;

/// The environment variable that makes a program publish.
pub const MONITOR_VARIABLE: &str = "BREAKEVEN_MONITOR";

/// Why a program does not publish.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The system has no Unix sockets.
    #[error("programs publish on Linux, macOS and other Unix systems only")]
    Unsupported,
}

/// Publishes this program's figures for `breakeven monitor`.
///
/// # Errors
///
/// [`PublishError::Unsupported`], always, on this system.
pub fn publish() -> Result<(), PublishError> {
    Err(PublishError::Unsupported)
}

/// Ends what [`publish`] began.
pub fn withdraw() {}

/// Warns once that nothing is published, if it was requested.
pub(crate) fn publish_if_asked() {
    static ASKED: std::sync::Once = std::sync::Once::new();
    ASKED.call_once(|| {
        if std::env::var_os(MONITOR_VARIABLE).is_some_and(|value| value == "1") {
            log::warn!("{MONITOR_VARIABLE}: {}", PublishError::Unsupported);
        }
    });
}
