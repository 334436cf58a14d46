#!/usr/bin/env bash
# The step "Run and judge" of action.yml, whose inputs are variables here. Ends with the status of the commands if they
# fail, and otherwise with that of `fp32shim verify`: 0 shown, 1 violated, 3 inconclusive (0 with INCONCLUSIVE=warn).
set -euo pipefail

recordings=$(mktemp -d "${RUNNER_TEMP:-/tmp}/fp32shim.XXXXXX")
echo "recordings=$recordings" >> "${GITHUB_OUTPUT:-/dev/null}"
options=(--quiet --where auto --log "$recordings/run.fp32rec")
[ "${PIN:-false}" = false ] || options+=(--pin)
fp32shim run "${options[@]}" -- bash -euo pipefail -c "$COMMANDS"

[ -z "${SARIF:-}" ] || fp32shim report --format sarif --output "$SARIF" "$recordings"

judged=(--at-least "${AT_LEAST:-fp32}")
[ -z "${ASSUME_UNUSED:-}" ] || judged+=(--assume-unused "$ASSUME_UNUSED")
status=0
text=$(fp32shim verify "${judged[@]}" "$recordings") || status=$?
printf '%s\n' "$text"
# shellcheck disable=SC2016  # a block of Markdown
printf '```\n%s\n```\n' "$text" >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
case $status in
    0) verdict=shown ;;
    1) verdict=violated ;;
    3) verdict=inconclusive ;;
    *) exit "$status" ;; # a wrong input
esac
echo "verdict=$verdict" >> "${GITHUB_OUTPUT:-/dev/null}"
if [ "$verdict" = inconclusive ] && [ "${INCONCLUSIVE:-fail}" = warn ]; then
    echo "::warning title=fp32shim::The verdict is inconclusive; the summary has the reasons"
    exit 0
fi
exit "$status"
