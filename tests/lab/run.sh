#!/bin/sh
# Run the lab's tests in each topology named; skipped with one line where the lab cannot run.
# The states of settings decide; what nettop says of traffic goes to the scoreboard (`make live`).
# With STATES in the environment only these, in two machines side by side: each keeps about one
# core busy. Exit code 75: the emulator gave no answer, twice.
python=$1
shift
out=${LAB_OUT:-lab-out}
result=0

# play TOPOLOGY FOLDER COMMAND…: boot it and run the command there; a second try where it hung
play() {
  topology=$1 folder=$2
  shift 2
  for try in first second; do
    "$python" tests/lab/boot.py "$topology" --out "$folder" --timeout 1800 -- "$@"
    code=$?
    [ $code = 75 ] || return $code
    echo "lab: $topology: the emulator gave no answer at the $try try"
  done
  return 75
}

# ended CODE: keep it; the lab cannot run here: no more of it
ended() {
  case $1 in
    0) ;;
    75) [ $result = 0 ] && result=75 ;;
    77) [ -n "$CI" ] && exit 1; exit 0 ;;
    *) result=1 ;;
  esac
}

settings=tests/lab/inside/test_lab_settings.py
for topology in "$@"; do
  echo "lab: $topology"
  if [ -n "$STATES" ]; then
    mkdir -p "$out/$topology-settings"
    play "$topology" "$out/$topology-settings" "$python" -m pytest -rs $settings \
      >"$out/$topology-settings/told" 2>&1 &
    other=$!
    play "$topology" "$out/$topology" "$python" -m pytest -rs --ignore=$settings tests/lab/inside
    mine=$?
    wait $other
    theirs=$?
    cat "$out/$topology-settings/told"
    ended $mine
    ended $theirs
    echo "lab: hosts under traffic are left out"
  else
    play "$topology" "$out/$topology" sh -c '"$0" -m pytest -rs tests/lab/inside; code=$?
      "$0" -m pytest -rs -m live tests/lab/inside; exit $code' "$python"
    ended $?
  fi
done
if [ $result = 75 ]; then echo "lab: not run"; fi
exit $result
