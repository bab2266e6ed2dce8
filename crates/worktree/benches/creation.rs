//! Time to make a worktree on a repository of 10,000 files, beside bare `git worktree add` in the same run:
//! `cargo bench -p trackside-worktree`. Prints JSON with medians in milliseconds.
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a measurement prints its results and stops at the first surprise"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use trackside_worktree::{CreateRequest, Repository, RequestOrigin};

const FILES: usize = 10_000;
const ROUNDS: u64 = 7;

fn git(folder: &Path, args: &[&str]) {
    let output = Command::new("git").args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn main() {
    let root = std::env::temp_dir().join(format!("trackside-creation-{}", std::process::id()));
    for number in 0..FILES {
        let folder = root.join(format!("folder-{}", number / 100));
        std::fs::create_dir_all(&folder).unwrap();
        let line = format!("line of file {number}\n");
        std::fs::write(folder.join(format!("file-{number}.txt")), line.repeat(400)).unwrap();
    }
    git(&root, &["init", "-q", "-b", "integration"]);
    git(&root, &["config", "user.name", "Ada"]);
    git(&root, &["config", "user.email", "ada@example.com"]);
    git(&root, &["add", "-A"]);
    git(&root, &["commit", "-q", "-m", "start"]);
    let repository = Repository::open(&root).unwrap();
    let request = |id: String, number: u64| CreateRequest {
        path: format!(".worktrees/{id}"),
        branch: format!("task/{id}"),
        from: "integration".to_owned(),
        reset: true,
        entity: None,
        slot: None,
        made_for: RequestOrigin { origin: "bench".to_owned(), number },
        environment: BTreeMap::new(),
    };
    let (mut bare, mut made, mut pooled) = (Vec::new(), Vec::new(), Vec::new());
    let time = |act: &dyn Fn()| {
        let begun = Instant::now();
        act();
        begun.elapsed().as_secs_f64() * 1_000.0
    };
    for round in 0..ROUNDS {
        bare.push(time(&|| {
            let path = root.join(format!(".worktrees/bare-{round}")).display().to_string();
            git(&root, &["worktree", "add", "-q", "-b", &format!("bare-{round}"), &path, "integration"]);
        }));
        made.push(time(&|| {
            repository.create_worktree(&request(format!("made-{round}"), round)).unwrap();
        }));
        repository.fill_pool(".worktrees", "integration", &BTreeMap::new()).unwrap();
        pooled.push(time(&|| {
            repository.create_worktree(&request(format!("pooled-{round}"), round)).unwrap();
        }));
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let (bare, made, pooled) = (median(&mut bare), median(&mut made), median(&mut pooled));
    println!(
        "{{\"bare\": {bare:.0}, \"created\": {made:.0}, \"ratio\": {:.2}, \"pool\": {pooled:.0}}}",
        made / bare
    );
    std::fs::remove_dir_all(&root).unwrap();
}
