#!/bin/sh
# The GitHub Action and the GitLab template run this script. It reads the environment:
#   TEST       one or more tests, one per line
#   RUNS       folder of run directories; preserve it between jobs to keep the baselines    (default: runs)
#   TAG        label of these runs: the branch, the version
#   AGAINST    tag or branch of the baseline; ignored until a run has it
#   FAIL_IF    conditions such as `p95 worse by 5%`, one per line
#   ARGUMENTS  further flags of `loadstone run`, separated by spaces; quotes group words: --header 'Authorization: Bearer x'
# Results are in $RUNS, JUnit documents in $RUNS/junit. The exit code is that of the first failed run.
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
  # Tests of one name in different folders have different documents: tests/eu/shop.load.ts is tests.eu.shop.
  name=$(printf '%s' "${test%.load.ts}" | sed 's|^\./||; s|^/||; s|/|.|g')
  set -- run "$test" --quiet --runs "$RUNS" --junit "$RUNS/junit/$name.xml"
  [ -z "${TAG:-}" ] || set -- "$@" --tag "$TAG"
  if [ -n "$against" ]; then
    set -- "$@" --against "$AGAINST" --comparison-markdown "$RUNS/junit/$name.md"
    for condition in ${FAIL_IF:-}; do set -- "$@" --fail-if "$condition"; done
  fi
  # xargs reads quotes like a shell, and runs nothing. Patterns in flags are not file names.
  set -f
  for argument in $(printf '%s' "${ARGUMENTS:-}" | xargs printf '%s\n'); do set -- "$@" "$argument"; done
  set +f
  (IFS=' '; echo "loadstone $*")
  "$LOADSTONE" "$@" || { last=$?; [ "$code" -ne 0 ] || code=$last; }
done
exit "$code"
