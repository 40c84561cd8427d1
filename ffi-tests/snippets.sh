#!/usr/bin/env bash
# Writes the C and C++ of the documentation as programs.
#
#   ffi-tests/snippets.sh DIR    each block becomes DIR/DOCUMENT_N.c or .cpp; a block of text right below it,
#                                what it prints, DIR/DOCUMENT_N.expected
#
# A block without a main of its own becomes the body of one. It finds a key (in C also its key_len), and a
# limiter if it makes none.
source "$(dirname "$0")/../ci/lib.sh"

[ $# -eq 1 ] || usage
mkdir -p "$1"

awk -v dir="$1" '
function fail(line, what) {
    print FILENAME ":" line ": " what >"/dev/stderr"
    failed = 1
    exit 1
}

function c_program() {
    return "#include <ratecell.h>\n#include <stdio.h>\n#include <stdlib.h>\n" includes \
        "\nconst char key[] = \"user:42\";\nconst size_t key_len = sizeof key - 1;\n" \
        "\nint main(void) {\n" \
        (rest ~ /\*limiter/ ? rest : \
            "ratecell_limiter *limiter = NULL;\n" \
            "if (ratecell_limiter_new(\"100/s burst=200\", NULL, &limiter) < 0) return 1;\n" \
            rest "ratecell_limiter_free(limiter);\n") \
        "return 0;\n}\n"
}

function cpp_program() {
    return "#include <ratecell.hpp>\n#include <iostream>\n" includes \
        "\n[[maybe_unused]] constexpr std::string_view key = \"user:42\";\n" \
        "\nint main() {\n" \
        (rest ~ /Limiter limiter/ ? "" : \
            "[[maybe_unused]] const ratecell::Limiter limiter(\"100/s burst=200\");\n") \
        rest "}\n"
}

function write_program(    path) {
    path = dir "/" name "." language
    printf "%s", (rest ~ /(^|[^a-z_])main\(/ ? whole : language == "c" ? c_program() : cpp_program()) >path
    close(path)
    programs++
}

FNR == 1 {
    if (language != "") fail(opened, "a block that does not end")
    document = FILENAME
    sub(/.*\//, "", document)
    sub(/\.md$/, "", document)
    number = 0
    name = ""
}

# Within a block.
language != "" && !/^```$/ {
    if (language == "text" && name != "") print >(dir "/" name ".expected")
    whole = whole $0 "\n"
    if (/^#include/) includes = includes $0 "\n"
    else rest = rest $0 "\n"
    next
}

# The end of one.
language != "" {
    if (language == "c" || language == "cpp") write_program()
    else name = ""
    language = ""
    next
}

# The start of one.
/^```/ {
    language = substr($0, 4)
    if (language == "") fail(FNR, "a block without a language")
    opened = FNR
    whole = includes = rest = ""
    if (language == "c" || language == "cpp") name = document "_" ++number
    next
}

# What is not right below a program is not its output.
/[^ ]/ { name = "" }

END {
    if (failed) exit 1
    if (language != "") fail(opened, "a block that does not end")
    if (programs == 0) fail(FNR, "no program")
    print programs " programs"
}
' README.md docs/C-API.md
