#!/usr/bin/env bash
# The playground, in Debian's Chromium: it is played, and what it shows is compared with every published decision.
#
#   ci/site.sh                     all of that
#   ci/site.sh --build             builds it into target/site
#   ci/site.sh --pictures FOLDER   also takes its pictures: light, dark, wide, phone
source "$(dirname "$0")/lib.sh"

wasm=wasm32-unknown-unknown
page="$target/site/playground.html"
# A folder of its own: no other part waits for the build, or builds the same for another target.
CARGO_TARGET_DIR="$target/playground" cargo build --quiet --locked -p ratecell-playground --profile playground --target "$wasm"
mkdir -p "$target/site"
npm ci --prefix site --ignore-scripts --no-audit --no-fund --silent
node site/build.mjs "$target/playground/$wasm/playground/ratecell_playground.wasm" "$page"
case "${1:-}" in
--build) ;;
--pictures) node site/test/play.mjs "$page" vectors "${2:?expected a folder}" ;;
'') node site/test/play.mjs "$page" vectors ;;
*) usage ;;
esac
