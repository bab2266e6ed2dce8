//! The collector for traces, from the variables of OpenTelemetry.

use trackside_server::TraceOptions;

/// Reads the variables. None if they name no endpoint.
pub(crate) fn from(read: impl Fn(&str) -> Option<String>) -> Result<Option<TraceOptions>, String> {
    let set = |name: &str| read(name).map(|it| it.trim().to_owned()).filter(|it| !it.is_empty());
    if set("OTEL_SDK_DISABLED").is_some_and(|it| it.eq_ignore_ascii_case("true"))
        || set("OTEL_TRACES_EXPORTER").is_some_and(|it| it == "none")
    {
        return Ok(None);
    }
    let own = set("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    let base = set("OTEL_EXPORTER_OTLP_ENDPOINT").map(|it| format!("{}/v1/traces", it.trim_end_matches('/')));
    let Some(endpoint) = own.or(base) else { return Ok(None) };
    let plain = endpoint.starts_with("http://") || endpoint.starts_with("https://");
    if !plain || endpoint.contains('@') {
        return Err("OTEL_EXPORTER_OTLP_ENDPOINT is an address as in http://127.0.0.1:4318; what lets you in goes to \
            OTEL_EXPORTER_OTLP_HEADERS"
            .to_owned());
    }
    let protocol = set("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL").or_else(|| set("OTEL_EXPORTER_OTLP_PROTOCOL"));
    if protocol.is_some_and(|it| it == "grpc") {
        return Err(
            "traces are sent by HTTP, not by gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json and the \
            address of the HTTP receiver, mostly port 4318"
                .to_owned(),
        );
    }
    let headers = set("OTEL_EXPORTER_OTLP_TRACES_HEADERS").or_else(|| set("OTEL_EXPORTER_OTLP_HEADERS"));
    Ok(Some(TraceOptions {
        endpoint,
        headers: headers.map_or(Ok(Vec::new()), |it| pairs(&it))?,
        service: set("OTEL_SERVICE_NAME").unwrap_or_else(|| "trackside".to_owned()),
        share: share(set("OTEL_TRACES_SAMPLER").as_deref(), set("OTEL_TRACES_SAMPLER_ARG").as_deref())?,
    }))
}

/// `name=value` with commas between them, with `%20` and the like in values.
fn pairs(text: &str) -> Result<Vec<(String, String)>, String> {
    // Do not repeat the value in the error: it may be secret.
    let wrong = || "OTEL_EXPORTER_OTLP_HEADERS is name=value with commas between them".to_owned();
    let parts = text.split(',').map(str::trim).filter(|it| !it.is_empty());
    let pair = |it: &str| {
        let (name, value) = it.split_once('=').ok_or_else(wrong)?;
        let value = decoded(value.trim()).ok_or_else(wrong)?;
        let named =
            !name.trim().is_empty() && name.trim().bytes().all(|it| it.is_ascii_graphic() && it != b':');
        let plain = value.bytes().all(|it| it == b' ' || it.is_ascii_graphic());
        if named && plain { Ok((name.trim().to_owned(), value)) } else { Err(wrong()) }
    };
    parts.map(pair).collect()
}

fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, more)) = rest.split_first() {
        match (first, more) {
            (b'%', [high, low, more @ ..]) => {
                let pair = [*high, *low];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?);
                rest = more;
            }
            (b'%', _) => return None,
            _ => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

/// The sampled share of requests without a caller's trace.
fn share(sampler: Option<&str>, argument: Option<&str>) -> Result<f64, String> {
    match sampler.unwrap_or("parentbased_always_on") {
        "always_on" | "parentbased_always_on" => Ok(1.0),
        "always_off" | "parentbased_always_off" => Ok(0.0),
        "traceidratio" | "parentbased_traceidratio" => {
            let share = argument.map_or(Ok(1.0), str::parse::<f64>).ok();
            let share = share.filter(|it| (0.0..=1.0).contains(it));
            share.ok_or_else(|| "OTEL_TRACES_SAMPLER_ARG is a share from 0 to 1".to_owned())
        }
        other => Err(format!("OTEL_TRACES_SAMPLER {other} is not known here: say parentbased_traceidratio")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(set: &[(&str, &str)]) -> Result<Option<TraceOptions>, String> {
        from(|name| set.iter().find(|(it, _)| *it == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn no_traces_are_sent_without_an_endpoint() {
        assert!(read(&[]).unwrap().is_none());
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318/");
        assert!(read(&[endpoint, ("OTEL_SDK_DISABLED", "true")]).unwrap().is_none());
        assert!(read(&[endpoint, ("OTEL_TRACES_EXPORTER", "none")]).unwrap().is_none());
        let found = read(&[endpoint]).unwrap().unwrap();
        assert_eq!(
            (found.endpoint.as_str(), found.service.as_str()),
            ("http://127.0.0.1:4318/v1/traces", "trackside")
        );
        assert_eq!((found.headers.len(), found.share), (0, 1.0));
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://x.example/as/it/is");
        assert_eq!(read(&[endpoint, own]).unwrap().unwrap().endpoint, "https://x.example/as/it/is");
    }

    #[test]
    fn headers_and_shares_are_read_and_errors_do_not_repeat_the_value() {
        let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");
        let headers = ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20s3cret, x-team=a");
        let found = read(&[endpoint, headers]).unwrap().unwrap();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found.headers, [pair("authorization", "Bearer s3cret"), pair("x-team", "a")]);
        assert!(!format!("{found:?}").contains("s3cret"));
        let wrong = read(&[endpoint, ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret")]).unwrap_err();
        assert!(!wrong.contains("s3cret"), "{wrong}");
        let sampler = ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
        let found = read(&[endpoint, sampler, ("OTEL_TRACES_SAMPLER_ARG", "0.25")]).unwrap().unwrap();
        assert_eq!(found.share, 0.25);
        for wrong in [
            [endpoint, sampler, ("OTEL_TRACES_SAMPLER_ARG", "2")],
            [endpoint, ("OTEL_TRACES_SAMPLER", "jaeger_remote"), ("", "")],
            [endpoint, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("", "")],
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://me:pass@host"), ("", ""), ("", "")],
            [("OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4317"), ("", ""), ("", "")],
        ] {
            assert!(read(&wrong).is_err(), "{wrong:?}");
        }
    }
}
