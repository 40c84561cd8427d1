"""Zones whose units many machines share through a store: each nginx has a file of its own, which its agent fills."""

import json
import pathlib
import re
import select
import threading
import unittest

import metrics
from harness import Connection, NginxTest, server_block, wait_for
from leases import Store

LEASED = ("location / { empty_gif; ratecell zone=l; } location /free { empty_gif; } "
          "location /stats { ratecell_stats; }")


def zone(path, more="wait=10s"):
    return f"ratecell_zone $arg_k zone=l file={path} store=api {more};"


class LeasesTest(NginxTest):
    def setUp(self):
        super().setUp()
        self.store = Store()
        self.addCleanup(self.store.end)

    def assert_limited(self, found, most):
        """All but at most so many were refused. On a slow machine a lease may end before its units are used."""
        self.assertEqual(found.keys(), {200, 503}, found)
        self.assertLessEqual(found[200], most, found)

    def stats(self, nginx):
        return json.loads(nginx.get("/stats?format=json").body)["zones"][0]


class Sharing(LeasesTest):
    def test_two_machines_share_each_limit_exactly(self):
        machines = [self.serve(zone(self.store.agent("fixed_window 100/1d start=first")) + server_block(LEASED),
                               workers=2) for _ in range(2)]
        found = [None, None]

        def client(number):
            found[number] = machines[number].load(lambda _: ["/?k=1"] * 50, clients=4)

        threads = [threading.Thread(target=client, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        allowed = sum(part[200] for part in found)
        self.assertEqual(sum(sum(part.values()) for part in found), 400, found)
        self.assertLessEqual(allowed, 100, found)

        # A machine may hold units that its clients have not asked for any more.
        def rest():
            nonlocal allowed
            allowed += sum(machine.status("/?k=1") == 200 for machine in machines)
            return allowed >= 100

        wait_for("the units that are held", rest)
        for machine in machines:
            self.assertEqual(machine.load(lambda _: ["/?k=1"] * 10, clients=1), {503: 10})
            self.assertEqual(machine.status("/?k=2"), 200)
        self.assertEqual(allowed, 100, found)

    def test_a_rate_that_is_the_stores(self):
        nginx = self.serve(zone(self.store.agent("5/h"), "rate=5r/h wait=10s") + server_block(LEASED))
        found = nginx.load(lambda _: ["/?k=1"] * 12, clients=1)
        self.assert_limited(found, 5)

    def test_several_zones_are_charged_together(self):
        leases, more = self.store.agent("fixed_window 4/1d start=first"), self.store.agent(
            "fixed_window 9/1d start=first", "other")
        nginx = self.serve(
            zone(leases) + f"ratecell_zone $arg_k zone=m file={more} store=other wait=10s;"
            'ratecell_zone $arg_k zone=n:1m policy="fixed_window 6/1d start=first";'
            + server_block("location / { empty_gif; ratecell zone=l; ratecell zone=m; ratecell zone=n; }"
                           "location /m { empty_gif; ratecell zone=m; ratecell zone=n; }"))
        both = nginx.load(lambda _: ["/?k=1"] * 8, clients=1)
        self.assert_limited(both, 4)
        self.assert_limited(nginx.load(lambda _: ["/m?k=1"] * 8, clients=1), 6 - both[200])

    def test_the_counters(self):
        nginx = self.serve(zone(self.store.agent("5/h")) + 'ratecell_zone $arg_k zone=plain:1m rate=1r/s;'
                           + server_block(LEASED))
        self.assertEqual(nginx.status("/?k=1"), 200)
        leased = wait_for("a report", lambda: (lambda found: found if found["operations"] else None)(
            self.stats(nginx)))
        self.assertEqual((leased["connected"], leased["passed"], leased["policy"]), (1, 1, "5/h"))
        self.assertGreaterEqual(leased["leased"], 1)
        self.assertGreaterEqual(leased["misses"], 1)
        plain = json.loads(nginx.get("/stats").body)["zones"][1]
        self.assertNotIn("leased", plain)
        text = nginx.get("/stats?format=prometheus").body.decode()
        self.assertIn('\nratecell_connected{zone="l"} 1\n', text)
        self.assertNotIn('ratecell_connected{zone="plain"}', text)
        self.assertRegex(text, r'\nratecell_lag_seconds\{zone="l"\} \d+\.\d{9}\n')
        self.assertEqual(metrics.described(text), metrics.documented())

    def test_a_reload(self):
        path = self.store.agent("fixed_window 5/1d start=first")
        nginx = self.serve(zone(path) + server_block(LEASED))
        self.assertEqual(nginx.status("/?k=1"), 200)
        self.assertEqual(nginx.reload(zone(path, "wait=9s") + server_block(LEASED)), "served")
        self.assert_limited(nginx.load(lambda _: ["/?k=1"] * 8, clients=1), 4)


class Away(LeasesTest):
    def test_a_store_that_hangs_blocks_no_worker(self):
        nginx = self.serve(zone(self.store.agent("5/h"), "wait=60s") + server_block(LEASED))
        self.assertEqual(nginx.status("/?k=1"), 200)
        self.store.pause()
        # These wait for the store, in the one worker; all others are served meanwhile.
        waiting = [Connection(nginx.port) for _ in range(20)]
        for number, connection in enumerate(waiting):
            connection.send(f"/?k=w{number}")
        self.assertEqual(nginx.load(lambda _: ["/free"] * 200, clients=4), {200: 800})
        # Half of the clients go; the answers of the others come when the store is taken for away, or answers.
        for connection in waiting[:10]:
            connection.close()
        self.store.resume()
        for connection in waiting[10:]:
            self.assertIn(connection.receive().status, (200, 503))
            connection.close()
        wait_for("the store", lambda: nginx.status("/?k=after") == 200)

    def test_a_request_that_waits_is_overtaken(self):
        nginx = self.serve(zone(self.store.agent("5/h"), "wait=60s") + server_block(LEASED))
        rounds = iter(range(1000))

        # Once the store is taken for away nobody waits for it, so a round may come too late.
        def overtaken():
            number = next(rounds)
            wait_for("the store", lambda: nginx.status(f"/?k=ready{number}") == 200)
            with nginx.connect() as waiting, nginx.connect() as other:
                # Both are accepted: what is sent first is read first.
                self.assertEqual((waiting.get("/free").status, other.get("/free").status), (200, 200))
                self.store.pause()
                waiting.send(f"/?k=waits{number}")
                self.assertEqual(other.get("/free").status, 200)
                is_waiting = not select.select([waiting.socket], [], [], 0)[0]
                self.store.resume()
                self.assertIn(waiting.receive().status, (200, 503))
            return is_waiting

        wait_for("a request that is answered before one that waits", overtaken)

    def test_a_wait_ends(self):
        # The agent lives and asks; the store is not yet taken for away when the first of these end.
        nginx = self.serve(zone(self.store.agent("5/h"), "wait=5ms") + server_block(LEASED))
        self.store.pause()
        found = nginx.load(lambda client: [f"/?k={client}-{number}" for number in range(10)], clients=2)
        self.assertEqual(found, {503: 20})
        self.assertIn('limiting requests, no answer from store "api" of zone "l"', nginx.log())
        self.assertGreaterEqual(self.stats(nginx)["timeouts"], 1)
        self.store.resume()

    def test_closed_and_open_without_an_agent(self):
        path = self.store.agent("5/h")
        closed = self.serve(zone(path, "on_failure=closed") + server_block(LEASED))
        opened = self.serve(zone(path, "on_failure=open") + server_block(LEASED))
        self.store.kill_agents()
        wait_for("the agent's death to be seen", lambda: not self.stats(closed)["connected"])
        self.assertEqual(closed.load(lambda _: ["/?k=1"] * 10, clients=1), {503: 10})
        self.assertEqual(self.stats(closed)["opened"], 0)
        self.assertEqual(opened.load(lambda _: ["/?k=1"] * 10, clients=1), {200: 10})
        self.assertEqual(self.stats(opened)["opened"], 10)


class Configuration(LeasesTest):
    expected_in_log = (r"\[emerg\]",)

    def refused(self, http, expected, location="ratecell zone=l;"):
        nginx = self.prepare(http + server_block(f"location / {{ {location} }}"))
        good, said = nginx.test()
        self.assertFalse(good, http)
        self.assertIn(expected, said)

    def test_what_is_refused(self):
        leases, key = self.store.agent("5/h"), "ratecell_zone $arg_k zone=l"
        absent = leases + ".absent"
        self.refused(f"{key} file={absent} store=api;", f'run "ratecell sync {absent} STORE --name api" first')
        self.refused(f"{key}:1m file={absent} rate=5r/h store=api;",
                     f'run "ratecell sync {absent} STORE --name api" first')
        self.refused(f"{key}:1m file={leases} rate=5r/h;", 'it is one of leases, whose units many machines share; '
                     'expected "store=NAME" beside "file"')
        self.refused(f'{key}:1m file={leases} policy="5/h";', 'expected "store=NAME" beside "file"')
        self.refused(f"{key} file={leases} store=api rate=6r/h;", "expected that policy, or none")
        self.refused(f'{key} file={leases} store=api rate=5r/h policy="5/h";', "expected one of them")
        self.refused(f"{key} file={leases} store=api rate=$arg_r;", "a rate that varies")
        self.refused(f"{key} store=api;", '"store" without "file"')
        self.refused(f"{key}:1m rate=5r/h wait=50ms;", '"wait" without "store"')
        self.refused(f"{key}:1m rate=5r/h on_failure=open;", '"on_failure" without "store"')
        self.refused(f"{key} file={leases} store=api wait=soon;", 'invalid wait "wait=soon": expected a time')
        self.refused(f"{key} file={leases} store=api on_failure=local;",
                     "expected on_failure=closed or on_failure=open")
        for option, name in (("burst=5", "burst"), ("strict", "strict"), ("count=response", "count"),
                             ("settle=$status", "settle")):
            self.refused(f"{key} file={leases} store=api;", f'"{name}"', f"ratecell zone=l {option};")

    def test_the_examples(self):
        leases, found = self.store.agent("10/s"), 0
        root = pathlib.Path(__file__).parents[3]
        for name in ("bindings/nginx/README.md", "docs/MACHINES.md"):
            text = (root / name).read_text(encoding="utf-8")
            for shown in re.findall("```nginx\n(.*?)```", text, re.DOTALL):
                if "store=" in shown:
                    good, said = self.prepare(re.sub("file=[^ ;]*", f"file={leases}", shown)).test()
                    self.assertTrue(good, said)
                    found += 1
        self.assertEqual(found, 2)

    def test_a_file_that_is_not_of_leases(self):
        nginx = self.serve("ratecell_zone $arg_k zone=l:1m rate=5r/h file=$FOLDER/plain;" + server_block(LEASED))
        self.refused(f"ratecell_zone $arg_k zone=l file={nginx.path('plain')} store=api;", "is not one of leases")


if __name__ == "__main__":
    unittest.main()
