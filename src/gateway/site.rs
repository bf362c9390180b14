//! A route of the configuration comes in, the same ready for use goes out: everything that its requests share
//! on one thread, made once.

use std::{io, rc::Rc, sync::Arc};

use http::HeaderMap;

use super::{
    admit::{Gate, Gates},
    agent::Agent,
    cors::Page,
    recipe,
};
use crate::{
    agui::Version,
    config,
    observe::{Metrics, RouteMetrics},
    pipeline::{
        Recipe,
        input::{Between, Resume},
    },
    wire::{
        negotiate::{Sides, Wanted},
        sse::{Encoder, Escape},
    },
};

/// A route, ready for use.
#[derive(Debug)]
pub struct Site {
    /// As configured.
    pub config: config::Route,
    /// Its name.
    pub name: Arc<str>,
    /// What stands before it.
    pub gate: Arc<Gate>,
    /// What answers.
    pub agent: Rc<Agent>,
    /// What its streams pass through.
    pub recipe: Recipe,
    /// How its events are written.
    pub encoder: Encoder,
    /// What its clients are to be answered with.
    pub wanted: Wanted,
    /// Its figures.
    pub metrics: Arc<RouteMetrics>,
}

impl Site {
    /// The site of this route, which names one of `agents`. What was made of the same route `before` is not made again:
    /// patterns take their time, in which no run on this thread would move.
    pub fn new(
        route: &config::Route,
        agents: &[Rc<Agent>],
        gates: &Gates,
        before: &[Rc<Self>],
        metrics: &Metrics,
    ) -> io::Result<Rc<Self>> {
        let agent = agents.iter().find(|agent| agent.config.name == route.agent);
        let agent = agent.ok_or_else(|| io::Error::other("a route names an agent that is not configured"))?;
        let gate = gates.of(&route.name).ok_or_else(|| io::Error::other("a route has no gate"))?;
        let same = before.iter().find(|site| site.config == *route);
        if let Some(site) = same.filter(|site| Rc::ptr_eq(&site.agent, agent) && Arc::ptr_eq(&site.gate, &gate)) {
            return Ok(site.clone());
        }
        let recipe = same.map_or_else(|| recipe::of(route), |site| Ok(site.recipe.clone()))?;
        let escape = match route.escape {
            config::Escape::Off => Escape::Off,
            config::Escape::LineSeparators => Escape::LineSeparators,
            config::Escape::NonAscii => Escape::NonAscii,
        };
        Ok(Rc::new(Self {
            name: Arc::from(route.name.as_str()),
            gate,
            agent: agent.clone(),
            metrics: metrics.route(
                &route.name,
                &route.agent,
                recipe.tools.as_ref().map_or(&[], |tools| tools.labels()),
            ),
            recipe,
            encoder: Encoder::new(escape),
            wanted: wanted(route.encoding),
            config: route.clone(),
        }))
    }
}

impl Site {
    /// The page that sent these headers, as far as this site's answers are about pages.
    pub fn page(&self, headers: &HeaderMap) -> Option<Page> {
        self.config.cors.as_ref().map(|cors| Page::of(cors, headers))
    }

    /// What the configuration says of the client's version, by this header if it names one; `None`: nothing.
    pub fn client_version(&self, headers: &HeaderMap) -> Option<Version> {
        let config = &self.config.client_version;
        let told = config.header.as_ref().and_then(|name| headers.get(name)).and_then(|value| value.to_str().ok());
        told.map(Version::declared).or(config.configured.then_some(config.version))
    }

    /// Between whom the input of a run goes.
    pub fn between(&self, client: Option<Version>) -> Between {
        Between {
            client: client.unwrap_or(Version::CURRENT),
            agent: self.agent.config.version,
            resume: match self.agent.config.resume {
                config::Resume::Native => Resume::Native,
                config::Resume::ForwardedProps => Resume::ForwardedProps,
            },
        }
    }

    /// What is known of client and agent before the agent is asked.
    pub fn sides(&self, client: Option<Version>) -> Sides {
        Sides {
            client_is_old: client.is_some_and(Version::is_old),
            agent_is_old: self.agent.config.version.is_old(),
            route: self.wanted,
            agent: wanted(self.agent.config.encoding),
            agent_speaks_protobuf: self.agent.speaks_protobuf.get(),
        }
    }
}

/// The configuration's word in the wire's.
fn wanted(encoding: config::Encoding) -> Wanted {
    match encoding {
        config::Encoding::Auto => Wanted::Auto,
        config::Encoding::Sse => Wanted::Sse,
        config::Encoding::Protobuf => Wanted::Protobuf,
    }
}
