#!/bin/sh
# Installs Loadstone VERSION for the current user: curl -fsSL RELEASES/install.sh | sh
# LOADSTONE_FOLDER: where the binary goes (~/.local/bin). LOADSTONE_RELEASES: where the archives are.
set -eu
version=VERSION
releases="${LOADSTONE_RELEASES:-RELEASES}"
folder="${LOADSTONE_FOLDER:-$HOME/.local/bin}"
fail() { echo "install.sh: $*" >&2; exit 1; }

case "$(uname -s)" in
  Linux) system=linux ;;
  Darwin) system=macos ;;
  *) fail "Loadstone supports Linux and macOS. On Windows, run this in WSL2." ;;
esac
case "$(uname -m)" in
  x86_64 | amd64) processor=x86_64 ;;
  aarch64 | arm64) processor=aarch64 ;;
  *) fail "there is no release for the processor $(uname -m); build it with cargo install" ;;
esac
name="loadstone-$version-$processor-$system"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
get() {
  if command -v curl >/dev/null; then curl -fsSL "$releases/$1" -o "$work/$1"
  elif command -v wget >/dev/null; then wget -q "$releases/$1" -O "$work/$1"
  else fail "curl or wget is needed"
  fi || fail "cannot download $releases/$1"
}
get SHA256SUMS
get "$name.tar.gz"
# Compared as text: the sha256sum of Alpine and that of macOS 15 know other options than that of GNU, and older versions of macOS have shasum instead.
sum() { if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi; }
expected="$(grep " $name.tar.gz\$" "$work/SHA256SUMS")" || fail "this release has no $name.tar.gz"
actual="$(sum "$work/$name.tar.gz")"
[ "${actual%% *}" = "${expected%% *}" ] || fail "the checksum of $name.tar.gz is wrong; nothing was installed"
tar -xzf "$work/$name.tar.gz" -C "$work"
mkdir -p "$folder"
# In one step: a running binary cannot be written to.
cp "$work/$name/loadstone" "$folder/.loadstone.$$"
mv "$folder/.loadstone.$$" "$folder/loadstone"
installed="$("$folder/loadstone" --version)" || fail "$folder/loadstone does not start on this machine"
echo "installed $installed in $folder"
case ":$PATH:" in *":$folder:"*) ;; *) echo "add it to the search path: export PATH=\"$folder:\$PATH\"" ;; esac
