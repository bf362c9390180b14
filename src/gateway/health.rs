//! An endpoint comes in, checks of it go out, one after the other; what they find is told to its standing. One task of
//! one thread checks for all of them, over connections of its own: so a check says whether new ones are taken.

use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Version, header};
use http_body_util::Empty;
use hyper::client::conn::{http1, http2};
use hyper_util::rt::TokioIo;
use tokio::task::JoinSet;

use super::{agent::Agent, endpoint::Endpoint, worker::Local};
use crate::config::{self, HeaderRules};

/// So many checks in a row have to fail before an endpoint is given no more runs: one may be lost on the way. One that
/// succeeds is enough to bring it back.
const SICK_AFTER: u32 = 2;

/// What the checks of one endpoint have found.
#[derive(Debug, Default)]
pub struct Health {
    /// In a row, up to now.
    failures: u32,
}

impl Health {
    /// Whether it is given no runs. Not before it was checked.
    pub fn is_sick(&self) -> bool {
        self.failures >= SICK_AFTER
    }

    /// A check came to an end; whether that changes anything.
    pub fn checked(&mut self, works: bool) -> bool {
        let was_sick = self.is_sick();
        self.failures = if works { 0 } else { self.failures.saturating_add(1) };
        self.is_sick() != was_sick
    }
}

/// The checks of some agents, for as long as this lives.
#[derive(Debug, Default)]
pub struct Checks(Vec<(Rc<Agent>, JoinSet<()>)>);

impl Checks {
    /// Checks every endpoint of these agents whose configuration asks for it, and no other any more. What was checked
    /// already goes on at its own pace.
    pub fn check(&mut self, agents: &[Rc<Agent>]) {
        let mut before = std::mem::take(&mut self.0);
        self.0 = agents
            .iter()
            .map(|agent| match before.iter().position(|(other, _)| Rc::ptr_eq(agent, other)) {
                Some(place) => before.swap_remove(place),
                None => (agent.clone(), watch(agent)),
            })
            .collect();
    }
}

fn watch(agent: &Rc<Agent>) -> JoinSet<()> {
    let mut tasks = JoinSet::new();
    let Some(health) = &agent.config.health else { return tasks };
    for endpoint in agent.endpoints() {
        let (agent, health, endpoint) = (agent.clone(), health.clone(), endpoint.clone());
        tasks.spawn_local(async move {
            loop {
                let result = check(&endpoint, &health, &agent.config.headers).await;
                endpoint.standing().checked(result);
                tokio::time::sleep(health.every).await;
            }
        });
    }
    tasks
}

/// Whether the endpoint works, or why not.
async fn check(endpoint: &Endpoint, health: &config::Health, headers: &HeaderRules) -> Result<(), String> {
    match tokio::time::timeout(health.timeout, ask(endpoint, health, headers)).await {
        Ok(Ok(status)) if status.is_success() => Ok(()),
        Ok(Ok(status)) => Err(format!("it answered {status}")),
        Ok(Err(why)) => Err(why),
        Err(_) => Err("it did not answer in time".into()),
    }
}

fn request(
    endpoint: &Endpoint,
    health: &config::Health,
    headers: &HeaderRules,
    version: Version,
) -> Result<Request<Empty<Bytes>>, String> {
    const AGENT: HeaderValue = HeaderValue::from_static(concat!("tidegate/", env!("CARGO_PKG_VERSION")));
    let mut request = Request::new(Empty::new());
    request.headers_mut().insert(header::USER_AGENT, AGENT);
    for (name, value) in &headers.set {
        request.headers_mut().insert(name, value.clone());
    }
    let addressed = endpoint.address(&mut request, &health.path, version);
    addressed.map(|()| request).map_err(|error| format!("it cannot be asked: {error}"))
}

/// The status of the answer. Its body is of no interest, and the connection is closed after it.
async fn ask(endpoint: &Endpoint, health: &config::Health, headers: &HeaderRules) -> Result<StatusCode, String> {
    let failed = |error: hyper::Error| format!("it did not answer: {error}");
    let connecting = endpoint.connect().await;
    let (stream, version) = connecting.map_err(|error| format!("it took no connection: {error}"))?;
    let request = request(endpoint, health, headers, version)?;
    // Gone with whoever waits for the answer.
    let mut driving = JoinSet::new();
    let answer = if version == Version::HTTP_2 {
        let (mut sender, connection) = http2::handshake(Local, TokioIo::new(stream)).await.map_err(failed)?;
        driving.spawn_local(async move { drop(connection.await) });
        sender.send_request(request).await
    } else {
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
        driving.spawn_local(async move { drop(connection.await) });
        sender.send_request(request).await
    };
    answer.map(|answer| answer.status()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_failures_in_a_row_make_it_sick_and_one_success_well() {
        let mut health = Health::default();
        assert!(!health.is_sick());
        for works in [true, false, true, false] {
            assert!(!health.checked(works));
        }
        assert!(health.checked(false) && health.is_sick());
        assert!(!health.checked(false) && health.is_sick());
        assert!(health.checked(true) && !health.is_sick());
        assert!(!health.checked(false) && !health.is_sick());
    }
}
