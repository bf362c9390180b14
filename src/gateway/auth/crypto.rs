//! What a signature is of, the signature and a public key come in; whether they belong together goes out. It is what
//! the reader of tokens needs of cryptography, by the same library that TLS is built on. It never signs.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result},
    signature::{self, Verifier},
};
use ring::signature as ring;

/// Ring, for reading tokens.
static RING: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    // Only asked for when keys are taken apart, which nobody does here.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has tokens checked by this; once for the process is enough, and more do no harm.
pub fn install() {
    let _ = RING.install_default();
}

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    if !key.family().algorithms().contains(algorithm) {
        return Err(ErrorKind::InvalidAlgorithm.into());
    }
    let check = match algorithm {
        Algorithm::RS256 => Check::Rsa(&ring::RSA_PKCS1_2048_8192_SHA256),
        Algorithm::RS384 => Check::Rsa(&ring::RSA_PKCS1_2048_8192_SHA384),
        Algorithm::RS512 => Check::Rsa(&ring::RSA_PKCS1_2048_8192_SHA512),
        Algorithm::PS256 => Check::Rsa(&ring::RSA_PSS_2048_8192_SHA256),
        Algorithm::PS384 => Check::Rsa(&ring::RSA_PSS_2048_8192_SHA384),
        Algorithm::PS512 => Check::Rsa(&ring::RSA_PSS_2048_8192_SHA512),
        Algorithm::ES256 => Check::Other(&ring::ECDSA_P256_SHA256_FIXED),
        Algorithm::ES384 => Check::Other(&ring::ECDSA_P384_SHA384_FIXED),
        Algorithm::EdDSA => Check::Other(&ring::ED25519),
        _ => return Err(ErrorKind::UnsupportedAlgorithm.into()),
    };
    Ok(Box::new(Checker { algorithm: *algorithm, check, key: key.clone() }))
}

/// How a signature is checked.
#[derive(Clone, Copy)]
enum Check {
    /// With a modulus and an exponent.
    Rsa(&'static ring::RsaParameters),
    /// With the bytes of a point.
    Other(&'static dyn ring::VerificationAlgorithm),
}

/// Checks signatures with one key.
struct Checker {
    algorithm: Algorithm,
    check: Check,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for Checker {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), signature::Error> {
        let checked = match (self.check, self.key.kind()) {
            (Check::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                ring::RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (Check::Other(algorithm), DecodingKeyKind::SecretOrDer(point)) => {
                ring::UnparsedPublicKey::new(algorithm, point).verify(message, signature)
            }
            _ => return Err(signature::Error::new()),
        };
        checked.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for Checker {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
