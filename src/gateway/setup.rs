//! A plan comes in; what one thread needs to serve requests by it goes out. Requests keep the one that they began with.

use std::{io, rc::Rc, sync::Arc};

use http::Request;
use ipnet::IpNet;

use super::{agent::Agent, certificates::Certificates, cors, crowd::Crowd, plan::Plan, route, site::Site, spelling};
use crate::observe::Metrics;

/// One thread's share of a configuration.
#[derive(Debug)]
pub struct Setup {
    /// The routes, in the order in which they are tried.
    pub sites: Vec<Rc<Site>>,
    /// The agents.
    pub agents: Vec<Rc<Agent>>,
    /// Peers whose word on who they speak for is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Who is connected.
    pub crowd: Arc<Crowd>,
    /// What TLS is spoken with.
    pub certificates: Arc<Certificates>,
}

impl Setup {
    /// A thread's share of this plan. Of what it had `before`, routes and agents that are configured as they were go on,
    /// these with their connections.
    ///
    /// # Errors
    ///
    /// What cannot be made of the configuration.
    pub fn new(plan: &Plan, before: Option<&Self>, metrics: &Metrics) -> io::Result<Rc<Self>> {
        let (sites, agents) = before.map_or((&[][..], &[][..]), |before| (&before.sites, &before.agents));
        let agent = |(config, standings): (_, &Arc<_>)| {
            let same = agents.iter().find(|agent| agent.is_of(config, standings));
            same.map_or_else(
                || Agent::new(config, &plan.certificates, standings.clone()).map(Rc::new),
                |agent| Ok(agent.clone()),
            )
        };
        let agents = plan.config.agents.iter().zip(&*plan.standings).map(agent).collect::<io::Result<Vec<_>>>()?;
        let mut routes = plan.config.routes.clone();
        route::order(&mut routes);
        let sites = routes
            .iter()
            .map(|route| Site::new(route, &agents, &plan.gates, sites, metrics))
            .collect::<io::Result<Vec<_>>>()?;
        let trusted_proxies = plan.config.trusted_proxies.clone();
        let (crowd, certificates) = (plan.crowd.clone(), plan.certificates.clone());
        Ok(Rc::new(Self { sites, agents, trusted_proxies, crowd, certificates }))
    }

    /// The site that a request is for.
    pub fn site_for<B>(&self, request: &Request<B>) -> Option<&Rc<Site>> {
        let path = request.uri().path();
        self.choose(request, |site| route::rest_of(&site.config.path, path).is_some())
    }

    /// Whether a request for `site` would be for another one, were its path spelled plainly: an agent that reads it so would
    /// do what another route stands before.
    pub fn slips_by<B>(&self, request: &Request<B>, site: Option<&Rc<Site>>) -> bool {
        let path = request.uri().path();
        if !spelling::is_odd(path) {
            return false;
        }
        let path = spelling::plain(path);
        let base = |site: &Rc<Site>| spelling::plain(&site.config.path).into_owned();
        let plainly = self.choose(request, |site| route::rest_of(&base(site), &path).is_some());
        plainly.map(base) != site.map(base)
    }

    /// The first site whose path is right, and all else that a request has.
    fn choose<B>(&self, request: &Request<B>, is_below: impl Fn(&Rc<Site>) -> bool) -> Option<&Rc<Site>> {
        let headers = request.headers();
        let host = route::host_of(request.uri(), headers);
        let reaches = |site: &&Rc<Site>| route::is_at(&site.config, host) && is_below(site);
        if cors::is_preflight(request) {
            // A preflight has none of the headers that tell routes apart; any of them that knows the page will do.
            let first = self.sites.iter().find(reaches)?;
            let alike = |site: &&Rc<Site>| site.config.path == first.config.path && reaches(site);
            let knows = |site: &&Rc<Site>| site.page(headers).is_some_and(|page| page.may_ask());
            if let Some(site) = self.sites.iter().filter(alike).find(knows) {
                return Some(site);
            }
        }
        self.sites.iter().find(|site| reaches(site) && route::is_for(&site.config, headers))
    }
}
