//! The address of a store: one server, or those of a cluster.

use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, ProtocolVersion};

use super::error::{StoreError, StoreErrorKind};

/// An address that has been read.
#[derive(Clone)]
pub(crate) struct Address {
    /// The server, or some of the cluster's.
    pub(crate) servers: Vec<ConnectionInfo>,
    pub(crate) cluster: bool,
    /// The address without its password.
    pub(crate) shown: String,
}

impl Address {
    pub(crate) fn parse(url: &str) -> Result<Self, StoreError> {
        let shown = shown(url);
        let wrong = |text: &str| {
            let text = format!(
                "\"{shown}\" is no address of a store: {text}. Expected redis://[user:password@]host[:port][/database], \
                 rediss:// for TLS, redis+cluster://host:port,host:port or unix:/path"
            );
            StoreError::new(StoreErrorKind::Url, text)
        };
        if url.contains('#') {
            return Err(wrong("it has a part after #, and certificates are always checked"));
        }
        let (scheme, rest) = url.split_once(':').ok_or_else(|| wrong("it has no scheme"))?;
        let (cluster, scheme) = match scheme.strip_suffix("+cluster") {
            Some(scheme) => (true, scheme),
            None => (false, scheme),
        };
        let unix = scheme == "unix" || scheme.ends_with("+unix");
        if cluster && unix {
            return Err(wrong("the servers of a cluster have no Unix sockets"));
        }
        if !cfg!(feature = "tls") && (scheme == "rediss" || scheme == "valkeys") {
            return Err(wrong("this program is built without TLS"));
        }
        let urls = match cluster {
            true => one_for_each(scheme, rest),
            false => vec![url.to_owned()],
        };
        let mut servers = Vec::new();
        for url in &urls {
            // The library's text may have parts of the address, and so of a password: its kind is enough.
            let info = url.as_str().into_connection_info().map_err(|error| wrong(reason(&error)))?;
            if cluster && info.redis_settings().db() != 0 {
                return Err(wrong("a cluster has one database, 0"));
            }
            let settings = info.redis_settings().clone();
            let tcp = info.tcp_settings().clone().set_nodelay(true);
            servers.push(
                info.set_redis_settings(
                    settings.set_protocol(ProtocolVersion::RESP2).set_skip_set_lib_name(),
                )
                .set_tcp_settings(tcp),
            );
        }
        Ok(Self { servers, cluster, shown })
    }

    /// How to reach another server of the cluster.
    pub(crate) fn server(&self, host: &str, port: u16) -> ConnectionInfo {
        let host = host.to_owned();
        let addr = match self.servers[0].addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
            }
            _ => ConnectionAddr::Tcp(host, port),
        };
        self.servers[0].clone().set_addr(addr)
    }
}

/// An address for each host of a list, with the user and password before it.
fn one_for_each(scheme: &str, rest: &str) -> Vec<String> {
    let rest = rest.trim_start_matches('/');
    let (user, rest) =
        rest.rsplit_once('@').map_or((String::new(), rest), |(user, rest)| (format!("{user}@"), rest));
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (hosts, path) = rest.split_at(end);
    hosts.split(',').map(|host| format!("{scheme}://{user}{host}{path}")).collect()
}

fn reason(error: &redis::RedisError) -> &'static str {
    let text = error.to_string();
    let known = [
        "Missing hostname",
        "Missing path",
        "Invalid database number",
        "wildcard address",
        "not valid UTF-8",
    ];
    known.into_iter().find(|known| text.contains(known)).unwrap_or("it cannot be read")
}

/// The address with stars for its password.
fn shown(url: &str) -> String {
    let mut shown = url.to_owned();
    let start = url.find("://").map_or(0, |at| at + 3);
    // A password that is not written as it must be may have any of the signs that end it.
    if let Some(end) = url.rfind('@').filter(|end| *end > start) {
        let colon = url[start..end].find(':').map_or(end, |at| start + at);
        if colon < end {
            shown.replace_range(colon + 1..end, "***");
        }
    }
    for word in ["?pass=", "&pass="] {
        if let Some(at) = shown.find(word) {
            let from = at + word.len();
            let to = shown[from..].find('&').map_or(shown.len(), |at| from + at);
            shown.replace_range(from..to, "***");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(url: &str) -> Vec<String> {
        let address = Address::parse(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        address.servers.iter().map(|server| server.addr().to_string()).collect()
    }

    #[test]
    fn the_documented_addresses_are_read() {
        assert_eq!(hosts("redis://10.0.0.5"), ["10.0.0.5:6379"]);
        assert_eq!(hosts("redis://user:p%40ss@host:7000/2"), ["host:7000"]);
        assert_eq!(hosts("unix:/run/redis.sock"), ["/run/redis.sock"]);
        assert_eq!(hosts("redis+unix:///run/redis.sock?db=1"), ["/run/redis.sock"]);
        assert_eq!(hosts("redis+cluster://h1:7001,h2:7002,h3"), ["h1:7001", "h2:7002", "h3:6379"]);
        let address = Address::parse("redis+cluster://user:word@h1:7001,h2:7002").expect("an address");
        assert!(address.cluster);
        for server in &address.servers {
            assert_eq!(server.redis_settings().username(), Some("user"));
            assert_eq!(server.redis_settings().password(), Some("word"));
        }
        assert_eq!(address.server("h9", 9).addr().to_string(), "h9:9");
    }

    #[cfg(feature = "tls")]
    #[test]
    fn the_servers_of_a_cluster_by_tls_are_all_asked_by_tls() {
        let address = Address::parse("rediss+cluster://h1:7001").expect("an address");
        assert!(matches!(address.server("h9", 9).addr(), ConnectionAddr::TcpTls { insecure: false, .. }));
    }

    #[test]
    fn a_wrong_address_is_named_without_its_password() {
        for (url, expected) in [
            ("10.0.0.5", "\"10.0.0.5\" is no address"),
            ("http://host", "\"http://host\" is no address"),
            ("redis://", "\"redis://\" is no address"),
            (
                "redis://user:secret@host/x",
                "\"redis://user:***@host/x\" is no address of a store: Invalid database",
            ),
            ("redis://:sec/ret@host:x", "\"redis://:***@host:x\""),
            ("redis://host/#insecure", "certificates are always checked"),
            ("redis+cluster://h1,h2/3", "one database"),
            ("redis+unix:///path/s?pass=secret&db=x", "\"redis+unix:///path/s?pass=***&db=x\""),
            ("unix+cluster:/path", "no Unix sockets"),
        ] {
            let error = Address::parse(url).err().unwrap_or_else(|| panic!("{url} is read"));
            assert_eq!(error.kind(), StoreErrorKind::Url);
            let text = error.to_string();
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains("secret") && !text.contains("sec/ret"), "{text}");
        }
    }
}
