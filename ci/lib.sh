# Shared by the scripts in this folder: they run at home as in CI, from any folder.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# A cargo command whose warnings are errors. The flags would otherwise rebuild what users build without.
strict() {
    RUSTFLAGS="${RUSTFLAGS:-} -Dwarnings" "$@"
}
