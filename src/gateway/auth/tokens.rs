//! A JSON Web Token comes in; whom it names goes out, if it is signed by the issuer, for this audience, and in time.
//! The token itself says neither which algorithms are taken nor which key is right.

use std::sync::Arc;

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde_json::{Map, Value};

use super::{Identity, Unknown, Who, crypto, jwks::Jwks};
use crate::config;

/// Whose tokens are taken.
#[derive(Debug)]
pub struct Tokens {
    keys: Arc<Jwks>,
    algorithms: Vec<Algorithm>,
    /// But for the algorithm, which the allowed one of the token is.
    validation: Validation,
    claim: String,
}

impl Tokens {
    /// As configured. No key is read yet.
    pub fn new(config: &config::Jwt) -> Self {
        crypto::install();
        let algorithms: Vec<Algorithm> = config.algorithms.iter().map(|algorithm| known(*algorithm)).collect();
        let mut validation = Validation::new(Algorithm::RS256);
        validation.set_issuer(&[&config.issuer]);
        validation.set_audience(&config.audience);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        validation.validate_nbf = true;
        validation.leeway = config.leeway.as_secs();
        Self { keys: Jwks::new(config.jwks.clone()), algorithms, validation, claim: config.claim.clone() }
    }

    /// Whom this token names.
    pub async fn identify(&self, token: &[u8]) -> Result<Identity, Unknown> {
        // What has no algorithm that is known here, as with `none`, has no header that can be read.
        let header = decode_header(token).map_err(|_| Unknown::Wrong)?;
        if !self.algorithms.contains(&header.alg) || header.crit.is_some() {
            return Err(Unknown::Wrong);
        }
        let id = header.kid.as_deref();
        let mut claims = self.claims(token, id, header.alg);
        if matches!(claims, Claims::NoKey | Claims::NoKeys) {
            self.keys.look_again().await;
            claims = self.claims(token, id, header.alg);
        }
        match claims {
            Claims::Good(claims) => self.identity(claims),
            Claims::NoKeys => Err(Unknown::Unavailable),
            Claims::NoKey | Claims::Wrong => Err(Unknown::Wrong),
        }
    }

    fn claims(&self, token: &[u8], id: Option<&str>, algorithm: Algorithm) -> Claims {
        let Some(keys) = self.keys.keys() else { return Claims::NoKeys };
        let validation = Validation { algorithms: vec![algorithm], ..self.validation.clone() };
        let mut found = Claims::NoKey;
        for key in keys.iter().filter(|key| key.may_have_signed(id, algorithm)) {
            match decode::<Map<String, Value>>(token, &key.key, &validation) {
                Ok(token) => return Claims::Good(token.claims),
                Err(_) => found = Claims::Wrong,
            }
        }
        found
    }

    fn identity(&self, claims: Map<String, Value>) -> Result<Identity, Unknown> {
        let name = match claims.get(&self.claim) {
            Some(Value::String(name)) if !name.is_empty() => Arc::from(name.as_str()),
            Some(Value::Number(number)) => Arc::from(number.to_string()),
            _ => return Err(Unknown::Nameless),
        };
        Ok(Identity { who: Who::Token(name), claims })
    }

    /// Reads the issuer's keys again, if it is time to.
    pub async fn upkeep(&self) {
        self.keys.upkeep().await;
    }
}

/// What comes of checking a token.
enum Claims {
    /// It is good and says this.
    Good(Map<String, Value>),
    /// It is not.
    Wrong,
    /// Its key is not known.
    NoKey,
    /// No key is.
    NoKeys,
}

fn known(algorithm: config::Algorithm) -> Algorithm {
    match algorithm {
        config::Algorithm::RS256 => Algorithm::RS256,
        config::Algorithm::RS384 => Algorithm::RS384,
        config::Algorithm::RS512 => Algorithm::RS512,
        config::Algorithm::PS256 => Algorithm::PS256,
        config::Algorithm::PS384 => Algorithm::PS384,
        config::Algorithm::PS512 => Algorithm::PS512,
        config::Algorithm::ES256 => Algorithm::ES256,
        config::Algorithm::ES384 => Algorithm::ES384,
        config::Algorithm::EdDSA => Algorithm::EdDSA,
    }
}
