# A scripted coder: sh coder.sh SECONDS. It writes the recipe that its task asks for, in the worktree of the task.
#
# It continues from whatever an earlier process left. Some tasks go wrong once: `bread` crashes, `curry` needs an answer of
# the planner, `cake` is handed off, `pasta` and `pie` are incomplete, `soup` and `salad` change the same line.
set -eu
seconds=$1
id=${TRACKSIDE_ENTITY#*/}
recipe=recipes/$id.txt
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME="$TRACKSIDE_AGENT" GIT_AUTHOR_EMAIL="$TRACKSIDE_AGENT@example.org"
export GIT_COMMITTER_NAME="$TRACKSIDE_AGENT" GIT_COMMITTER_EMAIL="$TRACKSIDE_AGENT@example.org"

# A member of the task file that is a text. The file has one member on each line.
value() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" "$TRACKSIDE_TASK_FILE" | head -n 1; }
has() { grep -q "$1" "$TRACKSIDE_TASK_FILE"; }

recipe_text() {
    printf '%s, for %s\n' "$(sed -n 's/^# //p' "specs/$id.md")" "$(sed -n 's/^For: //p' "specs/$id.md")"
    sed -n 's/^Needs: //p' "specs/$id.md" | tr ',' '\n' | sed 's/^ */- /'
    if [ "$id" = curry ]; then echo '- chilli, mild'; fi
}

# The menu of a commit, with this recipe on it.
put_on_menu() {
    {
        git show "$1:menu.txt" | sed 's/^Today: //; s/nothing yet//' | tr ',' '\n' | sed 's/^ *//; /^$/d'
        echo "$id"
    } | sort -u | paste -s -d , - | sed 's/,/, /g; s/^/Today: /' > menu.txt
}

commit() {
    git add --all
    git diff --cached --quiet || git commit --quiet --message "$1"
}

sleep "$seconds"
mkdir -p recipes
if has '"integration_fix": true'; then
    echo "merging the integration branch into the work on $id"
    git reset --quiet --hard
    if ! git merge --quiet --no-edit integration; then
        put_on_menu integration
        git add menu.txt
        git commit --quiet --no-edit
    fi
    sleep "$seconds"
    exit 0
fi
git reset --quiet
case $id in
    bread)
        if [ ! -e "$recipe" ]; then
            recipe_text | head -n 1 > "$recipe"
            sleep "$seconds"
            kill -KILL $$
        fi
        echo 'continuing with the unfinished recipe'
        recipe_text > "$recipe"
        ;;
    cake)
        if ! has '^  "handoff": {'; then
            recipe_text | head -n 2 > "$recipe"
            commit 'Begin the recipe of the cake'
            trackside fire "$TRACKSIDE_ENTITY" handoff summary='The first ingredient is written' next_action="Write the rest of $recipe"
            exit 42
        fi
        echo "continuing by the notes: $(value next_action)"
        recipe_text > "$recipe"
        ;;
    curry)
        case $(value done_when) in
            *mild*) recipe_text > "$recipe" ;;
            *)
                trackside fire "$TRACKSIDE_ENTITY" block blocked_reason='The specification does not say how hot it is' \
                    blocked_questions:='["Is it mild or hot?"]'
                exit 0
                ;;
        esac
        ;;
    pasta | pie)
        if has '^  "feedback": {'; then
            echo "the review says: $(value rejection_reason)"
            recipe_text > "$recipe"
        else
            recipe_text | sed '$d' > "$recipe"
        fi
        ;;
    soup | salad)
        recipe_text > "$recipe"
        put_on_menu HEAD
        ;;
    *) recipe_text > "$recipe" ;;
esac
sleep "$seconds"
sh test.sh
commit "Write the recipe of the $id"
# These hand in their work themselves. For the others the runner does it.
case $id in
    rice | stew | tea) trackside fire "$TRACKSIDE_ENTITY" submit review_commit="$(git rev-parse HEAD)" ;;
esac
