"""What rules hold until a request ends: permits of layers in_flight, and costs that are settled."""

import pathlib
import re
import signal
import unittest

from harness import server_block, wait_for
from test_hold import HoldTest, K, Upstream

HEAD = "ratecell_rules = 1\nattributes = ['units']\n"
# A request to /left costs nothing, and shows what is left.
LEFT = ("location /left_o { empty_gif; ratecell_rules limits.toml; ratecell_attribute units 0;"
        "add_header Left $ratecell_remaining; }")


def rule(limit, name="at-once", more=""):
    return (f"[[rule]]\nname = '{name}'\nkey = ['header:k']\nlimit = '{limit}'\n"
            f"cost = {{ from = 'units', default = 1 }}\n{more}")


class RulesHoldTest(HoldTest):
    def serve_by(self, rules, locations, **options):
        server = self.prepare(server_block(locations + LEFT), **options)
        server.write("limits.toml", HEAD + rules)
        for name in ("index.html", "a", "b"):
            server.write(name, "x")
        return server.start()


class InFlight(RulesHoldTest):
    def serve_behind(self, upstream, limit="in_flight 2 hold=1h", more="", **options):
        return self.serve_by(
            rule(limit), f"location / {{ {upstream.location} ratecell_rules limits.toml; {more} }}", **options)

    def test_as_many_as_the_limit_are_there_at_once(self):
        with Upstream() as upstream:
            nginx = self.serve_behind(upstream, more="ratecell_headers on;")
            (first, a), (second, b) = self.begin(nginx, upstream), self.begin(nginx, upstream)
            refused = nginx.get("/", K)
            self.assertEqual((refused.status, refused.header("RateLimit").split(";")[:2]), (503, ['"at-once"', "r=0"]))
            self.assertEqual(nginx.status("/left_o", {"K": "2"}), 200)
            for client, request in ((first, a), (second, b)):
                upstream.answer(request)
                self.assertEqual(client.receive().status, 200)
            self.ends(nginx, 2)

    def test_a_client_that_goes(self):
        with Upstream() as upstream:
            nginx = self.serve_behind(upstream)
            client, request = self.begin(nginx, upstream)
            self.assertEqual(self.left(nginx), 1)
            client.close()
            self.ends(nginx, 2)
            request.close()

    def test_a_backend_that_goes(self):
        with Upstream() as upstream:
            nginx = self.serve_behind(upstream)
            client, request = self.begin(nginx, upstream)
            request.close()
            self.assertEqual(client.receive().status, 502)
            self.ends(nginx, 2)

    def test_a_dry_run_releases_what_it_holds(self):
        with Upstream() as upstream:
            nginx = self.serve_behind(upstream, more="ratecell_dry_run on; add_header S $ratecell_status;")
            statuses = []
            for client, request in reversed([self.begin(nginx, upstream) for _ in range(3)]):
                upstream.answer(request)
                statuses.append(client.receive().header("S"))
            self.assertEqual(statuses, ["REJECTED_DRY_RUN", "PASSED", "PASSED"])
            self.ends(nginx, 2)

    def test_an_old_worker_releases_what_stays_in_a_new_file(self):
        with Upstream() as upstream:
            nginx = self.serve_behind(upstream)
            client, request = self.begin(nginx, upstream)
            old = nginx.worker_pids()
            nginx.write("limits.toml", HEAD + rule("in_flight 9 hold=1h", "other") + rule("in_flight 2 hold=1h"))
            nginx.process.send_signal(signal.SIGHUP)
            wait_for("a new worker", lambda: nginx.worker_pids() - old)
            wait_for("no more of the old one", lambda: self.left(nginx) == 1)
            upstream.answer(request)
            self.assertEqual(client.receive().status, 200)
            self.ends(nginx, 2)


class Once(RulesHoldTest):
    """Requests that are more than one request to nginx hold one permit, and release it once."""

    RULES = "ratecell_rules limits.toml; add_header R $ratecell_remaining always;"
    STAYS = "location /stays { proxy_pass http://127.0.0.1:1; ratecell_rules limits.toml; }"

    def check(self, locations, path, status=200, headers=(), ask=None):
        nginx = self.serve_by(rule("in_flight 5 hold=1h"), locations + self.STAYS)
        nginx.write("ssi.html", '<!--#include virtual="/a" --><!--#include virtual="/b" -->')
        with nginx.connect() as connection, nginx.connect() as other:
            # Another request stays: what is released twice would be its permit.
            other.send("/stays", {**K, "Content-Length": "1"}, "POST")
            wait_for("the other request", lambda: self.left(nginx) == 4)
            for _ in range(3):
                response = (ask or connection.get)(path, {**K, **dict(headers)})
                found = {value for name, value in response.headers if name == "R"}
                self.assertEqual((response.status, found), (status, {"3"}))
                self.ends(nginx, 4)

    def test_the_index(self):
        self.check(f"location / {{ {self.RULES} }}", "/")

    def test_try_files_and_named_locations(self):
        self.check(f"{self.RULES} location / {{ try_files /none @named; }} location @named {{ empty_gif; }}", "/x")

    def test_error_pages(self):
        self.check(f"{self.RULES} error_page 404 /a; location / {{ }}", "/x", 404)

    def test_subrequests(self):
        self.check(f"{self.RULES} ssi on; location / {{ }}", "/ssi.html",
                   ask=lambda path, headers: self.servers[-1].get(path, headers))

    def test_a_redirect_to_a_location_with_other_rules(self):
        # A request that one file has limited is not limited by another.
        server = self.prepare(server_block(
            "location / { ratecell_rules limits.toml; try_files /none /to; }"
            "location /to { proxy_pass http://127.0.0.1:1; ratecell_rules more.toml; }" + LEFT))
        server.write("limits.toml", HEAD + rule("in_flight 5 hold=1h"))
        server.write("more.toml", HEAD + rule("in_flight 1 hold=1h", "more"))
        nginx = server.start()
        with nginx.connect() as stays:
            stays.send("/x", {**K, "Content-Length": "1"}, "POST")
            wait_for("it is held", lambda: self.left(nginx) == 4)
            self.assertEqual(nginx.status("/x", K), 502)
            self.ends(nginx, 4)
        self.ends(nginx, 5)


class Settled(RulesHoldTest):
    def test_costs_that_the_end_knows(self):
        with Upstream() as upstream:
            nginx = self.serve_by(
                rule("fixed_window 10000/1w start=first"),
                f"location / {{ {upstream.location} ratecell_rules limits.toml;"
                " ratecell_attribute units $http_c settle=$upstream_http_x_used; }")
            remaining = 10_000
            # What is not a number costs the default, and what is not there leaves the cost as it is.
            for cost, used, counted in ((100, 30, 30), (100, 0, 0), (100, 250, 250), (100, None, 100), (100, "some", 1)):
                with nginx.connect() as client:
                    client.send("/", {**K, "C": str(cost)})
                    request = upstream.accept()
                    self.assertEqual(self.left(nginx), remaining - cost)
                    upstream.answer(request, f"X-Used: {used}\r\n" if used is not None else "")
                    self.assertEqual(client.receive().status, 200)
                remaining -= counted
                self.ends(nginx, remaining)


class Document(HoldTest):
    def test_the_recipe_of_a_proxy(self):
        page = (pathlib.Path(__file__).parents[3] / "docs/RECIPES.md").read_text(encoding="utf-8")
        section = page.split("## A fair proxy")[1]
        (conf, *_), (file, *_) = (re.findall(f"```{kind}\n(.*?)```", section, re.DOTALL) for kind in ("nginx", "toml"))
        with Upstream() as upstream:
            server = self.prepare(conf.replace("127.0.0.1:8080", "127.0.0.1:$PORT").replace(
                "proxy_pass http://127.0.0.1:9090;", upstream.location))
            server.write("proxy.toml", file)
            nginx = server.start()
            requests = [self.begin(nginx, upstream) for _ in range(20)]
            self.assertEqual(nginx.status("/"), 429)
            for client, request in requests:
                upstream.answer(request)
                self.assertEqual(client.receive().status, 200)
            client, request = self.begin(nginx, upstream)
            upstream.answer(request)
            self.assertEqual(client.receive().status, 200)


if __name__ == "__main__":
    unittest.main()
