//! The files of `tls` are found wanting before anything is served.

use std::fs;

use tidegate::config::{Config, Sources};

use crate::certificates::Authority;

use super::{AGENT, environment, written};

/// Loads a file in a folder with certificates; the folder's name is taken out of what goes wrong.
fn load(text: &str) -> Result<Config, Vec<String>> {
    let (folder, path) = written("a.toml", text);
    let authority = Authority::new("authority");
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("ca.pem", &authority.pem());
    authority.issue(&["gate"]).write(folder.path(), "good");
    let other = authority.issue(&["other"]);
    other.write(folder.path(), "other");
    authority.issue_expired(&["gate"]).write(folder.path(), "expired");
    authority.issue_early(&["gate"]).write(folder.path(), "early");
    write("empty.pem", "");
    write("chain.pem", &format!("{}{}", other.cert, authority.pem()));
    write("cut.pem", &authority.pem()[..200]);
    let odd = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    write("odd.pem", odd);
    write("odd.key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
    write("locked.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n");
    write(
        "old.key",
        "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nAAAA\n-----END RSA PRIVATE KEY-----\n",
    );
    fs::write(folder.path().join("large.pem"), vec![b'x'; 5 << 20]).unwrap();
    let sources = Sources { file: Some(path), environment: environment(&[]), ..Sources::default() };
    let folder = format!("{}/", folder.path().display());
    let lines = |text: String| text.replace(&folder, "").lines().map(str::to_owned).collect::<Vec<_>>();
    let mut config = Config::load(&sources).map_err(|errors| lines(errors.to_string()))?;
    for warning in &mut config.warnings {
        warning.what = warning.what.replace(&folder, "");
    }
    Ok(config)
}

#[track_caller]
fn listeners(tls: &str, expected: &[&str]) {
    let errors = load(&format!("{AGENT}tls = {{ {tls} }}")).expect_err("loads");
    let expected: Vec<_> = expected.iter().map(|line| format!("a.toml:2:{line}")).collect();
    assert_eq!(errors, expected);
}

#[test]
fn good_files_are_known_by_their_paths() {
    let config =
        load(&format!("{AGENT}tls = {{ cert = \"good.pem\", key = \"good.key\", client_ca = \"ca.pem\" }}")).unwrap();
    let tls = config.tls.unwrap();
    let identity = tls.identity.unwrap();
    assert!(identity.cert.is_absolute() && identity.cert.ends_with("good.pem") && identity.key.ends_with("good.key"));
    assert!(tls.authorities.unwrap().ends_with("ca.pem"));
    assert!(config.warnings.is_empty());
    let chain = "tls = { cert = \"chain.pem\", key = \"other.key\" }";
    assert!(load(&format!("{AGENT}{chain}")).is_ok());
}

#[test]
fn what_belongs_together_is_asked_for() {
    listeners("client_ca = \"ca.pem\"", &["1: tls.cert: is missing", "1: tls.key: is missing"]);
    listeners("cert = \"good.pem\"", &["1: tls.key: is missing"]);
    let agent =
        |tls: &str, url: &str| load(&format!("[agents.a]\nurl = \"{url}\"\ntls = {{ {tls} }}")).expect_err("loads");
    assert_eq!(
        agent("ca = \"ca.pem\", cert = \"good.pem\"", "https://a/"),
        ["a.toml:3:1: agents.a.tls.key: is missing; a certificate and its key go together, and `cert` is there"]
    );
    assert_eq!(
        agent("ca = \"ca.pem\", key = \"good.key\"", "https://a/"),
        ["a.toml:3:1: agents.a.tls.cert: is missing; a certificate and its key go together, and `key` is there"]
    );
    assert_eq!(
        agent("ca = \"ca.pem\"", "http://a/"),
        ["a.toml:3:1: agents.a.tls: has no effect, for no url of this agent begins with https://; write one, or take \
          `tls` away"]
    );
}

#[test]
fn files_that_cannot_be_used_are_named_with_the_reason() {
    listeners(
        "cert = \"nope.pem\", key = \"nope.key\"",
        &[
            "16: tls.cert: the file `nope.pem` cannot be read: No such file or directory (os error 2)",
            "34: tls.key: the file `nope.key` cannot be read: No such file or directory (os error 2)",
        ],
    );
    listeners(
        "cert = \"empty.pem\", key = \"empty.pem\", client_ca = \"empty.pem\"",
        &[
            "16: tls.cert: the file `empty.pem` has no certificate; it must be PEM text with `-----BEGIN \
             CERTIFICATE-----`",
            "35: tls.key: the file `empty.pem` has no private key; it must be PEM text with `-----BEGIN PRIVATE \
             KEY-----`",
            "60: tls.client_ca: the file `empty.pem` has no certificate; it must be PEM text with `-----BEGIN \
             CERTIFICATE-----`",
        ],
    );
    listeners(
        "cert = \"cut.pem\", key = \"good.key\", client_ca = \"odd.pem\"",
        &[
            "16: tls.cert: the file `cut.pem` is damaged: it is not PEM text as a whole",
            "57: tls.client_ca: the file `odd.pem` has a certificate that is damaged or not of X.509 v3",
        ],
    );
    listeners(
        "cert = \"odd.pem\", key = \"good.key\"",
        &["16: tls.cert: the first certificate in `odd.pem` is damaged or not of X.509 v3"],
    );
    listeners(
        "cert = \"large.pem\", key = \"good.key\"",
        &["16: tls.cert: the file `large.pem` is larger than 4 MiB, which no certificates are"],
    );
}

#[test]
fn keys_that_cannot_be_used_are_named_with_the_reason() {
    listeners(
        "cert = \"good.pem\", key = \"odd.key\"",
        &[
            "34: tls.key: the private key in `odd.key` is damaged or of a kind that is not supported; use ECDSA (P-256, \
           P-384), Ed25519 or RSA (2048 bits or more)",
        ],
    );
    for file in ["locked.key", "old.key"] {
        listeners(
            &format!("cert = \"good.pem\", key = \"{file}\""),
            &[&format!(
                "34: tls.key: the private key in `{file}` is encrypted, and there is nobody to ask for its password; \
                 decrypt it, as with `openssl pkey -in {file} -out key.pem`"
            )],
        );
    }
    for cert in ["good.pem", "ca.pem"] {
        let errors = load(&format!("{AGENT}tls = {{ key = \"other.key\", cert = \"{cert}\" }}")).expect_err("loads");
        assert_eq!(
            errors,
            [format!(
                "a.toml:2:15: tls.key: the private key in `other.key` does not belong to the first certificate in \
                 `{cert}`; name the two that were made together, and put the own certificate before those of its \
                 authorities"
            )]
        );
    }
}

#[test]
fn a_certificate_out_of_its_time_is_a_warning() {
    for (name, said) in [("expired", "expired "), ("early", "is not valid before ")] {
        let tls = format!("tls = {{ cert = \"{name}.pem\", key = \"{name}.key\" }}");
        for (text, key) in [
            (format!("{AGENT}{tls}"), "tls.cert"),
            (
                format!("[agents.a]\nurl = \"https://a/\"\n{}", tls.replace("{ ", "{ ca = \"ca.pem\", ")),
                "agents.a.tls.cert",
            ),
        ] {
            let config = load(&text).unwrap();
            let [warning] = config.warnings.as_slice() else { panic!("{:?}", config.warnings) };
            assert_eq!(warning.key, key);
            assert!(warning.what.starts_with(&format!("the certificate in `{name}.pem` {said}")), "{}", warning.what);
        }
    }
}
