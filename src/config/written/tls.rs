//! `tls` as people write it, of the listeners and of an agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `tls`: clients connect by TLS, 1.2 or 1.3, and speak HTTP/2 or HTTP/1.1 as they choose. The files are looked at
/// every second, and used anew when they have changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, inline, extend("required" = ["cert", "key"]))]
pub(in crate::config) struct ListenerTls {
    /// The PEM file of the certificate, followed by those that lead to its authority. A relative path begins at the
    /// configuration file.
    pub(in crate::config) cert: Option<String>,
    /// The PEM file of its private key, which must not be encrypted.
    pub(in crate::config) key: Option<String>,
    /// The PEM file of the authorities that clients' certificates must come from. Without it clients need none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) client_ca: Option<String>,
}

/// `tls` of an agent, for its https urls. The files are looked at every second, and used anew when they have changed.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
#[schemars(deny_unknown_fields, inline)]
pub(in crate::config) struct AgentTls {
    /// The PEM file of the authorities that its certificate must come from. Default: those that the system trusts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) ca: Option<String>,
    /// The PEM file of the certificate that it is shown, followed by those that lead to its authority.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) cert: Option<String>,
    /// The PEM file of that certificate's private key, which must not be encrypted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::config) key: Option<String>,
}
