#!/bin/sh
# What the GitHub Action and the GitLab template run. Read from the environment:
#   TEST       the test, or several, one on each line
#   RUNS       folder of run directories; kept from job to job it holds the baselines       (default: runs)
#   TAG        label of these runs: the branch, the version
#   AGAINST    tag or branch of the baseline; left out where no run has it yet
#   FAIL_IF    conditions such as `p95 worse by 5%`, one on each line
#   ARGUMENTS  more flags of `loadstone run`
# Results are in $RUNS, JUnit documents in $RUNS/junit. The exit code is that of the first run that failed.
set -eu
LOADSTONE=${LOADSTONE:-loadstone}
RUNS=${RUNS:-runs}
mkdir -p "$RUNS/junit"

against=
if [ -n "${AGAINST:-}" ] && "$LOADSTONE" show "$AGAINST" --runs "$RUNS" --json > "$RUNS/junit/.baseline" 2> /dev/null; then
  against=yes
elif [ -n "${AGAINST:-}" ]; then
  echo "no run has the tag or the branch \"$AGAINST\" yet: nothing to compare with" >&2
fi
rm -f "$RUNS/junit/.baseline"

code=0
newline='
'
IFS=$newline
for test in $TEST; do
  name=$(basename "$test" .load.ts)
  set -- run "$test" --quiet --runs "$RUNS" --junit "$RUNS/junit/$name.xml"
  [ -z "${TAG:-}" ] || set -- "$@" --tag "$TAG"
  if [ -n "$against" ]; then
    set -- "$@" --against "$AGAINST" --comparison-markdown "$RUNS/junit/$name.md"
    for condition in ${FAIL_IF:-}; do set -- "$@" --fail-if "$condition"; done
  fi
  IFS=' '
  # Flags are separated by spaces.
  for argument in ${ARGUMENTS:-}; do set -- "$@" "$argument"; done
  echo "loadstone $*"
  IFS=$newline
  "$LOADSTONE" "$@" || { last=$?; [ "$code" -ne 0 ] || code=$last; }
done
exit "$code"
