//! Reports that the server has not confirmed yet: on disk, in order, delivered once.
//!
//! Each report has a key, which the server uses to recognise a repeated one. So a report whose answer was lost is sent
//! again without harm.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One request to the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpooledReport {
    /// Idempotency key.
    pub key: String,
    pub path: String,
    pub body: Value,
}

/// What became of a report that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportDelivery {
    Confirmed,
    /// The server refused it. It is kept aside as evidence.
    Refused,
    /// The server could not be reached; the report stays.
    Unreachable,
}

#[derive(Debug)]
pub struct ReportSpool {
    folder: PathBuf,
    next: u64,
}

impl ReportSpool {
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder.join("refused"))?;
        let last = numbers(folder)?.into_iter().chain(numbers(&folder.join("refused"))?).max().unwrap_or(0);
        Ok(Self { folder: folder.to_owned(), next: last + 1 })
    }

    /// Stores a report durably.
    pub fn push(&mut self, report: &SpooledReport) -> io::Result<()> {
        let (new, path) = (self.folder.join("new"), self.file(self.next));
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(&serde_json::to_vec(report)?)?;
        file.sync_all()?;
        fs::rename(new, path)?;
        File::open(&self.folder)?.sync_all()?;
        self.next += 1;
        Ok(())
    }

    /// Sends the stored reports in order. Stops at the first that cannot be delivered. Returns the number delivered.
    pub fn deliver(&mut self, mut send: impl FnMut(&SpooledReport) -> ReportDelivery) -> io::Result<usize> {
        let mut delivered = 0;
        for number in numbers(&self.folder)? {
            let path = self.file(number);
            let report: SpooledReport = match serde_json::from_slice(&fs::read(&path)?) {
                Ok(report) => report,
                // Cannot happen to a file that was renamed into place; a damaged disk must not block the others.
                Err(_) => {
                    fs::rename(&path, self.folder.join("refused").join(number.to_string()))?;
                    continue;
                }
            };
            match send(&report) {
                ReportDelivery::Confirmed => fs::remove_file(&path)?,
                ReportDelivery::Refused => {
                    fs::rename(&path, self.folder.join("refused").join(number.to_string()))?
                }
                ReportDelivery::Unreachable => break,
            }
            delivered += 1;
        }
        Ok(delivered)
    }

    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(numbers(&self.folder)?.is_empty())
    }

    fn file(&self, number: u64) -> PathBuf {
        self.folder.join(number.to_string())
    }
}

fn numbers(folder: &Path) -> io::Result<Vec<u64>> {
    let names = fs::read_dir(folder)?.flatten();
    let mut all: Vec<u64> = names.filter_map(|it| it.file_name().to_str()?.parse().ok()).collect();
    all.sort_unstable();
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_a_restart_and_arrive_in_order_and_once() {
        let folder = std::env::temp_dir().join(format!("trackside-spool-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        let report =
            |key: &str| SpooledReport { key: key.to_owned(), path: "/x".to_owned(), body: Value::Null };
        let mut spool = ReportSpool::open(&folder).unwrap();
        for number in 1..=12 {
            spool.push(&report(&format!("k{number}"))).unwrap();
        }
        let mut sent = Vec::new();
        let delivered = spool.deliver(|it| {
            if sent.len() == 3 {
                return ReportDelivery::Unreachable;
            }
            sent.push(it.key.clone());
            if it.key == "k2" { ReportDelivery::Refused } else { ReportDelivery::Confirmed }
        });
        assert_eq!((delivered.unwrap(), sent.len()), (3, 3));

        let mut spool = ReportSpool::open(&folder).unwrap();
        spool.push(&report("k13")).unwrap();
        spool
            .deliver(|it| {
                sent.push(it.key.clone());
                ReportDelivery::Confirmed
            })
            .unwrap();
        let expected: Vec<String> = (1..=13).map(|it| format!("k{it}")).collect();
        assert_eq!(sent, expected);
        assert!(spool.is_empty().unwrap());
        assert_eq!(numbers(&folder.join("refused")).unwrap(), [2], "a refused report is kept");
        fs::remove_dir_all(folder).unwrap();
    }
}
