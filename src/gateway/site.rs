//! A route of the configuration comes in, the same ready for use goes out: everything that its requests share
//! on one thread, made once.

use std::{io, rc::Rc, sync::Arc};

use super::agent::Agent;
use crate::{
    config,
    observe::{Metrics, RouteMetrics},
    pipeline::{Recipe, Select},
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
    /// The site of this route, which names one of `agents`.
    pub fn new(route: &config::Route, agents: &[Rc<Agent>], metrics: &Metrics) -> io::Result<Rc<Self>> {
        let agent = agents.iter().find(|agent| agent.config.name == route.agent);
        let agent = agent.ok_or_else(|| io::Error::other("a route names an agent that is not configured"))?;
        let select = route
            .select
            .as_ref()
            .map(|select| Select::new(select.drop.iter().map(String::as_str), select.strip.iter().map(String::as_str)));
        let escape = match route.escape {
            config::Escape::Off => Escape::Off,
            config::Escape::LineSeparators => Escape::LineSeparators,
            config::Escape::NonAscii => Escape::NonAscii,
        };
        Ok(Rc::new(Self {
            name: Arc::from(route.name.as_str()),
            agent: agent.clone(),
            recipe: Recipe { select, ..Recipe::default() },
            encoder: Encoder::new(escape),
            wanted: wanted(route.encoding),
            metrics: metrics.route(&route.name, &route.agent),
            config: route.clone(),
        }))
    }
}

impl Site {
    /// What is known of client and agent before the agent is asked.
    pub fn sides(&self) -> Sides {
        Sides {
            route: self.wanted,
            agent: wanted(self.agent.config.encoding),
            agent_speaks_protobuf: self.agent.speaks_protobuf.get(),
            ..Sides::default()
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
