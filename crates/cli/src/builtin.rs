//! The packs that come with the program, as texts.

use trackside_runtime::PackSource;

/// Name, and the files that define it.
type Builtin = (&'static str, &'static [(&'static str, &'static str)]);

const PACKS: &[Builtin] = &[
    (
        "build",
        &[
            ("pack.yaml", include_str!("../../../packs/build/pack.yaml")),
            ("lifecycles/task.yaml", include_str!("../../../packs/build/lifecycles/task.yaml")),
        ],
    ),
    (
        "coding",
        &[
            ("pack.yaml", include_str!("../../../packs/coding/pack.yaml")),
            ("lifecycles/agent.yaml", include_str!("../../../packs/coding/lifecycles/agent.yaml")),
            ("lifecycles/goal.yaml", include_str!("../../../packs/coding/lifecycles/goal.yaml")),
            ("lifecycles/sprint.yaml", include_str!("../../../packs/coding/lifecycles/sprint.yaml")),
            ("lifecycles/task.yaml", include_str!("../../../packs/coding/lifecycles/task.yaml")),
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
        ],
    ),
    (
        "turns",
        &[
            ("pack.yaml", include_str!("../../../packs/turns/pack.yaml")),
            ("lifecycles/agent.yaml", include_str!("../../../packs/turns/lifecycles/agent.yaml")),
            ("lifecycles/channel.yaml", include_str!("../../../packs/turns/lifecycles/channel.yaml")),
            ("lifecycles/member.yaml", include_str!("../../../packs/turns/lifecycles/member.yaml")),
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

fn source((_, files): &Builtin) -> PackSource {
    let files = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
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
            let there = listed(&packs.join(name).join("lifecycles"));
            let here: Vec<&str> =
                files.iter().filter_map(|(path, _)| path.strip_prefix("lifecycles/")).collect();
            assert_eq!(there, here, "{name}");
        }
    }
}
