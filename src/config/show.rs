//! The effective configuration comes in; what operators may see of it goes out, and a short hash of that.

use std::hash::Hasher;

use serde_json::{Value, json};

use super::{
    Config,
    problem::{KeyPath, Place, Places},
    written::Written,
};

/// What operators may see of a configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    effective: Value,
    hash: u64,
}

/// Headers whose values are credentials even where somebody wrote them down as they are.
const CREDENTIALS: &[&str] = &["authorization", "cookie", "token", "secret", "password", "api-key", "apikey"];

impl Config {
    /// The effective configuration with all defaults filled in and no secrets, for `/config`.
    pub fn show(&self) -> &Value {
        &self.shown.effective
    }

    /// Sixteen hexadecimal digits that change when the configuration changes, but not with what a secret holds,
    /// the number of cores or the terminal. The same on every machine.
    pub fn hash(&self) -> String {
        format!("{:016x}", self.shown.hash)
    }
}

impl Shown {
    /// Leaves out what a secret, a variable or a query holds.
    pub(super) fn new(effective: &Written, places: &Places) -> Self {
        let mut shown = serde_json::to_value(effective).unwrap_or_else(|_| json!({}));
        let agents = shown.get_mut("agents").and_then(Value::as_object_mut);
        for (name, agent) in agents.into_iter().flatten() {
            match agent.get_mut("url") {
                Some(Value::Array(urls)) => urls.iter_mut().for_each(without_query),
                Some(url) => without_query(url),
                None => {}
            }
            let path = KeyPath::top().key("agents").key(name).key("headers").key("set");
            let set = agent.pointer_mut("/headers/set").and_then(Value::as_object_mut);
            for (header, value) in set.into_iter().flatten() {
                without_credentials(header, value, places.value(&path.key(header)));
            }
        }
        let routes = shown.get_mut("routes").and_then(Value::as_array_mut);
        routes.into_iter().flatten().for_each(without_digests);
        if let Some(admin) = shown.get_mut("admin") {
            without_digests(admin);
        }
        shown.sort_all_objects();
        let mut hasher = Fnv::default();
        hasher.write(shown.to_string().as_bytes());
        Self { effective: shown, hash: hasher.finish() }
    }

    /// Fills in what depends on the machine. That makes no other configuration, and no other hash.
    pub(super) fn fill(&mut self, threads: usize, log_format: Value) {
        self.effective["threads"] = Value::from(threads);
        self.effective["log"]["format"] = log_format;
    }
}

fn without_credentials(header: &str, value: &mut Value, place: Place) {
    if value.as_str().is_some_and(|text| text.starts_with("[secret: ")) {
        return;
    }
    if let Place::Variable(variable) = place {
        *value = Value::String(format!("[secret: env {variable}]"));
    } else if is_credential(header) {
        *value = Value::String("[not shown]".into());
    }
}

/// Whether a header of this name holds a credential.
pub(super) fn is_credential(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    CREDENTIALS.iter().any(|word| header.contains(word))
}

/// What a key's digest is could be tried out elsewhere, for keys that people have chosen.
fn without_digests(table: &mut Value) {
    let keys = table.pointer_mut("/auth/api_keys").and_then(Value::as_array_mut);
    for key in keys.into_iter().flatten() {
        if let Some(digest) = key.get_mut("sha256") {
            *digest = Value::String("[not shown]".into());
        }
    }
    if let Some(jwks) = table.pointer_mut("/auth/jwt/jwks") {
        without_query(jwks);
    }
}

fn without_query(url: &mut Value) {
    if let Some(text) = url.as_str() {
        *url = Value::String(shown_url(text));
    }
}

/// A url as operators see it: its query may hold a key.
pub fn shown_url(url: &str) -> String {
    url.split_once('?').map_or_else(|| url.to_owned(), |(before, _)| format!("{before}?[not shown]"))
}

/// FNV-1a with 64 bits: short, and the same on every machine. Nothing is kept secret by it.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
