#!/bin/bash
set -euo pipefail
cd "$(dirname "$0")"
if grep -n "=FILL_IN" @scripts@; then echo "fill these lines in first" >&2; exit 2; fi
@submissions@
