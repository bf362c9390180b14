//! `auth`, `cors` and the limits that depend on them as written come in, with `[defaults]` in them; what asks for more
//! than it can tell is found, and the checked ones go out.

use std::{fs::File, io::Read as _, path::Path};

use http::uri::Scheme;

use super::{Context, tls};
use crate::config::{
    Algorithm, ApiKey, Auth, Budget, By, Cors, Jwt, KeySet, Rate,
    problem::{Found, KeyPath},
    text,
    written::{self, AdminAuthOrOff, AuthOrOff, Limits},
};

/// Where the keys of a route may have been written.
pub(super) struct Places<'a> {
    /// The path of the route.
    pub(super) route: &'a KeyPath,
    /// What files and removed keys are looked up in.
    pub(super) context: &'a Context<'a>,
}

impl Places<'_> {
    /// The path of this key, where it was written: in the route, else in `[defaults]`.
    fn of(&self, keys: &[&str], found: &Found<'_>) -> KeyPath {
        let below = |base: KeyPath| keys.iter().fold(base, |path, key| path.key(key));
        let (own, shared) = (below(self.route.clone()), below(KeyPath::top().key("defaults")));
        let anything = |path: &KeyPath| found.places().is_written(path) || found.places().is_anything_below(path);
        if !anything(&own) && anything(&shared) { shared } else { own }
    }
}

/// What clients have to show.
pub(super) fn auth(written: &AuthOrOff, places: &Places<'_>, found: &mut Found<'_>) -> Option<Auth> {
    let AuthOrOff::Auth(auth) = written else { return None };
    let path = places.of(&["auth"], found);
    let keys_path = places.of(&["auth", "api_keys"], found);
    let unread = ["api_keys", "jwt"].map(|key| places.context.is_removed(&path.key(key)));
    if auth.api_keys.is_empty() && auth.jwt.is_none() && !unread.contains(&true) {
        found
            .key(&path, "nobody could show anything; write `api_keys` or `jwt` into it, or \"off\" to let everyone in");
    }
    let jwt = auth.jwt.as_ref().and_then(|jwt| self::jwt(jwt, places, found));
    Some(Auth { api_keys: api_keys(&auth.api_keys, &keys_path, found), jwt })
}

/// The keys of the operator's listener.
pub(super) fn admin(written: &written::Admin, context: &Context<'_>, found: &mut Found<'_>) -> Vec<ApiKey> {
    let AdminAuthOrOff::Auth(auth) = &written.auth else { return Vec::new() };
    let path = KeyPath::top().key("admin").key("auth");
    if auth.api_keys.is_empty() && !context.is_removed(&path.key("api_keys")) {
        found.key(&path, "nobody could show anything; write `api_keys` into it, or \"off\" to let everyone in");
    }
    api_keys(&auth.api_keys, &path.key("api_keys"), found)
}

fn api_keys(written: &[written::ApiKey], path: &KeyPath, found: &mut Found<'_>) -> Vec<ApiKey> {
    for (i, key) in written.iter().enumerate() {
        if written.iter().take(i).any(|earlier| earlier.sha256 == key.sha256) {
            found.value(&path.item(i).key("sha256"), "the same key as another of the list; take one of them away");
        }
    }
    written.iter().map(|key| ApiKey { name: key.name.0.clone(), sha256: key.sha256.0 }).collect()
}

fn jwt(written: &written::Jwt, places: &Places<'_>, found: &mut Found<'_>) -> Option<Jwt> {
    let path = |key: &str, found: &Found<'_>| places.of(&["auth", "jwt", key], found);
    let table = places.of(&["auth", "jwt"], found);
    let mut required = |key: &str, what: &str| {
        let path = table.key(key);
        if !places.context.is_removed(&path) {
            found.key(&path, format!("is missing; {what}"));
        }
    };
    if written.jwks.is_none() {
        required("jwks", "write the url or the file of the issuer's keys, as in \"http://127.0.0.1:8080/jwks.json\"");
    }
    if written.issuer.is_none() {
        required("issuer", "write what `iss` is in the tokens of that issuer");
    }
    let audience = written.audience.clone().map(written::OneOrMany::into_vec).unwrap_or_default();
    if audience.is_empty() {
        required("audience", "write what `aud` is in tokens for this route: others are for somebody else");
    }
    if written.algorithms.is_empty() {
        let path = path("algorithms", found);
        found.value(&path, "no token could be taken; write at least one, as in [\"RS256\"]");
    }
    Some(Jwt {
        jwks: match written.jwks.as_ref()? {
            text::KeySet::Url(url) => {
                if url.scheme() == Some(&Scheme::HTTPS) && !tls::has_authorities() {
                    let what = "this system has no certificates of authorities, so that no https url can be trusted; \
                                install them, or write a file";
                    found.warn(&path("jwks", found), what);
                }
                KeySet::Url(url.clone())
            }
            text::KeySet::File(file) => {
                let file = places.context.secrets.folder.join(file);
                if let Err(why) = key_set(&file) {
                    let path = path("jwks", found);
                    found.value(&path, format!("the file `{}` {why}", file.display()));
                }
                KeySet::File(file)
            }
        },
        issuer: written.issuer.clone()?,
        audience,
        leeway: written.leeway.0,
        algorithms: written.algorithms.iter().map(|algorithm| self::algorithm(*algorithm)).collect(),
        claim: written.claim.0.clone(),
    })
}

/// Whether this file has a list of keys. Those in it are read later, and again when it changes.
fn key_set(file: &Path) -> Result<(), String> {
    #[derive(serde::Deserialize)]
    struct Set {
        #[serde(rename = "keys")]
        _keys: Vec<serde::de::IgnoredAny>,
    }
    let mut text = Vec::new();
    let read = File::open(file).and_then(|file| file.take(KeySet::LARGEST as u64 + 1).read_to_end(&mut text));
    match read {
        Err(error) => Err(format!("cannot be read: {error}")),
        Ok(size) if size > KeySet::LARGEST => Err("is larger than 1 MiB, which no JWK set is".into()),
        // What the parser says may show a key.
        Ok(_) => serde_json::from_slice::<Set>(&text)
            .map(drop)
            .map_err(|_| "is no JWK set; it must be a JSON object with the keys as a list, `keys`".into()),
    }
}

fn algorithm(written: written::Algorithm) -> Algorithm {
    match written {
        written::Algorithm::RS256 => Algorithm::RS256,
        written::Algorithm::RS384 => Algorithm::RS384,
        written::Algorithm::RS512 => Algorithm::RS512,
        written::Algorithm::PS256 => Algorithm::PS256,
        written::Algorithm::PS384 => Algorithm::PS384,
        written::Algorithm::PS512 => Algorithm::PS512,
        written::Algorithm::ES256 => Algorithm::ES256,
        written::Algorithm::ES384 => Algorithm::ES384,
        written::Algorithm::EdDSA => Algorithm::EdDSA,
    }
}

/// Which pages may ask; `None`: nothing is said of it.
pub(super) fn cors(written: &written::Cors) -> Option<Cors> {
    let origins: Vec<_> = written.origins.iter().map(|origin| origin.0.clone()).collect();
    (!origins.is_empty()).then_some(Cors { origins, credentials: written.credentials })
}

/// How often clients may ask, if what they are told apart by is known.
pub(super) fn rate(limits: &Limits, auth: Option<&Auth>, places: &Places<'_>, found: &mut Found<'_>) -> Option<Rate> {
    if limits.runs_per_key.is_some() && auth.is_none() {
        let path = places.of(&["limits", "runs_per_key"], found);
        found.value(&path, "nobody shows a key here; write `auth`, or take this away");
    }
    let rate = limits.rate.as_ref()?;
    let path = places.of(&["limits", "rate"], found);
    let by = match &rate.by {
        text::By::Ip => By::Ip,
        text::By::Header(name) => By::Header(name.clone()),
        text::By::Key => {
            if auth.is_none() {
                found.value(&path, "nobody shows a key here; write `auth`, or count by ip");
            }
            By::Key
        }
        text::By::Claim(claim) => {
            if auth.is_none_or(|auth| auth.jwt.is_none()) {
                found.value(&path, "nobody shows a token here; write `auth.jwt`, or count by ip");
            }
            By::Claim(claim.clone())
        }
    };
    Some(Rate { requests: rate.requests, per: rate.per(), by })
}

/// What an agent may send in one answer.
pub(super) fn budget(written: written::Budget) -> Budget {
    Budget {
        events: written.events.map(u64::from),
        bytes: written.bytes.map(|size| size.0),
        tool_calls: written.tool_calls.map(u64::from),
    }
}
