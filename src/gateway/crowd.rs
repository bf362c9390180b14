//! How many connections one address may have: a peer that connects comes in, its presence or that it is one too many goes
//! out. Threads share the counts; they change once a connection.

use std::{net::IpAddr, sync::Arc};

use ipnet::IpNet;

use super::{counted::Counted, rate::block};

/// The connections of all addresses.
#[derive(Debug)]
pub struct Crowd {
    most: Option<u32>,
    /// Proxies, behind which there are many.
    exempt: Vec<IpNet>,
    present: Arc<Present>,
}

type Present = Counted<(bool, u128)>;

/// A connection, for as long as it lives.
#[derive(Debug)]
pub struct Presence(Option<(Arc<Present>, (bool, u128))>);

impl Crowd {
    /// So many each, but for these; `None`: without end.
    pub fn new(most: Option<u32>, exempt: &[IpNet]) -> Arc<Self> {
        Arc::new(Self { most, exempt: exempt.to_vec(), present: Arc::default() })
    }

    /// The same with another limit: who is there stays, and counts if it was counted before.
    pub fn with(&self, most: Option<u32>, exempt: &[IpNet]) -> Arc<Self> {
        Arc::new(Self { most, exempt: exempt.to_vec(), present: self.present.clone() })
    }

    /// Counts a connection from this address; `None`: it has as many as it may have.
    pub fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Presence> {
        let address = address.to_canonical();
        let Some(most) = self.most.filter(|_| !self.exempt.iter().any(|net| net.contains(&address))) else {
            return Some(Presence(None));
        };
        let block = block(address);
        self.present.take(block, most).then(|| Presence(Some((self.present.clone(), block))))
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        if let Some((present, block)) = &self.0 {
            present.give_back(block);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_so_many_and_no_more_and_leaves_nothing_behind() {
        let crowd = Crowd::new(Some(2), &["10.0.0.0/8".parse().unwrap()]);
        let enter = |address: &str| crowd.enter(address.parse().unwrap());
        let here = [enter("192.0.2.1").unwrap(), enter("::ffff:192.0.2.1").unwrap()];
        assert!(enter("192.0.2.1").is_none());
        let other = enter("192.0.2.2").unwrap();
        let proxy: Vec<_> = (0..9).map(|_| enter("10.1.1.1").unwrap()).collect();
        drop((here, other, proxy));
        assert!(crowd.present.is_empty());
        let open = Crowd::new(None, &[]);
        assert!(open.enter("192.0.2.1".parse().unwrap()).is_some() && open.present.is_empty());
    }
}
