#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1 as client_http1, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

use super::{super::agent, *};

async fn agent() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(agent::serve(listener));
    address
}

/// The least that passes the demo: it passes events on, ends broken streams and counts runs.
async fn least_gateway(agent: SocketAddr, break_the_bytes: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let counts = Arc::new([const { AtomicUsize::new(0) }; 3]);
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let counts = counts.clone();
            let service = service_fn(move |request: Request<Incoming>| {
                let counts = counts.clone();
                async move {
                    let answer = if request.uri().path() == "/metrics" {
                        let count = |n: usize| counts[n].load(Relaxed);
                        Response::new(Full::from(format!(
                            "tidegate_runs_total{{outcome=\"finished\"}} {}\ntidegate_runs_total{{outcome=\"agent_error\"}} {}\n\
                             tidegate_runs_total{{outcome=\"truncated\"}} {}\n",
                            count(0),
                            count(1),
                            count(2)
                        )))
                    } else {
                        let (text, outcome) = relay(agent, request, break_the_bytes).await;
                        counts[outcome].fetch_add(1, Relaxed);
                        let mut response = Response::new(Full::<Bytes>::from(text));
                        response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
                        response
                    };
                    Ok::<_, Infallible>(answer)
                }
            });
            tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
        }
    });
    address
}

async fn relay(agent: SocketAddr, request: Request<Incoming>, break_the_bytes: bool) -> (String, usize) {
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let stream = TcpStream::connect(agent).await.unwrap();
    let (mut sender, connection) = client_http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let request = Request::post("/").header("host", "agent").body(Full::<Bytes>::from(body)).unwrap();
    let mut answer = sender.send_request(request).await.unwrap();
    let mut text = String::new();
    let mut outcome = 0;
    while let Some(frame) = answer.body_mut().frame().await {
        match frame {
            Ok(frame) => text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap()),
            Err(_) => {
                text.push_str("data: {\"type\":\"RUN_ERROR\",\"message\":\"x\",\"code\":\"UPSTREAM_TRUNCATED\"}\n\n");
                outcome = 2;
            }
        }
    }
    if outcome == 0 && text.contains("RUN_ERROR") {
        outcome = 1;
    }
    if break_the_bytes {
        text = text.replace("240.50", "240.5");
    }
    (text, outcome)
}

async fn played(target: Target) -> (Result<(), Failure>, String) {
    let mut out = Vec::new();
    let result = play(target, &mut out, Look::default()).await;
    (result, String::from_utf8(out).unwrap())
}

#[tokio::test]
async fn without_a_gateway_the_broken_run_and_the_count_fail_and_nothing_else() {
    let agent = agent().await;
    let (result, text) = played(Target { gateway: agent, admin: agent }).await;
    assert!(matches!(result, Err(Failure::NotAsScripted(2))), "{text}");
    let verdicts: Vec<_> =
        text.lines().filter_map(|line| line.trim().chars().next()).filter(|c| "✓✗".contains(*c)).collect();
    assert_eq!(verdicts, ['✓', '✓', '✓', '✓', '✗', '✗'], "{text}");
    assert!(text.contains("the body was cut off"), "{text}");
    assert!(text.contains("get_weather({\"city\":\"Bern\"}) → 12 degrees"), "{text}");
    assert!(text.contains("state = {\"to\":\"Bern\",\"days\":0,\"budget\":240.50,\"stops\":[]}"), "{text}");
    assert!(text.contains("RUN_ERROR overloaded: the model is overloaded"), "{text}");
}

#[tokio::test]
async fn a_gateway_that_ends_broken_runs_passes() {
    let gateway = least_gateway(agent().await, false).await;
    let begun = Instant::now();
    let (result, text) = played(Target { gateway, admin: gateway }).await;
    assert!(result.is_ok(), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(8));
    assert!(text.contains("RUN_ERROR UPSTREAM_TRUNCATED"), "{text}");
    assert!(text.contains("1 agent_error, 3 finished, 1 truncated"), "{text}");
    assert!(!text.contains('\x1b'), "{text}");
}

#[tokio::test]
async fn a_gateway_that_spells_a_number_anew_fails() {
    let gateway = least_gateway(agent().await, true).await;
    let (result, text) = played(Target { gateway, admin: gateway }).await;
    assert!(matches!(result, Err(Failure::NotAsScripted(1))), "{text}");
    assert!(text.contains("✗ event 2 should be"), "{text}");
}

#[tokio::test]
async fn a_gateway_that_is_not_there_fails_at_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = listener.local_addr().unwrap();
    drop(listener);
    let (result, text) = played(Target { gateway: nobody, admin: nobody }).await;
    assert!(matches!(result, Err(Failure::NotAsScripted(6))), "{text}");
    assert!(text.contains("no answer from 127.0.0.1"), "{text}");
}

#[test]
fn an_event_too_many_or_too_few_is_not_as_scripted() {
    let ids = Ids { thread: "t".into(), run: "r".into() };
    let script = Scenario::State.steps(&ids);
    let mut arrived: Vec<_> = script
        .iter()
        .filter_map(|step| match &step.what {
            What::Event(json) => Some(Arrived { at: Duration::ZERO, json: json.clone() }),
            What::BreakOff => None,
        })
        .collect();
    assert!(compare(&script, &arrived).is_ok());
    arrived.push(Arrived { at: Duration::ZERO, json: r#"{"type":"RUN_ERROR","code":"UPSTREAM_TRUNCATED"}"#.into() });
    assert!(compare(&script, &arrived).is_err());
    arrived.truncate(3);
    assert!(compare(&script, &arrived).unwrap_err().contains("only 3 arrived"));
}
