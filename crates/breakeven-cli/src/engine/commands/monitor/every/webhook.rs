//! Sends an alert by HTTP.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::header::{CONNECTION, CONTENT_TYPE, HOST, USER_AGENT};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::engine::periodic::alert::Alert;

/// Tries, with pauses of half a second, one and two seconds between them.
const TRIES: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// Why an alert did not arrive.
#[derive(Debug, thiserror::Error)]
pub(super) enum WebhookError {
    #[error("cannot be reached: {0}")]
    Unreached(#[from] io::Error),
    #[error("answers no HTTP: {0}")]
    Http(#[from] hyper::Error),
    #[error("did not answer within {:.1} s", .0.as_secs_f64())]
    Silent(Duration),
    #[error("answered {0}")]
    Refused(StatusCode),
    #[error("cannot be asked: {0}")]
    Request(#[from] hyper::http::Error),
}

impl WebhookError {
    /// Whether it may go better another time: a refusal of the client's fault stays one.
    fn may_pass(&self) -> bool {
        match self {
            Self::Refused(status) => {
                status.is_server_error() || *status == StatusCode::TOO_MANY_REQUESTS
            }
            Self::Request(_) => false,
            Self::Unreached(_) | Self::Http(_) | Self::Silent(_) => true,
        }
    }
}

/// Sends the alert, again where that may help; once alone where this program is to end.
pub(super) fn send(
    to: &Uri,
    alert: &Alert,
    limit: Duration,
    interrupted: &AtomicBool,
) -> Result<(), WebhookError> {
    let body = Bytes::from(serde_json::to_vec(alert).map_err(io::Error::from)?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    let mut pause = FIRST_PAUSE;
    for number in 1.. {
        let sent = runtime.block_on(async {
            let sent = timeout(limit, post(to, body.clone())).await;
            sent.unwrap_or(Err(WebhookError::Silent(limit)))
        });
        match sent {
            Err(error) if error.may_pass() && number < TRIES => {
                if !wait(pause, interrupted) {
                    return Err(error);
                }
                pause *= 2;
            }
            ended => return ended,
        }
    }
    Ok(())
}

/// Waits, unless this program is to end.
fn wait(pause: Duration, interrupted: &AtomicBool) -> bool {
    let start = Instant::now();
    while start.elapsed() < pause {
        if interrupted.load(Ordering::SeqCst) {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
    true
}

async fn post(to: &Uri, body: Bytes) -> Result<(), WebhookError> {
    let host = to.host().unwrap_or_default();
    let authority = to.authority().map_or(host, |authority| authority.as_str());
    // An IPv6 address is in brackets there and without them here.
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let stream = TcpStream::connect((bare, to.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    let request = Request::post(to.path_and_query().map_or("/", |path| path.as_str()))
        .header(HOST, authority)
        .header(CONTENT_TYPE, "application/json")
        .header(USER_AGENT, concat!("breakeven/", env!("CARGO_PKG_VERSION")))
        .header(CONNECTION, "close")
        .body(Full::new(body))?;
    let answer = sender.send_request(request);
    let status = tokio::select! {
        answer = answer => answer?.status(),
        // What ends the connection early is in the answer as well, if there is one.
        Err(error) = connection => return Err(error.into()),
    };
    match status.is_success() {
        true => Ok(()),
        false => Err(WebhookError::Refused(status)),
    }
}
