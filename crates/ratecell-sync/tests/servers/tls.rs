//! Connections by TLS, of which `ci/store.sh` made the certificates: `SSL_CERT_FILE` is whom this process trusts.

use std::path::PathBuf;
use std::time::Duration;

use ratecell_sync::{Store, StoreErrorKind};

use super::cluster::free_port;
use super::support::{Server, TIMEOUT, attach, one, take, taken, terms};

/// A server with the certificate `name`, and its address.
fn start(name: &str) -> (Server, String) {
    let folder =
        PathBuf::from(std::env::var("RATECELL_TLS").expect("RATECELL_TLS names the folder of certificates"));
    let file = |end: &str| folder.join(format!("{name}.{end}")).display().to_string();
    let (port, certificate, key) = (free_port().to_string(), file("crt"), file("key"));
    let options =
        ["--port", "0", "--tls-port", &port, "--tls-cert-file", &certificate, "--tls-key-file", &key];
    let more = ["--tls-ca-cert-file", &certificate, "--tls-auth-clients", "no"];
    (Server::start(&[options.as_slice(), &more].concat()), format!("rediss://localhost:{port}"))
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn a_server_whose_certificate_is_trusted_is_talked_to() {
    let (_server, url) = start("trusted");
    let mut connection = attach(&url);
    assert_eq!(one(&mut connection, take(1)), taken(1));
    let operations: Vec<_> = (2..2000).map(take).collect();
    let reply = connection.batch(&operations).expect("a reply");
    assert!(reply.answers.iter().all(|answer| *answer == taken(1)), "{:?}", reply.answers);
}

#[test]
#[ignore = "needs a server: ci/store.sh"]
fn no_other_is() {
    let (_server, url) = start("stranger");
    let attach = |url: &str, timeout| {
        let named = Store::open(url).and_then(|store| store.named("api")).expect("a name");
        named.attach(Some(&terms(1)), timeout).expect_err("no trust")
    };
    let error = attach(&url, TIMEOUT);
    assert!(error.to_string().contains("certificate"), "{error}");
    // Nor one that is trusted under another name.
    let (_server, url) = start("trusted");
    let error = attach(&url.replace("localhost", "127.0.0.1"), TIMEOUT);
    assert!(error.to_string().contains("certificate"), "{error}");
    // And a server without TLS does not pass for one with it.
    let port = free_port().to_string();
    let _plain = Server::start(&["--port", &port]);
    let error = attach(&format!("rediss://localhost:{port}"), Duration::from_secs(1));
    let kinds = [StoreErrorKind::Disconnected, StoreErrorKind::Unreachable, StoreErrorKind::Timeout];
    assert!(kinds.contains(&error.kind()), "{error}");
}
