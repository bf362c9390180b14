//! Certificates for tests: an authority of their own, and what it issues, as PEM files.
#![allow(dead_code, reason = "not every test program uses all of it")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};

/// Somebody who issues certificates.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, both as PEM.
#[derive(Clone)]
pub struct Issued {
    pub cert: String,
    pub key: String,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap())
    }

    /// Its own certificate.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for these host names and addresses.
    pub fn issue(&self, names: &[&str]) -> Issued {
        self.sign(params(names))
    }

    /// One that was good until the end of 2001.
    pub fn issue_expired(&self, names: &[&str]) -> Issued {
        let mut params = params(names);
        params.not_before = date_time_ymd(2001, 1, 1);
        params.not_after = date_time_ymd(2002, 1, 1);
        self.sign(params)
    }

    /// One that is good from 3000 on.
    pub fn issue_early(&self, names: &[&str]) -> Issued {
        let mut params = params(names);
        params.not_before = date_time_ymd(3000, 1, 1);
        self.sign(params)
    }

    fn sign(&self, params: CertificateParams) -> Issued {
        let key = KeyPair::generate().unwrap();
        let cert = params.signed_by(&key, &self.0).unwrap();
        Issued { cert: cert.pem(), key: key.serialize_pem() }
    }
}

fn params(names: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    params.distinguished_name.push(DnType::CommonName, names[0]);
    params
}

impl Issued {
    /// Writes `NAME.pem` and `NAME.key` into a folder.
    pub fn write(&self, folder: &Path, name: &str) -> (PathBuf, PathBuf) {
        let (cert, key) = (folder.join(format!("{name}.pem")), folder.join(format!("{name}.key")));
        fs::write(&cert, &self.cert).unwrap();
        fs::write(&key, &self.key).unwrap();
        (cert, key)
    }
}
