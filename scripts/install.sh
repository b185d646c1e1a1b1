#!/usr/bin/env bash
# Installs the Debian packages that building (`build`), drawing in sandboxes (`charts`), testing (`test`), checking the form of the
# source (`style`), fuzzing (`fuzz`) or booting machines (`vm`) needs. Only what is missing, and quietly.
set -euo pipefail
case "$1" in
  build) packages="g++ cmake ninja-build make python3 libseccomp-dev libtomlplusplus-dev libarchive-dev
                   libssl-dev libsqlite3-dev libre2-dev zlib1g-dev libgtest-dev libgmock-dev util-linux git nodejs" ;;
  # IPython and what draws charts, for the code interpreter: sandboxes made from this host have what it has, and work without.
  charts) packages="python3-ipython python3-matplotlib" ;;
  # Clients and servers of the tests' own Internet, subordinate ids, R. A Java compiler is larger than all of these: its tests skip without one.
  test) packages="runc crun runsc iproute2 curl openssl ca-certificates git pkg-config python3-pip postgresql uidmap r-base-core
                  python3-ipython python3-matplotlib python3-pandas python3-pil json-schema-test-suite" ;;
  fuzz) packages="clang-14 libclang-rt-14-dev" ;;
  # The formatter and the linter that the style tests use, in one version.
  style) packages="clang-format-16 clang-tidy-16" ;;
  vm) packages="qemu-system-x86 mmdebstrap busybox-static e2fsprogs cpio kmod" ;;
  *) echo "usage: scripts/install.sh build|charts|test|style|fuzz|vm" >&2; exit 2 ;;
esac

# Prometheus' own checker of metrics, out of its package: installing that would start a service. Without it one test skips.
fetch_promtool() {
  local place=/usr/local/lib/paddock-test folder
  { [ ! -x $place/promtool ] && ! command -v promtool > /dev/null; } || return 0
  echo "fetching: promtool"
  folder=$(mktemp -d)
  (cd "$folder" && { apt-get -qq download prometheus || { $sudo apt-get -qq update && apt-get -qq download prometheus; }; } && dpkg -x prometheus_*.deb . && $sudo install -D usr/bin/promtool $place/promtool) > "$folder/log" 2>&1 ||
    echo "could not fetch promtool: $(tail -1 "$folder/log")" >&2
  rm -rf "$folder"
}

sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
missing=""
for package in $packages; do
  # nodejs may come from elsewhere than Debian: what counts is that it runs.
  [ "$package" = nodejs ] && command -v node > /dev/null && continue
  dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || missing="$missing $package"
done
if [ -z "$missing" ]; then
  [ "$1" != test ] || fetch_promtool
  exit 0
fi

echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { $sudo apt-get update && $sudo apt-get install -y --no-install-recommends $missing; } > "$log" 2>&1; then
  tail -20 "$log" >&2
  rm -f "$log"
  echo "could not install:$missing" >&2
  exit 1
fi
rm -f "$log"
[ "$1" != test ] || fetch_promtool
