#!/bin/sh
# Installs Sluice for the current user, without root:
#
#   sh install.sh                        the newest release into ~/.local/bin
#   SLUICE_VERSION=1.2.3 sh install.sh   that release
#   PREFIX=/opt/sluice sh install.sh     into /opt/sluice/bin
#
# It needs curl or wget, tar, gzip, and sha256sum, shasum or openssl. The archive is unpacked after its
# checksum was compared. If anything fails, nothing is installed and what was installed before stays.
set -eu

# Where the releases are: BASE/latest/download/SHA256SUMS and BASE/download/vVERSION/FILE.
BASE=${SLUICE_RELEASES:-}

tmp='' new='' made='' above=''
cleanup() {
  if [ -n "$tmp" ]; then rm -rf "$tmp"; fi
  if [ -n "$new" ]; then rm -f "$new"; fi
  if [ -n "$made" ]; then rmdir "$made" 2>/dev/null || true; fi
  if [ -n "$above" ]; then rmdir "$above" 2>/dev/null || true; fi
}
fail() {
  echo "install.sh: $*" >&2
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

# fetch URL FILE
fetch() {
  if has curl; then
    curl -fsSL --proto-redir =https,http --retry 2 --connect-timeout 20 -o "$2" "$1" 2>"$tmp/log"
  else
    wget -q -O "$2" "$1" 2>"$tmp/log"
  fi
}

# sum FILE prints its SHA-256.
sum() {
  if has sha256sum; then
    sha256sum "$1" | cut -d ' ' -f 1
  elif has shasum; then
    shasum -a 256 "$1" | cut -d ' ' -f 1
  else
    openssl dgst -sha256 "$1" | sed 's/.* //'
  fi
}

main() {
  [ -n "$BASE" ] || fail "no releases are published yet; set SLUICE_RELEASES to the URL under which yours are, or build from source (docs/install.md)."
  has curl || has wget || fail "curl or wget is needed."
  if ! has tar || ! has gzip; then fail "tar and gzip are needed."; fi
  has sha256sum || has shasum || has openssl || fail "sha256sum, shasum or openssl is needed to check what was downloaded."

  case "$(uname -s)-$(uname -m)" in
  Linux-x86_64 | Linux-amd64) platform=linux_amd64 ;;
  Linux-aarch64 | Linux-arm64) platform=linux_arm64 ;;
  Darwin-arm64) platform=darwin_arm64 ;;
  *) fail "there is no release for $(uname -s) on $(uname -m); use the container image, or build from source." ;;
  esac
  if [ -z "${PREFIX:-}${HOME:-}" ]; then fail "HOME is not set; set PREFIX to the directory to install into."; fi
  bin=${PREFIX:-$HOME/.local}/bin

  tmp=$(mktemp -d 2>/dev/null) || fail "no temporary directory can be created in ${TMPDIR:-/tmp}; free some space, or set TMPDIR."
  version=${SLUICE_VERSION:-}
  version=${version#v}
  if [ -n "$version" ]; then
    from=$BASE/download/v$version
  else
    from=$BASE/latest/download
  fi
  fetch "$from/SHA256SUMS" "$tmp/SHA256SUMS" || fail "$from/SHA256SUMS cannot be downloaded: $(head -n 1 "$tmp/log" 2>/dev/null)"
  line=$(grep -E "^[0-9a-f]{64} [ *]sluice_[0-9A-Za-z.+-]+_$platform\.tar\.gz\$" "$tmp/SHA256SUMS" | head -n 1) || true
  [ -n "$line" ] || fail "the release at $from has no archive for $platform."
  wanted=${line%% *} archive=${line##*[ *]}
  version=${archive#sluice_} version=${version%_"$platform".tar.gz}

  fetch "$BASE/download/v$version/$archive" "$tmp/$archive" || fail "$archive cannot be downloaded, or there is no space for it in $tmp: $(head -n 1 "$tmp/log" 2>/dev/null)"
  [ "$(sum "$tmp/$archive")" = "$wanted" ] || fail "the checksum of $archive is wrong, so it was not unpacked; download it again, and tell the publisher if that does not help."
  program=$tmp/sluice_${version}_$platform/sluice
  if ! { gzip -dc "$tmp/$archive" 2>"$tmp/log" | tar -xf - -C "$tmp" 2>>"$tmp/log" && [ -f "$program" ]; }; then
    fail "$archive cannot be unpacked in $tmp: $(head -n 1 "$tmp/log" 2>/dev/null)"
  fi

  # The program is complete before it gets its name, so that a full disk replaces nothing.
  if [ ! -d "${bin%/bin}" ]; then above=${bin%/bin}; fi
  if [ ! -d "$bin" ]; then made=$bin; fi
  if ! { mkdir -p "$bin" 2>/dev/null && [ -w "$bin" ]; }; then fail "$bin cannot be written to; set PREFIX to a directory of yours."; fi
  new=$bin/.sluice.$$
  if ! { cp "$program" "$new" 2>"$tmp/log" && chmod 755 "$new" && [ "$("$new" version 2>>"$tmp/log" | cut -d ' ' -f 2)" = "$version" ]; }; then
    fail "the program cannot be written to $bin, or does not run there: $(head -n 1 "$tmp/log" 2>/dev/null)"
  fi
  mv -f "$new" "$bin/sluice"
  new='' made='' above=''

  echo "Sluice $version is installed as $bin/sluice."
  case ":$PATH:" in
  *":$bin:"*) echo "Start it: sluice" ;;
  *) echo "Start it: $bin/sluice (add $bin to PATH to start it as sluice)" ;;
  esac
}

trap cleanup EXIT
trap 'exit 130' INT TERM HUP
main
