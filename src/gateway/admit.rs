//! Who may ask, and how often: a request for a route comes in; a guest, or why it is refused, goes out. What the guest
//! asks for is not looked at.

use std::{net::IpAddr, sync::Arc, time::Duration};

use http::HeaderMap;

use super::{
    auth::{Auth, Identity, Unknown, Who},
    places::{Full, Place, Places},
    problem::Problem,
    rate::Rate,
};
use crate::{config, observe::Refusal};

/// A refusal, as it is told and as it is counted.
pub type Refused = (Problem, Refusal);

/// What stands before a route. All threads share it, so that its limits are those of the process.
#[derive(Debug)]
pub struct Gate {
    auth: Option<Arc<Auth>>,
    rate: Option<Arc<Rate>>,
    /// Without limits too, so that those who are there count when there are some.
    places: Arc<Places>,
}

/// The gates of all routes.
#[derive(Clone, Debug, Default)]
pub struct Gates(Vec<(config::Route, Arc<Gate>)>);

impl Gates {
    /// The gates of these routes. Of a route that was there before, whoever has come counts on, and the issuer's keys are
    /// still known: the places always, the rest where it is configured as it was.
    pub fn new(routes: &[config::Route], before: &Self) -> Self {
        let gate = |route: &config::Route| {
            let former = before.0.iter().find(|(former, _)| former.name == route.name);
            let gate = match former {
                Some((former, gate)) if former.auth == route.auth && former.limits == route.limits => gate.clone(),
                _ => Arc::new(Gate::new(route, former.map(|(route, gate)| (route, &**gate)))),
            };
            (route.clone(), gate)
        };
        Self(routes.iter().map(gate).collect())
    }

    /// The gate of this route.
    pub fn of(&self, route: &str) -> Option<Arc<Gate>> {
        self.0.iter().find(|(other, _)| other.name == route).map(|(_, gate)| gate.clone())
    }
}

/// Whom a gate has let in.
#[derive(Debug, Default)]
pub struct Guest {
    who: Option<Who>,
    place: Option<Place>,
}

impl Guest {
    /// The name, for the run log.
    pub fn name(&self) -> Option<&Arc<str>> {
        self.who.as_ref().map(Who::name)
    }

    /// The place that the guest was given, to be kept as long as the answer goes on.
    pub fn take_place(&mut self) -> Option<Place> {
        self.place.take()
    }
}

impl Gate {
    fn new(route: &config::Route, before: Option<(&config::Route, &Self)>) -> Self {
        let limits = &route.limits;
        let same_auth = before.filter(|(former, _)| former.auth == route.auth);
        let same_rate = before.filter(|(former, _)| former.limits.rate == limits.rate);
        let places = before.map(|(_, gate)| &gate.places);
        Self {
            auth: match same_auth {
                Some((_, gate)) => gate.auth.clone(),
                None => route.auth.as_ref().map(Auth::new).map(Arc::new),
            },
            rate: match same_rate {
                Some((_, gate)) => gate.rate.clone(),
                None => limits.rate.as_ref().map(Rate::new).map(Arc::new),
            },
            places: match places {
                Some(places) => places.with(limits.runs, limits.runs_per_key),
                None => Places::new(limits.runs, limits.runs_per_key),
            },
        }
    }

    /// Lets a request of this client in, or not. By address also those are counted that are then refused, so that keys
    /// cannot be tried out in a row.
    pub async fn admit(&self, headers: &HeaderMap, client: IpAddr) -> Result<Guest, Refused> {
        let rate = self.rate.as_deref();
        let check = |rate: &Rate, who: Option<&Identity>| {
            rate.check(client, headers, who).map_err(|wait| (Problem::RATE_LIMITED.after(seconds(wait)), Refusal::Rate))
        };
        rate.filter(|rate| rate.is_by_address()).map_or(Ok(()), |rate| check(rate, None))?;
        let identity = match &self.auth {
            Some(auth) => Some(auth.identify(headers).await.map_err(|unknown| (told(unknown), Refusal::Auth))?),
            None => None,
        };
        rate.filter(|rate| !rate.is_by_address()).map_or(Ok(()), |rate| check(rate, identity.as_ref()))?;
        Ok(Guest { who: identity.map(|identity| identity.who), place: None })
    }

    /// Gives a guest who may begin a run a place for it.
    pub fn seat(&self, guest: &mut Guest) -> Result<(), Refused> {
        let place = self.places.take(guest.who.as_ref()).map_err(|full| match full {
            Full::All => (Problem::TOO_MANY_RUNS, Refusal::Runs),
            Full::One => (Problem::TOO_MANY_RUNS_OF_KEY, Refusal::Runs),
        })?;
        guest.place = Some(place);
        Ok(())
    }

    /// Takes away what was shown to this gate.
    pub fn hide(&self, headers: &mut HeaderMap) {
        if let Some(auth) = &self.auth {
            auth.hide(headers);
        }
    }

    /// Does what is due from time to time.
    pub async fn upkeep(&self) {
        if let Some(rate) = &self.rate {
            rate.tidy();
        }
        if let Some(auth) = &self.auth {
            auth.upkeep().await;
        }
    }
}

fn told(unknown: Unknown) -> Problem {
    match unknown {
        Unknown::Nothing => Problem::UNAUTHORIZED,
        Unknown::Wrong => Problem::WRONG_CREDENTIALS,
        Unknown::Nameless => Problem::FORBIDDEN,
        Unknown::Unavailable => Problem::NO_KEYS,
    }
}

/// Whole seconds, none too few.
fn seconds(wait: Duration) -> u32 {
    u32::try_from(wait.as_secs()).unwrap_or(u32::MAX).saturating_add(1)
}
