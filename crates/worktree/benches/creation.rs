//! Time to make a worktree on a repository of 10,000 files, beside bare `git worktree add` in the same run:
//! `just worktree-speed`, or `cargo bench -p trackside-worktree --bench creation -- rounds=7 --assert`. Prints JSON in
//! milliseconds: the median and the fastest of each, and the processor time of all rounds, which other work on the machine
//! changes least. With `--assert` it fails if a worktree takes more than 1.2 times as long as the bare command, or half a
//! second from the pool. Run it on a quiet machine.
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
/// The largest ratio of a worktree to the bare command, and the longest time from the pool in milliseconds.
const LARGEST_RATIO: f64 = 1.2;
const LONGEST_POOLED: f64 = 500.0;

fn git(folder: &Path, args: &[&str]) {
    let output = Command::new("git").args(args).current_dir(folder).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Milliseconds of each round, and the processor time of this process and those that it waited for.
#[derive(Default)]
struct Times {
    wall: Vec<f64>,
    cpu: f64,
}

impl Times {
    fn take(&mut self, act: &dyn Fn()) {
        let (begun, cpu) = (Instant::now(), cpu_time());
        act();
        self.wall.push(begun.elapsed().as_secs_f64() * 1_000.0);
        self.wall.sort_by(f64::total_cmp);
        self.cpu += cpu_time() - cpu;
    }

    fn median(&self) -> f64 {
        self.wall.get(self.wall.len() / 2).copied().unwrap_or(f64::NAN)
    }

    fn fastest(&self) -> f64 {
        self.wall.first().copied().unwrap_or(f64::NAN)
    }

    fn to_json(&self) -> String {
        format!(
            "{{\"median\": {:.0}, \"fastest\": {:.0}, \"cpu\": {:.0}}}",
            self.median(),
            self.fastest(),
            self.cpu
        )
    }
}

/// Milliseconds that this process and its children have used. Ticks are ten milliseconds on Linux.
fn cpu_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields = stat.rsplit(')').next().unwrap().split_whitespace().skip(11).take(4);
    fields.map(|it| it.parse::<f64>().unwrap() * 10.0).sum()
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let rounds =
        words.iter().find_map(|it| it.strip_prefix("rounds=")).map_or(ROUNDS, |it| it.parse().unwrap());
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
    let (mut bare, mut made, mut pooled) = (Times::default(), Times::default(), Times::default());
    for round in 0..rounds {
        let make_bare = || {
            let path = root.join(format!(".worktrees/bare-{round}")).display().to_string();
            git(&root, &["worktree", "add", "-q", "-b", &format!("bare-{round}"), &path, "integration"]);
        };
        let make = || {
            repository.create_worktree(&request(format!("made-{round}"), round)).unwrap();
        };
        // In turns: what one leaves for the disk to write slows the next.
        if round % 2 == 0 {
            bare.take(&make_bare);
            made.take(&make);
        } else {
            made.take(&make);
            bare.take(&make_bare);
        }
        repository.fill_pool(".worktrees", "integration", &BTreeMap::new()).unwrap();
        pooled.take(&|| {
            repository.create_worktree(&request(format!("pooled-{round}"), round)).unwrap();
        });
        for name in ["bare", "made", "pooled"] {
            let path = root.join(format!(".worktrees/{name}-{round}"));
            git(&root, &["worktree", "remove", "--force", &path.display().to_string()]);
        }
    }
    let ratio = |of: fn(&Times) -> f64| of(&made) / of(&bare);
    println!(
        "{{\"bare\": {}, \"created\": {}, \"pool\": {}, \"ratio\": {{\"median\": {:.2}, \"fastest\": {:.2}, \"cpu\": {:.2}}}}}",
        bare.to_json(),
        made.to_json(),
        pooled.to_json(),
        ratio(Times::median),
        ratio(Times::fastest),
        ratio(|it| it.cpu),
    );
    std::fs::remove_dir_all(&root).unwrap();
    if words.iter().any(|it| it == "--assert") {
        // The fastest rounds and the processor time: other work on the machine changes them least.
        for (what, ratio) in
            [("time of the fastest round", ratio(Times::fastest)), ("processor time", ratio(|it| it.cpu))]
        {
            assert!(ratio <= LARGEST_RATIO, "{what}: {ratio:.2} times that of the bare command");
        }
        assert!(pooled.median() < LONGEST_POOLED, "a worktree from the pool takes {:.0} ms", pooled.median());
    }
}
