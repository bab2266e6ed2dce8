//! An OpenID provider for tests: discovery, keys, the code flow with PKCE, and ID tokens with real signatures.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
    RsaPublicKeyComponents,
};
use serde_json::{Value as Json, json};
use sha2::{Digest as _, Sha256};

/// A key for these tests only.
const RSA_KEY: &str = "\
    MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQD2geLi1tSJ/2an9J8bV2dBG1ZMnT6fypcWoMqsbVRa7SxO3Kjc+jcuy1wpAE\
    9RKS1nDtMuvYUf8EXU/86gz65Fw2mR6xiV+ByCQk0GLhkRFSB/xp5vCeXcnD0Ef3P8ckMNxoXFfyWJLHgYasGeMy+HZtAxcYL+RwsuJc+KBLVp\
    g0qKUKMlPAk5ruM7r32MkssdBJDl69HYohzGQ5fziwp4hHAmDxdNBTwmyM22rV2xIVzImrfUSCQEwfLd17z+lkDmYvrvSc1bEa9FtLk0xZuQiH\
    q9MDJZBs1DAlmDC8QAY1mpqECtBamcyhmnZjZKshRqascSvs1yuCg6pLoGbUTzAgMBAAECggEAYEb9kwQ+EcHPWeToaZjbCqo/LAA0T9uj5CIb\
    1nmC+1prtkdnqpsNh3jEv3zP/c573acEI1rBDmbdF2Jr1RIYKkY2yteMDDLSC6wSgknp32qlfVJZWdv/S4k4KbQP3HbSKqSxZaARzIAyTbMQeR\
    Xbx+IHiXAgreiYfMcmxmytYA4zgVINjOaWua52OiAQjbjc7i2v4kCxGRQESiIiPvHdmL18scJd0g36w4vU/CawjShmVDaSMvTL2qZ2OBCaJzt0\
    YhXaZkhXkRJuQ1VqXdhbfeRxbExlw7i6qBepudGjkY9h5JoPmb7aJBM9ueWiGloIQkrMguQvBLvPcKV/3Ii2yQKBgQD/wdVvXgELncrbMI3+Kv\
    20y3tAwDZGl6qFya6OtaGhsMEkAQtuWAGBtU4ehyAY6uR3g/6lvRA2qhJWf60iLCtNrZMsQWuxWrbB+DQaSYNMTydAcGTUzRTU/N90R8SgYSK8\
    wNFd9hoSd7O1if7jO/TrOxn4K7oeWFnslonODQ8iOwKBgQD2vc3hPg9u9jTLGrHvf6b+PBt2YhTnSy1p2VaPC1qN6hJdKNG3pRcz6N1WZhZpDk\
    xXwzU8y9fcZb/UT2qL3I7ebHYhVtA0OHZ/VH8g6gWIbPs9ml8uFDgJHjkAEgYKl3eBgs0IQGjX+r4rxpkgUh8sVP7Hahv5G+PYMWAFaYhEqQKB\
    gCJ0fYmEU4W6G0MONoLgTc+WfiNKAcXe1tUxR3foVj8PLeXo0h5qcsGDqGOKdrOEqYTEXoD7iHykytWmW6+33ZmYYbRbl+OLwgU9p99Gug6Et1\
    gCDENy4XSUIJJsvLuSeniNTWdoKTkFsUsqrRD12df63VPGqEtAQdUSrrv4nGpTAoGAf79Xd5XVEcMhJELm+zPhNuHR6iHv5qxyj8n52cesE6ur\
    5FW89tLfx316E0B5u9yuRAYKazayxSZdAkQ3yr/frGMFak9zLoZJO7V4uIbRZIfgME3bl5TaSkY+hr3OKO+w7PnWw73tSl1E1o9VOnmqMB61Zn\
    OWlgwNlCJEL6kq5zkCgYEA9cTsMaP1AXLqdk5L2mXW4gbTU28k7g732MN+OCeY5SSJxrrWNKoGQocXMP7cTVBbok6sFFrdzglQzm/R4HCM9rHk\
    tEdL5a/hv6gAEbh12zJAlkQS4g/IgToQmdwDZ3TET0le5MN6GUXHCjkjvzm9nFL2a1TFtYktWAS6FjgJq84=";

pub(crate) const CLIENT: &str = "trackside-tests";
pub(crate) const CLIENT_SECRET: &str = "a secret: with+signs&";

/// The access token.
const ACCESS: &str = "an-access-token";

/// How the next ID token is made.
#[derive(Clone, Debug)]
pub(crate) struct TokenPlan {
    pub algorithm: &'static str,
    /// Signs with another key than the published one of this name.
    pub forged: bool,
    /// Claims that are added or replaced; null removes one.
    pub claims: Json,
    /// The answer at the address for user info; none if the provider has no such address.
    pub user_info: Option<Json>,
}

impl Default for TokenPlan {
    fn default() -> Self {
        Self { algorithm: "RS256", forged: false, claims: json!({}), user_info: None }
    }
}

/// What the provider knows about a code.
#[derive(Clone, Debug)]
struct IssuedCode {
    nonce: String,
    challenge: String,
    redirect: String,
}

struct ProviderState {
    plan: TokenPlan,
    codes: HashMap<String, IssuedCode>,
    ec: EcdsaKeyPair,
    ec_name: String,
    other_ec: EcdsaKeyPair,
    requests: Vec<String>,
}

/// A running provider. It ends with the process.
#[derive(Clone)]
pub(crate) struct OpenIdProvider {
    pub issuer: String,
    state: Arc<Mutex<ProviderState>>,
}

fn new_ec() -> EcdsaKeyPair {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
    EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap()
}

fn rsa() -> RsaKeyPair {
    let text: String = RSA_KEY.chars().filter(|it| !it.is_whitespace()).collect();
    RsaKeyPair::from_pkcs8(&STANDARD.decode(text).unwrap()).unwrap()
}

fn encoded(json: &Json) -> String {
    URL_SAFE_NO_PAD.encode(json.to_string())
}

fn pairs(text: &str) -> HashMap<String, String> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

impl OpenIdProvider {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let state = ProviderState {
            plan: TokenPlan::default(),
            codes: HashMap::new(),
            ec: new_ec(),
            ec_name: "ec-1".to_owned(),
            other_ec: new_ec(),
            requests: Vec::new(),
        };
        let provider = Self { issuer, state: Arc::new(Mutex::new(state)) };
        let serving = provider.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || serving.answer(stream));
            }
        });
        provider
    }

    pub fn plan(&self, plan: TokenPlan) {
        self.state.lock().unwrap().plan = plan;
    }

    /// Replaces the elliptic-curve key, as providers do from time to time.
    pub fn change_key(&self) {
        let mut state = self.state.lock().unwrap();
        (state.ec, state.ec_name) = (new_ec(), "ec-2".to_owned());
    }

    /// The paths that were requested.
    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    fn answer(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let (mut line, mut length, mut given) = (String::new(), 0, String::new());
        reader.read_line(&mut line).ok()?;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).ok()?;
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok()?,
                "authorization" => given = value.to_owned(),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let target = line.split(' ').nth(1)?.to_owned();
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        self.state.lock().unwrap().requests.push(path.to_owned());
        let (status, more, body) = match path {
            "/.well-known/openid-configuration" => (200, String::new(), self.discovery()),
            "/jwks" => (200, String::new(), self.keys()),
            "/authorize" => (302, format!("Location: {}\r\n", self.authorize(&pairs(query))), json!({})),
            "/token" => match self.token(&pairs(&String::from_utf8_lossy(&body)), &given) {
                Ok(answer) => (200, String::new(), answer),
                Err(why) => (400, String::new(), json!({ "error": why })),
            },
            "/userinfo" if given == format!("Bearer {ACCESS}") => {
                (200, String::new(), self.state.lock().unwrap().plan.user_info.clone().unwrap_or_default())
            }
            _ => (404, String::new(), json!({})),
        };
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\n{more}Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let mut stream = stream;
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).ok()
    }

    fn discovery(&self) -> Json {
        let at = |path: &str| format!("{}{path}", self.issuer);
        let user_info = self.state.lock().unwrap().plan.user_info.is_some().then(|| at("/userinfo"));
        json!({
            "userinfo_endpoint": user_info, "issuer": self.issuer, "authorization_endpoint": at("/authorize"), "token_endpoint": at("/token"),
            "jwks_uri": at("/jwks"), "token_endpoint_auth_methods_supported": ["client_secret_basic"],
        })
    }

    fn keys(&self) -> Json {
        let state = self.state.lock().unwrap();
        let public = RsaPublicKeyComponents::<Vec<u8>>::from(rsa().public());
        let point = state.ec.public_key().as_ref().to_vec();
        let text = |it: &[u8]| URL_SAFE_NO_PAD.encode(it);
        json!({ "keys": [
            { "kty": "RSA", "kid": "rsa-1", "use": "sig", "alg": "RS256", "n": text(&public.n), "e": text(&public.e) },
            { "kty": "EC", "kid": state.ec_name, "use": "sig", "crv": "P-256", "x": text(&point[1..33]), "y": text(&point[33..]) },
            { "kty": "OKP", "kid": "unused", "crv": "Ed25519", "x": "AA" },
        ] })
    }

    /// Signs the person in without questions, and returns the address to send the browser to.
    fn authorize(&self, asked: &HashMap<String, String>) -> String {
        let of = |name: &str| asked.get(name).cloned().unwrap_or_default();
        assert_eq!((of("response_type"), of("client_id")), ("code".to_owned(), CLIENT.to_owned()));
        assert_eq!(of("code_challenge_method"), "S256");
        assert!(of("scope").split(' ').any(|it| it == "openid"));
        let mut state = self.state.lock().unwrap();
        let code = format!("code-{}", state.codes.len());
        let issued =
            IssuedCode { nonce: of("nonce"), challenge: of("code_challenge"), redirect: of("redirect_uri") };
        state.codes.insert(code.clone(), issued);
        let query = form_urlencoded::Serializer::new(String::new())
            .extend_pairs([("code", code.as_str()), ("state", &of("state")), ("iss", &self.issuer)])
            .finish();
        format!("{}?{query}", of("redirect_uri"))
    }

    fn token(&self, form: &HashMap<String, String>, given: &str) -> Result<Json, &'static str> {
        let encode = |it: &str| form_urlencoded::byte_serialize(it.as_bytes()).collect::<String>();
        let basic = STANDARD.encode(format!("{}:{}", encode(CLIENT), encode(CLIENT_SECRET)));
        if given != format!("Basic {basic}") {
            return Err("invalid_client");
        }
        let of = |name: &str| form.get(name).cloned().unwrap_or_default();
        let issued = self.state.lock().unwrap().codes.get(&of("code")).cloned().ok_or("invalid_grant")?;
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(of("code_verifier").as_bytes()));
        if challenge != issued.challenge || of("redirect_uri") != issued.redirect {
            return Err("invalid_grant");
        }
        Ok(
            json!({ "access_token": ACCESS, "token_type": "Bearer", "id_token": self.id_token(&issued.nonce) }),
        )
    }

    fn id_token(&self, nonce: &str) -> String {
        let state = self.state.lock().unwrap();
        let TokenPlan { algorithm, forged, claims, .. } = &state.plan;
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let mut all = json!({
            "iss": self.issuer, "aud": CLIENT, "sub": "1234", "nonce": nonce, "iat": now, "exp": now + 300,
            "email": "ada@example.com", "email_verified": true,
        });
        for (name, value) in claims.as_object().unwrap() {
            match value {
                Json::Null => drop(all.as_object_mut().unwrap().remove(name)),
                value => all[name] = value.clone(),
            }
        }
        let name = if *algorithm == "ES256" { state.ec_name.clone() } else { "rsa-1".to_owned() };
        let signed = format!("{}.{}", encoded(&json!({ "alg": algorithm, "kid": name })), encoded(&all));
        let random = SystemRandom::new();
        let signature = match *algorithm {
            "ES256" => {
                let key = if *forged { &state.other_ec } else { &state.ec };
                key.sign(&random, signed.as_bytes()).unwrap().as_ref().to_vec()
            }
            "RS256" => {
                let key = rsa();
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, signed.as_bytes(), &mut signature).unwrap();
                if *forged {
                    signature[7] ^= 1;
                }
                signature
            }
            _ => Vec::new(),
        };
        format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}
