//! A configuration comes in, and what threads share of the one before; what they share from now on goes out. What is
//! configured as it was goes on as it is, so that counts, limits and judgements do not begin again.

use std::{io, sync::Arc};

use super::{admit::Gates, certificates::Certificates, crowd::Crowd, setup::Setup, standing::Standings};
use crate::{config::Config, observe::Metrics};

/// A configuration, with what all threads share of it.
#[derive(Clone, Debug)]
pub struct Plan {
    /// As configured.
    pub config: Arc<Config>,
    /// What TLS is spoken with.
    pub certificates: Arc<Certificates>,
    /// Who may ask, by route.
    pub gates: Gates,
    /// Who is connected.
    pub crowd: Arc<Crowd>,
    /// What is known of the agents' endpoints, in the order of the agents.
    pub standings: Arc<[Arc<Standings>]>,
}

impl Plan {
    /// The plan of a process that begins.
    ///
    /// # Errors
    ///
    /// Certificates that cannot be used.
    pub fn first(config: &Config, metrics: &Metrics) -> io::Result<Self> {
        Ok(Self {
            config: Arc::new(config.clone()),
            certificates: Certificates::new(config)?,
            gates: Gates::new(&config.routes, &Gates::default()),
            crowd: Crowd::new(config.connections_per_address, &config.trusted_proxies),
            standings: config.agents.iter().map(|agent| Standings::new(agent, metrics)).collect(),
        })
    }

    /// The plan after this one.
    ///
    /// # Errors
    ///
    /// Certificates that cannot be used. Then nothing has changed.
    pub fn next(&self, config: &Config, metrics: &Metrics) -> io::Result<Self> {
        let certificates = self.certificates.next(&self.config, config)?;
        let goes_on = |standings: &Standings| config.agents.iter().any(|agent| standings.are_of(agent));
        self.standings.iter().filter(|standings| !goes_on(standings)).for_each(|standings| standings.retire());
        let standings = config.agents.iter().map(|agent| {
            let same = self.standings.iter().find(|standings| standings.are_of(agent));
            same.cloned().unwrap_or_else(|| Standings::new(agent, metrics))
        });
        Ok(Self {
            config: Arc::new(config.clone()),
            certificates,
            gates: Gates::new(&config.routes, &self.gates),
            crowd: self.crowd.with(config.connections_per_address, &config.trusted_proxies),
            standings: standings.collect(),
        })
    }
}

/// Whether threads could serve this: everything is made of it that they need, and thrown away.
///
/// # Errors
///
/// What cannot be made, by its name.
pub fn try_out(config: &Config) -> io::Result<()> {
    let nobodys = Metrics::new("", "");
    Setup::new(&Plan::first(config, &nobodys)?, None, &nobodys).map(drop)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_own_host_can_be_asked_for_over_either_version() {
        let tried = |host: &str| {
            let agent = format!("[agents.bot]\nurl = \"http://a/\"\nheaders = {{ set = {{ host = \"{host}\" }} }}\n");
            try_out(&Config::from_toml(&format!("{agent}[[routes]]\nagent = \"bot\"")).unwrap())
        };
        assert!(tried("inner.example:8080").is_ok());
        let error = tried("inner example").unwrap_err().to_string();
        assert!(error.contains("the agent `bot`"), "{error}");
    }

    #[test]
    fn what_each_by_itself_can_be_served_may_be_too_much_together() {
        let tried = |patterns: &[&str]| {
            let rules: Vec<_> = patterns.iter().map(|p| format!("{{ pattern = '{p}', with = '' }}")).collect();
            let toml = format!(
                "[agents.a]\nurl = \"http://a/\"\n[[routes]]\nname = \"r\"\nagent = \"a\"\nredact = [{}]\n",
                rules.join(", ")
            );
            try_out(&Config::from_toml(&toml).unwrap())
        };
        let large = ["(?i)k[\\p{L}\\p{N}]{90}", "(?i)l[\\p{L}\\p{N}]{90}", "(?i)m[\\p{L}\\p{N}]{90}"];
        large.iter().for_each(|pattern| tried(&[pattern]).unwrap());
        let error = tried(&large).unwrap_err().to_string();
        assert!(error.contains("the route `r`") && error.contains(large[2]), "{error}");
    }
}
