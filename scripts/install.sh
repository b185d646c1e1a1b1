#!/usr/bin/env bash
# Installs the Debian packages that building (`build`), testing (`test`) or fuzzing (`fuzz`) needs. Only what is missing, and quietly.
set -euo pipefail
case "$1" in
  build) packages="g++ cmake ninja-build make python3 libseccomp-dev libtomlplusplus-dev libarchive-dev
                   libssl-dev zlib1g-dev libgtest-dev libgmock-dev util-linux git nodejs" ;;
  # Clients and servers of the tests' own Internet. A Java compiler is larger than all of these: its tests skip without one.
  # IPython and what draws charts, for the code interpreter: sandboxes made from this host have what it has, and work without.
  test) packages="iproute2 curl openssl ca-certificates git python3-pip postgresql
                  python3-ipython python3-matplotlib python3-pandas python3-pil" ;;
  fuzz) packages="clang-14 libclang-rt-14-dev" ;;
  *) echo "usage: scripts/install.sh build|test|fuzz" >&2; exit 2 ;;
esac

missing=""
for package in $packages; do
  # nodejs may come from elsewhere than Debian: what counts is that it runs.
  [ "$package" = nodejs ] && command -v node > /dev/null && continue
  dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
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
