//! The addresses to listen on come in; those that get in each other's way are found.

use std::net::{IpAddr, SocketAddr};

use super::Context;
use crate::config::{
    problem::{Found, KeyPath},
    written::{OneOrMany, Written},
};

/// Checks `listen` and `admin.listen`.
pub(super) fn check(written: &Written, context: &Context<'_>, found: &mut Found<'_>) {
    let path = KeyPath::top().key("listen");
    let admin_path = KeyPath::top().key("admin").key("listen");
    if context.is_removed(&path) {
        return;
    }
    let listen: Vec<SocketAddr> = written.listen.clone().into_vec().iter().map(|address| address.0).collect();
    let place = |i| if matches!(written.listen, OneOrMany::Many(_)) { path.item(i) } else { path.clone() };
    for (i, address) in listen.iter().enumerate() {
        if address.port() != 0 && listen.iter().take(i).any(|earlier| earlier == address) {
            found.value(&place(i), format!("`{address}` is in the list already; leave it out"));
        }
    }
    let Some(admin) = written.admin.listen.0.filter(|_| !context.is_removed(&admin_path)) else { return };
    let Some((i, address)) = listen.iter().enumerate().find(|(_, address)| collide(**address, admin)) else { return };
    if found.places().is_written(&admin_path) {
        found.value(
            &admin_path,
            format!("`{admin}` is also where clients connect (`listen`); write another port, or \"off\""),
        );
    } else {
        found.value(
            &place(i),
            format!("`{address}` is also the operator's listener; write another port, here or as `admin.listen`"),
        );
    }
}

/// Whether a client that means one of them may reach the other. Port 0 is a new one every time.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let covers = |any: IpAddr, ip: IpAddr| any.is_unspecified() && (any.is_ipv6() || ip.is_ipv4());
    let (a, b) = (one.ip(), other.ip());
    one.port() != 0 && one.port() == other.port() && (a == b || covers(a, b) || covers(b, a))
}
