"""Limits by a file of rules."""

import os
import pathlib
import re
import threading
import unittest

from harness import NginxTest, server_block
from http2 import Http2

HEAD = "ratecell_rules = 1\nattributes = ['tier', 'user']\n"
SHOW = "add_header Rule '$ratecell_rule' always; add_header Shown '$ratecell_status $ratecell_remaining' always;"
GIF = "ratecell_status 429; " + SHOW + "location / { empty_gif; %s }"


def rule(name, rest):
    return f"[[rule]]\nname = '{name}'\n{rest}\n"


def window(name, limit, rest="key = ['client']"):
    return rule(name, f"{rest}\nlimit = 'fixed_window {limit}/1d start=first'")


class RulesTest(NginxTest):
    def limited(self, text, http=None, **options):
        """A server whose file limits.toml has these rules."""
        server = self.prepare(server_block(GIF % "" + "ratecell_rules limits.toml;") if http is None else http, **options)
        server.write("limits.toml", HEAD + text)
        return server.start()

    def shown(self, response):
        return (response.status, response.header("Rule"), response.header("Shown").strip() or None)


class Decisions(RulesTest):
    def test_the_rule_that_refuses_is_named(self):
        nginx = self.limited(window("site", 9, "key = []")
                             + window("login", 2, "match.path = '/login'\nmatch.method = 'POST'\nkey = ['client']"))
        with nginx.connect() as connection:
            found = [self.shown(connection.get("/login", method="POST")) for _ in range(3)]
            self.assertEqual(found, [(405, "login", "PASSED 1"), (405, "login", "PASSED 0"), (429, "login", "REJECTED 0")])
            # What was refused is charged to no other rule.
            self.assertEqual(self.shown(connection.get("/login")), (200, "site", "PASSED 6"))
        self.assertIn('limiting requests, by rule "login" of "%s"' % nginx.path("limits.toml"), nginx.log())

    def test_the_path_is_that_which_was_sent(self):
        nginx = self.limited(window("login", 5, "match.path = '/login'\nkey = []"))
        with nginx.connect() as connection:
            paths = ["/login?x=1", "//login", "/%6cogin/", "/a/../login", "/login#a", "/logins"]
            found = [self.shown(connection.get(path))[1:] for path in paths]
        self.assertEqual(found, [("login", f"PASSED {left}") for left in (4, 3, 2, 1, 0)] + [(None, None)])

    def test_an_unclear_path_that_the_file_refuses(self):
        nginx = self.limited("unclear_path = 'refuse'\n" + window("site", 2, "key = []"))
        self.assertEqual(self.shown(nginx.get("/%61/../b")), (400, None, "REJECTED"))
        self.assertEqual(self.shown(nginx.get("/b")), (200, "site", "PASSED 1"))
        self.assertIn("refusing request, its path can be read in several ways, by ", nginx.log())

    def test_attributes_that_nginx_gives(self):
        file = (window("tiers", 1, "match.user = true\nkey = ['user']").replace(
            "limit = 'fixed_window 1/1d start=first'",
            "limit = { by = 'tier', of = { free = 'fixed_window 1/1d', pro = 'fixed_window 3/1d' }, default = 'blocked' }"))
        nginx = self.limited(file, server_block(
            GIF % "" + "ratecell_rules limits.toml; ratecell_attribute tier $arg_t; ratecell_attribute user $arg_u;"
            "location /staff { empty_gif; ratecell_attribute tier pro; ratecell_attribute user staff; }"
            "location /free { empty_gif; ratecell_rules off; }"))
        with nginx.connect() as connection:
            def status(path):
                return connection.get(path).status

            self.assertEqual([status("/?u=1&t=free") for _ in range(2)], [200, 429])
            self.assertEqual([status("/?u=1&t=pro") for _ in range(4)], [200, 200, 200, 429])
            self.assertEqual([status("/?u=2&t="), status("/?u=2&t=made-up")], [403, 403])
            # An empty value is none, so that no rule applies.
            self.assertEqual([status("/?u="), status("/")], [200, 200])
            self.assertEqual([status("/staff") for _ in range(4)], [200, 200, 200, 429])
            self.assertEqual([status("/free?u=1&t=free") for _ in range(3)], [200] * 3)

    def test_header_host_and_client(self):
        nginx = self.limited(
            rule("lines", "match.\"header:x-a\" = '1, 2'\nkey = []\nlimit = 'blocked'")
            + rule("host", "match.host = 'localhost'\nmatch.path = '/host'\nkey = []\nlimit = 'blocked'")
            + rule("network", "match.client = '2001:db8::/32'\nkey = []\nlimit = 'blocked'")
            + window("wide", 1, "match.client = '2002::/16'\nkey = ['client/32/128']"),
            server_block("ratecell_client field=X-Forwarded-For hops=1 v6_width=48;" + GIF % "ratecell_rules limits.toml;"))
        with nginx.connect() as connection:
            def status(path, **headers):
                return connection.get(path, {name.replace("_", "-"): value for name, value in headers.items()}).status

            self.assertEqual([status("/", X_A="1", x_a="2"), status("/", X_A="1"), status("/", X_A="1, 2")], [403, 200, 403])
            self.assertEqual([status("/host"), status("/")], [403, 200])
            self.assertEqual(status("/", X_Forwarded_For="2001:db8:1::7"), 403)
            # Rules have widths of their own.
            self.assertEqual([status("/", X_Forwarded_For=f"2002::{end}") for end in (1, 2, 1)], [200, 200, 429])

    def test_http2(self):
        nginx = self.limited(
            window("login", 1, "match.path = '/login'\nmatch.method = 'POST'\nmatch.host = 'localhost'\nkey = ['client']"),
            server_block(GIF % "ratecell_rules limits.toml;", "$PORT http2"))
        with Http2(nginx.port) as connection:
            asked = [connection.request(path, method) for path, method in (
                ("//login", "POST"), ("/%6cogin", "POST"), ("/login", "GET"))]
            self.assertEqual([connection.response(stream)[0] for stream in asked], [405, 429, 200])

    def test_fields_are_those_of_the_rules(self):
        nginx = self.limited(window("site", 9, "key = []") + window("one", 1), server_block(
            GIF % "" + "ratecell_rules limits.toml; ratecell_headers draft11 x;"))
        passed, refused = nginx.get_all(["/", "/"])
        self.assertEqual(passed.header("RateLimit-Policy"), '"site";q=9;w=86400, "one";q=1;w=86400')
        self.assertRegex(passed.header("RateLimit"), r'^"site";r=8;t=\d+, "one";r=0;t=\d+$')
        self.assertEqual((passed.header("X-RateLimit-Remaining"), passed.header("Retry-After")), ("0", None))
        self.assertRegex(refused.header("RateLimit"), r'^"site";r=8;t=\d+, "one";r=0;t=\d+$')
        self.assertIn(int(refused.header("Retry-After")), range(86_000, 86_401))

    def test_a_shadow_rule_refuses_nothing(self):
        nginx = self.limited(window("trial", 1) + "mode = 'shadow'\n")
        self.assertEqual([self.shown(found) for found in nginx.get_all(["/"] * 3)], [(200, None, None)] * 3)
        self.assertEqual(nginx.log().count('limiting requests, shadow, by rule "trial" of '), 2)

    def test_a_dry_run(self):
        nginx = self.limited("unclear_path = 'refuse'\n" + window("one", 1), server_block(
            GIF % "" + "ratecell_rules limits.toml; ratecell_dry_run on; ratecell_headers on;"))
        passed, denied, unclear = nginx.get_all(["/", "/", "/a/../b"])
        self.assertEqual(self.shown(denied), (200, "one", "REJECTED_DRY_RUN 0"))
        self.assertEqual((denied.header("Retry-After"), unclear.status), (None, 200))
        self.assertIn('limiting requests, dry run, by rule "one"', nginx.log())
        self.assertIn("refusing request, dry run, its path", nginx.log())
        self.assertEqual(passed.status, 200)

    def test_a_queue_delays(self):
        nginx = self.limited(rule("queue", "key = []\nlimit = 'leaky_queue 20/s queue=2'"))
        with nginx.connect() as one, nginx.connect() as two:
            found = [connection.get("/") for connection in (one, two) if not connection.send("/")]
            found += [one.receive(), two.receive()]
        shown = sorted(found, key=lambda response: response.status)
        self.assertIn("DELAYED", {response.header("Shown").split()[0] for response in shown})
        self.assertIn('delaying request, by rule "queue"', nginx.log())


class Place(RulesTest):
    """Where rules stand in a request, and beside limits of zones."""

    def test_rules_come_before_zones(self):
        nginx = self.limited(
            window("a", 3, "key = ['tier']"),
            'ratecell_zone $arg_z zone=z:32k policy="fixed_window 3/1d start=first";'
            + server_block("ratecell_attribute tier $arg_t; ratecell_rules limits.toml; add_header Zone $ratecell_zone always;"
                           + GIF % "ratecell zone=z;"))
        with nginx.connect() as connection:
            def get(query):
                return connection.get("/?" + query)

            self.assertEqual(self.shown(get("t=1&z=1")), (200, "a", "PASSED 2"))
            # What the zone refuses was charged by the rules; what these refuse was not charged by the zone.
            found = [get(f"t={t}&z=1").status for t in (2, 2, 2, 2)]
            self.assertEqual(found, [200, 200, 429, 429])
            self.assertEqual(self.shown(get("t=2&z=2")), (429, "a", "REJECTED 0"))
            self.assertEqual(get("t=2&z=2").header("Zone"), None)
            self.assertEqual(self.shown(get("t=3&z=2")), (200, "a", "PASSED 2"))

    def test_a_request_is_charged_once(self):
        nginx = self.limited(window("a", 9, "key = []"), server_block(
            GIF % "" + "ratecell_rules limits.toml; location /first { try_files /none /second; }"
            "location /second { empty_gif; error_page 405 = /third; } location /third { empty_gif; }"))
        with nginx.connect() as connection:
            self.assertEqual(self.shown(connection.get("/first")), (200, "a", "PASSED 8"))
            self.assertEqual(self.shown(connection.get("/second", method="PUT")), (200, "a", "PASSED 7"))

    def test_shadow_rules_alone_limit_nothing(self):
        """A request that only the shadow rules of one file apply to is limited by the file of the next location."""
        server = self.prepare(server_block(
            GIF % "" + "location /first { ratecell_rules trial.toml; try_files /none /second; }"
            "location /second { empty_gif; ratecell_rules limits.toml; }"))
        server.write("trial.toml", HEAD + window("trial", 1, "key = []") + "mode = 'shadow'\n")
        server.write("limits.toml", HEAD + window("a", 1, "key = []"))
        found = [self.shown(answer) for answer in server.start().get_all(["/first"] * 2)]
        self.assertEqual(found, [(200, "a", "PASSED 0"), (429, "a", "REJECTED 0")])

    def test_another_location_has_other_attributes(self):
        """A shadow rule that applied before they were known does not stand for the rules that look at them."""
        server = self.prepare(server_block(
            GIF % "" + "location /first { ratecell_rules limits.toml; try_files /none @second; }"
            "location @second { ratecell_rules limits.toml; ratecell_attribute user $arg_u; empty_gif; }"))
        server.write("limits.toml", HEAD + window("trial", 9, "key = []") + "mode = 'shadow'\n"
                     + window("a", 1, "match.user = true\nkey = ['user']"))
        found = [answer.status for answer in server.start().get_all(["/first?u=1"] * 2)]
        self.assertEqual(found, [200, 429])

    def test_the_graver_of_two_is_described(self):
        """A refusal by the zone of a second location, and a delay that the dry run of the first one only noted."""
        nginx = self.limited(
            rule("a", "key = []\nlimit = 'leaky_queue 1/w queue=5'"),
            'ratecell_zone all zone=z:32k policy="fixed_window 1/1d start=first";'
            + server_block(GIF % "" + "location /first { ratecell_dry_run on; ratecell_rules limits.toml;"
                           "try_files /none /second; } location /second { empty_gif; ratecell zone=z; }"))
        found = [self.shown(answer) for answer in nginx.get_all(["/first"] * 2)]
        self.assertEqual(found, [(200, "a", "PASSED 0"), (429, "a", "REJECTED 0")])
        self.assertIn('delaying request, dry run, by rule "a"', nginx.log())

    def test_the_method_on_an_error_page(self):
        nginx = self.limited(window("get", 9, "match.method = 'GET'\nkey = []"), server_block(
            "error_page 405 /page; error_page 403 @named;" + SHOW + "location /page { ratecell_rules limits.toml; empty_gif; }"
            "location /a { empty_gif; } location /b { return 403; } location @named { ratecell_rules limits.toml; }"))
        with nginx.connect() as connection:
            found = [self.shown(connection.get(path, method="PUT"))[1] for path in ("/a", "/b")]
        self.assertEqual(found, ["get", None])

    def test_an_error_page_is_not_limited(self):
        """Whoever refuses, the page that says so is charged to neither."""
        nginx = self.limited(
            window("a", 1, "match.path = '/rules'\nkey = []") + window("page", 1, "match.path = '/zone'\nkey = []"),
            'ratecell_zone all zone=z:32k policy="fixed_window 1/1d start=first";'
            'ratecell_zone all zone=y:32k policy="fixed_window 1/1d start=first";'
            + server_block("ratecell_status 429; error_page 429 =430 @page; " + SHOW +
                           "location /rules { empty_gif; ratecell_rules limits.toml; }"
                           "location /zone { empty_gif; ratecell zone=z; }"
                           "location @page { empty_gif; ratecell zone=y; ratecell_rules limits.toml; }"))
        with nginx.connect() as connection:
            found = [self.shown(connection.get(path)) for path in ("/rules", "/rules", "/rules", "/zone", "/zone", "/zone")]
        rules, zone = (430, "a", "REJECTED 0"), (430, None, "REJECTED 0")
        self.assertEqual(found, [(200, "a", "PASSED 0"), rules, rules, (200, None, "PASSED 0"), zone, zone])

    def test_a_full_table(self):
        nginx = self.limited(window("a", 9, "key = ['user']"), server_block(
            GIF % "" + "ratecell_attribute user $arg_u; ratecell_rules limits.toml max_keys=1 when_full=deny;"))
        found = [nginx.get(f"/?u={number}").status for number in range(40)]
        self.assertEqual(set(found), {200, 429})
        self.assertLess(found.count(200), 20)


class Documents(RulesTest):
    def snippets(self, name, language):
        text = (pathlib.Path(__file__).parents[3] / "docs" / name).read_text(encoding="utf-8")
        return re.findall(f"```{language}\n(.*?)```", text, re.DOTALL)

    def test_the_recipe(self):
        """As many requests as the recipe's tiers have at once, on the file that it shows."""
        (_, conf), (_, file) = self.snippets("RECIPES.md", "nginx"), self.snippets("RECIPES.md", "toml")
        conf = conf.replace("127.0.0.1:8080", "127.0.0.1:$PORT").replace("proxy_pass http://127.0.0.1:9090", "empty_gif")
        nginx = self.prepare(conf)
        # Periods in which nothing comes back during the test.
        nginx.write("tiers.toml", re.sub(r'"(\d+)/m"', r'"fixed_window \1/1d start=first"', file))
        nginx.start()
        with nginx.connect() as connection:
            def passes(path, key, times):
                found = [connection.get(path, {"X-API-Key": key}) for _ in range(times)]
                return sum(response.status == 200 for response in found), found[-1].header("RateLimit")

            self.assertEqual(passes("/", "none", 25)[0], 20)
            count, fields = passes("/export/1", "key-of-ann", 15)
            self.assertEqual(count, 10)
            self.assertRegex(fields, r'^"users";r=590;t=\d+, "exports";r=0;t=\d+$')
            self.assertEqual(passes("/", "key-of-ann", 595)[0], 590)
            self.assertEqual(passes("//export/1", "key-of-bob", 50)[0], 50)

    def test_the_page_of_rules(self):
        (shown,) = self.snippets("RULES.md", "nginx")
        (http,) = re.findall(r"http \{\n(.*)\n\}", shown, re.DOTALL)
        nginx = self.prepare(http + server_block(GIF % ""))
        nginx.write("limits.toml", self.snippets("RULES.md", "toml")[0])
        nginx.start()
        found = [nginx.get("/api/x", {"X-User": "ann", "X-Tier": tier}) for tier in ("free", "staff")]
        self.assertEqual([response.header("Rule") for response in found], ["api", "site"])


class Reloads(RulesTest):
    LIMIT = 2000

    def test_a_rule_that_stays_admits_its_limit(self):
        """New rules, workers and configurations, over and over, while clients ask: not one unit more or less."""
        def text(number):
            return window("stays", self.LIMIT, "key = []") + window("changes", 1_000_000 + number, "key = []")

        nginx = self.limited(text(0), workers=4)
        found, failed, lock, over = {}, [], threading.Lock(), threading.Event()

        def client():
            asked = 0
            try:
                # All of them leave some of the limit to the requests that follow.
                while not over.wait(0.002) and asked < self.LIMIT // 5:
                    status = nginx.get("/").status
                    asked += 1
                    with lock:
                        found[status] = found.get(status, 0) + 1
            except (OSError, AssertionError) as error:
                failed.append(error)

        threads = [threading.Thread(target=client) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for number in range(1, 5):
                nginx.write("limits.toml", HEAD + text(number))
                self.assertEqual(nginx.reload(), "served")
        finally:
            over.set()
            for thread in threads:
                thread.join()
        self.assertEqual((failed, set(found)), ([], {200}))
        rest = nginx.load(lambda _: ["/"] * self.LIMIT, clients=4)
        self.assertEqual(found.get(200, 0) + rest.get(200, 0), self.LIMIT)
        self.assertEqual(set(rest), {200, 429})
        self.assertEqual(nginx.get("/").header("Rule"), "stays")

    def test_other_parameters_begin_anew(self):
        conf = server_block(GIF % "" + "ratecell_rules limits.toml max_keys=%d;")
        nginx = self.limited(window("a", 1), conf % 100)
        self.assertEqual([nginx.status(), nginx.status()], [200, 429])
        for keys, status in ((100, 429), (200, 200), (200, 429)):
            self.assertEqual(nginx.reload(conf % keys), "served")
            self.assertEqual(nginx.status(), status)

    def test_rules_that_come_and_go(self):
        without = server_block(GIF % "")
        nginx = self.prepare(without)
        nginx.start()
        nginx.write("limits.toml", HEAD + window("a", 1))
        self.assertEqual(nginx.reload(server_block(GIF % "ratecell_rules limits.toml;")), "served")
        self.assertEqual([nginx.status(), nginx.status()], [200, 429])
        self.assertEqual(nginx.reload(without), "served")
        self.assertEqual(nginx.status(), 200)


class Refused(RulesTest):
    expected_in_log = (r"invalid rules .* line 5: ", r"open\(\) .*limits.toml. failed")

    def test_a_bad_file_changes_nothing(self):
        nginx = self.limited(window("a", 2), workers=2)
        self.assertEqual(nginx.status(), 200)
        nginx.write("limits.toml", HEAD + rule("a", "limit = '0/s'\nkey = []"))
        self.assertEqual(nginx.reload(), "refused")
        place = nginx.path("nginx.conf")
        self.assertRegex(nginx.log(), f'\\[emerg\\] .*: invalid rules "{nginx.path("limits.toml")}": line 5: rule a, limit: '
                         f"bad_policy: `0/s`: .* in {place}:")
        right, said = nginx.test()
        self.assertFalse(right)
        self.assertIn("line 5: rule a, limit: bad_policy", said)
        self.assertEqual([nginx.status(), nginx.status()], [200, 429])

    def test_a_missing_file_changes_nothing(self):
        nginx = self.limited(window("a", 1))
        self.assertEqual(nginx.status(), 200)
        os.remove(nginx.path("limits.toml"))
        self.assertEqual(nginx.reload(), "refused")
        self.assertIn(f'open() "{nginx.path("limits.toml")}" failed (2: No such file', nginx.log())
        self.assertEqual(nginx.status(), 429)


class Configuration(RulesTest):
    expected_in_log = (r"\[emerg\]",)

    CASES = (
        ("ratecell_rules limits.toml;", rule("a", "key = []\nlimit = 'sliding_log 5/1h'"),
         "rule a: a sliding_log keeps its entries in one process, .* expected a policy without sliding_log"),
        ("ratecell_rules limits.toml;", rule("a", "key = ['usr']\nlimit = '5/s'"), "line 5: rule a, key: unknown_attribute"),
        ("ratecell_rules limits.toml;", "rule = [\n", "line \\d: syntax"),
        ("ratecell_rules none.toml;", "", r'open\(\) ".*/none.toml" failed'),
        ("ratecell_rules /;", "", '"/" is not a file: expected a file of rules'),
        ("ratecell_rules limits.toml; ratecell_rules off;", "", '"ratecell_rules" directive is duplicate'),
        ("ratecell_rules limits.toml max_keys=0;", "", "invalid max_keys value .* expected a number from 1"),
        ("ratecell_rules limits.toml when_full=no;", "", 'invalid parameter "when_full=no": expected max_keys=number, when_full='),
        ("ratecell_rules limits.toml when_full=share;", "",
         "when_full: a cell that newcomers share is of one policy, .* expected evict, deny or allow"),
        ("ratecell_rules limits.toml full=1;", "", 'invalid parameter "full=1": expected .* file=path, follow or change'),
        ("ratecell_rules limits.toml follow;", "", '"ratecell_rules" directive has "follow" or "change" without a file'),
        ("ratecell_rules limits.toml file=f follow change;", "", 'has two of "follow" and "change": expected one'),
        ("ratecell_rules limits.toml file=nowhere/f;", "",
         r'rules ".*/limits.toml" cannot use the file ".*/nowhere/f": cannot .*No such file'),
        ("ratecell_rules limits.toml file=f; location /b { ratecell_rules limits.toml file=g; }", "",
         '"ratecell_rules" has another .*"file", "follow" or "change" than at its first use'),
        ("ratecell_rules limits.toml; location /b { ratecell_rules limits.toml max_keys=9; }", "",
         '"ratecell_rules" has another "max_keys", "when_full", .* than at its first use of file'),
        ("ratecell_attribute Path $uri;", "", 'attribute "Path" is taken from the request: expected one that'),
        ("ratecell_attribute header:a $uri;", "", 'invalid attribute "header:a": expected 1 to 64 of'),
        (f"ratecell_attribute {'a' * 65} $uri;", "", 'invalid attribute "a+": expected 1 to 64 of'),
        ("ratecell_attribute tier a; ratecell_attribute tier b;", "", '"ratecell_attribute" directive is duplicate'),
        ("ratecell_attribute tier $no_such;", "", 'unknown "no_such" variable'),
        ("ratecell_attribute tier 1 settled=2;", "", 'invalid parameter "settled=2": expected settle=value'),
        ("ratecell_attribute tier 1 settle=$no_such;", "", 'unknown "no_such" variable'),
    )

    def test_what_is_refused(self):
        for body, text, reason in self.CASES:
            with self.subTest(body=body, text=text):
                nginx = self.prepare(server_block(body))
                nginx.write("limits.toml", HEAD + (text or window("a", 1)))
                right, said = nginx.test()
                self.assertFalse(right)
                self.assertRegex(said, reason)

    def test_what_is_accepted(self):
        nginx = self.prepare("ratecell_rules limits.toml max_keys=1000 when_full=allow; ratecell_attribute tier $arg_t;"
                             + server_block("location /a { ratecell_rules off; } location /b { ratecell_rules limits.toml "
                                            "max_keys=1000 when_full=allow; ratecell_attribute user me; }"))
        nginx.write("limits.toml", HEAD + window("a", 1))
        self.assertEqual(nginx.test()[0], True, nginx.test()[1])


if __name__ == "__main__":
    unittest.main()
