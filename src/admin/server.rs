//! The operator's socket: connections come in, each request is given to the pages, until it is time to stop.

use std::{convert::Infallible, future::Future, sync::Arc, time::Duration};

use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{pages, state::AdminState};

/// Connections at a time; more wait until one closes.
const MAX_CONNECTIONS: usize = 256;
/// From a connection being ready for a request to the request's head being read. Longer than scrapes are apart.
const HEAD_TIMEOUT: Duration = Duration::from_secs(75);
/// How long answers that have begun may take once it is time to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(1);
/// How long to leave the socket alone when a connection cannot be taken, as when file descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves the operator's pages on this socket until `shutdown` is over, then ends the answers that have begun.
pub async fn serve(listener: TcpListener, state: Arc<AdminState>, shutdown: impl Future<Output = ()>) {
    let (stop, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    tokio::pin!(shutdown);
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, Arc::clone(&state), stopped.clone()));
                }
                Err(error) => {
                    tracing::warn!(target: "admin", %error, "a connection could not be taken");
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
