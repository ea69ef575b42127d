#!/bin/sh
# Run the lab's tests in each topology named; skipped with one line where the lab cannot run.
# The states of settings decide; what nettop says of traffic goes to the scoreboard (`make live`).
# With STATES in the environment only these. Exit code 75: the emulator gave no answer, twice.
python=$1
shift
out=${LAB_OUT:-lab-out}
result=0
for topology in "$@"; do
  for try in first second; do
    echo "lab: $topology"
    "$python" tests/lab/boot.py "$topology" --out "$out/$topology" --timeout 1200 -- \
      sh -c '"$0" -m pytest -rs tests/lab/inside; code=$?
             if [ -n "$1" ]; then echo "lab: hosts under traffic are left out"; exit $code; fi
             "$0" -m pytest -rs -m live tests/lab/inside; exit $code' "$python" "$STATES"
    code=$?
    [ $code = 75 ] || break
    echo "lab: $topology: the emulator gave no answer at the $try try"
  done
  case $code in
    0) ;;
    75) [ $result = 0 ] && result=75 ;;
    77) [ -n "$CI" ] && exit 1; exit 0 ;;
    *) result=1 ;;
  esac
done
if [ $result = 75 ]; then echo "lab: not run"; fi
exit $result
