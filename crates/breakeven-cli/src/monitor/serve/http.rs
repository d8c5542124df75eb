//! The HTTP server: one thread, a bounded number of connections, each of bounded size and duration.

use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use thiserror::Error;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

use super::Published;
use crate::monitor::metrics::CONTENT_TYPE as OPENMETRICS;

/// Most open connections; further ones wait in the system's queue. A process may usually have 1024
/// files open.
const MOST_CONNECTIONS: u32 = 900;

/// Longest time for a request's head to arrive, and for an idle connection.
const HEAD_WITHIN: Duration = Duration::from_secs(5);

/// After this time a connection gets no further request, so that a slow reader does not keep its
/// place.
const LIFETIME: Duration = Duration::from_secs(60);

/// How long an answer may continue after that, or after Ctrl-C.
const LAST_ANSWER: Duration = Duration::from_secs(3);

/// Longest head of a request: hyper's minimum.
const BUFFER: usize = 8192;

/// Why the server cannot start.
#[derive(Debug, Error)]
pub(super) enum ListenError {
    #[error(
        "{address} is in use: another program listens there; end it, or give another port, \
         such as --serve {ip}:{next}",
        ip = address.ip(),
        next = address.port().checked_add(1).unwrap_or(9400)
    )]
    InUse { address: SocketAddr },
    #[error(
        "{address}: not an address of this machine; 127.0.0.1 is for this machine alone, \
         0.0.0.0 for every network that it is on"
    )]
    NotHere { address: SocketAddr },
    #[error("{address}: {source}; give a port from 1024 on, such as 127.0.0.1:9400")]
    Other {
        address: SocketAddr,
        source: io::Error,
    },
}

/// Begins to listen. The address is the given one, with the assigned port if that is 0.
pub(super) async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), ListenError> {
    let listening = TcpListener::bind(address).await;
    let listening = listening.and_then(|listener| Ok((listener.local_addr()?, listener)));
    match listening {
        Ok((address, listener)) => Ok((listener, address)),
        Err(source) => Err(match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse { address },
            io::ErrorKind::AddrNotAvailable => ListenError::NotHere { address },
            _ => ListenError::Other { address, source },
        }),
    }
}

/// Answers until it is stopped, and then finishes the answers that have begun.
pub(super) async fn serve(
    listener: TcpListener,
    published: Published,
    mut stopped: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS as usize));
    loop {
        let place = Arc::clone(&places).acquire_owned();
        let accepted = async {
            let place = place.await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => break,
            accepted = accepted => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = connection(stream, published.clone(), stopped.clone());
                tokio::spawn(async move {
                    let _place = place;
                    connection.await;
                });
            }
            // Out of files or memory, or the client has gone: the next attempt may succeed.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
    drop(listener);
    // Clients that have not read their answer by then do not get it.
    let _ = timeout(LAST_ANSWER, places.acquire_many(MOST_CONNECTIONS)).await;
}

async fn connection(stream: TcpStream, published: Published, mut stopped: watch::Receiver<bool>) {
    let answer = service_fn(|request: Request<Incoming>| {
        ready(Ok::<_, Infallible>(answer(&request, &published)))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), answer);
    let mut connection = pin!(connection);
    tokio::select! {
        // Whatever ended the connection, the client knows or has gone.
        _ = connection.as_mut() => return,
        () = sleep(LIFETIME) => {}
        _ = stopped.wait_for(|stopped| *stopped) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = timeout(LAST_ANSWER, connection).await;
}

fn answer(request: &Request<Incoming>, published: &Published) -> Response<Full<Bytes>> {
    if request.uri().path() != "/metrics" {
        return says(StatusCode::NOT_FOUND, "the metrics are at /metrics\n");
    }
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refusal = says(StatusCode::METHOD_NOT_ALLOWED, "use GET or HEAD\n");
        let allowed = HeaderValue::from_static("GET, HEAD");
        refusal.headers_mut().insert(ALLOW, allowed);
        return refusal;
    }
    let mut page = Response::new(Full::new(published.page().clone()));
    let headers = page.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(OPENMETRICS));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    page
}

fn says(status: StatusCode, text: &'static str) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(text.as_bytes())));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, plain);
    response
}
