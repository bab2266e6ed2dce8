//! When a message may be sent: outside the quiet hours, and at the times of a digest.

use jiff::civil::Time;
use jiff::tz::TimeZone;
use trackside_lifecycle::time::{Span, Timestamp};

/// Hours of every day in which only critical messages are sent.
#[derive(Clone, Debug)]
pub(crate) struct QuietHours {
    from: Time,
    to: Time,
    zone: TimeZone,
}

impl QuietHours {
    /// From one time of the day to another, which may be past midnight, in a time zone. The error explains the mistake.
    pub fn parse(from: &str, to: &str, zone: &str) -> Result<Self, String> {
        let zone = match zone {
            "" => TimeZone::UTC,
            name => TimeZone::get(name).map_err(|_| format!("there is no time zone {name}"))?,
        };
        let quiet = Self { from: time_of_day(from)?, to: time_of_day(to)?, zone };
        if quiet.from == quiet.to {
            return Err("quiet hours must end at another time than they begin".to_owned());
        }
        Ok(quiet)
    }

    /// When the quiet hours end that this moment is in; none if it is in none.
    fn end(&self, at: Timestamp) -> Option<Timestamp> {
        let here = jiff::Timestamp::from_millisecond(at.0).ok()?.to_zoned(self.zone.clone());
        let time = here.time();
        let (is_over_midnight, is_evening) = (self.from > self.to, time >= self.from);
        let is_quiet = match is_over_midnight {
            true => is_evening || time < self.to,
            false => is_evening && time < self.to,
        };
        if !is_quiet {
            return None;
        }
        let day = if is_over_midnight && is_evening { here.date().tomorrow().ok()? } else { here.date() };
        // Where the clock is set forward over the end, they end as much later.
        let end = day.to_datetime(self.to).to_zoned(self.zone.clone()).ok()?;
        Some(Timestamp(end.timestamp().as_millisecond())).filter(|it| *it > at)
    }
}

fn time_of_day(text: &str) -> Result<Time, String> {
    let wrong = || format!("`{text}` is no time of the day: write it as 22:00");
    let (hour, minute) = text.split_once(':').ok_or_else(wrong)?;
    let number = |it: &str| it.parse::<i8>().ok().filter(|_| it.len() == 2 && !it.starts_with(['+', '-']));
    let (hour, minute) = (number(hour).ok_or_else(wrong)?, number(minute).ok_or_else(wrong)?);
    Time::new(hour, minute, 0, 0).map_err(|_| wrong())
}

/// The first moment from now on at which a message may be sent.
pub(crate) fn due_at(now: Timestamp, digest: Option<Span>, quiet: Option<&QuietHours>) -> Timestamp {
    let collected = match digest {
        Some(Span(every)) if every > 0 => {
            Timestamp(now.0.div_euclid(every).saturating_add(1).saturating_mul(every))
        }
        _ => now,
    };
    quiet.and_then(|it| it.end(collected)).unwrap_or(collected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    fn due(now: &str, digest: Option<&str>, quiet: Option<(&str, &str, &str)>) -> String {
        let quiet = quiet.map(|(from, to, zone)| QuietHours::parse(from, to, zone).unwrap());
        due_at(at(now), digest.map(|it| Span::parse(it).unwrap()), quiet.as_ref()).to_string()
    }

    #[test]
    fn quiet_hours_end_in_the_zone_and_past_midnight() {
        let night = Some(("22:00", "07:00", "Europe/Berlin"));
        for (now, expected) in [
            ("2026-01-01T20:59:59Z", "2026-01-01T20:59:59Z"),
            ("2026-01-01T21:00:00Z", "2026-01-02T06:00:00Z"),
            ("2026-01-01T23:30:00Z", "2026-01-02T06:00:00Z"),
            ("2026-01-02T05:59:59Z", "2026-01-02T06:00:00Z"),
            ("2026-01-02T06:00:00Z", "2026-01-02T06:00:00Z"),
            // The night in which the clock is set forward is an hour shorter, the other one an hour longer.
            ("2026-03-28T22:00:00Z", "2026-03-29T05:00:00Z"),
            ("2026-10-24T21:00:00Z", "2026-10-25T06:00:00Z"),
        ] {
            assert_eq!(due(now, None, night), expected, "{now}");
        }
        // The end itself is a time that the clock skips: 02:30 on this day is 03:30.
        let odd = Some(("01:00", "02:30", "Europe/Berlin"));
        assert_eq!(due("2026-03-29T00:30:00Z", None, odd), "2026-03-29T01:30:00Z");
        let noon = Some(("12:00", "13:00", ""));
        assert_eq!(due("2026-01-01T12:30:00Z", None, noon), "2026-01-01T13:00:00Z");
        assert_eq!(due("2026-01-01T13:00:00Z", None, noon), "2026-01-01T13:00:00Z");
    }

    #[test]
    fn a_digest_collects_up_to_the_next_multiple_and_waits_for_the_quiet_hours() {
        assert_eq!(due("2026-01-01T00:10:00Z", Some("1h"), None), "2026-01-01T01:00:00Z");
        assert_eq!(due("2026-01-01T01:00:00Z", Some("1h"), None), "2026-01-01T02:00:00Z");
        let night = Some(("22:00", "07:00", ""));
        assert_eq!(due("2026-01-01T21:30:00Z", Some("1h"), night), "2026-01-02T07:00:00Z");
    }

    #[test]
    fn wrong_times_are_explained() {
        for (from, to, zone, says) in [
            ("9:00", "10:00", "", "`9:00` is no time of the day"),
            ("24:00", "10:00", "", "`24:00` is no time of the day"),
            ("-1:00", "10:00", "", "no time of the day"),
            ("10:00", "10:00", "", "another time"),
            ("10:00", "11:00", "Mars/Olympus", "no time zone Mars/Olympus"),
        ] {
            let why = QuietHours::parse(from, to, zone).unwrap_err();
            assert!(why.contains(says), "{why}");
        }
    }
}
