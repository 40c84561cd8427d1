#!/usr/bin/env bash
# The playground and the documents as pages, in target/site. The playground is played in Debian's Chromium, and what it
# shows is compared with every published decision; of the pages each link is followed.
#
#   ci/site.sh                     all of that
#   ci/site.sh --build             builds them, and plays nothing
#   ci/site.sh --bless             also draws docs/pictures and takes the figures of docs/COMPARISON.md anew
#   ci/site.sh --pictures FOLDER   also takes pictures of all: light, dark, wide, phone
source "$(dirname "$0")/lib.sh"

case "${1:-}" in
'' | --build | --bless) ;;
--pictures) [ $# -eq 2 ] || usage ;;
*) usage ;;
esac
wasm=wasm32-unknown-unknown
module="$target/playground/$wasm/playground/ratecell_playground.wasm"
site="$target/site"
pages="$target/site-pages"
# A folder of its own: no other part waits for the build.
CARGO_TARGET_DIR="$target/playground" cargo build --quiet --locked -p ratecell-playground --profile playground --target "$wasm"
npm ci --prefix site --ignore-scripts --no-audit --no-fund --silent

check=(--check)
if [ "${1:-}" = --bless ]; then check=(); fi
node site/pictures.mjs "$module" docs "${check[@]}"
node site/figures.mjs . "${check[@]}"

# The documents keep their places, so that their links lead to each other.
rm -rf "$site" "$pages"
mkdir -p "$site" "$pages"
find README.md CONTRIBUTING.md docs vectors bindings crates -name node_modules -prune -o \
    \( -name '*.md' -o -path 'docs/*' -name '*.svg' \) -print | while read -r file; do
    mkdir -p "$pages/$(dirname "$file")"
    ln -s "$PWD/$file" "$pages/$file"
done
venv="$target/site-python"
[ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check --requirement site/requirements.txt
SITE_PAGES="$pages" SITE_OUTPUT="$site" PYTHONPATH=site PYTHONDONTWRITEBYTECODE=1 \
    "$venv/bin/python" -m mkdocs build --quiet --config-file site/mkdocs.yml
node site/build.mjs "$module" "$site/playground.html"
if [ "${1:-}" != --build ]; then
    node site/test/pages.mjs "$site"
    node site/test/play.mjs "$site/playground.html" vectors ${2:+"$2"}
fi
