#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Runs snug for the actions of GitHub and the hooks of pre-commit, which have a clone of the
# repository: sh contrib/snug.sh ARG...
#
# On its first run it downloads the release whose checksums are in the clone. If the clone has none,
# it builds the clone. The program stays in the clone, in .bin.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
bin=$root/.bin
sums=$root/e2e/release/SHA256SUMS

get() {
  if [ -f "$sums" ]; then
    sh "$root/install.sh" -b "$bin" -s "$sums"
  elif command -v go >/dev/null; then
    # Beside the old one and renamed, because hooks run at the same time.
    mkdir -p "$bin"
    (cd "$root/cmd/snug" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$bin/snug.$$" . && mv "$bin/snug.$$" "$bin/snug")
  else
    printf 'snug.sh: error: %s\n' "this commit has no release, and there is no go command to build it" >&2
    printf 'snug.sh: hint: %s\n' "take a released version, or install Go" >&2
    exit 1
  fi
}

for snug in "$bin/snug" "$bin/snug.exe"; do [ ! -x "$snug" ] || exec "$snug" "$@"; done
get >&2
for snug in "$bin/snug" "$bin/snug.exe"; do [ ! -x "$snug" ] || exec "$snug" "$@"; done
printf 'snug.sh: error: %s\n' "there is no program in $bin" >&2
printf 'snug.sh: hint: %s\n' "remove that directory and run it again" >&2
exit 1
