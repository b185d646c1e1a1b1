#!/usr/bin/env bash
# Counts the source tree: scripts/census.sh [FOLDER...]
exec python3 "$(dirname "$0")/census.py" "$@"
