//! `tls` as written comes in; its files are read and judged, and where they are goes out.

use std::path::PathBuf;

use http::{Uri, uri::Scheme};

use super::Context;
use crate::config::{
    Identity, TlsFile, TlsFiles,
    problem::{Found, KeyPath},
    written::{AgentTls, ListenerTls},
};

/// Checks `tls` of the listeners.
pub(super) fn of_listeners(written: &ListenerTls, context: &Context<'_>, found: &mut Found<'_>) -> Option<TlsFiles> {
    let (Some(cert), Some(key)) = (&written.cert, &written.key) else { return None };
    let files = TlsFiles {
        authorities: written.client_ca.as_deref().map(|file| context.file(file)),
        identity: Some(Identity { cert: context.file(cert), key: context.file(key) }),
    };
    judge(&files, "client_ca", &KeyPath::top().key("tls"), context, found);
    Some(files)
}

/// Checks `tls` of an agent, which is at these urls.
pub(super) fn of_agent(
    written: &AgentTls,
    urls: &[Uri],
    path: &KeyPath,
    context: &Context<'_>,
    found: &mut Found<'_>,
) -> TlsFiles {
    let file = |file: &Option<String>| file.as_deref().map(|file| context.file(file));
    let secure = urls.iter().any(|url| url.scheme() == Some(&Scheme::HTTPS));
    let identity = match (file(&written.cert), file(&written.key)) {
        (Some(cert), Some(key)) => Some(Identity { cert, key }),
        (None, None) => None,
        (cert, _) => {
            let (there, missing) = if cert.is_some() { ("cert", "key") } else { ("key", "cert") };
            found.key(
                &path.key(missing),
                format!("is missing; a certificate and its key go together, and `{there}` is there"),
            );
            None
        }
    };
    let files = TlsFiles { authorities: file(&written.ca), identity };
    if !secure && !urls.is_empty() && files != TlsFiles::default() {
        found.key(path, "has no effect, for no url of this agent begins with https://; write one, or take `tls` away");
    }
    if secure && files.authorities.is_none() && !has_authorities() {
        let what = "this system has no certificates of authorities, so that no https url can be trusted; install them, \
                    or name those of this agent in `tls.ca`";
        found.warn(path, what);
    }
    judge(&files, "ca", path, context, found);
    files
}

/// Whether the system trusts anybody.
pub(super) fn has_authorities() -> bool {
    !rustls_native_certs::load_native_certs().certs.is_empty()
}

fn judge(files: &TlsFiles, authorities: &str, path: &KeyPath, context: &Context<'_>, found: &mut Found<'_>) {
    let key = |file| match file {
        TlsFile::Authorities => path.key(authorities),
        TlsFile::Cert => path.key("cert"),
        TlsFile::Key => path.key("key"),
    };
    match files.read().parts() {
        Ok(parts) => parts.warnings.into_iter().for_each(|problem| found.warn(&key(problem.file), problem.what)),
        Err(problems) => {
            // Those in use are followed elsewhere; with these, the configuration would not come to be used.
            let identity = files.identity.iter().flat_map(|own| [&own.cert, &own.key]);
            let paths = identity.chain(&files.authorities);
            paths.for_each(|path| context.secrets.files.borrow_mut().note(path));
            problems.into_iter().for_each(|problem| found.value(&key(problem.file), problem.what));
        }
    }
}

impl Context<'_> {
    /// The file of this name: a relative path begins at the configuration file.
    fn file(&self, name: &str) -> PathBuf {
        self.secrets.folder.join(name)
    }
}
