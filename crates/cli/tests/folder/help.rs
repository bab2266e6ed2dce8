//! The help of every command.

use crate::ground::trackside;

#[test]
fn help_matches_the_reviewed_snapshots() {
    for command in ["export", "import", "validate", "redact", "backup", "restore", "archive", "doctor"] {
        insta::assert_snapshot!(format!("help-{command}"), trackside(&[command, "--help"]).data);
    }
    insta::assert_snapshot!("help-audit-verify", trackside(&["audit", "verify", "--help"]).data);
    for command in ["plan", "apply", "undo"] {
        insta::assert_snapshot!(
            format!("help-migrate-{command}"),
            trackside(&["migrate", command, "--help"]).data
        );
    }
}
