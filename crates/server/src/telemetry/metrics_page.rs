//! Writes metrics as Prometheus 0.0.4 or OpenMetrics 1.0 text.

use std::fmt::Write as _;

use trackside_runtime::Observed;

/// The format of the metrics page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsFormat {
    Prometheus,
    OpenMetrics,
}

impl MetricsFormat {
    /// The format for an `Accept` header: OpenMetrics only if it is named.
    pub fn accepted(accept: Option<&str>) -> Self {
        match accept {
            Some(it) if it.contains("application/openmetrics-text") => Self::OpenMetrics,
            _ => Self::Prometheus,
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Self::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Labels of a sample. Never an id, so that there are few values.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// The unit of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Recorded in microseconds, shown in seconds.
    Seconds,
    One,
}

impl Unit {
    fn shown(self, value: u64) -> f64 {
        match self {
            Self::Seconds => value as f64 / 1_000_000.0,
            Self::One => value as f64,
        }
    }
}

/// The metrics page, family by family.
#[derive(Debug)]
pub(crate) struct MetricsPage {
    form: MetricsFormat,
    text: String,
}

impl MetricsPage {
    pub fn new(form: MetricsFormat) -> Self {
        Self { form, text: String::new() }
    }

    /// A counter; `name` without `_total`, which the samples get.
    pub fn counter(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, f64)>) {
        let total = format!("{name}_total");
        let family = if self.form == MetricsFormat::OpenMetrics { name } else { &total };
        self.family(family, "counter", help);
        for (labels, value) in samples {
            self.sample(&total, &labels, None, value);
        }
    }

    pub fn gauge(&mut self, name: &str, help: &str, samples: impl IntoIterator<Item = (Labels, f64)>) {
        self.family(name, "gauge", help);
        for (labels, value) in samples {
            self.sample(name, &labels, None, value);
        }
    }

    pub fn histogram(
        &mut self,
        name: &str,
        help: &str,
        unit: Unit,
        samples: impl IntoIterator<Item = (Labels, Observed)>,
    ) {
        self.family(name, "histogram", help);
        let bucket = format!("{name}_bucket");
        for (labels, seen) in samples {
            for (bound, count) in &seen.up_to {
                let bound = unit.shown(*bound);
                let bound = match self.form {
                    MetricsFormat::Prometheus => format!("{bound}"),
                    MetricsFormat::OpenMetrics => format!("{bound:?}"),
                };
                self.sample(&bucket, &labels, Some(&bound), *count as f64);
            }
            self.sample(&bucket, &labels, Some("+Inf"), seen.count as f64);
            self.sample(&format!("{name}_sum"), &labels, None, unit.shown(seen.sum));
            self.sample(&format!("{name}_count"), &labels, None, seen.count as f64);
        }
    }

    pub fn finish(mut self) -> String {
        if self.form == MetricsFormat::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }

    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}").ok();
    }

    fn sample(&mut self, name: &str, labels: &Labels, bound: Option<&str>, value: f64) {
        self.text.push_str(name);
        let bound = bound.map(|it| ("le", it));
        let all = labels.iter().map(|(name, value)| (*name, value.as_str())).chain(bound);
        for (n, (name, value)) in all.enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            write!(self.text, "{}{name}=\"{value}\"", if n == 0 { '{' } else { ',' }).ok();
        }
        if !labels.is_empty() || bound.is_some() {
            self.text.push('}');
        }
        writeln!(self.text, " {value}").ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(form: MetricsFormat) -> String {
        let mut page = MetricsPage::new(form);
        let labels = |value: &str| vec![("what", value.to_owned())];
        page.counter("t_things", "Things.", [(labels("a\"b\\c\nd"), 3.0), (Vec::new(), 0.0)]);
        let seen = Observed { up_to: vec![(500, 1), (1_000_000, 2)], count: 3, sum: 4_000_000 };
        page.histogram("t_took_seconds", "How long.", Unit::Seconds, [(labels("x"), seen)]);
        page.finish()
    }

    #[test]
    fn the_form_of_prometheus() {
        let wanted = "# HELP t_things_total Things.\n# TYPE t_things_total counter\n\
            t_things_total{what=\"a\\\"b\\\\c\\nd\"} 3\nt_things_total 0\n\
            # HELP t_took_seconds How long.\n# TYPE t_took_seconds histogram\n\
            t_took_seconds_bucket{what=\"x\",le=\"0.0005\"} 1\nt_took_seconds_bucket{what=\"x\",le=\"1\"} 2\n\
            t_took_seconds_bucket{what=\"x\",le=\"+Inf\"} 3\nt_took_seconds_sum{what=\"x\"} 4\nt_took_seconds_count{what=\"x\"} 3\n";
        assert_eq!(page(MetricsFormat::Prometheus), wanted);
    }

    #[test]
    fn the_form_of_openmetrics_has_an_end_and_families_without_total() {
        let text = page(MetricsFormat::OpenMetrics);
        assert!(
            text.starts_with("# HELP t_things Things.\n# TYPE t_things counter\nt_things_total{"),
            "{text}"
        );
        assert!(text.contains("le=\"1.0\"") && text.ends_with("# EOF\n"), "{text}");
    }

    #[test]
    fn openmetrics_is_for_those_who_name_it() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(MetricsFormat::accepted(Some(prometheus)), MetricsFormat::OpenMetrics);
        assert_eq!(MetricsFormat::accepted(Some("*/*")), MetricsFormat::Prometheus);
        assert_eq!(MetricsFormat::accepted(None), MetricsFormat::Prometheus);
    }
}
