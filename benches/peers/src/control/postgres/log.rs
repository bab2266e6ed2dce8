//! The output of `pgbench`.

use std::time::Duration;

use crate::BenchError;
use crate::latency::Latency;

/// Transactions, and how many a second, from its report.
pub(super) fn report(text: &str) -> Result<(f64, f64), BenchError> {
    let number = |key: &str| {
        let line = text.lines().find_map(|it| it.strip_prefix(key))?;
        line.split_whitespace().next()?.split('/').next()?.parse::<f64>().ok()
    };
    let failed = number("number of failed transactions:").unwrap_or(0.0);
    match (number("number of transactions actually processed:"), number("tps =")) {
        (Some(commands), Some(per_second)) if failed == 0.0 => Ok((commands, per_second)),
        (Some(_), Some(_)) => Err(parse_error(format!("{failed} transactions failed"))),
        _ => Err(parse_error(format!(
            "its report was not understood: {}",
            text.lines().last().unwrap_or_default()
        ))),
    }
}

fn parse_error(said: String) -> BenchError {
    BenchError::Program { program: "pgbench".to_owned(), said }
}

/// The third number of each line: microseconds of one transaction.
pub(super) fn latencies(text: &str, into: &mut Latency) {
    let micros = text.lines().filter_map(|it| it.split(' ').nth(2)?.parse().ok());
    micros.for_each(|it| into.record(Duration::from_micros(it)));
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "pgbench (15.18)\ntransaction type: script.sql\nscaling factor: 1\nquery mode: prepared\n\
        number of clients: 16\nnumber of transactions actually processed: 40960\n\
        number of failed transactions: 0 (0.000%)\nlatency average = 1.95 ms\ninitial connection time = 9.1 ms\n\
        tps = 8199.25 (without initial connection time)\n";

    #[test]
    fn a_report_is_read() {
        assert_eq!(report(REPORT).unwrap(), (40_960.0, 8_199.25));
    }

    #[test]
    fn failures_and_unknown_output_are_reported() {
        let failing = REPORT.replace("transactions: 0 (0.000%)", "transactions: 3 (0.007%)");
        assert!(report(&failing).unwrap_err().to_string().contains("3 transactions failed"));
        assert!(report("pgbench: error: no").unwrap_err().to_string().contains("not understood"));
    }

    #[test]
    fn latencies_are_those_of_the_log() {
        let mut all = Latency::default();
        latencies("0 0 120 0 1763270000 1\n0 1 480 0 1763270000 2\nbroken\n", &mut all);
        assert_eq!((all.count(), all.max()), (2, Duration::from_micros(480)));
    }
}
