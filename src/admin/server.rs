//! The operator's socket: connections come in, each request is given to the pages, until it is time to stop.

use std::{
    collections::VecDeque,
    convert::Infallible,
    future::Future,
    sync::Arc,
    time::{Duration, Instant},
};

use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};

use super::{pages, state::AdminState};

/// Connections at a time; whoever comes then takes the place of the oldest one, which is idle or does not read its answer.
/// Nobody who holds connections open may keep the orchestrator from learning that the gateway lives.
pub(super) const MAX_CONNECTIONS: usize = 256;
/// From a connection being ready for a request to the request's head being read. A scrape that finds its connection closed
/// makes another.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long answers that have begun may take once it is time to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// How long to leave the socket alone when a connection cannot be taken, as when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often it is logged that none can be taken.
const REPEATED: Duration = Duration::from_secs(1);

/// Serves the operator's pages on this socket until `shutdown` is over, then ends the answers that have begun.
pub async fn serve(listener: TcpListener, state: Arc<AdminState>, shutdown: impl Future<Output = ()>) {
    let (stop, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    // By age.
    let mut open: VecDeque<AbortHandle> = VecDeque::new();
    let mut told: Option<Instant> = None;
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => open.retain(|connection| !connection.is_finished()),
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if open.len() >= MAX_CONNECTIONS && let Some(oldest) = open.pop_front() {
                        oldest.abort();
                    }
                    open.push_back(connections.spawn(connection(stream, Arc::clone(&state), stopped.clone())));
                }
                Err(error) => {
                    if told.is_none_or(|at| at.elapsed() >= REPEATED) {
                        told = Some(Instant::now());
                        tracing::warn!(target: "admin", %error, "connections cannot be taken and wait");
                    }
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop((listener, stop));
    let _ = timeout(LAST_ANSWERS, async { while connections.join_next().await.is_some() {} }).await;
}

async fn connection(stream: TcpStream, state: Arc<AdminState>, mut stopped: watch::Receiver<()>) {
    let service = service_fn(|request: Request<Incoming>| {
        let answer = pages::answer(&state, &request.into_parts().0);
        async { Ok::<_, Infallible>(answer) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // A client that breaks off, or sends no HTTP, is nobody's concern here.
    let _ = tokio::select! {
        over = connection.as_mut() => over,
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
}
