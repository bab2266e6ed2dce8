# A scripted reviewer: sh reviewer.sh SECONDS. It compares the recipe of the reviewed commit with its specification.
set -eu
seconds=$1
id=${TRACKSIDE_ENTITY#*/}
recipe=recipes/$id.txt
export LC_ALL=C GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
value() { sed -n "s/^ *\"$1\": \"\(.*\)\",\{0,1\}\$/\1/p" "$TRACKSIDE_TASK_FILE" | head -n 1; }

git checkout --quiet --detach "$(value review_commit)"
sleep "$seconds"

# Both of these tasks change the same line. The first is not approved before the work on the second has begun.
case $id in
    soup) other=salad ;;
    salad) other=soup ;;
    *) other= ;;
esac
if [ -n "$other" ]; then
    looks=0
    while [ $looks -lt 60 ] && ! trackside show "coding.task/$other" --json | grep -q '"base_commit": "'; do
        looks=$((looks + 1))
        sleep 0.5
    done
fi

missing=$(
    sed -n 's/^Needs: //p' "specs/$id.md" | tr ',' '\n' | sed 's/^ */- /' | while read -r line; do
        grep -qxF -e "$line" "$recipe" || echo "$line"
    done | head -n 1
)
if [ -n "$missing" ]; then
    line=$(wc -l < "$recipe" | tr -d ' ')
    trackside fire "$TRACKSIDE_ENTITY" reject rejection_reason="The recipe lacks '$missing'" \
        findings:="[{\"file\": \"$recipe\", \"line\": $line, \"impact\": \"The specification names it\", \"fix\": \"Add the line '$missing'\"}]"
elif sh test.sh; then
    trackside fire "$TRACKSIDE_ENTITY" approve
else
    trackside fire "$TRACKSIDE_ENTITY" reject rejection_reason='The tests fail'
fi
