# A scripted planner: sh planner.sh SECONDS. It completes drafts, answers questions, and hurries fixes of failed merges.
set -eu
seconds=$1
id=${TRACKSIDE_ENTITY#*/}
done_when='sh test.sh succeeds'
sleep "$seconds"
# Fails if the server does not answer, and then the process is started again.
task=$(trackside show "$TRACKSIDE_ENTITY" --json)
case $(printf '%s\n' "$task" | sed -n 's/^ *"state": "\(.*\)",\{0,1\}$/\1/p' | head -n 1) in
    DRAFT)
        trackside fire "$TRACKSIDE_ENTITY" edit spec_ref="specs/$id.md" done_when="$done_when" scope="recipes/$id.txt"
        trackside fire "$TRACKSIDE_ENTITY" finalize
        ;;
    BLOCKED) trackside fire "$TRACKSIDE_ENTITY" unblock done_when="$done_when, and the recipe is mild" ;;
    INTEGRATION_FAILED) trackside fire "$TRACKSIDE_ENTITY" edit priority:=1 ;;
esac
