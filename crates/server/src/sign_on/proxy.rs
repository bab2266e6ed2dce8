//! Reverse proxies whose headers are believed: the client's address and scheme, and the person they authenticated.

use std::net::IpAddr;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName};
use tokio::sync::Mutex;

use super::people_file::PeopleFile;
use crate::connections::Peer;

/// Reverse proxies, and what they may say. By default there are none, and their headers are ignored.
#[derive(Clone, Debug, Default)]
pub struct ProxyOptions {
    /// Networks: address and length of the prefix.
    networks: Vec<(IpAddr, u8)>,
    /// The header with the name of the person that the proxy authenticated.
    user_header: Option<HeaderName>,
    /// Who may sign in this way.
    pub people: PeopleFile,
}

impl ProxyOptions {
    /// Believes the proxies at these addresses or networks, such as `10.0.0.1` and `10.1.0.0/16`.
    pub fn trust(&mut self, addresses: &[String]) -> Result<(), String> {
        for text in addresses {
            let (address, bits) = text.split_once('/').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
            let address = address.parse::<IpAddr>().ok().map(|it| it.to_canonical());
            let most = if address.is_some_and(|it| it.is_ipv4()) { 32 } else { 128 };
            let bits = bits.map_or(Some(most), |it| it.parse().ok()).filter(|it| *it <= most);
            let (Some(address), Some(bits)) = (address, bits) else {
                return Err(format!(
                    "--trust-proxy {text}: write an address or a network, such as 10.0.0.1 or 10.1.0.0/16"
                ));
            };
            self.networks.push((address, bits));
        }
        Ok(())
    }

    /// Accepts the person that a trusted proxy names in this header.
    pub fn accept_user(&mut self, header: &str) -> Result<(), String> {
        let reserved = ["authorization", "cookie", "host", "trackside-for"];
        let name = HeaderName::from_bytes(header.as_bytes()).ok();
        let name = name.filter(|it| !reserved.contains(&it.as_str()));
        let why =
            || format!("--proxy-user-header {header}: write the name of a header, such as X-Forwarded-User");
        self.user_header = Some(name.ok_or_else(why)?);
        Ok(())
    }

    fn is_trusted(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|(network, bits)| match (network, address) {
            (IpAddr::V4(network), IpAddr::V4(it)) => {
                let mask = u32::MAX.checked_shl(32 - u32::from(*bits)).unwrap_or(0);
                network.to_bits() & mask == it.to_bits() & mask
            }
            (IpAddr::V6(network), IpAddr::V6(it)) => {
                let mask = u128::MAX.checked_shl(128 - u32::from(*bits)).unwrap_or(0);
                network.to_bits() & mask == it.to_bits() & mask
            }
            _ => false,
        })
    }

    /// The address of the client: the last one in `X-Forwarded-For` that is no trusted proxy.
    fn client(&self, proxy: IpAddr, headers: &HeaderMap) -> IpAddr {
        let lines = headers.get_all("x-forwarded-for").iter().rev().filter_map(|it| it.to_str().ok());
        let named = lines.flat_map(|it| it.rsplit(','));
        let mut nearest = proxy;
        for text in named {
            // Addresses before text that is no address are not trusted.
            let Ok(address) = text.trim().trim_matches(['[', ']']).parse::<IpAddr>() else { return nearest };
            nearest = address;
            if !self.is_trusted(address) {
                return address;
            }
        }
        nearest
    }
}

/// What a trusted proxy says about a request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forwarded {
    /// Whether the client used TLS.
    pub is_tls: bool,
    /// The person that the proxy authenticated.
    pub user: Option<String>,
}

/// Replaces the peer of a request by the client that a trusted proxy names. From others, the headers are removed.
pub(crate) fn apply_proxy(options: &ProxyOptions, request: &mut Request) {
    let peer = request.extensions().get::<Peer>().and_then(|it| it.0);
    let mut forwarded = Forwarded::default();
    if let Some(proxy) = peer.filter(|it| options.is_trusted(*it)) {
        let headers = request.headers();
        let text = |name: &HeaderName| headers.get(name).and_then(|it| it.to_str().ok()).map(str::trim);
        let mut schemes = headers.get_all("x-forwarded-proto").iter();
        forwarded.is_tls = schemes.next().is_some_and(|it| it.as_bytes().eq_ignore_ascii_case(b"https"))
            && schemes.next().is_none();
        forwarded.user =
            options.user_header.as_ref().and_then(text).filter(|it| !it.is_empty()).map(str::to_owned);
        let client = options.client(proxy, headers);
        request.extensions_mut().insert(Peer(Some(client)));
    }
    if let Some(name) = &options.user_header {
        request.headers_mut().remove(name);
    }
    request.extensions_mut().insert(forwarded);
}

/// The sessions of people that the proxy authenticated: name to the text of the token.
#[derive(Debug, Default)]
pub(crate) struct ProxySessions(pub Mutex<std::collections::HashMap<String, String>>);

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn options() -> ProxyOptions {
        let mut options = ProxyOptions::default();
        options.trust(&["10.0.0.1".to_owned(), "192.168.0.0/16".to_owned(), "fd00::/8".to_owned()]).unwrap();
        options.accept_user("X-User").unwrap();
        options
    }

    fn applied(peer: &str, headers: &[(&str, &str)]) -> (String, Forwarded, bool) {
        let mut request = Request::builder();
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).unwrap();
        request.extensions_mut().insert(Peer(Some(peer.parse().unwrap())));
        apply_proxy(&options(), &mut request);
        let peer = request.extensions().get::<Peer>().unwrap().0.unwrap();
        let forwarded = request.extensions().get::<Forwarded>().unwrap().clone();
        (peer.to_string(), forwarded, request.headers().contains_key("x-user"))
    }

    #[test]
    fn only_trusted_proxies_are_believed() {
        let said = [
            ("X-Forwarded-For", "1.2.3.4, 5.6.7.8, 192.168.7.7"),
            ("X-Forwarded-Proto", "https"),
            ("X-User", "ada"),
        ];
        for proxy in ["10.0.0.1", "192.168.3.4", "::ffff:10.0.0.1", "fd00::1"] {
            let (peer, forwarded, kept) = applied(proxy, &said);
            assert_eq!(
                (peer.as_str(), forwarded.is_tls, forwarded.user.as_deref()),
                ("5.6.7.8", true, Some("ada"))
            );
            assert!(!kept);
        }
        for other in ["10.0.0.2", "127.0.0.1", "192.169.0.1", "fe80::1"] {
            let (peer, forwarded, kept) = applied(other, &said);
            assert_eq!((peer.as_str(), forwarded.is_tls, forwarded.user), (other, false, None));
            assert!(!kept, "the header is removed");
        }
        let (peer, ..) = applied("10.0.0.1", &[("X-Forwarded-For", "1.2.3.4, garbage, 192.168.1.1")]);
        assert_eq!(peer, "192.168.1.1");
        let (_, forwarded, _) =
            applied("10.0.0.1", &[("X-Forwarded-Proto", "https"), ("X-Forwarded-Proto", "http")]);
        assert!(!forwarded.is_tls, "ambiguous");
    }

    #[test]
    fn wrong_options_are_refused() {
        for wrong in ["", "localhost", "10.0.0.0/33", "::/129", "10.0.0.1:80"] {
            assert!(ProxyOptions::default().trust(&[wrong.to_owned()]).is_err(), "{wrong}");
        }
        for wrong in ["", "a b", "Authorization", "cookie"] {
            assert!(ProxyOptions::default().accept_user(wrong).is_err(), "{wrong}");
        }
    }
}
