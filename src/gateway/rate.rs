//! Requests come in, each counted with those like it; whether it is too early for one, and how long to wait, goes out.
//! The counts are shared by all threads and looked at once a request, never for an event.

use std::{
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    num::NonZeroU32,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};
use http::HeaderMap;

use super::auth::Identity;
use crate::config::{self, By};

/// How many are counted apart. Beyond that, whoever comes shares the count of some others, until older ones have been
/// quiet long enough to be forgotten.
const MOST: usize = 100_000;
/// Among how many counts the ones beyond are spread.
const SHARED: u64 = 1024;
/// How often those that have been quiet are forgotten.
const TIDY: Duration = Duration::from_secs(5);

/// So many requests in a time.
pub struct Rate {
    by: By,
    limiter: DefaultKeyedRateLimiter<u64>,
    clock: DefaultClock,
    /// Names, addresses and the like are kept as hashes that nobody outside can foresee.
    hasher: RandomState,
    /// At least as many as there are counts.
    counts: AtomicUsize,
    tidied_at: Mutex<Instant>,
}

impl std::fmt::Debug for Rate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rate").field("by", &self.by).finish_non_exhaustive()
    }
}

impl Rate {
    /// As configured.
    pub fn new(config: &config::Rate) -> Self {
        let quota = Quota::with_period(config.per / config.requests.get());
        let quota = quota.unwrap_or(Quota::per_second(NonZeroU32::MAX)).allow_burst(config.requests);
        Self {
            by: config.by.clone(),
            limiter: RateLimiter::dashmap(quota),
            clock: DefaultClock::default(),
            hasher: RandomState::new(),
            counts: AtomicUsize::new(0),
            tidied_at: Mutex::new(Instant::now()),
        }
    }

    /// Whether requests are counted before it is known who asks.
    pub fn is_by_address(&self) -> bool {
        self.by == By::Ip
    }

    /// Counts a request of this client; too early, it is not counted, and the time to wait goes out.
    pub fn check(&self, client: IpAddr, headers: &HeaderMap, who: Option<&Identity>) -> Result<(), Duration> {
        let key = match &self.by {
            By::Ip => self.hasher.hash_one(block(client)),
            By::Key => self.hasher.hash_one(who.map(|who| &who.who)),
            By::Claim(name) => self.hasher.hash_one(who.and_then(|who| who.claims.get(name))),
            By::Header(name) => self.hasher.hash_one(headers.get(name)),
        };
        self.limiter.check_key(&self.place(key)).map_err(|early| early.wait_time_from(self.clock.now()))
    }

    /// Where this one is counted: apart, if there is room.
    fn place(&self, key: u64) -> u64 {
        // A request adds one count at most.
        if self.counts.fetch_add(1, Relaxed) < MOST {
            return key;
        }
        self.tidy();
        if self.counts.load(Relaxed) < MOST { key } else { key % SHARED }
    }

    /// Forgets those that may ask as often as somebody new, every few seconds.
    pub fn tidy(&self) {
        let Ok(mut tidied_at) = self.tidied_at.try_lock() else { return };
        if tidied_at.elapsed() >= TIDY {
            self.limiter.retain_recent();
            self.limiter.shrink_to_fit();
            self.counts.store(self.limiter.len(), Relaxed);
            *tidied_at = Instant::now();
        }
    }
}

/// The addresses that are one client's: with IPv6 a whole block is handed out to each.
pub fn block(address: IpAddr) -> (bool, u128) {
    match address {
        IpAddr::V4(address) => (false, u128::from(address.to_bits())),
        IpAddr::V6(address) => (true, address.to_bits() >> 64),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Map, json};

    use super::*;
    use crate::gateway::auth::Who;

    fn rate(requests: u32, by: By) -> Rate {
        let requests = NonZeroU32::new(requests).unwrap();
        Rate::new(&config::Rate { requests, per: Duration::from_secs(60), by })
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn so_many_are_let_in_at_once_and_the_next_is_told_when() {
        let rate = rate(2, By::Ip);
        let ask = |client| rate.check(ip(client), &HeaderMap::new(), None);
        assert_eq!((ask("192.0.2.1"), ask("192.0.2.1")), (Ok(()), Ok(())));
        let wait = ask("192.0.2.1").unwrap_err();
        assert!((Duration::from_secs(28)..=Duration::from_secs(30)).contains(&wait), "{wait:?}");
        assert_eq!(ask("192.0.2.2"), Ok(()));
    }

    #[test]
    fn one_house_is_one_client_whatever_its_address() {
        let rate = rate(1, By::Ip);
        let ask = |client| rate.check(ip(client), &HeaderMap::new(), None).is_ok();
        assert!(ask("2001:db8:1:2::1"));
        assert!(!ask("2001:db8:1:2:ffff::9"));
        assert!(ask("2001:db8:1:3::1"));
        assert!(ask("0.0.0.0"));
    }

    #[test]
    fn keys_claims_and_headers_are_told_apart_and_those_without_are_one() {
        let who = |who, tenant: &str| {
            let claims: Map<_, _> = [("tenant".to_owned(), json!(tenant))].into_iter().collect();
            Identity { who, claims }
        };
        let (a, b) = (who(Who::Key(Arc::from("a")), "x"), who(Who::Token(Arc::from("a")), "y"));
        for by in [By::Key, By::Claim("tenant".into())] {
            let rate = rate(1, by);
            let ask = |who| rate.check(ip("192.0.2.1"), &HeaderMap::new(), who).is_ok();
            assert_eq!([ask(Some(&a)), ask(Some(&b)), ask(None)], [true; 3]);
            assert_eq!([ask(Some(&a)), ask(Some(&b)), ask(None)], [false; 3]);
        }
        let rate = rate(1, By::Header(http::header::HOST));
        let headers: HeaderMap = [(http::header::HOST, "a".parse().unwrap())].into_iter().collect();
        assert!(rate.check(ip("192.0.2.1"), &headers, None).is_ok());
        assert!(rate.check(ip("192.0.2.1"), &HeaderMap::new(), None).is_ok());
        assert!(rate.check(ip("192.0.2.2"), &HeaderMap::new(), None).is_err());
        assert!(rate.check(ip("192.0.2.2"), &headers, None).is_err());
    }

    #[test]
    fn made_up_clients_do_not_grow_what_is_kept() {
        let rate = rate(1, By::Ip);
        for n in 0..MOST as u32 + 5000 {
            let _ = rate.check(IpAddr::from(n.to_be_bytes()), &HeaderMap::new(), None);
        }
        assert!(rate.limiter.len() <= MOST + SHARED as usize, "{}", rate.limiter.len());
    }
}
