#!/usr/bin/env bash
# The nginx module at work: bindings/nginx/example/ratecell.conf, served on loopback, and requests to it.
source "$(dirname "$0")/lib.sh"

RATECELL_NGINX_MODULE="$(ci/nginx.sh --build)"
export RATECELL_NGINX_MODULE
python3 -B bindings/nginx/example/demo.py
