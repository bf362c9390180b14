//! The story of one run: a request comes in; it is admitted, sent to its agent, and answered with what the
//! agent says. What is no run takes the same way and is relayed as it is.

use std::{convert::Infallible, rc::Rc, sync::Arc, time::Instant};

use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode, Version, header, uri::PathAndQuery,
};
use hyper::body::Incoming;

use super::{
    admit::{Guest, Refused},
    agent::{Agent, Errand, Failure},
    body::Body,
    cors,
    drain::GRACE,
    endpoint::Endpoint,
    head,
    headers::{self, Origin},
    length,
    link::Download,
    problem::Problem,
    route,
    setup::Setup,
    site::Site,
    socket::Line,
    source::{Source, is_coded},
    stream::{EventStream, Parts},
    tally::Tally,
    timers::Timers,
    translate::Reading,
    upload::{self, Intake, Progress, UNWANTED, Upload},
    worker::Worker,
};
use crate::{
    agui::{self, Event, Life, Text},
    config::{Fault, Guard, SlowClient},
    observe::{Code, Outcome, Refusal, RunRecord, TraceParent},
    pipeline::{Peers, input},
    wire::{
        Encoding, Writer, media,
        negotiate::{Accepted, Agreed, NotAcceptable, ask_for, negotiate},
    },
};

/// The other end of a request.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address.
    pub address: std::net::SocketAddr,
    /// Whether it speaks TLS.
    pub secure: bool,
    /// Its socket, if the request has it for itself.
    pub line: Option<Rc<Line>>,
}

/// Answers one request.
pub async fn answer(
    mut request: Request<Incoming>,
    peer: Peer,
    worker: Rc<Worker>,
) -> Result<Response<Body>, Infallible> {
    let ticket = worker.drain.ticket();
    let line = peer.line.clone();
    if let Some(line) = &line {
        line.answers();
    }
    let setup = worker.setup();
    let site = setup.site_for(&request);
    let version = request.version();
    let page = site.and_then(|site| site.page(request.headers()));
    let is_preflight = page.is_some() && cors::is_preflight(&request);
    let sound = head::check(&mut request, line.as_deref(), (&setup, site));
    let entry = match &page {
        Some(page) if is_preflight && sound.is_ok() => page.preflight(request.headers()).map(Entry::Preflight),
        Some(page) if sound.is_ok() && page.is_foreign_form(&request) => Err((Problem::ORIGIN, Refusal::Origin)),
        _ => Story::admit(&request, peer, sound.map(|()| (&*setup, site)), &worker).await.map(Entry::Story),
    };
    let mut response = match entry {
        Ok(Entry::Preflight(response)) => response,
        Ok(Entry::Story(mut story)) => {
            let mut response = story.answer(request).await;
            response.body_mut().hold(ticket, story.guest.take_place());
            response
        }
        Err((problem, reason)) => {
            worker.metrics.refused(reason);
            worker.metrics.request(problem.status);
            refuses(problem, request)
        }
    };
    if let Some(page) = page {
        page.mark(&mut response, is_preflight);
    }
    if worker.drain.begun().is_some() && version < Version::HTTP_2 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    if let Some(line) = line {
        response.body_mut().answers_on(line);
    }
    Ok(response)
}

/// What becomes of a request that is not refused.
enum Entry {
    /// It is a page's question, and this is the answer.
    Preflight(Response<Body>),
    /// The agent answers.
    Story(Story),
}

/// Answers with this problem, and sees to the rest of the body: some clients take the answer for lost if nobody does.
fn refuses(problem: Problem, request: Request<Incoming>) -> Response<Body> {
    let is_http2 = request.version() == Version::HTTP_2;
    let waits_for_leave = request.headers().contains_key(header::EXPECT);
    let mut body = request.into_body();
    if is_http2 {
        tokio::task::spawn_local(upload::hear_out(body));
        return problem.into_response();
    }
    let close = problem.close || waits_for_leave || !upload::has_come(&mut body);
    Problem { close, ..problem }.into_response()
}

/// What is known of one request and its run.
struct Story {
    worker: Rc<Worker>,
    site: Rc<Site>,
    peer: Peer,
    origin: Origin,
    /// What to ask each url of the agent for.
    targets: Vec<PathAndQuery>,
    trace: TraceParent,
    starts_trace: bool,
    accepted: Accepted,
    /// What the configuration says of the client's version; its own word counts more.
    client_version: Option<agui::Version>,
    /// Its body may be the input of a run, by what is said of it.
    carries_json: bool,
    /// An event stream may come of it: then its answer should not be compressed, and what is asked for is this
    /// gateway's choice.
    may_be_a_run: bool,
    /// It asks for the head of an answer alone.
    wants_no_body: bool,
    client: std::net::IpAddr,
    guest: Guest,
    intake: Rc<Intake>,
    received: Instant,
}

impl Story {
    /// Lets a request into its site, if its head is `sound`, or says why not.
    async fn admit(
        request: &Request<Incoming>,
        peer: Peer,
        sound: Result<(&Setup, Option<&Rc<Site>>), Refused>,
        worker: &Rc<Worker>,
    ) -> Result<Self, Refused> {
        let received = Instant::now();
        // Over HTTP/1.1 a client cannot know before its next answer.
        let told = peer.line.is_none().then(|| worker.drain.begun()).flatten();
        if told.is_some_and(|at| received >= at + GRACE) {
            return Err((Problem::DRAINING, Refusal::Draining));
        }
        let (setup, site) = sound?;
        let headers = request.headers();
        let site = site.ok_or((Problem::NOT_FOUND, Refusal::NotFound))?;
        let address = peer.address.ip().to_canonical();
        let origin = Origin {
            peer: address,
            secure: peer.secure,
            trusted: setup.trusted_proxies.iter().any(|net| net.contains(&address)),
            host: request
                .uri()
                .authority()
                .and_then(|a| HeaderValue::from_str(a.as_str()).ok())
                .or_else(|| headers.get(header::HOST).cloned()),
            version: request.version(),
        };
        let client = origin.client(headers, &setup.trusted_proxies);
        let mut guest = site.gate.admit(headers, client).await?;
        let rest = route::rest_of(&site.config.path, request.uri().path()).unwrap_or_default();
        let targets = site.agent.targets(rest, request.uri().query());
        let targets = targets.ok_or((Problem::URI_TOO_LONG, Refusal::Malformed))?;
        let declared = headers.get(header::CONTENT_LENGTH).and_then(|n| n.to_str().ok()?.parse::<u64>().ok());
        if declared.is_some_and(|length| length > site.config.limits.body) {
            return Err((Problem::BODY_TOO_LARGE, Refusal::Body));
        }
        let trace = headers.get(TRACEPARENT).and_then(|value| TraceParent::parse(value.as_bytes()));
        let accept: Vec<&[u8]> = accept(headers).collect();
        let accepted = Accepted::of(accept.iter().copied());
        let client_version = site.client_version(headers);
        if negotiate(accepted, site.sides(client_version)).is_err() && accepted.names_one() {
            return Err((Problem::NOT_ACCEPTABLE, Refusal::NotAcceptable));
        }
        let carries_json = headers::carry_json(request.method(), headers);
        let may_be_a_run = accepted.names_one() || carries_json;
        // What it is called does not make it another request.
        if may_be_a_run || *request.method() == Method::POST {
            site.gate.seat(&mut guest)?;
        }
        let readable = !is_coded(headers);
        Ok(Self {
            worker: worker.clone(),
            site: site.clone(),
            peer,
            client,
            guest,
            origin,
            targets,
            accepted,
            client_version,
            carries_json,
            may_be_a_run,
            wants_no_body: *request.method() == Method::HEAD,
            starts_trace: trace.is_none(),
            trace: trace.unwrap_or_else(TraceParent::start),
            intake: Intake::new(site, readable, worker.metrics.clone()),
            received,
        })
    }

    fn agent(&self) -> &Agent {
        &self.site.agent
    }

    /// What the client speaks, by its own word or the configuration's, as far as the request was read.
    fn client_version(&self) -> Option<agui::Version> {
        self.intake.declared().or(self.client_version)
    }

    fn agreed(&self) -> Result<Agreed, NotAcceptable> {
        negotiate(self.accepted, self.site.sides(self.client_version()))
    }

    /// For what the request's body has to be read, if it has to be.
    fn reading(&self) -> Option<Reading> {
        let between = self.site.between(self.client_version);
        let between = (self.carries_json && input::needed(&between)).then_some(between);
        let tools = self.site.recipe.tools.clone();
        (between.is_some() || tools.is_some()).then_some(Reading { between, tools, asks: self.carries_json })
    }

    /// Answers the request: with what its agent says, or that there is no answer.
    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        let version = request.version();
        let mut response = match self.send(request).await {
            // No agent was asked to switch protocols, and to the client that would not be an answer.
            Ok((answer, _)) if answer.status().is_informational() => self.fails(Failure::Broken),
            Ok((answer, endpoint)) => self.tell(answer, &endpoint).await,
            Err(failure) => self.fails(failure),
        };
        *response.version_mut() = if version == Version::HTTP_2 { Version::HTTP_2 } else { Version::HTTP_11 };
        self.site.metrics.request(response.status());
        response
    }

    /// Sends the input to the agent and waits for the head of the answer.
    async fn send(&self, request: Request<Incoming>) -> Result<(Response<Download>, Rc<Endpoint>), Failure> {
        let reading = self.reading();
        let (mut head, body) = request.into_parts();
        self.site.gate.hide(&mut head.headers);
        headers::toward_agent(&mut head.headers, &self.origin, &self.agent().config.headers);
        if self.may_be_a_run {
            head.headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
            let ask = self.agreed().map_or(media::EVENT_STREAM, |agreed| agreed.ask);
            let accept = ask_for(accept(&head.headers), ask);
            if let Ok(accept) = HeaderValue::from_bytes(&accept) {
                head.headers.insert(header::ACCEPT, accept);
            }
        }
        if self.starts_trace
            && let Ok(value) = HeaderValue::from_str(&self.trace.to_string())
        {
            head.headers.remove(TRACESTATE);
            head.headers.insert(TRACEPARENT, value);
        }
        let errand = Errand {
            method: head.method,
            targets: &self.targets,
            headers: head.headers,
            upload: Upload::new(body, self.intake.clone()),
            reading,
            received: self.received,
            drain: self.worker.drain.clone(),
        };
        let mut waiting = Waiting { story: self, answered: false };
        let answer = self.agent().send(errand).await;
        if let Err(Failure::FirstEventTimeout | Failure::RunTimeout | Failure::Broken) = answer {
            self.intake.look_on(UNWANTED).await;
        }
        waiting.answered = true;
        answer
    }

    /// Answers with what the agent says.
    async fn tell(&self, mut answer: Response<Download>, endpoint: &Endpoint) -> Response<Body> {
        if !headers::comes_plainly(answer.headers()) || !length::settle(answer.headers_mut()) {
            return self.fails(Failure::Broken);
        }
        if self.carries_json {
            // Some agents answer before they have read what they were asked, and only that tells what their answer is.
            answer.body_mut().upload(&self.intake, UNWANTED).await;
        }
        let is_run = self.intake.is_run();
        let content_type = answer.headers().get(header::CONTENT_TYPE);
        let encoding = content_type.and_then(|value| Encoding::of(value.as_bytes()));
        if let Some(encoding) = encoding.filter(|_| self.may_stream(answer.status())) {
            // An event stream may be anything; this media type says what it is. A policy judges all of them: who asks
            // does not decide whether it holds.
            let is_run = is_run || encoding == Encoding::Protobuf || self.site.recipe.has_a_policy();
            let to = match self.agreed() {
                _ if !is_run => Encoding::Sse,
                Ok(agreed) => agreed.answer(encoding),
                Err(NotAcceptable) => {
                    self.worker.metrics.refused(Refusal::NotAcceptable);
                    return Problem::NOT_ACCEPTABLE.into_response();
                }
            };
            return self.stream(answer, endpoint, is_run, encoding, to).await;
        }
        if is_run {
            if self.site.config.on_error.status == Fault::RunError || self.ignores_status() {
                let (code, status) = (Code::UpstreamStatus, answer.status());
                let message = format!("{} Its status was {}.", code.message(), status.as_u16());
                return self.error_stream((code, &message), Outcome::AgentStatus, Some(endpoint.label().clone()));
            }
            self.count(Outcome::AgentStatus, None, Some(endpoint.label().clone()));
            if answer.status().is_success() && matches!(self.site.config.guard, Guard::Repair | Guard::Refuse) {
                return Problem::NO_STREAM.into_response();
            }
        }
        let (mut head, download) = answer.into_parts();
        headers::strip_hop_by_hop(&mut head.headers);
        let until = self.agent().config.timeouts.run.map(|limit| self.received + limit);
        Response::from_parts(head, Body::relay(download, until, self.peer.line.is_none()))
    }

    /// Whether an answer with this status can be a stream: one without a body is none, whatever its headers say.
    fn may_stream(&self, status: StatusCode) -> bool {
        status.is_success() && status != StatusCode::NO_CONTENT && !self.wants_no_body
    }

    /// Answers with an event stream, in the encoding `to`.
    async fn stream(
        &self,
        answer: Response<Download>,
        endpoint: &Endpoint,
        is_run: bool,
        from: Encoding,
        to: Encoding,
    ) -> Response<Body> {
        let (mut head, source) = Source::of(answer).await;
        if is_run {
            headers::of_run(&mut head.headers, to.media_type());
        } else {
            headers::of_stream(&mut head.headers);
        }
        let mut parts = self.parts(source, is_run, Some(endpoint.label().clone()), from, to);
        parts.standing = Some(endpoint.standing().clone());
        Response::from_parts(head, Body::stream(EventStream::new(parts)))
    }

    /// Whether the client takes any answer for a stream, whatever its status: the first ones do.
    fn ignores_status(&self) -> bool {
        self.client_version().is_some_and(|version| version < STATUS)
    }

    /// The beginning of the run that was asked for, for clients before `version`, which read no failure without it.
    fn run_started(&self, version: agui::Version) -> Option<Event> {
        let run = self.intake.run().filter(|_| self.client_version().is_some_and(|client| client < version))?;
        let id = |text: Option<Text>| text.map(|text| text.value).unwrap_or_default();
        Some(Event::run_started(&id(run.thread_id), &id(run.run_id)))
    }

    /// Answers with a stream of one `RUN_ERROR`.
    fn error_stream(
        &self,
        (code, message): (Code, &str),
        outcome: Outcome,
        endpoint: Option<Arc<str>>,
    ) -> Response<Body> {
        let to = self.agreed().map_or(Encoding::Sse, |agreed| agreed.answer(Encoding::Sse));
        let mut parts = self.parts(Source::Empty, true, endpoint, Encoding::Sse, to);
        parts.started = self.run_started(STATUS);
        let mut response = Response::new(Body::stream(EventStream::of_error(parts, code, outcome, message)));
        headers::of_run(response.headers_mut(), to.media_type());
        response
    }

    fn parts(&self, source: Source, is_run: bool, endpoint: Option<Arc<str>>, from: Encoding, to: Encoding) -> Parts {
        let peers = Peers {
            client: self.client_version().unwrap_or(agui::Version::CURRENT),
            encoding: to,
            agent_encoding: from,
            agent: self.agent().config.version,
        };
        let config = &self.site.config;
        let sent = self.intake.moved_at();
        let (writer, keepalive) = match to {
            Encoding::Sse => (Writer::Sse(self.site.encoder), config.keepalive),
            Encoding::Protobuf => (Writer::Protobuf(peers.client), None),
        };
        Parts {
            started: self.run_started(agui::Version::npm(34)),
            source,
            standing: None,
            is_run,
            frame_limit: config.limits.frame,
            budget: config.limits.run,
            has_a_policy: self.site.recipe.has_a_policy(),
            agent_encoding: from,
            speaks_protobuf: self.agent().speaks_protobuf.clone(),
            pipeline: self.site.recipe.build_knowing(&peers, &self.intake.known_calls()),
            reads_ahead: config.throttle.is_some_and(|throttle| throttle.slow_client == SlowClient::Merge),
            writer,
            truncated: config.on_error.truncated,
            timers: Timers::new(&self.agent().config.timeouts, keepalive, self.received, sent),
            tally: self.tally(endpoint, Some((from, to))),
            peers,
            announces: config.downgrade.announce,
            input_losses: self.intake.losses(),
            line: self.peer.line.clone(),
            drain: self.worker.drain.clone(),
        }
    }

    fn tally(&self, endpoint: Option<Arc<str>>, encodings: Option<(Encoding, Encoding)>) -> Tally {
        let mut record = RunRecord::new(self.site.name.clone(), self.agent().name.clone());
        let input = self.intake.run().unwrap_or_default();
        let value = |text: Option<Text>| text.map(|text| text.value);
        record.endpoint = endpoint;
        (record.agent_encoding, record.client_encoding) = encodings.unzip();
        record.thread_id = value(input.thread_id);
        record.run_id = value(input.run_id);
        record.parent_run_id = value(input.parent_run_id);
        record.client_version =
            value(input.protocol_version).or(self.client_version.map(|version| version.to_string()));
        record.client_address = Some(self.client);
        record.key = self.guest.name().cloned();
        record.trace = Some(self.trace);
        let (metrics, active) = (self.worker.metrics.clone(), self.intake.active());
        // How long a client takes to send its input says nothing of the run.
        let asked = self.intake.progress() == Progress::Complete;
        let asked_at = if asked { self.intake.moved_at() } else { self.received };
        Tally::new(metrics, self.site.metrics.clone(), active, record, asked_at)
            .has_policy(self.site.config.tools.is_some())
    }

    /// Answers that there is no answer.
    fn fails(&self, failure: Failure) -> Response<Body> {
        self.intake.glance();
        let (problem, outcome) = match failure {
            Failure::Unreachable => {
                (Problem::UNREACHABLE, Some((Code::UpstreamUnreachable, Outcome::AgentUnreachable)))
            }
            Failure::ConnectTimeout => {
                (Problem::CONNECT_TIMEOUT, Some((Code::UpstreamUnreachable, Outcome::AgentUnreachable)))
            }
            Failure::FirstEventTimeout => {
                (Problem::FIRST_EVENT_TIMEOUT, Some((Code::FirstEventTimeout, Outcome::TimeoutFirstEvent)))
            }
            Failure::Drained => (Problem::SHUT_DOWN, Some((Code::GatewayShutdown, Outcome::Drained))),
            Failure::RunTimeout => (Problem::RUN_TIMEOUT, Some((Code::RunTimeout, Outcome::TimeoutRun))),
            Failure::Broken => (Problem::NO_ANSWER, Some((Code::UpstreamTruncated, Outcome::Truncated))),
            Failure::BodyTimeout => (Problem::BODY_TIMEOUT, None),
            Failure::BodyTooLarge => (Problem::BODY_TOO_LARGE, None),
            Failure::BodyBroken => (Problem::BODY_BROKEN, None),
            Failure::BodyCoding => (Problem::BODY_CODING, None),
            Failure::BodyUnreadable => (Problem::BODY_UNREADABLE, None),
        };
        match outcome {
            Some((code, outcome)) if self.intake.is_run() && self.ignores_status() => {
                return self.error_stream((code, code.message()), outcome, None);
            }
            Some((code, outcome)) if self.intake.is_run() => self.count(outcome, Some(code), None),
            Some(_) => {}
            None => {
                let body = failure == Failure::BodyTooLarge;
                self.worker.metrics.refused(if body { Refusal::Body } else { Refusal::Malformed });
            }
        }
        let close = problem.close || (self.peer.line.is_some() && !self.intake.has_come());
        Problem { close, ..problem }.into_response()
    }

    /// Counts a run that never had a stream.
    fn count(&self, outcome: Outcome, code: Option<Code>, endpoint: Option<Arc<str>>) {
        let mut tally = self.tally(endpoint, None);
        tally.begin();
        if let Some(code) = code {
            tally.stopped(code, outcome);
        }
        tally.over(Life::Fresh, outcome);
    }
}

/// A story whose agent has not answered yet. Whoever drops it then is the client that left.
struct Waiting<'a> {
    story: &'a Story,
    answered: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        self.story.intake.glance();
        if self.story.intake.is_run() {
            self.story.count(Outcome::ClientGone, None, None);
        }
    }
}

/// From this release on clients look at the status of an answer.
const STATUS: agui::Version = agui::Version::npm(38);

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// The lines of `Accept`.
fn accept(headers: &HeaderMap) -> impl Iterator<Item = &[u8]> {
    headers.get_all(header::ACCEPT).iter().map(HeaderValue::as_bytes)
}
