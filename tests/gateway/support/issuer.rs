//! An issuer of tokens: it signs what a test says, and shows the public keys that a test says.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::{
    hmac,
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use rustls::ServerConfig;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use super::connection::Duplex;

/// A private key, by the id that tokens name it with.
pub struct Key {
    id: String,
    kind: Kind,
}

enum Kind {
    Rsa(Box<RsaKeyPair>),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

pub fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

impl Key {
    /// Always the same, for one takes long to make. It signs nothing outside of these tests.
    pub fn rsa(id: &str) -> Self {
        let key = RsaKeyPair::from_der(include_bytes!("../keys/rsa.der")).unwrap();
        Self { id: id.into(), kind: Kind::Rsa(Box::new(key)) }
    }

    pub fn ec(id: &str) -> Self {
        let random = SystemRandom::new();
        let key = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, key.as_ref(), &random).unwrap();
        Self { id: id.into(), kind: Kind::Ec(key) }
    }

    pub fn ed(id: &str) -> Self {
        let key = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self { id: id.into(), kind: Kind::Ed(Ed25519KeyPair::from_pkcs8(key.as_ref()).unwrap()) }
    }

    fn algorithm(&self) -> &'static str {
        match self.kind {
            Kind::Rsa(_) => "RS256",
            Kind::Ec(_) => "ES256",
            Kind::Ed(_) => "EdDSA",
        }
    }

    /// The public key, as a set shows it.
    pub fn public(&self) -> Value {
        match &self.kind {
            Kind::Rsa(key) => {
                let public = PublicKeyComponents::<Vec<u8>>::from(key.public());
                json!({ "kty": "RSA", "kid": self.id, "use": "sig", "n": encoded(public.n), "e": encoded(public.e) })
            }
            Kind::Ec(key) => {
                let point = key.public_key().as_ref();
                let (x, y) = (encoded(&point[1..33]), encoded(&point[33..]));
                json!({ "kty": "EC", "kid": self.id, "alg": "ES256", "crv": "P-256", "x": x, "y": y })
            }
            Kind::Ed(key) => {
                json!({ "kty": "OKP", "kid": self.id, "crv": "Ed25519", "x": encoded(key.public_key()) })
            }
        }
    }

    /// A token with this header and these claims, signed with this key whatever they say.
    pub fn signs(&self, header: &Value, claims: &Value) -> String {
        let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let random = SystemRandom::new();
        let signature = match &self.kind {
            Kind::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message.as_bytes(), &mut signature).unwrap();
                signature
            }
            Kind::Ec(key) => key.sign(&random, message.as_bytes()).unwrap().as_ref().to_vec(),
            Kind::Ed(key) => key.sign(message.as_bytes()).as_ref().to_vec(),
        };
        format!("{message}.{}", encoded(signature))
    }

    /// A token that is what it says.
    pub fn token(&self, claims: &Value) -> String {
        self.signs(&json!({ "alg": self.algorithm(), "kid": self.id, "typ": "JWT" }), claims)
    }

    /// A token whose signature anyone can make who knows the public key.
    pub fn swapped(&self, claims: &Value) -> String {
        let Value::String(public) = self.public()["n"].take() else { panic!("this is for RSA") };
        let header = json!({ "alg": "HS256", "kid": self.id });
        let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
        let secret = hmac::Key::new(hmac::HMAC_SHA256, &URL_SAFE_NO_PAD.decode(public).unwrap());
        let signature = encoded(hmac::sign(&secret, message.as_bytes()));
        format!("{message}.{signature}")
    }
}

/// Seconds from now.
pub fn soon_at(seconds: i64) -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()).unwrap() + seconds
}

/// The claims of a token that is good, but for these.
pub fn claims(but: Value) -> Value {
    let mut claims = json!({ "iss": "https://issuer", "aud": "chat", "sub": "ada", "exp": soon_at(300) });
    for (name, value) in but.as_object().unwrap() {
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value.clone(),
        }
    }
    claims
}

/// What shows public keys over HTTP, and counts how often it is asked.
pub struct Issuer {
    address: SocketAddr,
    shown: Arc<Mutex<Option<Value>>>,
    asked: Arc<AtomicUsize>,
}

impl Issuer {
    /// An issuer that shows these keys.
    pub async fn showing(keys: &[&Key]) -> Self {
        Self::over(None, keys).await
    }

    /// An issuer at `localhost` that shows these keys over TLS.
    pub async fn over_tls(config: Arc<ServerConfig>, keys: &[&Key]) -> Self {
        Self::over(Some(config.into()), keys).await
    }

    async fn over(tls: Option<TlsAcceptor>, keys: &[&Key]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (shown, asked) = (Arc::new(Mutex::new(None)), Arc::new(AtomicUsize::new(0)));
        let issuer = Self { address, shown: shown.clone(), asked: asked.clone() };
        issuer.shows(keys);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream: Box<dyn Duplex> = match &tls {
                    None => Box::new(stream),
                    Some(tls) => match tls.accept(stream).await {
                        Ok(stream) if stream.get_ref().1.server_name() == Some("localhost") => Box::new(stream),
                        _ => continue,
                    },
                };
                let mut request = [0; 4096];
                let _ = stream.read(&mut request).await;
                asked.fetch_add(1, Relaxed);
                let body = shown.lock().unwrap().as_ref().map(Value::to_string);
                let status = if body.is_some() { "200 OK" } else { "500 Oh" };
                let body = body.unwrap_or_default();
                let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
                let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
            }
        });
        issuer
    }

    /// From now on it shows these keys.
    pub fn shows(&self, keys: &[&Key]) {
        let keys: Vec<Value> = keys.iter().map(|key| key.public()).collect();
        *self.shown.lock().unwrap() = (!keys.is_empty()).then(|| json!({ "keys": keys }));
    }

    /// How often it was asked.
    pub fn asked(&self) -> usize {
        self.asked.load(Relaxed)
    }

    /// `jwt` of a route that takes its tokens, with more keys.
    pub fn jwt(&self, more: &str) -> String {
        jwt(&format!("http://{}/keys", self.address), more)
    }

    /// The same, whose keys are read over TLS from a host of this name.
    pub fn jwt_over_tls(&self, host: &str) -> String {
        jwt(&format!("https://{host}:{}/keys", self.address.port()), "")
    }
}

/// `jwt` of a route that takes tokens of the keys at this place.
pub fn jwt(place: &str, more: &str) -> String {
    format!("jwt = {{ jwks = \"{place}\", issuer = \"https://issuer\", audience = [\"chat\", \"other\"]{more} }}")
}
