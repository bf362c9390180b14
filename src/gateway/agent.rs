//! A request comes in, the head of the agent's answer goes out, or why there is none. A request is sent once:
//! it goes to another connection or url only while no byte of it was on any.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    io,
    pin::pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, Version, header};

use super::{
    alarm::Alarm,
    drain::{Drain, Registration},
    endpoint::{Endpoint, NoLink},
    link::{Download, Unanswered},
    route,
    translate::{Reading, translated},
    upload::{Intake, Progress, Upload},
};
use crate::{
    config,
    observe::{Attempt, Metrics},
    wire::Encoding,
};

/// How long the body of a request that no url took is read, so that one knows whether it was a run.
const UNWANTED: Duration = Duration::from_secs(1);

/// What answers on a route, as one thread sees it.
#[derive(Debug)]
pub struct Agent {
    /// As configured.
    pub config: config::Agent,
    /// Its name.
    pub name: Arc<str>,
    /// Whether it has answered with protobuf of 1.0.
    pub speaks_protobuf: Rc<Cell<bool>>,
    endpoints: Vec<Rc<Endpoint>>,
    /// The `Host` that the configuration sets instead of the url's.
    own_host: Option<HeaderValue>,
    turn: Cell<usize>,
}

/// Why an agent gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// None of its urls took the connection.
    Unreachable,
    /// None of them took it in time.
    ConnectTimeout,
    /// `timeouts.first_event` passed without the head of an answer.
    FirstEventTimeout,
    /// `timeouts.run` passed without the head of an answer.
    RunTimeout,
    /// The connection broke before the head of an answer.
    Broken,
    /// The gateway had to stop before the head of an answer.
    Drained,
    /// The request's body stopped coming.
    BodyTimeout,
    /// The request's body is larger than its limit.
    BodyTooLarge,
    /// The request's body broke off.
    BodyBroken,
    /// The request's body has a content coding that cannot be undone, and has to be.
    BodyCoding,
    /// The request's body is not what a tool policy can read.
    BodyUnreadable,
}

/// A request on its way: all of it but the urls, which the endpoint decides.
#[derive(Debug)]
pub struct Errand<'a> {
    /// The method.
    pub method: Method,
    /// What is left of the path below the route.
    pub rest: &'a str,
    /// The client's query.
    pub query: Option<&'a str>,
    /// As the agent shall see them.
    pub headers: HeaderMap,
    /// The body.
    pub upload: Upload,
    /// For what the body has to be read, if it has to be.
    pub reading: Option<Reading>,
    /// When the request's head was read.
    pub received: Instant,
    /// The order to shut down.
    pub drain: Rc<Drain>,
}

impl Agent {
    /// An agent with a pool of its own.
    pub fn new(config: &config::Agent, metrics: &Metrics) -> io::Result<Self> {
        let endpoints = config
            .urls
            .iter()
            .map(|uri| {
                let metrics = metrics.endpoint(&config.name, &uri.to_string());
                Endpoint::new(uri, config.http, config.timeouts.connect, metrics)
            })
            .collect::<io::Result<_>>()?;
        Ok(Self {
            name: Arc::from(config.name.as_str()),
            config: config.clone(),
            speaks_protobuf: Rc::default(),
            own_host: config
                .headers
                .set
                .iter()
                .rev()
                .find(|(name, _)| name == header::HOST)
                .map(|(_, value)| value.clone()),
            endpoints,
            turn: Cell::new(0),
        })
    }

    /// Lets go of connections that are of no more use.
    pub fn sweep(&self) {
        for endpoint in &self.endpoints {
            endpoint.sweep();
        }
    }

    /// Sends the request and waits for the head of the answer; the url that gave it comes with it.
    pub async fn send(&self, errand: Errand<'_>) -> Result<(Response<Download>, Rc<Endpoint>), Failure> {
        let mut patience = Patience::new(&self.config.timeouts, &errand);
        let intake = errand.upload.intake().clone();
        let out_of_time = Cell::new(false);
        let mut sending = pin!(self.try_each(errand, &out_of_time));
        poll_fn(|cx| {
            if let Poll::Ready(answer) = sending.as_mut().poll(cx) {
                return Poll::Ready(answer.map_err(|failure| match intake.progress() {
                    Progress::TooLarge => Failure::BodyTooLarge,
                    Progress::Broken => Failure::BodyBroken,
                    _ => failure,
                }));
            }
            patience.poll(cx).map(|failure| {
                out_of_time.set(true);
                Err(failure)
            })
        })
        .await
    }

    async fn try_each(
        &self,
        errand: Errand<'_>,
        out_of_time: &Cell<bool>,
    ) -> Result<(Response<Download>, Rc<Endpoint>), Failure> {
        let first = self.turn.get();
        self.turn.set((first + 1) % self.endpoints.len().max(1));
        let Errand { method, rest, query, mut headers, mut upload, reading, .. } = errand;
        if let Some(reading) = reading {
            upload = translated(upload, &mut headers, &reading).await?;
        }
        let mut request = Request::new(upload);
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        let mut failure = Failure::Unreachable;
        for turn in 0..self.endpoints.len() {
            let endpoint = &self.endpoints[(first + turn) % self.endpoints.len()];
            address(&mut request, endpoint, rest, query, self.own_host.as_ref());
            loop {
                let mut attempt = Attempted { endpoint, result: Attempt::ClientGone, out_of_time };
                let (link, used) = match endpoint.link().await {
                    Ok(link) => link,
                    Err(no) => {
                        failure = match no {
                            NoLink::Refused => Failure::Unreachable,
                            NoLink::Timeout => Failure::ConnectTimeout,
                        };
                        attempt.result = Attempt::Unreachable;
                        break;
                    }
                };
                match link.exchange(request, endpoint).await {
                    Ok(answer) => {
                        let stream = answer.headers().get(header::CONTENT_TYPE);
                        let stream = stream.is_some_and(|value| Encoding::of(value.as_bytes()).is_some());
                        attempt.result = if stream { Attempt::Stream } else { Attempt::Status };
                        return Ok((answer, endpoint.clone()));
                    }
                    Err(Unanswered::Unsent(unsent)) => {
                        request = *unsent;
                        attempt.result = Attempt::Unreachable;
                        if !used {
                            failure = Failure::Unreachable;
                            break;
                        }
                    }
                    Err(Unanswered::Broken) => {
                        attempt.result = Attempt::Broken;
                        return Err(Failure::Broken);
                    }
                }
            }
        }
        request.into_body().read_on(UNWANTED).await;
        Err(failure)
    }
}

/// An attempt at one url, counted with what became of it, also when nobody waits for that any more.
struct Attempted<'a> {
    endpoint: &'a Endpoint,
    result: Attempt,
    out_of_time: &'a Cell<bool>,
}

impl Drop for Attempted<'_> {
    fn drop(&mut self) {
        let unfinished = self.result == Attempt::ClientGone;
        let result = if unfinished && self.out_of_time.get() { Attempt::Timeout } else { self.result };
        self.endpoint.attempted(result);
    }
}

/// Addresses a request to an endpoint, at its own host unless another was chosen.
fn address(
    request: &mut Request<Upload>,
    endpoint: &Endpoint,
    rest: &str,
    query: Option<&str>,
    own_host: Option<&HeaderValue>,
) {
    let host = own_host.unwrap_or(endpoint.host());
    let mut parts = http::uri::Parts::default();
    parts.path_and_query = route::target(endpoint.uri(), rest, query).parse().ok();
    if endpoint.is_http2() {
        parts.scheme = endpoint.uri().scheme().cloned();
        parts.authority = host.to_str().ok().and_then(|host| host.parse().ok());
        *request.version_mut() = Version::HTTP_2;
        request.headers_mut().remove(header::HOST);
    } else {
        request.headers_mut().insert(header::HOST, host.clone());
    }
    if let Ok(uri) = Uri::from_parts(parts) {
        *request.uri_mut() = uri;
    }
}

/// The limits until the head of an answer is there.
struct Patience {
    first_event: Option<Duration>,
    run: Option<Instant>,
    intake: Rc<Intake>,
    drain: Rc<Drain>,
    registration: Option<Registration>,
    alarm: Alarm,
}

impl Patience {
    fn new(limits: &config::Timeouts, errand: &Errand<'_>) -> Self {
        Self {
            first_event: limits.first_event,
            run: limits.run.map(|limit| errand.received + limit),
            intake: errand.upload.intake().clone(),
            drain: errand.drain.clone(),
            registration: None,
            alarm: Alarm::default(),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        self.registration.get_or_insert_with(|| self.drain.register(cx.waker()));
        loop {
            let first = self.first_event.map(|limit| self.intake.moved_at() + limit);
            let drained = self.drain.deadline();
            let Some(due) = [first, self.run, drained].into_iter().flatten().min() else { return Poll::Pending };
            std::task::ready!(self.alarm.poll(due, cx));
            if Some(due) == drained {
                return Poll::Ready(Failure::Drained);
            }
            if Some(due) == self.run {
                return Poll::Ready(Failure::RunTimeout);
            }
            // The body may have moved since, which moves this limit too.
            if self.first_event.is_some_and(|limit| self.intake.moved_at() + limit <= due) {
                let complete = self.intake.progress() == Progress::Complete;
                return Poll::Ready(if complete { Failure::FirstEventTimeout } else { Failure::BodyTimeout });
            }
        }
    }
}
