//! The other side of TLS: clients before the gateway and agents behind it, with certificates made for the test.

use std::{io, net::SocketAddr, path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    server::WebPkiClientVerifier,
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, client, server};

use super::{Agent, Connection, Gateway, soon};
use crate::certificates::{Authority, Issued};

/// The name that clients know the gateway by.
pub const NAME: &str = "gate.example";

/// A folder with an authority's certificate and one of its for the gateway: `ca.pem`, `gate.pem` and `gate.key`.
pub struct Files {
    pub folder: tempfile::TempDir,
    pub authority: Authority,
}

impl Files {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::new("authority");
        std::fs::write(folder.path().join("ca.pem"), authority.pem()).unwrap();
        authority.issue(&[NAME]).write(folder.path(), "gate");
        Self { folder, authority }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a file, for a configuration.
    pub fn file(&self, name: &str) -> String {
        self.path().join(name).to_str().unwrap().to_owned()
    }

    /// The line that has a gateway speak TLS.
    pub fn listener(&self) -> String {
        format!("tls = {{ cert = \"{}\", key = \"{}\" }}\n", self.file("gate.pem"), self.file("gate.key"))
    }

    /// The same, and clients have to show a certificate.
    pub fn mutual_listener(&self) -> String {
        self.listener().replace(" }", &format!(", client_ca = \"{}\" }}", self.file("ca.pem")))
    }

    /// A gateway that clients reach by TLS.
    pub fn gateway(&self, agent: &Agent) -> Gateway {
        Gateway::start(&format!("{}agent = \"{}\"", self.listener(), agent.url()))
    }

    /// A client that trusts this authority and speaks HTTP/1.1.
    pub fn client(&self) -> Arc<ClientConfig> {
        client_of(&self.authority, None, &["http/1.1"])
    }
}

fn roots(authority: &Authority) -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority.pem().as_bytes()).unwrap()).unwrap();
    roots
}

fn parts(issued: &Issued) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
    let chain = CertificateDer::pem_slice_iter(issued.cert.as_bytes()).collect::<Result<_, _>>().unwrap();
    (chain, PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap())
}

/// What a client speaks that trusts this authority.
pub fn client_of(authority: &Authority, identity: Option<&Issued>, alpn: &[&str]) -> Arc<ClientConfig> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots(authority));
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(identity) => {
            let (chain, key) = parts(identity);
            builder.with_client_auth_cert(chain, key).unwrap()
        }
    };
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// What an agent speaks with this certificate; with an authority, its clients have to show one of that.
pub fn server_of(identity: &Issued, client_ca: Option<&Authority>, alpn: &[&str]) -> Arc<ServerConfig> {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(authority)), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let (chain, key) = parts(identity);
    let mut config = builder.with_single_cert(chain, key).unwrap();
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    Arc::new(config)
}

/// A connection to an address where somebody of this name is expected, and its bare socket.
pub async fn connect_to(
    address: SocketAddr,
    config: Arc<ClientConfig>,
) -> io::Result<(client::TlsStream<TcpStream>, std::net::TcpStream)> {
    let stream = soon(TcpStream::connect(address)).await?.into_std()?;
    stream.set_nodelay(true)?;
    let socket = stream.try_clone()?;
    let name = ServerName::try_from(NAME).unwrap();
    let stream = soon(TlsConnector::from(config).connect(name, TcpStream::from_std(stream)?)).await?;
    Ok((stream, socket))
}

/// A client's connection by TLS, and its bare socket.
pub async fn connect(
    gateway: &Gateway,
    config: Arc<ClientConfig>,
) -> io::Result<(client::TlsStream<TcpStream>, std::net::TcpStream)> {
    connect_to(gateway.address(), config).await
}

/// Sends a request on a new connection by TLS.
pub async fn ask(gateway: &Gateway, config: Arc<ClientConfig>, request: impl AsRef<[u8]>) -> Connection {
    let mut connection = Connection::new(connect(gateway, config).await.unwrap().0);
    connection.send(request).await;
    connection
}

/// An agent's next connection, by TLS.
pub async fn accept(agent: &Agent, config: Arc<ServerConfig>) -> io::Result<server::TlsStream<TcpStream>> {
    soon(TlsAcceptor::from(config).accept(agent.socket().await)).await
}

/// The certificate of the other side.
pub fn shown_by(stream: &client::TlsStream<TcpStream>) -> Vec<u8> {
    stream.get_ref().1.peer_certificates().unwrap()[0].to_vec()
}

/// A certificate as it is shown.
pub fn der(issued: &Issued) -> Vec<u8> {
    CertificateDer::from_pem_slice(issued.cert.as_bytes()).unwrap().to_vec()
}
