//! Paths of PEM files come in; the certificates, keys and authorities in them go out, or what is wrong with a
//! file, by its key in the configuration. What a file holds is in no error.

use std::{
    fs::File,
    hash::{DefaultHasher, Hash, Hasher},
    io::Read,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustls::{
    CertificateError, Error, RootCertStore,
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, PrivateKeyDer, UnixTime, pem, pem::PemObject},
    server::ParsedCertificate,
    sign::CertifiedKey,
};

/// More than all authorities of a system need.
const LONGEST: u64 = 4 * 1024 * 1024;

/// The files of one `tls` table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TlsFiles {
    /// The authorities that the other side's certificate must come from.
    pub authorities: Option<PathBuf>,
    /// What this side shows of itself.
    pub identity: Option<Identity>,
}

/// A certificate and its private key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The certificate, then those that lead to its authority.
    pub cert: PathBuf,
    /// The private key.
    pub key: PathBuf,
}

/// Which file of a `tls` table is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsFile {
    /// [`TlsFiles::authorities`].
    Authorities,
    /// [`Identity::cert`].
    Cert,
    /// [`Identity::key`].
    Key,
}

/// What is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PemProblem {
    /// Which.
    pub file: TlsFile,
    /// What is wrong, and what to do about it.
    pub what: String,
}

/// The content of the files of one `tls` table at one time.
#[derive(Hash)]
pub struct Pem {
    authorities: Option<Content>,
    identity: Option<[Content; 2]>,
}

/// The content of one file, or why it cannot be read.
#[derive(Hash)]
struct Content {
    path: PathBuf,
    bytes: Result<Vec<u8>, String>,
}

/// What the files of one `tls` table say.
#[derive(Clone, Debug, Default)]
pub struct TlsParts {
    /// The authorities.
    pub authorities: Option<Arc<RootCertStore>>,
    /// The certificate with its key.
    pub identity: Option<Arc<CertifiedKey>>,
    /// What is odd, but no reason not to use it.
    pub warnings: Vec<PemProblem>,
}

/// The implementation of cryptography that all TLS here uses.
pub fn cryptography() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

// === impl TlsFiles ===

impl TlsFiles {
    /// Reads the files as they are now, through symlinks.
    pub fn read(&self) -> Pem {
        Pem {
            authorities: self.authorities.as_deref().map(Content::of),
            identity: self.identity.as_ref().map(|own| [Content::of(&own.cert), Content::of(&own.key)]),
        }
    }
}

// === impl Pem ===

impl Pem {
    /// Tells one content from another. Nothing is kept secret by it, and nothing of the content told.
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        hasher.finish()
    }

    /// What the files say.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with them.
    pub fn parts(&self) -> Result<TlsParts, Vec<PemProblem>> {
        let mut problems = Vec::new();
        let mut parts = TlsParts::default();
        match self.authorities.as_ref().map(authorities).transpose() {
            Ok(read) => parts.authorities = read.map(Arc::new),
            Err(problem) => problems.push(problem),
        }
        match self.identity.as_ref().map(identity).transpose() {
            Ok(Some((identity, warning))) => {
                parts.identity = Some(Arc::new(identity));
                parts.warnings.extend(warning);
            }
            Ok(None) => {}
            Err(of_identity) => problems.extend(of_identity),
        }
        if problems.is_empty() { Ok(parts) } else { Err(problems) }
    }
}

impl Content {
    fn of(path: &Path) -> Self {
        let mut bytes = Vec::new();
        let read = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes));
        let bytes = match read {
            Err(error) => Err(format!("the file `{}` cannot be read: {error}", path.display())),
            Ok(_) if u64::try_from(bytes.len()).is_ok_and(|length| length > LONGEST) => {
                Err(format!("the file `{}` is larger than 4 MiB, which no certificates are", path.display()))
            }
            Ok(_) => Ok(bytes),
        };
        Self { path: path.to_owned(), bytes }
    }

    fn shown(&self) -> std::path::Display<'_> {
        self.path.display()
    }

    /// The certificates in it, at least one.
    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        let bytes = self.bytes.as_ref().map_err(Clone::clone)?;
        let all: Result<Vec<_>, pem::Error> = CertificateDer::pem_slice_iter(bytes).collect();
        match all {
            Ok(all) if !all.is_empty() => Ok(all),
            Ok(_) => Err(format!(
                "the file `{}` has no certificate; it must be PEM text with `-----BEGIN CERTIFICATE-----`",
                self.shown()
            )),
            Err(_) => Err(format!("the file `{}` is damaged: it is not PEM text as a whole", self.shown())),
        }
    }

    /// The first private key in it.
    fn key(&self) -> Result<PrivateKeyDer<'static>, String> {
        let bytes = self.bytes.as_ref().map_err(Clone::clone)?;
        let text = String::from_utf8_lossy(bytes);
        if text.contains("-----BEGIN ENCRYPTED PRIVATE KEY-----") || text.contains("Proc-Type: 4,ENCRYPTED") {
            return Err(format!(
                "the private key in `{0}` is encrypted, and there is nobody to ask for its password; decrypt it, as \
                 with `openssl pkey -in {0} -out key.pem`",
                self.shown()
            ));
        }
        match PrivateKeyDer::from_pem_slice(bytes) {
            Ok(key) => Ok(key),
            Err(pem::Error::NoItemsFound) => Err(format!(
                "the file `{}` has no private key; it must be PEM text with `-----BEGIN PRIVATE KEY-----`",
                self.shown()
            )),
            Err(_) => Err(format!("the file `{}` is damaged: it is not PEM text as a whole", self.shown())),
        }
    }
}

fn authorities(content: &Content) -> Result<RootCertStore, PemProblem> {
    let problem = |what| PemProblem { file: TlsFile::Authorities, what };
    let mut roots = RootCertStore::empty();
    for certificate in content.certificates().map_err(problem)? {
        roots.add(certificate).map_err(|_| {
            problem(format!("the file `{}` has a certificate that is damaged or not of X.509 v3", content.shown()))
        })?;
    }
    Ok(roots)
}

fn identity([cert, key]: &[Content; 2]) -> Result<(CertifiedKey, Option<PemProblem>), Vec<PemProblem>> {
    let problem = |file, what| PemProblem { file, what };
    let (chain, private) = match (cert.certificates(), key.key()) {
        (Ok(chain), Ok(private)) => (chain, private),
        (chain, private) => {
            let of_cert = chain.err().map(|what| problem(TlsFile::Cert, what));
            return Err(of_cert.into_iter().chain(private.err().map(|what| problem(TlsFile::Key, what))).collect());
        }
    };
    let damaged = || format!("the first certificate in `{}` is damaged or not of X.509 v3", cert.shown());
    let warning = match chain.first().map(ParsedCertificate::try_from) {
        Some(Ok(parsed)) => untimely(&parsed, cert),
        _ => return Err(vec![problem(TlsFile::Cert, damaged())]),
    };
    let provider = ring::default_provider();
    let private = provider.key_provider.load_private_key(private).map_err(|_| {
        vec![problem(
            TlsFile::Key,
            format!(
                "the private key in `{}` is damaged or of a kind that is not supported; use ECDSA (P-256, P-384), \
                 Ed25519 or RSA (2048 bits or more)",
                key.shown()
            ),
        )]
    })?;
    let identity = CertifiedKey::new(chain, private);
    match identity.keys_match() {
        Err(Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => Err(vec![problem(
            TlsFile::Key,
            format!(
                "the private key in `{}` does not belong to the first certificate in `{}`; name the two that were made \
                 together, and put the own certificate before those of its authorities",
                key.shown(),
                cert.shown()
            ),
        )]),
        // A key that does not tell its public half cannot be compared.
        Ok(()) | Err(Error::InconsistentKeys(_)) => Ok((identity, warning)),
        Err(_) => Err(vec![problem(TlsFile::Cert, damaged())]),
    }
}

/// Whether a certificate is out of its time. That is looked at before anything else of it, so it is found without
/// knowing its authority.
fn untimely(parsed: &ParsedCertificate<'_>, cert: &Content) -> Option<PemProblem> {
    let algorithms = ring::default_provider().signature_verification_algorithms.all;
    let nobody = RootCertStore::empty();
    let now = UnixTime::now();
    let days = |from: UnixTime, to: UnixTime| to.as_secs().saturating_sub(from.as_secs()) / (24 * 60 * 60);
    let checked = rustls::client::verify_server_cert_signed_by_trust_anchor(parsed, &nobody, &[], now, algorithms);
    let shown = cert.shown();
    let what = match checked {
        Err(Error::InvalidCertificate(CertificateError::ExpiredContext { not_after, .. })) => {
            format!(
                "the certificate in `{shown}` expired {} days ago; the other side will refuse it",
                days(not_after, now)
            )
        }
        Err(Error::InvalidCertificate(CertificateError::NotValidYetContext { not_before, .. })) => {
            format!("the certificate in `{shown}` is not valid before {} days from now", days(now, not_before) + 1)
        }
        _ => return None,
    };
    Some(PemProblem { file: TlsFile::Cert, what })
}
