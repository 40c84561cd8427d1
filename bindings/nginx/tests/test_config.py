"""What nginx -t says of what is wrong."""

import os
import pathlib
import re
import subprocess
import unittest

from harness import NginxTest, server_block

ZONE = "ratecell_zone $arg_k zone=z:1m rate=1r/s;"
POLICY = 'ratecell_zone $arg_k zone=p:1m policy="fixed_window 5/1d start=first";'



def layered(number, of):
    """So many zones, each of a policy of so many layers."""
    policy = " & ".join(f"fixed_window {layer + 5}/{layer + 1}h" for layer in range(of))
    return "".join(f'ratecell_zone $arg_k zone=l{of}_{zone}:64k policy="{policy}";' for zone in range(number))


def limits(number, of):
    return "".join(f"\nratecell zone=l{of}_{zone};" for zone in range(number))


WRONG = {
    "ratecell_zone $arg_k rate=1r/s;": "invalid number of arguments|must have \"zone\" parameter",
    "ratecell_zone $arg_k rate=1r/s rate=2r/s;": '"ratecell_zone" must have "zone" parameter',
    "ratecell_zone $arg_k zone=z rate=1r/s;": 'invalid zone size "zone=z": expected zone=name:size',
    "ratecell_zone $arg_k zone=z:big rate=1r/s;": 'invalid zone size "zone=z:big": expected zone=name:size',
    "ratecell_zone $arg_k zone=:1m rate=1r/s;": 'invalid zone name "" in "zone=:1m": expected 1 to 256 characters',
    "ratecell_zone $arg_k zone=z\xe4:1m rate=1r/s;": 'invalid zone name "z',
    "ratecell_zone $arg_k 'zone=a\nb:1m' rate=1r/s;": 'in "zone=a\nb:1m": expected 1 to 256 characters of printable',
    "ratecell_zone $arg_k zone=z:16k rate=1r/s;": 'zone "zone=z:16k" is too small: expected at least',
    "ratecell_zone $arg_k zone=z:1m file=;": 'invalid parameter "file=": expected',
    "ratecell_zone $arg_k zone=z:1m rate=1r/s file=t names=some;":
        'invalid parameter "names=some": expected names=on or names=off',
    "ratecell_zone $arg_k zone=z:1m rate=1r/s names=on;": 'zone "z" has "names" without "file": expected "file" alone',
    "ratecell_zone $arg_k zone=z file=t store=s names=on;": 'zone "z" has "names" and "store": expected "file" alone',
    "ratecell_zone $arg_k zone=z:1m sync;": 'invalid parameter "sync": expected zone=name:size, rate=',
    "ratecell_zone $arg_k zone=z:1m rate=often;": 'invalid rate "rate=often": expected a number and a period, such as',
    "ratecell_zone $arg_k zone=z:1m rate=;": 'invalid rate "rate=": expected a number and a period, such as',
    "ratecell_zone $arg_k zone=z:1m rate=99999999999q/s;": '"rate=99999999999q/s": expected a number and a period',
    "ratecell_zone $arg_k zone=z:1m rate=1r/y;": 'invalid rate "rate=1r/y": expected a number and a period',
    "ratecell_zone $arg_k zone=z:1m rate=r/s;": 'invalid rate "rate=r/s": expected',
    **{f"ratecell_zone $arg_k zone=z:1m rate={rate};":
       f'invalid rate "rate={rate}": expected 1 to 4294967295 requests in a period of 1ms to 15250w'
       for rate in ("0r/s", "0", "10000000000r/s", "99999999999999999999r/s", "1r/0s", "1r/15251w",
                    "1r/99999999999999999999s")},
    "ratecell_zone $arg_k zone=z:1m rate=-1r/s;": 'invalid rate "rate=-1r/s": expected',
    "ratecell_zone $arg_k zone=z:1m default_rate=$arg_r;": 'invalid rate "default_rate=$arg_r": expected',
    "ratecell_zone $arg_k zone=z:1m default_rate=1r/s;": '"ratecell_zone" must have "rate" or "policy" parameter',
    'ratecell_zone $arg_k zone=z:1m rate=1r/s policy="1/s";': 'zone "z" has "policy" and a rate: expected one of them',
    'ratecell_zone $arg_k zone=z:1m policy="often 1/s";': 'invalid policy "often 1/s" of zone "z": ',
    'ratecell_zone $arg_k zone=z:1m policy="5/s burst=9;': 'invalid parameter "policy="5/s": expected " at the end',
    'ratecell_zone $arg_k zone=z:1m policy="sliding_log 5/1h";':
        'invalid policy "sliding_log 5/1h" of zone "z": a sliding_log cannot be shared: expected an algorithm that is',
    f"ratecell_zone $arg_k zone={'z' * 257}:1m rate=1r/s;": '": expected 1 to 256 characters of printable ASCII in ',
    ZONE + "ratecell_zone $arg_l zone=z:1m rate=1r/s;": 'ratecell_zone "z" is already bound to key "$arg_k"',
    "limit_req_zone $arg_k zone=z:1m rate=1r/s;" + ZONE: 'the shared memory zone "z" is already declared',
    "ratecell_zone $arg_k zone=a:1m rate=1r/s file=$FOLDER/t; ratecell_zone $arg_l zone=b:1m rate=1r/s file=t;":
        'and different keys, "$arg_k" and "$arg_l": expected one key, or another file',
    ZONE + "ratecell burst=5;": '"ratecell" must have "zone" parameter',
    ZONE + "ratecell zone=;": 'invalid parameter "zone=": expected zone=, rate=',
    ZONE + "ratecell zone=none;": 'unknown ratecell_zone "none" in ',
    ZONE + "ratecell zone=z; ratecell zone=z;": '"ratecell" directive is duplicate',
    ZONE + "ratecell zone=z burst=0;": 'invalid burst value "burst=0": expected a number from 1 to 4294967294',
    ZONE + "ratecell zone=z burst=x;": 'invalid burst value "burst=x": expected a number from 1 to 4294967294',
    ZONE + "ratecell zone=z delay=0;": 'invalid delay value "delay=0": expected a number from 1 to 4294967294',
    ZONE + "ratecell zone=z burst=1 default_burst=2;":
        '"ratecell" has "default_burst" without a "burst" that contains variables: expected both',
    ZONE + "ratecell zone=z default_burst=2;":
        '"ratecell" has "default_burst" without a "burst" that contains variables: expected both',
    "ratecell_zone $arg_k zone=z:1m rate=1r/s default_rate=2r/s;":
        'zone "z" has "default_rate" without a "rate" that contains variables: expected both',
    ZONE + "ratecell zone=z burst=1 default_burst=x;": 'invalid default_burst value "default_burst=x": expected',
    ZONE + "ratecell zone=z cost=x;": 'invalid cost value "cost=x": expected a number from 0 to 4294967294',
    ZONE + "ratecell zone=z burst=4294967295;":
        'invalid burst value "burst=4294967295": expected a number from 1 to 4294967294',
    ZONE + "ratecell zone=z cost=99999999999999999999;":
        'invalid cost value "cost=99999999999999999999": expected a number from 0 to 4294967294',
    ZONE + "ratecell zone=z burst=2 cost=5;":
        '"cost=5" is more than zone "z" ever lets pass at once, so that no request would pass: expected at most 3 in ',
    ZONE + "ratecell zone=z burst=9 delay=3 cost=11;": "expected at most 10 in ",
    ZONE + "ratecell zone=z rate=$arg_r nodelay cost=2;": "expected at most 1 in ",
    ZONE + "ratecell zone=z burst=2 count=response cost=4;": "expected at most 3 in ",
    POLICY + "ratecell zone=p cost=6;": "expected at most 5 in ",
    'ratecell_zone $arg_k zone=p:1m policy="10/1d & fixed_window 7/1d start=first"; ratecell zone=p cost=8;':
        "expected at most 7 in ",
    ZONE + "ratecell zone=z rate=3000000r/s;":
        'ratecell zone "z" cannot limit by "gcra 3000000/1000000000ns burst=1", which needs a zone of its own: '
        "precision: ",
    "ratecell_zone $arg_k zone=z:1m rate=999983r/52w; ratecell zone=z rate=1r/52w;":
        "which needs a zone of its own: range: ",
    ZONE + "ratecell zone=z often;": 'invalid parameter "often": expected zone=, rate=, burst=',
    ZONE + "ratecell zone=z rate=often;": 'invalid rate "rate=often": expected',
    ZONE + "ratecell zone=z settle=5;": 'invalid settle value "settle=5": expected one that contains variables',
    ZONE + "ratecell zone=z settle=$arg_s count=response;": '"ratecell" has "settle" and "count": expected one of them',
    'ratecell_zone $arg_k zone=f:1m policy="5/s & in_flight 9 hold=1m"; ratecell zone=f count=response;':
        '"count" needs a zone without a layer "in_flight": ratecell_zone "f" has one in ',
    ZONE + "ratecell zone=z count=request;": 'invalid count value "count=request": expected count=response, or with',
    ZONE + "ratecell zone=z count=response:;": 'invalid count value "count=response:": expected',
    ZONE + "ratecell zone=z count=response:401,;": 'invalid count value "count=response:401,": expected',
    ZONE + "ratecell zone=z count=response:6xx;": 'invalid count value "count=response:6xx": expected',
    ZONE + "ratecell zone=z count=response:404-400;": 'invalid count value "count=response:404-400": expected',
    ZONE + "ratecell zone=z burst=5 delay=2 count=response;": '"ratecell" has "delay" and "count": a request',
    ZONE + "ratecell_status 399;": "value must be between 400 and 599",
    ZONE + "ratecell_status 600;": "value must be between 400 and 599",
    ZONE + "ratecell_log_level debug;": 'invalid value "debug"',
    ZONE + "ratecell_dry_run maybe;": 'invalid value "maybe" in "ratecell_dry_run" directive',
    ZONE + "ratecell_headers maybe;": 'invalid value "maybe" in "ratecell_headers" directive: expected "on", "off", or',
    ZONE + "ratecell_headers on x;": 'invalid value "on" in "ratecell_headers" directive: expected "on", "off", or',
    ZONE + "ratecell_headers x off;": 'invalid value "off" in "ratecell_headers" directive: expected "on", "off", or',
    ZONE + "ratecell_headers draft11 draft07;": 'style "draft07" in "ratecell_headers" directive writes a field that a',
    ZONE + "ratecell_headers twitter github x;": 'style "x" in "ratecell_headers" directive writes a field that a',
    ZONE + "ratecell_headers x; ratecell_headers x;": '"ratecell_headers" directive is duplicate',
    POLICY + "ratecell zone=p burst=5;": 'need a zone with "rate": ratecell_zone "p" has "policy" in ',
    POLICY + "ratecell zone=p rate=1r/s;": 'need a zone with "rate": ratecell_zone "p" has "policy" in ',
    POLICY + "ratecell zone=p delay=1;": 'need a zone with "rate": ratecell_zone "p" has "policy" in ',
    "ratecell_zone $arg_k zone=z:1m rate=1r/1000w; ratecell zone=z burst=4000000000;":
        'invalid rate and burst of zone "z": ',
    layered(9, 8) + limits(9, 8):
        'too many limits in one place: expected policies with at most 64 layers in all, and "ratecell zone=l8_8" '
        "makes them 72 in ",
    layered(65, 1) + f"server {{ location / {{ {limits(65, 1)} }} }}": 'and "ratecell zone=l1_64" makes them 65 in ',
    'ratecell_zone $arg_k zone=p:1m policy="calendar_window 9/day tz=caller"; ratecell zone=p;':
        'invalid policy "calendar_window 9/day tz=caller" of zone "p": no request names a time zone: expected',
    "ratecell_zone $arg_k zone=f:1m rate=1r/s file=/nowhere/at/all;": 'ratecell zone "f" cannot use the file "/nowhere',
}

RIGHT = [
    ZONE + "ratecell zone=z; ratecell_status 400; ratecell_log_level info; ratecell_dry_run on;",
    ZONE + POLICY + "ratecell zone=z burst=5 delay=2; ratecell zone=p nodelay;",
    ZONE + "ratecell zone=z burst=$arg_b default_burst=0 rate=$arg_r cost=$arg_c strict "
    "count=response:401,4xx,500-504;",
    "ratecell_zone $arg_k zone=z:1m 'policy=5/s burst=9 & fixed_window 100/1d'; ratecell zone=z;",
    "ratecell_zone $arg_k policy='5/s burst=9 & fixed_window 100/1d' zone=z:1m; ratecell zone=z;",
    'ratecell_zone $arg_k policy="5/s" zone=z:1m; ratecell zone=z;',
    'ratecell_zone $arg_k policy="5/s "" burst=9" zone=z:1m; ratecell zone=z;',
    "ratecell_zone literal zone=z:32k rate=1000000r/s;",
    ZONE + "ratecell zone=z burst=2 cost=3;",
    ZONE + "ratecell zone=z burst=$arg_b cost=9;",
    POLICY + "ratecell zone=p cost=5;",
    f"ratecell_zone $arg_k zone={'z' * 256}:1m rate=1r/s;",
    *(ZONE + f"ratecell_headers {styles};" for styles in
      ("off", "draft11 x", "X_Unix twitter draft11", "draft07 github", "kong twitter", "draft03 x_unix")),
    "ratecell_zone $arg_k zone=a:1m rate=1r/s file=t; ratecell_zone $arg_k zone=b:1m rate=1r/s file=t;",
    "ratecell_zone $arg_k zone=a:1m rate=1r/s file=t; ratecell_zone $arg_l zone=b:1m rate=1r/s file=u;",
]


class Building(unittest.TestCase):
    def test_the_library_is_looked_for(self):
        config = pathlib.Path(__file__).parents[1] / "config"
        for library, said in (("", "expected the absolute path of libratecell.a"),
                              ("libratecell.a", "expected the absolute path of libratecell.a"),
                              ("/nowhere/libratecell.a", "where there is no file: expected libratecell.a")):
            done = subprocess.run(["sh", "-c", f'. "{config}"'], env={**os.environ, "RATECELL_LIBRARY": library},
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f'error: RATECELL_LIBRARY is "{library}"', done.stderr)
            self.assertIn(said, done.stderr)


class Configuration(NginxTest):
    expected_in_log = (r"\[emerg\]",)

    def test_what_is_wrong_is_said(self):
        for text, message in WRONG.items():
            with self.subTest(text):
                good, said = self.prepare(text).test()
                self.assertFalse(good, said)
                self.assertTrue(any(part in said for part in message.split("|")), said)
                self.assertNotIn("[alert]", said)

    def test_what_is_right_is_taken(self):
        for text in RIGHT:
            with self.subTest(text):
                good, said = self.prepare(text).test()
                self.assertTrue(good, said)

    def test_as_many_layers_as_there_may_be(self):
        nginx = self.serve(layered(8, 8) + layered(64, 1) + server_block(
            f"location / {{ empty_gif; {limits(8, 8)} }} location /many {{ empty_gif; {limits(64, 1)} }}"))
        for path in ("/?k=1", "/many?k=2"):
            self.assertEqual([nginx.status(path) for _ in range(6)], [200] * 5 + [503], path)

    def test_the_line_of_a_directive_is_named(self):
        good, said = self.prepare(layered(9, 8) + limits(9, 8)).test()
        self.assertFalse(good)
        (line,) = re.findall(r"makes them 72 in \S+/nginx\.conf:(\d+)", said)
        self.assertEqual(self.servers[0].read("nginx.conf").splitlines()[int(line) - 1].strip(), "ratecell zone=l8_8;")

    def test_the_projects_readme(self):
        readme = pathlib.Path(__file__).parents[3] / "README.md"
        (shown,) = re.findall("```nginx\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
        zone, location = shown.replace("/run/limits", "$FOLDER/limits").split("location", 1)
        good, said = self.prepare(f"{zone} server {{ location{location} }}").test()
        self.assertTrue(good, said)

    def test_the_examples_of_the_readme(self):
        readme = pathlib.Path(__file__).parents[1] / "README.md"
        examples = re.findall("```nginx\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
        # That with a store is tested where there is one.
        examples = [shown for shown in examples if "store=" not in shown]
        self.assertEqual(len(examples), 6)
        for shown in examples:
            http = re.search(r"http \{\n(.*)\n\}", shown, re.DOTALL)[1]
            nginx = self.prepare(http.replace("/run/limits", "$FOLDER/limits"))
            nginx.write("limits.toml", "ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = []\nlimit = '1/s'\n")
            good, said = nginx.test()
            self.assertTrue(good, said)

    def test_a_directive_in_the_wrong_place(self):
        for text, message in (("server { ratecell_zone $arg_k zone=z:1m rate=1r/s; }", "is not allowed here"),
                              ("server { ratecell_stats; }", "is not allowed here")):
            good, said = self.prepare(text).test()
            self.assertFalse(good)
            self.assertIn(message, said)


if __name__ == "__main__":
    unittest.main()
