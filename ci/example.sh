#!/usr/bin/env bash
# The example application: nginx, a service in Go and one in Python under one file of rules, and visitors to them.
#
#   ci/example.sh          builds what it needs, runs it, and compares what it shows with the limits
#   ci/example.sh --stay   leaves it running until it is interrupted
source "$(dirname "$0")/lib.sh"

work="$target/example"
mkdir -p "$work"
ci/go.sh --library
go_settings
(cd examples/shop/catalog && go vet . && go build -o "$work/catalog" .)
SHOP_NGINX_MODULE="$(ci/nginx.sh --build)"
host="$(host)"
cargo build --quiet --release --package ratecell-cli --bin ratecell --target "$host"
venv="$target/python"
if [ ! -d "$venv/wheels" ]; then ci/wheels.sh "$venv/wheels"; fi
"$venv/bin/pip" install --quiet --disable-pip-version-check --requirement bindings/python/requirements.txt
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$venv"/wheels/*.whl
export SHOP_NGINX_MODULE SHOP_CATALOG="$work/catalog" SHOP_PROGRAM="$target/$host/release/ratecell"
exec "$venv/bin/python" -B examples/shop/shop.py "$@"
