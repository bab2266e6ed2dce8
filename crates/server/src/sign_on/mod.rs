//! Sign-in of people who are authenticated elsewhere: by an OpenID provider, or by a reverse proxy.

mod id_token;
mod oidc;
mod people_file;
mod provider;
mod proxy;

pub(crate) use oidc::Oidc;
pub use people_file::PeopleFile;
pub use provider::OidcOptions;
pub use proxy::ProxyOptions;
pub(crate) use proxy::{Forwarded, ProxySessions, apply_proxy};
