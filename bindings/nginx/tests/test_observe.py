"""What clients and operators are told: fields, variables, statistics."""

import json
import pathlib
import re
import subprocess
import unittest

import metrics
from harness import NginxTest, server_block, wait_for

VARIABLES = ("add_header V '$ratecell_status|$ratecell_zone|$ratecell_limit|$ratecell_remaining|$ratecell_reset|"
             "$ratecell_retry_after|$ratecell_delay' always;")


class Fields(NginxTest):
    def test_fields_of_what_passes_and_what_does_not(self):
        nginx = self.serve("ratecell_zone $arg_k zone=api:1m rate=1r/m;" + server_block(
            "ratecell_headers on; ratecell_status 429; location / { empty_gif; ratecell zone=api burst=1 nodelay; }"))
        responses = nginx.get_all(["/?k=1"] * 3)
        self.assertEqual([r.status for r in responses], [200, 200, 429])
        for response, left in zip(responses, (1, 0, 0)):
            self.assertEqual(response.header("RateLimit-Policy"), '"api";q=1;w=60;ratecell-burst=2')
            self.assertEqual(response.header("RateLimit"), f'"api";r={left};t=60')
        self.assertEqual([r.header("Retry-After") for r in responses], [None, None, "60"])

    def test_retry_after_is_rounded_up(self):
        nginx = self.serve("ratecell_zone $arg_k zone=api:1m rate=10r/s;" + server_block(
            "ratecell_headers on; location / { empty_gif; ratecell zone=api; }"))
        self.assertEqual(nginx.get_all(["/?k=1"] * 2)[1].header("Retry-After"), "1")

    def test_of_several_limits(self):
        nginx = self.serve(
            'ratecell_zone $arg_k zone=a:1m rate=1r/m; ratecell_zone $arg_j zone=b:1m policy="gcra 1/1h";'
            + server_block("ratecell_headers on; location / { empty_gif; ratecell zone=a burst=1 nodelay; "
                           "ratecell zone=b; }"))
        nginx.status("/?k=1&j=1")
        response = nginx.get("/?k=1&j=1")
        self.assertEqual(response.header("RateLimit-Policy"), '"a";q=1;w=60;ratecell-burst=2, "b";q=1;w=3600')
        self.assertRegex(response.header("RateLimit"), r'^"a";r=1;t=\d+, "b";r=0;t=3600$')
        self.assertEqual(response.header("Retry-After"), "3600")
        # Without the key of b there is only a.
        self.assertEqual(nginx.get("/?k=1").header("RateLimit"), '"a";r=0;t=60')
        # Of two that refuse, the later to let it pass.
        self.assertEqual(nginx.get("/?k=1&j=1").header("Retry-After"), "3600")

    def test_off_and_nothing_to_tell(self):
        nginx = self.serve("ratecell_zone $arg_k zone=api:1m rate=1r/m; ratecell_headers on;" + server_block(
            "location / { empty_gif; ratecell zone=api; } location /off { empty_gif; ratecell zone=api;"
            "ratecell_headers off; } location /none { return 204; }"))
        for path in ("/off?k=1", "/none", "/", "/off?k=1"):
            response = nginx.get(path)
            self.assertEqual([response.header(name) for name in ("RateLimit", "RateLimit-Policy", "Retry-After")],
                             [None] * 3, path)

    def test_on_an_error_page_and_in_dry_run(self):
        nginx = self.serve("ratecell_zone $arg_k zone=api:1m rate=1r/m; ratecell_headers on;" + server_block(
            "error_page 503 /sorry; location = /sorry { empty_gif; }"
            "location / { empty_gif; ratecell zone=api; }"
            "location /dry { empty_gif; ratecell zone=api; ratecell_dry_run on; }"))
        nginx.status("/?k=1")
        response = nginx.get("/?k=1")
        self.assertEqual((response.status, response.header("Retry-After")), (503, "60"))
        response = nginx.get("/dry?k=1")
        self.assertEqual((response.status, response.header("Retry-After"), response.header("RateLimit")),
                         (200, None, '"api";r=0;t=60'))

    def test_the_field_of_an_error_page_is_replaced(self):
        nginx = self.serve("ratecell_zone $arg_k zone=api:1m rate=1r/m; ratecell_headers on;" + server_block(
            "error_page 503 @sorry; location @sorry { proxy_pass http://127.0.0.1:$PORT2; }"
            "location / { empty_gif; ratecell zone=api burst=1 nodelay cost=$arg_n; }")
            + server_block("add_header retry-after 7 always; location / { return 503; }", "$PORT2"), ports=2)
        nginx.status("/?k=1&n=2")
        self.assertEqual(nginx.get("/?k=1").header("Retry-After"), "60")
        # There is no time after which this one passes, and so nothing to put in the place of the other.
        self.assertEqual(nginx.get("/?k=1&n=3").header("Retry-After"), "7")

    def test_the_fields_of_a_limiter_behind_nginx(self):
        behind = {"RateLimit": '"b";r=5', "RateLimit-Policy": '"b";q=5;w=1', "X-RateLimit-Limit": "5",
                  "x-ratelimit-remaining": "5", "X-RateLimit-Reset": "0", "Retry-After": "$arg_s"}
        nginx = self.serve(
            "ratecell_zone $arg_k zone=a:1m rate=1r/m;"
            + server_block("location / { proxy_pass http://127.0.0.1:$PORT2; ratecell zone=a; "
                           "ratecell_headers draft11 x; error_page 503 @sorry; }"
                           "location @sorry { proxy_pass http://127.0.0.1:$PORT2; }")
            + server_block("".join(f"add_header {name} '{value}' always;" for name, value in behind.items())
                           + "location / { return 200; }", "$PORT2"), ports=2)

        def fields(path):
            return sorted((name.lower(), value) for name, value in nginx.get(path).headers
                          if "ratelimit" in name.lower() or name == "Retry-After")

        numbers = [("x-ratelimit-limit", "1"), ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "60")]
        lists = [("ratelimit", '"a";r=0;t=60'), ("ratelimit", '"b";r=5'),
                 ("ratelimit-policy", '"a";q=1;w=60'), ("ratelimit-policy", '"b";q=5;w=1')]
        self.assertEqual(fields("/?k=1&s=7"), lists + [("retry-after", "7")] + numbers)
        # Of a refusal the later time to retry; what is no number is replaced.
        for theirs, sent in (("7", "60"), ("61", "61"), ("60", "60"), ("tomorrow", "60")):
            self.assertEqual(fields(f"/?k=1&s={theirs}"), lists + [("retry-after", sent)] + numbers)

    def test_no_time_to_retry_where_one_limit_has_none(self):
        nginx = self.serve(
            "ratecell_zone $arg_k zone=a:1m rate=1r/m; ratecell_zone $arg_k zone=b:1m rate=1r/h;"
            + server_block("ratecell_headers on; location / { empty_gif; ratecell zone=a; "
                           "ratecell zone=b cost=$arg_n; }"))
        nginx.status("/?k=1")
        self.assertEqual(nginx.get("/?k=1").header("Retry-After"), "3600")
        response = nginx.get("/?k=1&n=9")
        self.assertEqual((response.status, response.header("Retry-After")), (503, None))

    def test_the_time_to_the_next_unit_of_each_way_to_decide(self):
        """Of a limit that charges refusals, one that counts responses, and several at once."""
        policy = 'policy="token_bucket 1/1h capacity=9 mode=continuous & token_bucket 1/2h capacity=2 mode=continuous"'
        zones = "".join(f"ratecell_zone $arg_k zone={zone}:1m {policy};" for zone in "pscdef")
        nginx = self.serve(zones + server_block(
            "ratecell_headers x draft11; location /plain { empty_gif; ratecell zone=p; }"
            "location /strict { empty_gif; ratecell zone=s strict; }"
            "location /count { empty_gif; ratecell zone=c count=response; }"
            "location /two { empty_gif; ratecell zone=d; ratecell zone=e; }"
            "location /mixed { empty_gif; ratecell zone=f count=response; ratecell zone=p strict; }"))
        for path, names in (("/plain", "p"), ("/strict", "s"), ("/count", "c"), ("/two", "de"), ("/mixed", "fp")):
            for _ in range(4):
                response = nginx.get(f"{path}?k={path}")
                for part in response.header("RateLimit").split(", "):
                    # The whole of the key is there in 4 hours, or never was away.
                    self.assertRegex(part, r'^"[a-z]-2";r=([01];t=7200|2)$')
            self.assertEqual((response.status, response.header("X-RateLimit-Reset")), (503, "14400"))

    def test_the_styles_of_the_readme(self):
        readme = (pathlib.Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
        (table,) = re.findall(r"\| Style \| Fields \|\n\| --- \| --- \|\n((?:\|.*\n)+)", readme)
        styles = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE))
        self.assertEqual(len(styles), 9)
        nginx = self.serve("ratecell_zone $arg_k zone=a:1m rate=1r/m;" + server_block("".join(
            f"location /{style} {{ empty_gif; ratecell zone=a; ratecell_headers {style}; }}" for style in styles)))
        for style, fields in styles.items():
            names = re.findall("`(.*?)`", fields)
            for retry in ([], ["Retry-After"]):
                found = nginx.get(f"/{style}?k={style}").headers
                self.assertEqual([name for name, _ in found if re.search("rate-?limit|retry", name, re.IGNORECASE)],
                                 names + retry)

    def test_more_than_the_room_for_a_few(self):
        names = [f"{'n' * 250}{number}" for number in range(12)]
        nginx = self.serve(
            "".join(f"ratecell_zone $arg_k zone={name}:64k rate=1r/m;" for name in names)
            + server_block("ratecell_headers on; location / { empty_gif; "
                           + "".join(f"ratecell zone={name};" for name in names) + "}"))
        response = nginx.get("/?k=1")
        self.assertEqual(response.header("RateLimit"), ", ".join(f'"{name}";r=0;t=60' for name in names))
        self.assertEqual(response.header("RateLimit-Policy"), ", ".join(f'"{name}";q=1;w=60' for name in names))

    def test_a_dry_run_in_the_styles_whose_reset_is_the_time_to_retry(self):
        nginx = self.serve("ratecell_zone $arg_k zone=a:1m rate=1r/m;" + server_block(
            "location / { empty_gif; ratecell zone=a burst=1 nodelay cost=2; ratecell_headers draft06; "
            "ratecell_dry_run on; }"))
        nginx.get("/?k=1")
        response = nginx.get("/?k=1")
        self.assertEqual((response.status, response.header("RateLimit-Reset"), response.header("Retry-After")),
                         (200, "60", None))

    def test_a_name_that_needs_quotes(self):
        nginx = self.serve('ratecell_zone $arg_k \'zone=a"b\\\\c:1m\' rate=1r/m;' + server_block(
            'ratecell_headers on; location / { empty_gif; ratecell \'zone=a"b\\\\c\'; }'
            "location /stats { ratecell_stats; }"))
        self.assertEqual(nginx.get("/?k=1").header("RateLimit"), '"a\\"b\\\\c";r=0;t=60')
        self.assertEqual(json.loads(nginx.get("/stats").body)["zones"][0]["zone"], 'a"b\\c')
        self.assertIn(b'{status="passed",zone="a\\"b\\\\c"} 1', nginx.get("/stats?format=prometheus").body)


class Variables(NginxTest):
    def test_variables(self):
        nginx = self.serve("ratecell_zone $arg_k zone=v:1m rate=2r/s;" + server_block(
            VARIABLES + "location / { empty_gif; ratecell zone=v burst=2 delay=1; } location /none { return 204; }"))
        found = [response.header("V") for response in nginx.get_all(["/?k=1"] * 3)]
        self.assertEqual(found[:2], ["PASSED|v|3|2|1||0.000", "PASSED|v|3|1|1||0.000"])
        self.assertRegex(found[2], r"^DELAYED\|v\|3\|0\|2\|\|0\.(4\d\d|500)$")
        self.assertEqual(nginx.get("/none").header("V"), "||||||")

    def test_of_a_refusal_by_one_of_several(self):
        nginx = self.serve("ratecell_zone $arg_k zone=v:1m rate=1r/m; ratecell_zone $arg_k zone=w:1m rate=1r/h;"
                           + server_block(VARIABLES + "location / { empty_gif; ratecell zone=v burst=5 nodelay; "
                                          "ratecell zone=w burst=1 nodelay; }"))
        self.assertEqual([response.header("V") for response in nginx.get_all(["/?k=1"] * 3)], [
            "PASSED|w|2|1|3600||0.000", "PASSED|w|2|0|7200||0.000", "REJECTED|w|2|0|7200|3600|0.000"])

    def test_in_the_access_log(self):
        nginx = self.serve("log_format v '$uri $ratecell_status $ratecell_zone $ratecell_retry_after';"
                           "access_log $FOLDER/access.log v; ratecell_zone $arg_k zone=v:1m rate=1r/m;" + server_block(
                               "location / { empty_gif; ratecell zone=v; } location /none { return 204; }"))
        for path in ("/?k=1", "/?k=1", "/none"):
            nginx.get(path)
        wait_for("three lines", lambda: nginx.read("access.log").count("\n") == 3)
        self.assertEqual(nginx.read("access.log").splitlines(),
                         ["/ PASSED v -", "/ REJECTED v 60", "/none - - -"])


class Statistics(NginxTest):
    CONFIGURATION = (
        "ratecell_zone $arg_k zone=one:1m rate=1r/m;"
        'ratecell_zone $arg_j zone=two:64k policy="fixed_window 5/1d start=first";' + server_block(
            "location / { empty_gif; ratecell zone=one burst=1 nodelay; ratecell zone=two; }"
            "location /delay { empty_gif; ratecell zone=one burst=5; }"
            "location /dry { empty_gif; ratecell zone=one; ratecell zone=two; ratecell_dry_run on; }"
            "location /drydelay { empty_gif; ratecell zone=one burst=9; ratecell_dry_run on; }"
            "location /stats { ratecell_stats; }"))

    def test_json(self):
        nginx = self.serve(self.CONFIGURATION, workers=2)
        for path in ("/?k=1&j=1", "/?k=1&j=2", "/?k=1&j=3", "/?k=2", "/dry?k=1", "/drydelay?k=1"):
            nginx.get(path)
        with nginx.connect() as connection:
            connection.send("/delay?k=1")
            wait_for("the delay", lambda: "delaying request, excess" in nginx.log())
        response = nginx.get("/stats")
        self.assertEqual(response.header("Content-Type"), "application/json")
        one, two = json.loads(response.body)["zones"]
        self.assertEqual([one[name] for name in (
            "zone", "key", "policy", "passed", "delayed", "rejected", "delayed_dry_run", "rejected_dry_run", "live",
            "live_error", "evicted", "forgiven")], ["one", "$arg_k", "1/m", 3, 1, 1, 1, 1, 2, 0, 0, 0])
        self.assertEqual([two[name] for name in ("zone", "key", "policy", "passed", "rejected", "live")],
                         ["two", "$arg_j", "fixed_window 5/d start=first", 2, 0, 2])
        self.assertGreater(one["slots"], 32000)
        self.assertLessEqual(one["bytes"], 1 << 20)

    def test_prometheus(self):
        nginx = self.serve(self.CONFIGURATION)
        for path in ("/?k=1", "/?k=1", "/?k=1"):
            nginx.get(path)
        response = nginx.get("/stats?format=prometheus")
        self.assertEqual(response.header("Content-Type"), "text/plain; version=0.0.4")
        lines = response.body.decode().splitlines()
        for line in ('# TYPE ratecell_requests_total counter', 'ratecell_requests_total{status="passed",zone="one"} 2',
                     'ratecell_requests_total{status="rejected",zone="one"} 1', 'ratecell_live_keys{zone="one"} 1',
                     'ratecell_evicted_keys_total{zone="two"} 0', '# TYPE ratecell_live_keys gauge'):
            self.assertIn(line, lines)
        # The form of the text: of every metric one HELP and one TYPE before its samples.
        seen = set()
        for line in lines:
            if line.startswith("# HELP"):
                self.assertNotIn(line.split()[2], seen)
                seen.add(line.split()[2])
            elif not line.startswith("#"):
                self.assertRegex(line, r'^ratecell_[a-z_]+\{([a-z]+="[^"]*",)?zone="[a-z]+"\} \d+$')
                self.assertIn(line.split("{")[0], seen)
        subprocess.run(["promtool", "check", "metrics"], input=response.body, check=True)
        # Of a zone without a store.
        described = metrics.described(response.body.decode())
        self.assertEqual(described, {name: row for name, row in metrics.documented().items() if name in described})
        self.assertEqual(len(described), 11)

    def test_which_format(self):
        nginx = self.serve(self.CONFIGURATION)
        prometheus = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
        for path, accept, expected in (("/stats", "*/*", "application/json"), ("/stats", prometheus, "text/plain"),
                                       ("/stats", "application/json, text/plain, */*", "application/json"),
                                       ("/stats", "text/plain, Application/JSON;q=0.5", "application/json"),
                                       ("/stats?format=json", prometheus, "application/json"),
                                       ("/stats?format=prometheus", "*/*", "text/plain")):
            found = nginx.get(path, {"Accept": accept}).header("Content-Type").split(";")[0]
            self.assertEqual(found, expected, (path, accept))
        self.assertEqual(nginx.get("/stats", method="POST", body=b"x").status, 405)
        head = nginx.get("/stats", method="HEAD")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertGreater(int(head.header("Content-Length")), 100)

    def test_keys_that_are_no_ascii(self):
        # The configuration is written a byte a character: the first is no UTF-8, the second is.
        nginx = self.serve("ratecell_zone $arg_k\xe9 zone=a:64k rate=1r/s; ratecell_zone $arg_k\xc3\xa9 zone=b:64k "
                           "rate=1r/s; ratecell_zone '$arg_k\t\"' zone=c:64k rate=1r/s;"
                           + server_block("location /stats { ratecell_stats; }"))
        zones = json.loads(nginx.get("/stats").body.decode("utf-8"))["zones"]
        self.assertEqual([zone["key"] for zone in zones], ["$arg_k\xe9", "$arg_k\xe9", '$arg_k\t"'])

    def test_without_zones(self):
        nginx = self.serve(server_block("location /stats { ratecell_stats; }"))
        self.assertEqual(json.loads(nginx.get("/stats").body), {"zones": [], "rules": []})

    def test_tables_of_rules(self):
        server = self.prepare(server_block(
            "ratecell_rules limits.toml file=cells; location / { empty_gif; } location /stats { ratecell_rules off; ratecell_stats; }"))
        server.write("limits.toml", "ratecell_rules = 1\n[[rule]]\nname = 'a'\nkey = ['path']\nlimit = '1/1d'\n")
        nginx = server.start()
        nginx.get_all(["/1", "/1", "/2", "/3"])
        (found,) = json.loads(nginx.get("/stats").body)["rules"]
        self.assertEqual([found[name] for name in ("rules", "file", "live", "live_error", "evicted", "denied_full")],
                         [nginx.path("limits.toml"), nginx.path("cells"), 3, 0, 0, 0])
        self.assertGreater(found["slots"], 100_000)
        self.assertNotIn("passed", found)
        text = nginx.get("/stats?format=prometheus").body
        self.assertIn(f'\nratecell_live_keys{{rules="{nginx.path("limits.toml")}"}} 3\n', text.decode())
        self.assertEqual(text.decode().count("rules="), 10)
        subprocess.run(["promtool", "check", "metrics"], input=text, check=True)

    def test_counters_outlive_a_reload(self):
        nginx = self.serve(self.CONFIGURATION)
        nginx.get("/?k=1")
        nginx.reload()
        nginx.get("/?k=1")
        self.assertEqual(json.loads(nginx.get("/stats").body)["zones"][0]["passed"], 2)


class OneKey(NginxTest):
    """What the limits of a zone say of one key, and that it is forgotten."""

    CONFIGURATION = (
        "ratecell_zone $arg_k zone=one:1m rate=1r/h;"
        'ratecell_zone "$arg_k$arg_j" zone=two:64k policy="fixed_window 5/365d";' + server_block(
            "location / { empty_gif; ratecell zone=one burst=1 nodelay; ratecell zone=two; }"
            "location /wide { empty_gif; ratecell zone=one burst=9 nodelay; }"
            "location /stats { ratecell_stats; } location /reset { ratecell_reset; }"
            "location /closed { ratecell_reset; deny all; }"))

    def state(self, nginx, zone, key):
        return json.loads(nginx.get(f"/stats?zone={zone}&key={key}").body)

    def test_its_state(self):
        nginx = self.serve(self.CONFIGURATION)
        nginx.get_all(["/?k=a", "/?k=a"])
        found = self.state(nginx, "one", "a")
        self.assertEqual((found["zone"], found["key"]), ("one", "a"))
        narrow, wide = found["limits"]
        self.assertEqual([narrow[name] for name in ("policy", "limit", "remaining")], ["1/h burst=2", 2, 0])
        self.assertEqual([wide[name] for name in ("policy", "limit", "remaining")], ["1/h burst=10", 10, 8])
        self.assertTrue(3590e9 < narrow["next_ns"] <= 3600e9 and 7190e9 < narrow["reset_after_ns"] <= 7200e9, narrow)
        self.assertEqual([one["remaining"] for one in self.state(nginx, "two", "a")["limits"]], [3])
        # Nobody has asked for it, and a look is not asking.
        for _ in range(2):
            self.assertEqual(self.state(nginx, "two", "b")["limits"][0]["remaining"], 5)
        self.assertEqual(json.loads(nginx.get("/stats").body)["zones"][1]["live"], 1)

    def test_a_key_of_any_bytes(self):
        nginx = self.serve('ratecell_zone $binary_remote_addr zone=a:1m policy="fixed_window 5/365d";' + server_block(
            "location / { empty_gif; ratecell zone=a; } location /stats { ratecell_stats; } location /reset { ratecell_reset; }"))
        nginx.get_all(["/", "/"])
        found = self.state(nginx, "a", "%7f%00%00%01")
        self.assertEqual((found["key"], found["limits"][0]["remaining"]), ("\x7f\0\0\1", 3))
        self.assertEqual(nginx.get("/reset?zone=a&key=%7f%00%00%01", method="POST").status, 204)
        self.assertEqual(self.state(nginx, "a", "%7f%00%00%01")["limits"][0]["remaining"], 5)

    def test_it_is_forgotten(self):
        nginx = self.serve(self.CONFIGURATION)
        self.assertEqual([nginx.status(f"/?k={key}") for key in "aaab"], [200, 200, 503, 200])
        for method, status in (("DELETE", 204), ("POST", 204), ("GET", 405), ("PUT", 405)):
            answer = nginx.get("/reset?zone=one&key=a", method=method)
            self.assertEqual((answer.status, answer.body if status == 204 else b""), (status, b""))
        self.assertIn('ratecell zone "one" has forgotten a key', nginx.log())
        self.assertEqual([nginx.status("/?k=a") for _ in range(3)], [200, 200, 503])
        self.assertEqual(self.state(nginx, "one", "b")["limits"][0]["remaining"], 1)

    def test_what_is_refused(self):
        nginx = self.serve(self.CONFIGURATION)
        self.assertEqual([nginx.status("/?k=a") for _ in range(3)], [200, 200, 503])
        for path, status in (("/reset", 400), ("/reset?zone=one", 400), ("/reset?key=a", 404),
                             ("/reset?zone=none&key=a", 404), ("/closed?zone=one&key=a", 403)):
            self.assertEqual(nginx.get(path, method="DELETE").status, status, path)
        for path, status in (("/stats?zone=one", 400), ("/stats?key=a", 404), ("/stats?zone=none&key=a", 404)):
            self.assertEqual(nginx.get(path).status, status, path)
        self.assertEqual(nginx.get("/stats?zone=one&key=a", method="DELETE").status, 405)
        self.assertEqual(nginx.status("/?k=a"), 503)


if __name__ == "__main__":
    unittest.main()
