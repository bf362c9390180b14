//! Who may ask by a token: only those that its issuer signed, for this audience, in time.

use serde_json::json;

use std::process::Command;

use super::support::{
    Agent, END, FINISHED, Gateway, Head, STARTED, STREAM, chunk, frames,
    issuer::{Issuer, Key, claims, encoded, jwt, soon_at},
    post,
    tls::{Files, server_of},
};
use crate::certificates::{Authority, Issued};

const ALL: &str = ", algorithms = [\"RS256\", \"ES256\", \"EdDSA\"]";

fn with(token: &str) -> String {
    post("/").replace("host: gate\r\n", &format!("host: gate\r\nauthorization: Bearer {token}\r\n"))
}

async fn refused(gateway: &Gateway, token: &str) -> (Head, String) {
    gateway.ask(with(token)).await.refusal().await
}

#[track_caller]
fn is_wrong((head, code): (Head, String), what: &str) {
    assert_eq!((head.status(), code.as_str()), (401, "UNAUTHORIZED"), "{what}");
    assert!(head.header("www-authenticate").unwrap().contains("invalid_token"), "{what}");
}

/// Sends a request with this token and answers it with a whole run; the request as the agent got it.
async fn runs(gateway: &Gateway, agent: &Agent, token: &str) -> Head {
    let mut client = gateway.ask(with(token)).await;
    let (mut connection, asked, _) = agent.request().await;
    connection.send(STREAM).await;
    connection.send(chunk(frames([STARTED, FINISHED]))).await;
    connection.send(END).await;
    assert_eq!(client.head().await.status(), 200);
    client.rest().await;
    asked
}

#[tokio::test]
async fn a_good_token_lets_in_and_stays_at_the_gateway() {
    let agent = Agent::new().await;
    let keys = [Key::rsa("r"), Key::ec("e"), Key::ed("d")];
    let issuer = Issuer::showing(&keys.each_ref()).await;
    let gateway = Gateway::with(&agent, "", &format!("auth = {{ {} }}", issuer.jwt(ALL)));
    for key in &keys {
        let asked = runs(&gateway, &agent, &key.token(&claims(json!({})))).await;
        assert_eq!(asked.header("authorization"), None);
    }
    let many = claims(json!({ "aud": ["x", "other"], "exp": soon_at(-30), "nbf": soon_at(30), "sub": 7 }));
    runs(&gateway, &agent, &keys[1].token(&many)).await;
    // Without the name of a key, those that fit are tried.
    runs(&gateway, &agent, &keys[1].signs(&json!({ "alg": "ES256" }), &claims(json!({})))).await;
    gateway.counted("finished", 5.0).await;
    assert_eq!(issuer.asked(), 1);
    assert!(!gateway.figures().contains("ada"), "who asks is no label");
}

#[tokio::test]
async fn a_token_that_is_not_good_is_refused() {
    let agent = Agent::new().await;
    let (rsa, ec, other) = (Key::rsa("r"), Key::ec("e"), Key::ec("e"));
    let issuer = Issuer::showing(&[&rsa, &ec]).await;
    let gateway = Gateway::with(&agent, "", &format!("auth = {{ {} }}", issuer.jwt("")));
    let good = claims(json!({}));
    let unsigned = |algorithm: &str| {
        format!("{}.{}.", encoded(json!({ "alg": algorithm, "kid": "e" }).to_string()), encoded(good.to_string()))
    };
    let signed = ec.token(&good);
    let parts: Vec<&str> = signed.split('.').collect();
    let tampered = format!("{}.{}.{}", parts[0], encoded(claims(json!({ "sub": "root" })).to_string()), parts[2]);
    for (what, token) in [
        ("expired", ec.token(&claims(json!({ "exp": soon_at(-90) })))),
        ("without an end", ec.token(&claims(json!({ "exp": null })))),
        ("not yet", ec.token(&claims(json!({ "nbf": soon_at(90) })))),
        ("for somebody else", ec.token(&claims(json!({ "aud": "chats" })))),
        ("for nobody", ec.token(&claims(json!({ "aud": null })))),
        ("of another issuer", ec.token(&claims(json!({ "iss": "https://issuer/" })))),
        ("of no issuer", ec.token(&claims(json!({ "iss": null })))),
        ("no signature", unsigned("none")),
        ("no signature, spelled otherwise", unsigned("None")),
        ("no signature, but an algorithm", unsigned("ES256")),
        ("signed with the public key", rsa.swapped(&good)),
        ("an algorithm that is not taken", rsa.signs(&json!({ "alg": "RS384", "kid": "r" }), &good)),
        ("the algorithm of another key", rsa.signs(&json!({ "alg": "RS256", "kid": "e" }), &good)),
        ("signed with another key of that name", other.token(&good)),
        ("changed afterwards", tampered),
        (
            "with what has to be understood",
            ec.signs(&json!({ "alg": "ES256", "kid": "e", "crit": ["x"], "x": 1 }), &good),
        ),
        ("with a key of its own", other.signs(&json!({ "alg": "ES256", "jwk": other.public() }), &good)),
        ("half of one", parts[..2].join(".")),
        ("none at all", "..".into()),
    ] {
        is_wrong(refused(&gateway, &token).await, what);
    }
    assert!(agent.is_left_alone().await);
    let (head, code) = refused(&gateway, &ec.token(&claims(json!({ "sub": null })))).await;
    assert_eq!((head.status(), code.as_str()), (403, "FORBIDDEN"));
    runs(&gateway, &agent, &signed).await;
}

#[tokio::test]
async fn the_issuer_may_replace_its_key() {
    let agent = Agent::new().await;
    let (old, new) = (Key::ec("old"), Key::ec("new"));
    let issuer = Issuer::showing(&[&old]).await;
    let gateway = Gateway::with(&agent, "", &format!("auth = {{ {} }}", issuer.jwt("")));
    runs(&gateway, &agent, &old.token(&claims(json!({})))).await;
    issuer.shows(&[&old, &new]);
    runs(&gateway, &agent, &new.token(&claims(json!({})))).await;
    runs(&gateway, &agent, &old.token(&claims(json!({})))).await;
    issuer.shows(&[&new]);
    is_wrong(refused(&gateway, &Key::ec("next").token(&claims(json!({})))).await, "unknown");
    is_wrong(refused(&gateway, &old.token(&claims(json!({})))).await, "withdrawn");
    // What the issuer does not show right now is kept.
    issuer.shows(&[]);
    is_wrong(refused(&gateway, &old.token(&claims(json!({})))).await, "still withdrawn");
    runs(&gateway, &agent, &new.token(&claims(json!({})))).await;
}

#[tokio::test]
async fn tokens_that_are_made_up_do_not_wear_the_issuer_out() {
    let agent = Agent::new().await;
    let issuer = Issuer::showing(&[&Key::ec("a")]).await;
    let gateway = Gateway::with(&agent, "", &format!("auth = {{ {} }}", issuer.jwt("")));
    for n in 0..30 {
        is_wrong(refused(&gateway, &Key::ec(&format!("made-up-{n}")).token(&claims(json!({})))).await, "made up");
    }
    assert!(issuer.asked() <= 6, "{}", issuer.asked());
}

#[tokio::test]
async fn until_the_issuers_keys_are_there_nobody_is_let_in_or_called_wrong() {
    let agent = Agent::new().await;
    let key = Key::ec("a");
    let issuer = Issuer::showing(&[]).await;
    let gateway = Gateway::with(&agent, "", &format!("auth = {{ {} }}", issuer.jwt("")));
    let (head, code) = refused(&gateway, &key.token(&claims(json!({})))).await;
    assert_eq!((head.status(), code.as_str(), head.header("retry-after")), (503, "AUTH_UNAVAILABLE", Some("10")));
    issuer.shows(&[&key]);
    runs(&gateway, &agent, &key.token(&claims(json!({})))).await;
}

/// The folder of a process that trusts only the authority in there.
const FOLDER: &str = "TEST_FOLDER_OF_AN_AUTHORITY";

#[tokio::test]
async fn keys_are_read_over_tls_from_whom_the_system_trusts() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        let files = Files::new();
        files.authority.issue(&["localhost"]).write(files.path(), "issuer");
        let again = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "tokens::keys_are_read_over_tls_from_whom_the_system_trusts"])
            .envs([("SSL_CERT_FILE", files.path().join("ca.pem")), (FOLDER, files.path().to_owned())])
            .env_remove("SSL_CERT_DIR")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success() && said.contains("1 passed"), "{said}");
        return;
    };
    let read = |name| std::fs::read_to_string(std::path::Path::new(&folder).join(name)).unwrap();
    let good = Issued { cert: read("issuer.pem"), key: read("issuer.key") };
    let stranger = Authority::new("stranger").issue(&["localhost"]);
    let (agent, key) = (Agent::new().await, Key::ec("a"));
    for (identity, host, lets_in) in
        [(&good, "localhost", true), (&good, "127.0.0.1", false), (&stranger, "localhost", false)]
    {
        let issuer = Issuer::over_tls(server_of(identity, None, &["http/1.1"]), &[&key]).await;
        let gateway = Gateway::with(&agent, "", &format!("auth = {{ {} }}", issuer.jwt_over_tls(host)));
        let token = key.token(&claims(json!({})));
        if lets_in {
            runs(&gateway, &agent, &token).await;
        } else {
            assert_eq!(refused(&gateway, &token).await.1, "AUTH_UNAVAILABLE");
        }
    }
}

#[tokio::test]
async fn the_keys_may_be_in_a_file_that_changes() {
    let agent = Agent::new().await;
    let (old, new) = (Key::ed("old"), Key::ed("new"));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    let write = |key: &Key| std::fs::write(&file, json!({ "keys": [key.public()] }).to_string()).unwrap();
    write(&old);
    let gateway = Gateway::with(&agent, "", &format!("auth = {{ {} }}", jwt(file.to_str().unwrap(), ALL)));
    runs(&gateway, &agent, &old.token(&claims(json!({})))).await;
    write(&new);
    runs(&gateway, &agent, &new.token(&claims(json!({})))).await;
    is_wrong(refused(&gateway, &old.token(&claims(json!({})))).await, "withdrawn");
}

#[tokio::test]
async fn keys_that_cannot_be_read_do_not_take_the_others_with_them() {
    let agent = Agent::new().await;
    let key = Key::ec("a");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys.json");
    for odd in [json!(null), json!({ "kty": "AKP", "kid": "b" }), json!({ "kty": "EC", "crv": "P-9", "kid": 7 })] {
        std::fs::write(&file, json!({ "keys": [odd, key.public(), odd] }).to_string()).unwrap();
        let gateway = Gateway::with(&agent, "", &format!("auth = {{ {} }}", jwt(file.to_str().unwrap(), "")));
        runs(&gateway, &agent, &key.token(&claims(json!({})))).await;
    }
}

#[tokio::test]
async fn a_key_and_a_token_may_let_in_side_by_side_and_claims_are_counted_apart() {
    let agent = Agent::new().await;
    let key = Key::ec("a");
    let issuer = Issuer::showing(&[&key]).await;
    let api_key = "{ name = \"a\", sha256 = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\" }";
    let keys = format!(
        "auth = {{ api_keys = [{api_key}], {} }}\nlimits = {{ rate = \"1/h by claim:tenant\" }}",
        issuer.jwt("")
    );
    let gateway = Gateway::with(&agent, "", &keys);
    for tenant in ["acme", "other"] {
        let token = key.token(&claims(json!({ "tenant": tenant })));
        runs(&gateway, &agent, &token).await;
        assert_eq!(refused(&gateway, &token).await.0.status(), 429);
    }
    runs(&gateway, &agent, "test").await;
    assert_eq!(refused(&gateway, "test").await.0.status(), 429);
}
