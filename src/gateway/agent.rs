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

use http::{HeaderMap, Method, Request, Response, header, uri::PathAndQuery};

use super::{
    alarm::Alarm,
    certificates::Certificates,
    connect::Connector,
    drain::{Drain, Registration},
    endpoint::{Endpoint, NoLink},
    headers,
    link::{Download, Unanswered},
    route,
    source::is_coded,
    standing::{Running, Standings},
    translate::{Reading, looked_into, translated},
    upload::{Intake, Progress, UNWANTED, Upload},
};
use crate::{config, observe::Attempt, wire::Encoding};

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
    standings: Arc<Standings>,
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
    /// The request's body stopped coming, or came too slowly.
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
    /// What to ask each url for.
    pub targets: &'a [PathAndQuery],
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
    /// An agent with a pool of its own, and what all threads know of it.
    pub fn new(config: &config::Agent, certificates: &Certificates, standings: Arc<Standings>) -> io::Result<Self> {
        let endpoints = config.urls.iter().enumerate();
        let endpoints = endpoints.map(|(place, uri)| {
            let connector = Connector::new(config, uri, certificates.client(&config.name))?;
            Endpoint::new(config, uri, connector, standings.at(place))
        });
        let endpoints = endpoints.collect::<io::Result<_>>()?;
        Ok(Self {
            name: Arc::from(config.name.as_str()),
            config: config.clone(),
            speaks_protobuf: Rc::default(),
            endpoints,
            standings,
        })
    }

    /// Whether it is configured so, and this is what all threads know of it.
    pub fn is_of(&self, config: &config::Agent, standings: &Arc<Standings>) -> bool {
        self.config == *config && Arc::ptr_eq(&self.standings, standings)
    }

    /// Its urls, as configured.
    pub fn endpoints(&self) -> &[Rc<Endpoint>] {
        &self.endpoints
    }

    /// What to ask each url for, by what is left of the path below the route and the client's query; `None` if that is too
    /// long for one of them.
    pub fn targets(&self, rest: &str, query: Option<&str>) -> Option<Vec<PathAndQuery>> {
        self.endpoints.iter().map(|endpoint| route::target(endpoint.uri(), rest, query)).collect()
    }

    /// Lets go of connections that are of no more use.
    pub fn sweep(&self) {
        self.standings.look(Instant::now());
        for endpoint in &self.endpoints {
            endpoint.sweep();
        }
    }

    /// Sends the request and waits for the head of the answer; the url that gave it comes with it.
    pub async fn send(&self, errand: Errand<'_>) -> Result<(Response<Download>, Rc<Endpoint>), Failure> {
        let mut patience = Patience::new(&self.config.timeouts, &errand);
        let intake = errand.upload.intake().clone();
        let out_of_time = Cell::new(None);
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
                out_of_time.set(Some(failure));
                Err(failure)
            })
        })
        .await
    }

    async fn try_each(
        &self,
        errand: Errand<'_>,
        out_of_time: &Cell<Option<Failure>>,
    ) -> Result<(Response<Download>, Rc<Endpoint>), Failure> {
        let Errand { method, targets, mut headers, mut upload, reading, .. } = errand;
        let may_be_input = headers::carry_json(&method, &headers);
        if let Some(reading) = reading {
            upload = translated(upload, &mut headers, &reading).await?;
        } else if may_be_input && is_coded(&headers) {
            upload = looked_into(upload, &headers).await?;
        }
        if upload.is_whole() {
            // It has none.
            headers.remove(header::TRAILER);
        }
        let thread = match may_be_input && self.standings.sticks() {
            true => upload.thread().await.map_err(|_| Failure::BodyBroken)?,
            false => None,
        };
        let mut request = Request::new(upload);
        *request.method_mut() = method;
        *request.headers_mut() = headers;
        let mut failure = Failure::Unreachable;
        let order = self.standings.order(thread.as_deref(), Instant::now());
        let place = |place: usize| self.endpoints.get(place).zip(targets.get(place));
        for (endpoint, target) in order.into_iter().filter_map(place) {
            loop {
                let mut attempt = Attempted::at(endpoint, out_of_time);
                let (link, used) = match endpoint.link().await {
                    Ok(link) => link,
                    Err(no) => {
                        failure = match no {
                            NoLink::Refused => Failure::Unreachable,
                            NoLink::Timeout => Failure::ConnectTimeout,
                        };
                        attempt.failed(Attempt::Unreachable);
                        break;
                    }
                };
                if let Err(error) = endpoint.address(&mut request, target, link.version()) {
                    tracing::error!(endpoint = %endpoint.label(), %error, "a request cannot be addressed to the agent");
                    attempt.failed(Attempt::Unreachable);
                    failure = Failure::Unreachable;
                    break;
                }
                match link.exchange(request, endpoint).await {
                    Ok(mut answer) => {
                        attempt.answered(&mut answer);
                        return Ok((answer, endpoint.clone()));
                    }
                    Err(Unanswered::Unsent(unsent)) => {
                        request = *unsent;
                        if used {
                            // It may be closed at any time, which is no fault.
                            attempt.result = Attempt::Unreachable;
                        } else {
                            attempt.failed(Attempt::Unreachable);
                            failure = Failure::Unreachable;
                            break;
                        }
                    }
                    Err(Unanswered::Broken) => {
                        attempt.failed(Attempt::Broken);
                        return Err(Failure::Broken);
                    }
                }
            }
        }
        request.into_body().read_on(UNWANTED).await;
        Err(failure)
    }
}

/// An attempt at one url: counted with what became of it, also when nobody waits for that any more, and a run at that
/// url for as long.
struct Attempted<'a> {
    endpoint: &'a Endpoint,
    result: Attempt,
    /// Whether the endpoint has shown that it works, or that it does not.
    works: Option<bool>,
    running: Option<Running>,
    out_of_time: &'a Cell<Option<Failure>>,
}

impl<'a> Attempted<'a> {
    fn at(endpoint: &'a Endpoint, out_of_time: &'a Cell<Option<Failure>>) -> Self {
        let running = Some(endpoint.standing().run());
        Self { endpoint, result: Attempt::ClientGone, works: None, running, out_of_time }
    }

    fn failed(&mut self, result: Attempt) {
        (self.result, self.works) = (result, Some(false));
    }

    /// The head of the answer is there, and the run counts on until its body is over.
    fn answered(&mut self, answer: &mut Response<Download>) {
        let stream = answer.headers().get(header::CONTENT_TYPE);
        let stream = stream.is_some_and(|value| Encoding::of(value.as_bytes()).is_some());
        self.result = if stream { Attempt::Stream } else { Attempt::Status };
        self.works = match answer.status() {
            status if status.is_server_error() => Some(false),
            // That is known when its first event is there, or not in time.
            status if stream && status.is_success() => None,
            _ => Some(true),
        };
        if let Some(running) = self.running.take() {
            answer.body_mut().counts(running);
        }
    }
}

impl Drop for Attempted<'_> {
    fn drop(&mut self) {
        let unfinished = self.result == Attempt::ClientGone;
        let out_of_time = self.out_of_time.get().filter(|_| unfinished);
        self.endpoint.attempted(if out_of_time.is_some() { Attempt::Timeout } else { self.result });
        match self.works {
            Some(true) => self.endpoint.standing().succeeded(),
            None if out_of_time != Some(Failure::FirstEventTimeout) => {}
            _ => self.endpoint.standing().failed(Instant::now()),
        }
    }
}

/// The time in which an input has to be there, and so much more for each KiB of it: whoever sends it byte by byte only
/// holds a place.
const UPLOAD: (Duration, Duration) = (Duration::from_secs(60), Duration::from_secs(1));

/// The limits until the head of an answer is there.
struct Patience {
    first_event: Option<Duration>,
    /// For an input, when its head was read.
    begun: Option<Instant>,
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
            begun: headers::carry_json(&errand.method, &errand.headers).then_some(errand.received),
            run: limits.run.map(|limit| errand.received + limit),
            intake: errand.upload.intake().clone(),
            drain: errand.drain.clone(),
            registration: None,
            alarm: Alarm::default(),
        }
    }

    /// When the input has to be there, while it is its client that is waited for.
    fn upload_ends(&self) -> Option<Instant> {
        let (time, each) = UPLOAD;
        let more = each.saturating_mul(u32::try_from(self.intake.taken() / 1024).unwrap_or(u32::MAX));
        self.begun.filter(|_| self.intake.waits_for_client()).and_then(|begun| begun.checked_add(time + more))
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Failure> {
        self.registration.get_or_insert_with(|| self.drain.register(cx.waker()));
        loop {
            let first = self.first_event.map(|limit| self.intake.moved_at() + limit);
            let drained = self.drain.deadline();
            let upload = self.upload_ends();
            let Some(due) = [first, self.run, drained, upload].into_iter().flatten().min() else {
                return Poll::Pending;
            };
            std::task::ready!(self.alarm.poll(due, cx));
            if Some(due) == drained {
                return Poll::Ready(Failure::Drained);
            }
            // Whose fault it is depends on who is waited for: an agent need not take what it is sent either.
            let slow_client = self.intake.waits_for_client();
            if Some(due) == self.run {
                return Poll::Ready(if slow_client { Failure::BodyTimeout } else { Failure::RunTimeout });
            }
            if slow_client && self.upload_ends().is_some_and(|ends| ends <= due) {
                return Poll::Ready(Failure::BodyTimeout);
            }
            // The body may have moved since, which moves this limit too.
            if self.first_event.is_some_and(|limit| self.intake.moved_at() + limit <= due) {
                return Poll::Ready(if slow_client { Failure::BodyTimeout } else { Failure::FirstEventTimeout });
            }
        }
    }
}
