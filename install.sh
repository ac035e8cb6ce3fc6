#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Installs a release of snug. It downloads the archive for this system, verifies its checksum, and
# changes nothing if anything fails.
#
#   curl -fsSL https://raw.githubusercontent.com/snug-go/snug/main/install.sh | sh
#   sh install.sh [-b DIR] [-k KEY] [-s SUMS] [VERSION]
#
#   -b DIR    where the programs go; /usr/local/bin, or ~/.local/bin if you may not write there
#   -k KEY    also verify the signature of the checksums with this public key; needs openssl
#   -s SUMS   take version and checksums from this file, not from the release
#   VERSION   such as v0.1.0; the latest
#
# SNUG_RELEASES is the address of the releases, for a mirror: https, or http on 127.0.0.1.
set -eu

fail() { # MESSAGE HINT
  printf 'install.sh: error: %s\n' "$1" >&2
  printf 'install.sh: hint: %s\n' "$2" >&2
  exit "${3:-1}"
}

usage="sh install.sh [-b DIR] [-k KEY] [-s SUMS] [VERSION]"
build="with Go 1.26 or later: go install github.com/snug-go/snug/cmd/snug@latest"

main() {
  bin='' key='' given='' sums='' releases=${SNUG_RELEASES:-https://github.com/snug-go/snug/releases}
  while getopts b:k:s: flag; do
    case $flag in
      b) bin=$OPTARG ;;
      k) key=$OPTARG ;;
      s) sums=$OPTARG given=$OPTARG ;;
      *) fail "wrong usage" "$usage" 2 ;;
    esac
  done
  shift $((OPTIND - 1))
  version=${1-}
  [ $# -le 1 ] || fail "wrong usage, $2" "$usage" 2
  case $version in '' | v[0-9]*) ;; *) fail "no version, $version" "a version is like v0.1.0" 2 ;; esac

  case $releases in
    https://*) scheme=https ;;
    http://127.0.0.1[:/]*) scheme=http ;;
    *) fail "not https, $releases" "SNUG_RELEASES is the address of a mirror" 2 ;;
  esac

  work=$(mktemp -d) || fail "no temporary directory" "set TMPDIR to a directory that has space"
  case $work in /*) ;; *) work=$PWD/$work ;; esac # the working directory changes below
  new=$work
  trap 'rm -rf "$work" "$new"' EXIT
  trap 'exit 1' HUP INT TERM
  system=$(system)

  if [ -z "$sums" ]; then
    from=$releases/latest/download
    [ -z "$version" ] || from=$releases/download/$version
    sums=$work/SHA256SUMS
    fetch "$from/SHA256SUMS" "$sums"
    [ -z "$key" ] || fetch "$from/SHA256SUMS.sig" "$work/SHA256SUMS.sig"
  elif [ -n "$key" ]; then
    fail "wrong usage, -k with -s" "a file of your own needs no signature" 2
  fi
  [ -z "$key" ] || signed "$sums" "$work/SHA256SUMS.sig" "$key"

  # The lines have the form of sha256sum: a checksum, two spaces, a name.
  line=$(grep -E "^[0-9a-f]{64}  snug_[^/ ]+_$system\.(tar\.gz|zip)\$" "$sums") ||
    fail "the release has nothing for $system" "$build"
  [ "$(printf '%s\n' "$line" | wc -l)" -eq 1 ] || fail "several archives for $system in $sums" "give one release's checksums"
  want=${line%% *} archive=${line##* }
  number=${archive#snug_}
  number=v${number%_"$system".*}
  [ -z "$version" ] || [ "$version" = "$number" ] || fail "these are checksums of $number, not $version" "leave out the version, or -s"

  fetch "$releases/download/$number/$archive" "$work/$archive"
  got=$(checksum "$work/$archive")
  [ "$got" = "$want" ] ||
    fail "wrong checksum, $archive: it is $got, and $want in the release" "try again; if it stays wrong, do not use this mirror, and tell the maintainers"

  mkdir "$work/files"
  case $archive in
    *.zip) if command -v unzip >/dev/null; then unzip -q "$work/$archive" -d "$work/files"; else tar -xf "$work/$archive" -C "$work/files"; fi ;;
    *) gzip -dc "$work/$archive" | (cd "$work/files" && tar -xf -) ;;
  esac
  if [ -z "$bin" ]; then
    bin=/usr/local/bin
    [ -w "$bin" ] || bin=$HOME/.local/bin
  fi
  other="name another directory with -b"
  case $bin in /*) ;; *) bin=$PWD/$bin ;; esac
  ! foreign "$bin" || fail "a link of another user, $bin" "$other"
  # From here on in the directory itself, whatever takes its place.
  { mkdir -p "$bin" && cd "$bin"; } || fail "cannot write to $bin" "$other"
  { ! foreign "$bin" && [ "$(inode .)" = "$(inode "$bin/.")" ]; } || fail "a link of another user, $bin" "$other"
  new=$(mktemp -d ./.snug-XXXXXX) || fail "cannot write to $bin" "$other"
  for program in snug snug.exe snug-run; do
    [ -f "$work/files/$program" ] || continue
    # Renamed into place, so that a running program, or another download, does no harm, and a link of
    # this name is replaced. Into a directory, or where a link to one leads, nothing is moved.
    if ! { cp "$work/files/$program" "$new/" && chmod 755 "$new/$program" && { mv -fT "$new/$program" "./$program" 2>/dev/null ||
      { [ ! -d "./$program" ] && mv -f "$new/$program" "./$program"; }; }; }; then
      fail "cannot write to $bin" "$other"
    fi
  done
  printf 'snug %s is in %s\n' "$number" "$bin"
  case :$PATH: in *":$bin:"*) ;; *) printf 'add %s to PATH\n' "$bin" ;; esac
}

# system prints the system of this machine in the words of file names.
system() {
  os=$(uname -s) arch=$(uname -m)
  case $os in
    Linux) os=linux ;;
    Darwin) os=darwin ;;
    MINGW* | MSYS* | CYGWIN*) os=windows ;;
  esac
  case $arch in
    x86_64 | amd64) arch=amd64 ;;
    aarch64 | arm64) arch=arm64 ;;
  esac
  printf %s "${os}_$arch"
}

# foreign reports whether another user's link in a directory where everybody may write, such as /tmp,
# is a part of a name.
foreign() { # NAME
  part=$1
  until [ "$part" = / ]; do
    above=$(dirname "$part")
    if [ -L "$part" ]; then
      case $(ls -ld "$above/.") in
        d???????w[tT]*) [ "$(owner "$part")" = "$(id -u)" ] || [ "$(owner "$part")" = "$(owner "$above/.")" ] || return 0 ;;
      esac
    fi
    part=$above
  done
  return 1
}

owner() { # shellcheck disable=SC2012,SC2046 # numbers, before any name
  set -- $(ls -ldn "$1")
  echo "$3"
}

inode() { # shellcheck disable=SC2012,SC2046
  set -- $(ls -di "$1")
  echo "$1"
}

fetch() { # URL FILE
  if command -v curl >/dev/null; then
    curl -fsSL --proto "=$scheme" --proto-redir =https --tlsv1.2 --retry 2 -o "$2" "$1"
  elif ! command -v wget >/dev/null; then
    fail "neither curl nor wget is here" "install one of them"
  elif wget --version 2>/dev/null | grep -q GNU; then
    redirected "$1" "$2"
  else
    # This wget may follow a redirect to http, so what it downloads must be verified by -k or -s.
    [ $scheme = http ] || [ -n "$key$given" ] || fail "this wget cannot be kept to https" "install curl, or give -k or -s"
    wget -qO "$2" "$1"
  fi || fail "cannot download $1" "is there such a release, and does this machine reach it? Otherwise, $build"
}

# redirected is wget, but each redirect leads to https.
redirected() { # URL FILE
  url=$1
  for _ in 1 2 3 4 5; do
    ! said=$(LC_ALL=C wget -S --max-redirect=0 --secure-protocol=TLSv1_2 -O "$2" "$url" 2>&1) || return 0
    url=$(printf '%s\n' "$said" | sed -n 's|^ *[Ll]ocation: *\(https://[^ ]*\).*|\1|p' | sed 1q)
    [ -n "$url" ] || return 1
  done
  return 1
}

checksum() { # FILE
  if command -v sha256sum >/dev/null; then
    sha256sum "$1"
  elif command -v shasum >/dev/null; then
    shasum -a 256 "$1"
  else
    openssl dgst -sha256 -r "$1"
  fi | cut -d' ' -f1
}

signed() { # SUMS SIGNATURE KEY
  if ! { openssl base64 -d -A -in "$2" -out "$2.bin" && openssl dgst -sha256 -verify "$3" -signature "$2.bin" "$1" >/dev/null; }; then
    fail "the signature of the checksums is not of $3" "take the public key from where you trust it"
  fi
}

main "$@"
