"""How the module's sources depend on each other."""

import pathlib
import re
import unittest

SOURCES = pathlib.Path(__file__).parents[1] / "src"


def calls():
    """For each source, the sources whose functions it uses."""
    texts = {path.name: re.sub(r"/\*.*?\*/", "", path.read_text(encoding="ascii"), flags=re.DOTALL)
             for path in SOURCES.glob("*.c")}
    # A definition begins a line with its name; a declaration ends in a semicolon.
    defined = {name: {found[1] for found in re.finditer(r"^(ngx_http_ratecell_\w+)\([^;{]*\)\n\{", text, re.MULTILINE)}
               for name, text in texts.items()}
    return {name: {other for other in texts if other != name
                   and any(re.search(rf"\b{function}\b", text) for function in defined[other] - defined[name])}
            for name, text in texts.items()}


class Structure(unittest.TestCase):
    def test_calls_go_one_way(self):
        left = calls()
        self.assertIn("ngx_http_ratecell_file.c", left["ngx_http_ratecell_memory.c"])
        while left:
            lowest = {name for name, used in left.items() if not used & left.keys()}
            self.assertTrue(lowest, f"a circle among {sorted(left)}")
            left = {name: used for name, used in left.items() if name not in lowest}

    def test_what_a_file_or_memory_calls(self):
        used = calls()
        self.assertEqual(used["ngx_http_ratecell_file.c"], set())
        self.assertEqual(used["ngx_http_ratecell_memory.c"], {
            "ngx_http_ratecell_file.c", "ngx_http_ratecell_rate.c", "ngx_http_ratecell_store.c"})


if __name__ == "__main__":
    unittest.main()
