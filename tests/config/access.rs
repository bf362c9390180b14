//! Who may ask, how often, and for how much.

use std::time::Duration;

use tidegate::config::{Algorithm, Budget, By, Config, Flags, KeySet};

use super::{AGENT, fails, load, toml};

/// The SHA-256 of `test`.
const SHA: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

fn jwt(more: &str) -> String {
    format!("jwt = {{ jwks = \"http://a/keys\", issuer = \"https://i\", audience = \"chat\"{more} }}")
}

#[test]
fn nobody_has_to_show_anything_by_default() {
    let config = toml(AGENT);
    let route = &config.routes[0];
    assert!(route.auth.is_none() && route.cors.is_none() && config.admin.api_keys.is_empty());
    assert!(route.limits.runs.is_none() && route.limits.runs_per_key.is_none() && route.limits.rate.is_none());
    assert_eq!(route.limits.run, Budget::default());
}

#[test]
fn every_key_of_access_arrives_where_it_acts() {
    let config = toml(&format!(
        "connections_per_address = 4\n{AGENT}[admin]\nauth = {{ api_keys = [{{ name = \"p\", sha256 = \"{SHA}\" }}] }}\n[defaults]\nauth = {{ \
         api_keys = [{{ name = \"web\", sha256 = \"{}\" }}], {} }}\ncors = {{ origins = [\"https://App.example.com\", \
         \"http://localhost:3000\"], credentials = true }}\nlimits = {{ runs = 9, runs_per_key = 2, rate = \
         \"5/h by claim:tenant\", run = {{ events = 7, bytes = \"1KiB\", tool_calls = 3 }} }}\n",
        SHA.to_uppercase(),
        jwt(", leeway = \"5s\", algorithms = [\"EdDSA\"], claim = \"email\"")
    ));
    assert_eq!(config.connections_per_address, Some(4));
    let route = &config.routes[0];
    let auth = route.auth.as_ref().unwrap();
    assert_eq!(config.admin.api_keys[0].sha256, auth.api_keys[0].sha256);
    assert_eq!(
        (auth.api_keys[0].name.as_str(), auth.api_keys[0].sha256[..3].to_vec()),
        ("web", vec![0x9f, 0x86, 0xd0])
    );
    let jwt = auth.jwt.as_ref().unwrap();
    assert_eq!(jwt.jwks, KeySet::Url("http://a/keys".parse().unwrap()));
    assert_eq!((jwt.issuer.as_str(), jwt.audience.as_slice()), ("https://i", &["chat".to_owned()][..]));
    assert_eq!((jwt.leeway, jwt.claim.as_str()), (Duration::from_secs(5), "email"));
    assert_eq!(jwt.algorithms, [Algorithm::EdDSA]);
    let cors = route.cors.as_ref().unwrap();
    assert_eq!((cors.origins[0].to_str().unwrap(), cors.credentials), ("https://app.example.com", true));
    let rate = route.limits.rate.as_ref().unwrap();
    assert_eq!((rate.requests.get(), rate.per, &rate.by), (5, Duration::from_secs(3600), &By::Claim("tenant".into())));
    assert_eq!((route.limits.runs, route.limits.runs_per_key), (Some(9), Some(2)));
    assert_eq!(route.limits.run, Budget { events: Some(7), bytes: Some(1024), tool_calls: Some(3) });
}

#[test]
fn the_issuers_keys_may_be_behind_tls() {
    let config = toml(&format!("{AGENT}[defaults]\nauth = {{ {} }}\n", jwt("").replace("http:", "https:")));
    let jwt = config.routes[0].auth.as_ref().unwrap().jwt.as_ref().unwrap();
    assert_eq!(jwt.jwks, KeySet::Url("https://a/keys".parse().unwrap()));
}

#[test]
fn a_file_that_has_no_list_of_keys_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let load = || {
        let jwt = jwt("").replace("http://a/keys", file.to_str().unwrap());
        Config::from_toml(&format!("{AGENT}[defaults]\nauth = {{ {jwt} }}\n")).map_err(|errors| errors.to_string())
    };
    let told = |what: &str| {
        let error = load().unwrap_err();
        assert!(error.contains("defaults.auth.jwt.jwks: the file `") && error.contains(what), "{error}");
    };
    told("cannot be read: No such file");
    for text in ["", "-----BEGIN PUBLIC KEY-----", "null", "{}", "{\"keys\":{}}", "{\"keys\":null}", "{\"keys\":[]} x"]
    {
        std::fs::write(&file, text).unwrap();
        told("is no JWK set; it must be a JSON object with the keys as a list, `keys`");
    }
    std::fs::write(&file, " ".repeat((1 << 20) + 1)).unwrap();
    told("is larger than 1 MiB");
    for text in ["{\"keys\":[]}", "{\"keys\":[null,{\"kty\":\"EC\"}],\"more\":1}"] {
        std::fs::write(&file, text).unwrap();
        assert!(load().is_ok(), "{text}");
    }
}

#[test]
fn a_route_may_let_in_others_than_the_rest() {
    let config = toml(&format!(
        "{AGENT}[defaults]\nauth = {{ {} }}\n[[routes]]\npath = \"/a\"\nauth = {{ jwt = {{ audience = [\"x\", \"y\"] }} }}\n\
         [[routes]]\npath = \"/open\"\nauth = \"off\"\n",
        jwt("")
    ));
    assert_eq!(config.routes[0].auth.as_ref().unwrap().jwt.as_ref().unwrap().audience, ["x", "y"]);
    assert!(config.routes[1].auth.is_none());
}

#[test]
fn what_cannot_keep_anybody_out_is_refused() {
    fails(
        "a.toml",
        r#"agent = "http://a/"
[admin]
auth = {}
[defaults]
auth = { jwt = { jwks = "http://a/k", issuer = "i", algorithms = [] } }
[[routes]]
path = "/a"
limits = { rate = "5/min by claim:sub", runs_per_key = 1 }
auth = "off"
[[routes]]
path = "/b"
auth = { api_keys = [{ name = "a", sha256 = "SHA" }, { name = "b", sha256 = "SHA" }] }
"#
        .replace("SHA", SHA)
        .as_str(),
        &[
            "a.toml:3:1: admin.auth: nobody could show anything; write `api_keys` into it, or \"off\" to let everyone in",
            "a.toml:5:10: defaults.auth.jwt.audience: is missing; write what `aud` is in tokens for this route: others \
             are for somebody else",
            "a.toml:5:66: defaults.auth.jwt.algorithms: no token could be taken; write at least one, as in [\"RS256\"]",
            "a.toml:8:19: routes[0].limits.rate: nobody shows a token here; write `auth.jwt`, or count by ip",
            "a.toml:8:56: routes[0].limits.runs_per_key: nobody shows a key here; write `auth`, or take this away",
            &format!(
                "a.toml:12:{}: routes[1].auth.api_keys[1].sha256: the same key as another of the list; take one of \
                 them away",
                74 + SHA.len()
            ),
        ],
    );
}

#[test]
fn what_is_misspelt_is_named() {
    fails(
        "a.toml",
        r#"agent = "http://a/"
[[routes]]
auth = "on"
limits = { rate = "5 by ip", run = { events = 0 } }
[[routes]]
path = "/c"
auth = { api_keys = [{ name = "x", sha256 = "my-secret-key" }, { sha256 = "00" }], jwt = { algorithms = ["none"], jwks = "ftp://a/k" } }
cors = { origins = ["https://a.example/", "*", "a.example", "https://a.example:443"] }
"#,
        &[
            "a.toml:3:8: routes[0].auth: `on` is not one of \"off\"",
            "a.toml:4:19: routes[0].limits.rate: `5 by ip` is not a rate; write one as in \"60/min by ip\": a number per \
             s, min or h, by ip, key, claim:NAME or header:NAME",
            "a.toml:4:47: routes[0].limits.run.events: `0` is not a whole number from 1 to 4294967295",
            "a.toml:7:45: routes[1].auth.api_keys[0].sha256: not a SHA-256; write 64 hexadecimal digits, as `printf %s \
             KEY | sha256sum` prints them",
            "a.toml:7:64: routes[1].auth.api_keys[1].name: is missing; write a name as in \"support\"",
            "a.toml:7:75: routes[1].auth.api_keys[1].sha256: not a SHA-256; write 64 hexadecimal digits, as `printf %s \
             KEY | sha256sum` prints them",
            "a.toml:7:106: routes[1].auth.jwt.algorithms[0]: `none` is not one of \"RS256\", \"RS384\", \"RS512\", \
             \"PS256\", \"PS384\", \"PS512\", \"ES256\", \"ES384\", \"EdDSA\"",
            "a.toml:7:122: routes[1].auth.jwt.jwks: `ftp://a/k` has a scheme that is not read; write a file, or \
             an http:// or https:// url",
            "a.toml:8:21: routes[1].cors.origins[0]: `https://a.example/` is not an origin; write only scheme, host and \
             port, without anything after them",
            "a.toml:8:43: routes[1].cors.origins[1]: `*` is not an origin; there are no patterns, and `null` stands for \
             too many: write each origin out",
            "a.toml:8:48: routes[1].cors.origins[2]: `a.example` is not an origin; write scheme and host, as in \
             \"https://app.example.com\"",
            "a.toml:8:61: routes[1].cors.origins[3]: `https://a.example:443` is not an origin; browsers leave out the \
             port `:443`; leave it out too",
        ],
    );
}

#[test]
fn a_key_is_shown_nowhere_not_even_its_digest() {
    let config =
        toml(&format!("{AGENT}[defaults]\nauth = {{ api_keys = [{{ name = \"web\", sha256 = \"{SHA}\" }}] }}\n"));
    let shown = config.show().to_string();
    assert!(shown.contains("web") && !shown.contains(&SHA[..8]), "{shown}");
    let text =
        format!("{AGENT}[defaults]\nauth = {{ api_keys = [{{ name = \"web\", sha256 = \"the-key-itself\" }}] }}\n");
    let errors = load("a.toml", &text, &[], Flags::default()).unwrap_err();
    assert!(errors.contains("64 hexadecimal digits") && !errors.contains("the-key-itself"), "{errors}");
}
