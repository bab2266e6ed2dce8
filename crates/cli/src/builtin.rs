//! The built-in packs, as texts.

use trackside_runtime::PackSource;
use trackside_server::{own_pack_files, own_pack_names};

/// Name, the files that define it, and the stages on which its promises are explored.
type Builtin = (&'static str, &'static [(&'static str, &'static str)]);

const PACKS: &[Builtin] = &[
    (
        "build",
        &[
            ("pack.yaml", include_str!("../../../packs/build/pack.yaml")),
            ("lifecycles/task.yaml", include_str!("../../../packs/build/lifecycles/task.yaml")),
            ("stages/ladder.yaml", include_str!("../../../packs/build/stages/ladder.yaml")),
            ("stages/review.yaml", include_str!("../../../packs/build/stages/review.yaml")),
            ("stages/way.yaml", include_str!("../../../packs/build/stages/way.yaml")),
        ],
    ),
    (
        "coding",
        &[
            ("pack.yaml", include_str!("../../../packs/coding/pack.yaml")),
            ("lifecycles/agent.yaml", include_str!("../../../packs/coding/lifecycles/agent.yaml")),
            ("lifecycles/approval.yaml", include_str!("../../../packs/coding/lifecycles/approval.yaml")),
            ("lifecycles/goal.yaml", include_str!("../../../packs/coding/lifecycles/goal.yaml")),
            ("lifecycles/sprint.yaml", include_str!("../../../packs/coding/lifecycles/sprint.yaml")),
            ("lifecycles/task.yaml", include_str!("../../../packs/coding/lifecycles/task.yaml")),
            ("stages/actions.yaml", include_str!("../../../packs/coding/stages/actions.yaml")),
            ("stages/breaker.yaml", include_str!("../../../packs/coding/stages/breaker.yaml")),
            ("stages/merge.yaml", include_str!("../../../packs/coding/stages/merge.yaml")),
            ("stages/registration.yaml", include_str!("../../../packs/coding/stages/registration.yaml")),
            ("stages/review.yaml", include_str!("../../../packs/coding/stages/review.yaml")),
            ("stages/sprint.yaml", include_str!("../../../packs/coding/stages/sprint.yaml")),
            ("stages/waiting.yaml", include_str!("../../../packs/coding/stages/waiting.yaml")),
        ],
    ),
    (
        "mission",
        &[
            ("pack.yaml", include_str!("../../../packs/mission/pack.yaml")),
            ("lifecycles/agent.yaml", include_str!("../../../packs/mission/lifecycles/agent.yaml")),
            ("lifecycles/approval.yaml", include_str!("../../../packs/mission/lifecycles/approval.yaml")),
            ("lifecycles/control.yaml", include_str!("../../../packs/mission/lifecycles/control.yaml")),
            ("lifecycles/task.yaml", include_str!("../../../packs/mission/lifecycles/task.yaml")),
            ("stages/approvals.yaml", include_str!("../../../packs/mission/stages/approvals.yaml")),
            ("stages/errors.yaml", include_str!("../../../packs/mission/stages/errors.yaml")),
            ("stages/loop.yaml", include_str!("../../../packs/mission/stages/loop.yaml")),
            ("stages/money.yaml", include_str!("../../../packs/mission/stages/money.yaml")),
            ("stages/review.yaml", include_str!("../../../packs/mission/stages/review.yaml")),
            ("stages/risk.yaml", include_str!("../../../packs/mission/stages/risk.yaml")),
            ("stages/spawning.yaml", include_str!("../../../packs/mission/stages/spawning.yaml")),
            ("stages/switch.yaml", include_str!("../../../packs/mission/stages/switch.yaml")),
        ],
    ),
    (
        "research",
        &[
            ("pack.yaml", include_str!("../../../packs/research/pack.yaml")),
            ("lifecycles/agent.yaml", include_str!("../../../packs/research/lifecycles/agent.yaml")),
            (
                "lifecycles/hypothesis.yaml",
                include_str!("../../../packs/research/lifecycles/hypothesis.yaml"),
            ),
            ("lifecycles/resource.yaml", include_str!("../../../packs/research/lifecycles/resource.yaml")),
            ("lifecycles/session.yaml", include_str!("../../../packs/research/lifecycles/session.yaml")),
            ("lifecycles/system.yaml", include_str!("../../../packs/research/lifecycles/system.yaml")),
            ("lifecycles/task.yaml", include_str!("../../../packs/research/lifecycles/task.yaml")),
            ("lifecycles/worker.yaml", include_str!("../../../packs/research/lifecycles/worker.yaml")),
            ("stages/agents.yaml", include_str!("../../../packs/research/stages/agents.yaml")),
            ("stages/flags.yaml", include_str!("../../../packs/research/stages/flags.yaml")),
            ("stages/goal.yaml", include_str!("../../../packs/research/stages/goal.yaml")),
            ("stages/hypotheses.yaml", include_str!("../../../packs/research/stages/hypotheses.yaml")),
            ("stages/locks.yaml", include_str!("../../../packs/research/stages/locks.yaml")),
            ("stages/pause.yaml", include_str!("../../../packs/research/stages/pause.yaml")),
            ("stages/report.yaml", include_str!("../../../packs/research/stages/report.yaml")),
            ("stages/retries.yaml", include_str!("../../../packs/research/stages/retries.yaml")),
            ("stages/slots.yaml", include_str!("../../../packs/research/stages/slots.yaml")),
            ("stages/tournament.yaml", include_str!("../../../packs/research/stages/tournament.yaml")),
            ("stages/work.yaml", include_str!("../../../packs/research/stages/work.yaml")),
            ("stages/workers.yaml", include_str!("../../../packs/research/stages/workers.yaml")),
        ],
    ),
    (
        "turns",
        &[
            ("pack.yaml", include_str!("../../../packs/turns/pack.yaml")),
            ("lifecycles/agent.yaml", include_str!("../../../packs/turns/lifecycles/agent.yaml")),
            ("lifecycles/channel.yaml", include_str!("../../../packs/turns/lifecycles/channel.yaml")),
            ("lifecycles/member.yaml", include_str!("../../../packs/turns/lifecycles/member.yaml")),
            ("stages/speaking.yaml", include_str!("../../../packs/turns/stages/speaking.yaml")),
            (
                "stages/two-in-a-channel.yaml",
                include_str!("../../../packs/turns/stages/two-in-a-channel.yaml"),
            ),
        ],
    ),
];

/// One of them.
pub(crate) fn pack(name: &str) -> Option<PackSource> {
    PACKS.iter().find(|(it, _)| *it == name).map(source)
}

/// All of them, in the order of their names.
pub(crate) fn all() -> Vec<PackSource> {
    PACKS.iter().map(source).collect()
}

/// Their names.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    PACKS.iter().map(|(name, _)| *name)
}

/// Whether a name belongs to one of them, or to a pack of the server itself, which is always in force.
pub(crate) fn is_taken(name: &str) -> bool {
    names().chain(own_pack_names()).any(|it| it == name)
}

/// The files of one of them or of the server's own, stages too, each with its path inside the pack.
pub(crate) fn files(name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    PACKS.iter().find(|(it, _)| *it == name).map(|(_, files)| *files).or_else(|| own_pack_files(name))
}

fn source((_, files): &Builtin) -> PackSource {
    let defining = files.iter().filter(|(path, _)| !path.starts_with("stages/"));
    let files = defining.map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    PackSource { files: files.collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_every_pack_is_here() {
        let packs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packs");
        let listed = |folder: &std::path::Path| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            let mut names: Vec<String> =
                entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
            names.sort();
            names
        };
        let names: Vec<&str> = PACKS.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed(&packs), names);
        for (name, files) in PACKS {
            for folder in ["lifecycles/", "stages/"] {
                let there = listed(&packs.join(name).join(folder));
                let here: Vec<&str> =
                    files.iter().filter_map(|(path, _)| path.strip_prefix(folder)).collect();
                assert_eq!(there, here, "{name}");
            }
        }
    }
}
