#!/usr/bin/env bash
# One file between languages: nginx, a Go server and a real ASGI server with four workers let a client in together as
# often as the limit says. After ci/go.sh, ci/python.sh and ci/nginx.sh, with what they built.
source "$(dirname "$0")/lib.sh"

python="$target/python/bin/python"
export RATECELL_NGINX_MODULE="$target/nginx/objs/ngx_http_ratecell_module.so"
for built in "$python" bindings/go/lib/libratecell.a "$RATECELL_NGINX_MODULE"; do
    [ -e "$built" ] || { echo "missing: $built (ci/go.sh, ci/python.sh, ci/nginx.sh)" >&2; exit 1; }
done
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
go_settings
(cd bindings/go && go build -o "$work/server" ./examples/server)
"$python" -B ci/together.py "$work"
