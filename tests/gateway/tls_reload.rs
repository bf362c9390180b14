//! Certificates change while the gateway serves: new handshakes see the new ones, and nothing is lost.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use rustls::ClientConfig;

use super::support::{
    Agent, Connection, END, FINISHED, Gateway, STARTED, STREAM, chunk, frame, frames,
    http2::{self, Client},
    post,
    tls::{self, Files, NAME, client_of, der, server_of, shown_by},
};
use crate::certificates::{Authority, Issued};

const RELOADS: &str = "tidegate_config_reloads_total";
const SUCCESS: &[&str] = &["result=\"success\""];
const FAILURE: &[&str] = &["result=\"failure\""];

/// Puts a certificate where the gateway finds it, as Kubernetes does: the files are links through `..data`, and that
/// is moved from one folder to another at once.
fn mount(folder: &Path, generation: usize, issued: &Issued) {
    let new = folder.join(format!("..{generation}"));
    fs::create_dir(&new).unwrap();
    issued.write(&new, "gate");
    symlink(format!("..{generation}"), folder.join("..data_tmp")).unwrap();
    fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
    for name in ["gate.pem", "gate.key"] {
        let _ = fs::remove_file(folder.join(name))
            .and_then(|()| symlink(Path::new("..data").join(name), folder.join(name)));
        assert!(folder.join(name).exists());
    }
    if generation > 1 {
        fs::remove_dir_all(folder.join(format!("..{}", generation - 1))).unwrap();
    }
}

/// The certificate that a new client is shown.
async fn shown(gateway: &Gateway, config: &Arc<ClientConfig>) -> Vec<u8> {
    // Without what is kept of earlier connections: whoever takes up a session is shown nothing.
    let mut config = ClientConfig::clone(config);
    config.resumption = rustls::client::Resumption::disabled();
    shown_by(&tls::connect(gateway, Arc::new(config)).await.unwrap().0)
}

#[tokio::test]
async fn runs_go_on_and_new_clients_see_the_new_certificate() {
    let (agent, files) = (Agent::new().await, Files::new());
    let (old, new) = (files.authority.issue(&[NAME]), files.authority.issue(&[NAME]));
    mount(files.path(), 1, &old);
    let gateway = files.gateway(&agent);
    assert_eq!(shown(&gateway, &files.client()).await, der(&old));
    let mut first = tls::ask(&gateway, files.client(), post("/")).await;
    let (mut to_first, ..) = agent.request().await;
    to_first.send(STREAM).await;
    first.head().await;
    let mut client = Client::connect_tls(&gateway, client_of(&files.authority, None, &["h2"])).await;
    let (mut second, mut to_second) = client.stream(&agent).await;

    mount(files.path(), 2, &new);
    gateway.shows(RELOADS, SUCCESS, 1.0).await;
    assert_eq!(shown(&gateway, &files.client()).await, der(&new));
    to_first.send(chunk(frames([STARTED, FINISHED]))).await;
    first.expect(&frames([STARTED, FINISHED])).await;
    to_second.send(chunk(frames([STARTED, FINISHED]))).await;
    http2::expect(second.body_mut(), &frames([STARTED, FINISHED])).await;
    for connection in [&mut to_first, &mut to_second] {
        connection.send(END).await;
    }
    assert_eq!(first.rest().await, "");
    assert_eq!(http2::rest(second.into_body()).await, "");
    gateway.counted("finished", 2.0).await;
    assert_eq!(gateway.figure(RELOADS, &[]), 1.0);
}

#[tokio::test]
async fn what_cannot_be_used_changes_nothing_and_is_counted_once() {
    let (agent, files) = (Agent::new().await, Files::new());
    let old = fs::read_to_string(files.file("gate.pem")).unwrap();
    let gateway = files.gateway(&agent);
    let old = der(&Issued { cert: old, key: String::new() });
    fs::write(files.file("gate.pem"), "no certificate").unwrap();
    gateway.shows(RELOADS, FAILURE, 1.0).await;
    assert_eq!(shown(&gateway, &files.client()).await, old);
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(gateway.figure(RELOADS, FAILURE), 1.0);
    // A certificate whose key is not there yet.
    let new = files.authority.issue(&[NAME]);
    fs::write(files.file("gate.pem"), &new.cert).unwrap();
    gateway.shows(RELOADS, FAILURE, 2.0).await;
    assert_eq!(shown(&gateway, &files.client()).await, old);
    fs::write(files.file("gate.key"), &new.key).unwrap();
    gateway.shows(RELOADS, SUCCESS, 1.0).await;
    assert_eq!(shown(&gateway, &files.client()).await, der(&new));
    fs::remove_file(files.file("gate.key")).unwrap();
    gateway.shows(RELOADS, FAILURE, 3.0).await;
    assert_eq!(shown(&gateway, &files.client()).await, der(&new));
}

#[tokio::test]
async fn clients_of_an_authority_that_went_are_not_let_in_any_more() {
    let (agent, files) = (Agent::new().await, Files::new());
    let gateway = Gateway::start(&format!("{}agent = \"{}\"", files.mutual_listener(), agent.url()));
    let (before, after) = (files.authority.issue(&["client"]), Authority::new("next"));
    let let_in = async |config: Arc<ClientConfig>| {
        let Ok((stream, _)) = tls::connect(&gateway, config).await else { return false };
        let mut client = Connection::new(stream);
        client.try_send(super::support::get("/../")).await;
        client.try_message().await.is_some()
    };
    let one = client_of(&files.authority, Some(&before), &[]);
    assert!(let_in(one.clone()).await);
    fs::write(files.file("ca.pem"), after.pem()).unwrap();
    gateway.shows(RELOADS, SUCCESS, 1.0).await;
    // Not with the session that it still has either.
    assert!(!let_in(one).await);
    assert!(let_in(client_of(&files.authority, Some(&after.issue(&["client"])), &[])).await);
}

#[tokio::test]
async fn an_agent_is_met_with_what_the_files_say_now() {
    let (agent, files) = (Agent::new().await, Files::new());
    let own = Authority::new("clients");
    let (old, new) = (own.issue(&["tidegate"]), own.issue(&["tidegate"]));
    let (cert, key) = old.write(files.path(), "client");
    let gateway = Gateway::start(&format!(
        "[agents.bot]\nurl = \"https://{}/\"\ntls = {{ ca = {:?}, cert = {cert:?}, key = {key:?} }}\n",
        agent.address(),
        files.file("ca.pem"),
    ));
    let meets = async |authority: &Authority, shown: &Issued| {
        let config = server_of(&authority.issue(&["127.0.0.1"]), Some(&own), &[]);
        let mut client = gateway.ask(post("/")).await;
        let stream = tls::accept(&agent, config).await.unwrap();
        assert_eq!(stream.get_ref().1.peer_certificates().unwrap()[0].as_ref(), der(shown));
        let mut connection = Connection::new(stream);
        connection.message().await;
        connection.send(STREAM).await;
        client.head().await;
    };
    meets(&files.authority, &old).await;
    new.write(files.path(), "client");
    gateway.shows(RELOADS, SUCCESS, 1.0).await;
    meets(&files.authority, &new).await;
    let next = Authority::new("next");
    fs::write(files.file("ca.pem"), next.pem()).unwrap();
    gateway.shows(RELOADS, SUCCESS, 2.0).await;
    meets(&next, &new).await;
}

#[tokio::test]
async fn nothing_is_lost_while_certificates_change_under_load() {
    let (agent, files) = (Agent::new().await, Files::new());
    mount(files.path(), 1, &files.authority.issue(&[NAME]));
    let gateway = Arc::new(files.gateway(&agent));
    tokio::spawn(async move {
        loop {
            let mut connection = agent.accept_late().await;
            tokio::spawn(async move {
                while connection.try_message().await.is_some() {
                    connection.send(STREAM).await;
                    connection.send(chunk(frame(STARTED))).await;
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    connection.send(chunk(frame(FINISHED))).await;
                    connection.send(END).await;
                }
            });
        }
    });
    let (over, count) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..8)
        .map(|n| {
            let (gateway, over, count) = (gateway.clone(), over.clone(), count.clone());
            // Some take up sessions, some do not.
            let mut config = Arc::unwrap_or_clone(files.client());
            if n % 2 == 0 {
                config.resumption = rustls::client::Resumption::disabled();
            }
            let config = Arc::new(config);
            tokio::spawn(async move {
                while !over.load(Relaxed) {
                    let mut client = tls::ask(&gateway, config.clone(), post("/")).await;
                    for _ in 0..3 {
                        assert_eq!(client.head().await.status(), 200);
                        assert_eq!(client.rest().await, frames([STARTED, FINISHED]));
                        count.fetch_add(1, Relaxed);
                        client.send(post("/")).await;
                    }
                    client.head().await;
                    client.rest().await;
                    count.fetch_add(1, Relaxed);
                }
            })
        })
        .collect();
    for generation in 2..5 {
        let new = files.authority.issue(&[NAME]);
        mount(files.path(), generation, &new);
        gateway.shows(RELOADS, SUCCESS, (generation - 1) as f64).await;
        assert_eq!(shown(&gateway, &files.client()).await, der(&new));
    }
    over.store(true, Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    let count = count.load(Relaxed);
    assert!(count > 50, "{count}");
    gateway.counted("finished", count as f64).await;
    assert_eq!(gateway.figure("tidegate_requests_refused_total", &[]), 0.0);
}
