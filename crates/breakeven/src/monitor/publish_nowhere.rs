//! Publishing where there are no Unix sockets: it says so.

use thiserror::Error;

/// The environment variable by which a program is asked to publish.
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

/// Says once that nothing is published, if it was asked for.
pub(crate) fn publish_if_asked() {
    static ASKED: std::sync::Once = std::sync::Once::new();
    ASKED.call_once(|| {
        if std::env::var_os(MONITOR_VARIABLE).is_some_and(|value| value == "1") {
            log::warn!("{MONITOR_VARIABLE}: {}", PublishError::Unsupported);
        }
    });
}
