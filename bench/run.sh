#!/bin/sh
# Runs the benchmarks: bench/run.sh BUILD_DIR [--update-docs]
#
# Measures BUILD_DIR/paddock beside the native program and every peer that works here, prints tables, and leaves the
# results in BUILD_DIR/bench. With --update-docs the page and pictures in docs/benchmarks are written anew.
# ROUNDS=60 is the default; QUICK=1 is ten; ONLY=start, egress, living, redact, audit or tools measures one part and leaves the others' figures;
# ONLY=churn shows whether a server grows slower with use (a quarter of an hour).
# As root, missing peers are installed with apt (OFFLINE=1: not).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=${1:?usage: bench/run.sh BUILD_DIR [--update-docs]}
build=$(cd "$build" && pwd)
update=${2:-}
rounds=${ROUNDS:-60}
[ -z "${QUICK:-}" ] || rounds=10
only=${ONLY:-start egress living redact audit tools}
export PYTHONDONTWRITEBYTECODE=1

say() { printf '%s\n' "$*" >&2; }
wanted() { case " $only " in *" $1 "*) true ;; *) false ;; esac; }

install_peers() {
  [ "$(id -u)" = 0 ] && [ -z "${OFFLINE:-}" ] && command -v apt-get >/dev/null || return 0
  missing=""
  pairs="g++:g++ python3:python3"
  if wanted start; then pairs="$pairs bwrap:bubblewrap runc:runc crun:crun runsc:runsc dockerd:docker.io docker:docker.io"; fi
  if wanted redact; then pairs="$pairs rg:ripgrep"; fi
  if wanted egress; then pairs="$pairs haproxy:haproxy tinyproxy:tinyproxy-bin squid:squid"; fi
  for pair in $pairs; do
    command -v "${pair%%:*}" >/dev/null || missing="$missing ${pair#*:}"
  done
  [ -n "$missing" ] || return 0
  say "installing:$missing"
  # No package may start a service: the daemon that is measured is our own.
  policy=/usr/sbin/policy-rc.d
  made=""
  if [ ! -e "$policy" ]; then
    made=1
    printf '#!/bin/sh\nexit 101\n' > "$policy" && chmod 755 "$policy"
  fi
  for package in $(printf '%s\n' $missing | sort -u); do
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >/dev/null 2>&1 ||
      say "  $package could not be installed"
  done
  [ -z "$made" ] || rm -f "$policy"
}

[ -x "$build/paddock" ] && [ -x "$build/paddock-launch" ] && [ -x "$build/paddock-egress" ] ||
  { say "bench: build Paddock first: no paddock in $build"; exit 1; }
install_peers

# Copies that any user can run, and that a build going on meanwhile cannot change.
programs=$(mktemp -d "${TMPDIR:-/tmp}/paddock-bench-programs-XXXXXX")
trap 'rm -rf "$programs"' EXIT
trap 'exit 130' INT TERM HUP
chmod 755 "$programs"
cp "$build/paddock" "$build/paddock-launch" "$build/paddock-egress" "$programs/"
for program in start inside egress_load; do
  g++ -std=c++20 -O2 -Wall -Wextra -Wno-missing-field-initializers "$here/$program.cc" -o "$programs/$program"
done

mkdir -p "$build/bench"
start=$programs/start.json
waterfall=$programs/waterfall.json
egress=$programs/egress.json
say "measuring $rounds rounds"
if wanted start; then
  python3 "$here/start.py" "$programs" "$programs/paddock" "$rounds" "$start"
  if [ "$(id -u)" = 0 ]; then
    python3 "$here/waterfall.py" "$programs/paddock" "$rounds" "$waterfall" || say "  no waterfall: the kernel's trace could not be used"
  else
    say "  no waterfall: the kernel's trace needs root"
  fi
fi
if wanted egress; then python3 "$here/egress.py" "$programs" "$programs/paddock" "$rounds" "$egress"; fi

if wanted living; then
  page=""
  [ "$update" != --update-docs ] || page="--page $here/../docs/benchmarks/living.md"
  python3 "$here/living.py" "$build/paddock" "$build/bench/living.json" --rounds "$rounds" $page
fi

if wanted churn; then python3 "$here/churn.py" "$build/paddock"; fi

if wanted redact; then
  g++ -std=gnu++20 -O2 -Wall -Wextra -Wno-missing-field-initializers -I"$here/../include" -I"$here/.." -iquote "$here/../src" "$here/redact.cc" \
    "$build/libpaddock_redact.a" "$build/presets/libpaddock_presets.a" "$build/libpaddock_base.a" -lcrypto -o "$programs/redact"
  page=""
  [ "$update" != --update-docs ] || page="--page $here/../docs/benchmarks/redact.md"
  python3 "$here/redact.py" "$programs/redact" "$build/bench/redact.json" --rounds "$rounds" $page
fi

if wanted audit; then
  g++ -std=gnu++20 -O2 -Wall -Wextra -Wno-missing-field-initializers -I"$here/../include" -iquote "$here/../src" "$here/audit.cc" \
    "$build/libpaddock_audit.a" "$build/libpaddock_base.a" -lcrypto -lpthread -o "$programs/audit"
  page=""
  [ "$update" != --update-docs ] || page="--page $here/../docs/benchmarks/audit.md"
  python3 "$here/audit.py" "$programs/audit" "$build/bench/audit-logs" "$build/bench/audit.json" --rounds "$rounds" $page
fi

if wanted tools; then
  cmake --build "$build" --target paddock-bench-tools >/dev/null
  page=""
  [ "$update" != --update-docs ] || page="--page $here/../docs/benchmarks/tools.md"
  python3 "$here/tools.py" "$build/tests/paddock-bench-tools" "$build/paddock" "$build/bench/tools.json" --rounds "$rounds" $page
fi

for results in "$start" "$waterfall" "$egress"; do
  [ ! -e "$results" ] || cp "$results" "$build/bench/"
done
python3 "$here/table.py" "$start" "$waterfall" "$egress"
python3 "$here/plot.py" "$start" "$waterfall" "$egress" "$build/bench"
if [ "$update" = --update-docs ]; then
  docs=$(cd "$here/.." && pwd)/docs/benchmarks
  python3 "$here/plot.py" "$start" "$waterfall" "$egress" "$docs"
  python3 "$here/table.py" "$start" "$waterfall" "$egress" "$docs/README.md"
  say "written: docs/benchmarks"
fi
