# For the run scripts of the experiments on snug.Watch: source it. It builds
# snug (or takes SNUG) and e2e/fit/governed, twice, with this Go and with NEXT, and
# works in WORK. A record can be gone on with by the same builds only: KEEP=1 takes
# those that are in WORK.
#
#   ROUNDS=20     how often each setting is measured, instead of the script's own
#   PARALLEL=3    so many parts at a time; each has its quota, and the sum of them
#                 and half a CPU for snug should not exceed the machine's CPUs
#   OUT=DIR       where the data goes, instead of the folder of the script
#   ONLY=REGEX    only the parts whose name matches
set -euo pipefail
out=${OUT:-$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)}
tree=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
WORK=${WORK:-${TMPDIR:-/tmp}/snug-governed}
NEXT=${NEXT:-go1.27.3}
PARALLEL=${PARALLEL:-1}
mkdir -p "$WORK" "$out"
cd "$tree"
[ -n "${SNUG:-}" ] || { go build -trimpath -buildvcs=false -o "$WORK/snug" ./cmd/snug && SNUG=$WORK/snug; }
SNUG=$(realpath "$SNUG")
if [ ! -e "$WORK/governed" ] || [ -z "${KEEP:-}" ]; then
  go build -trimpath -buildvcs=false -o "$WORK/governed" ./e2e/fit/governed
  GOTOOLCHAIN=$NEXT go build -trimpath -buildvcs=false -o "$WORK/governed-next" ./e2e/fit/governed
fi
cd "$WORK"

# measure NAME ROUNDS FLAG... -- PROGRAM... leaves NAME.json.gz and NAME.txt in
# the experiment's folder, unless they are there. A run that was interrupted goes
# on where it was.
measure() {
  local name=$1 rounds=${ROUNDS:-$2} code=0
  shift 2
  [[ $name =~ ${ONLY:-.} ]] || return 0
  [ ! -e "$out/$name.json.gz" ] || { echo "$name: there"; return 0; }
  echo "snug bench $*" >"$out/$name.command"
  "$SNUG" bench --json --rounds "$rounds" --record "$out/$name.record" "$@" \
    >"$out/$name.json" 2>"$out/$name.log" || code=$?
  if [ $code -ne 0 ]; then
    tail -n 3 "$out/$name.log" >&2
    rm -f "$out/$name.json"
    return $code
  fi
  "$SNUG" report "$out/$name.json" >"$out/$name.txt"
  gzip -9 -n -f "$out/$name.json"
  rm -f "$out/$name.record" "$out/$name.log"
  echo "$name: $(head -n 1 "$out/$name.txt")"
}

# later is measure, PARALLEL of them at a time; wait_all is for the last ones, and
# fails if any did.
failed=0
later() {
  while [ "$(jobs -rp | wc -l)" -ge "$PARALLEL" ]; do wait -n || failed=1; done
  measure "$@" &
}
wait_all() {
  while [ -n "$(jobs -rp)" ]; do wait -n || failed=1; done
  [ $failed = 0 ]
}
