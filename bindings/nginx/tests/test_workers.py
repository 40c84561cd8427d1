"""Workers that share a zone: exact counts, whoever comes first, whoever dies, whatever is reloaded."""

import json
import os
import random
import re
import signal
import threading
import time
import unittest

from harness import Connection, NginxTest, server_block, wait_for

GIF = "location / { empty_gif; %s }"


class Sharing(NginxTest):
    def test_one_key_over_four_workers(self):
        nginx = self.serve('ratecell_zone $arg_k zone=w:1m policy="fixed_window 1000/1d start=first";'
                           + server_block(GIF % "ratecell zone=w;"), workers=4)
        found = nginx.load(lambda _: ["/?k=1"] * 500, clients=8)
        self.assertEqual(found, {200: 1000, 503: 3000})

    def test_a_rate_over_four_workers(self):
        nginx = self.serve("ratecell_zone $arg_k zone=w:1m rate=1r/w;"
                           + server_block(GIF % "ratecell zone=w burst=999 nodelay;"), workers=4)
        self.assertEqual(nginx.load(lambda _: ["/?k=1"] * 500, clients=8), {200: 1000, 503: 3000})

    def test_many_keys_over_four_workers(self):
        nginx = self.serve('ratecell_zone $arg_k zone=w:4m policy="fixed_window 3/1d start=first";'
                           + server_block(GIF % "ratecell zone=w;"), workers=4)
        paths = [f"/?k={number}" for number in range(500)]
        found = nginx.load(lambda seed: random.Random(seed).sample(paths, len(paths)), clients=8)
        self.assertEqual(found, {200: 1500, 503: 2500})

    def test_no_count_is_lost(self):
        # More workers than there are sets of counters.
        nginx = self.serve('ratecell_zone $arg_k zone=w:1m policy="fixed_window 2000/1d start=first";'
                           + server_block(GIF % "ratecell zone=w;" + "location /stats { ratecell_stats; }"), workers=10)
        found = nginx.load(lambda _: ["/?k=1"] * 1000, clients=8)
        zone = json.loads(nginx.get("/stats").body)["zones"][0]
        self.assertEqual((zone["passed"], zone["rejected"]), (found[200], found[503]))


class AllOrNothing(NginxTest):
    ZONES = ('ratecell_zone $arg_a zone=a:1m policy="fixed_window 300/1d start=first";'
             "ratecell_zone $arg_b zone=b:1m rate=1r/w;"
             'ratecell_zone $arg_c zone=c:1m policy="sliding_window 500/1d";')
    LIMITS = "ratecell zone=a; ratecell zone=b burst=399 nodelay; ratecell zone=c;"
    LEFT = "".join(f"location /{z} {{ empty_gif; ratecell zone={z}{extra} cost=0; "
                   "add_header Left $ratecell_remaining; }"
                   for z, extra in (("a", ""), ("b", " burst=399 nodelay"), ("c", "")))

    def left(self, nginx, query):
        return [int(nginx.get(f"/{zone}?{query}").header("Left")) for zone in "abc"]

    def test_a_refusal_charges_none(self):
        nginx = self.serve(self.ZONES + server_block(GIF % self.LIMITS + self.LEFT), workers=4)
        found = nginx.load(lambda _: ["/?a=1&b=1&c=1"] * 200, clients=6)
        self.assertEqual(found, {200: 300, 503: 900})
        self.assertEqual(self.left(nginx, "a=1&b=1&c=1"), [0, 100, 200])

    def test_the_last_refuses(self):
        nginx = self.serve(self.ZONES + server_block(GIF % self.LIMITS + self.LEFT), workers=4)
        # The key of b is one of two, that of a one of many: b refuses first.
        found = nginx.load(lambda number: [f"/?a={i}&b={number % 2}&c={i}x" for i in range(200)], clients=6)
        self.assertEqual(found, {200: 800, 503: 400})
        self.assertEqual(sum(self.left(nginx, f"a={i}&b=0&c={i}x")[0] for i in range(200)), 200 * 300 - 800)
        self.assertIn('by zone "b"', nginx.log())

    def test_an_empty_key_leaves_the_others(self):
        nginx = self.serve(self.ZONES + server_block(GIF % self.LIMITS + self.LEFT))
        self.assertEqual(nginx.status("/?a=1&c=1"), 200)
        self.assertEqual(self.left(nginx, "a=1&b=1&c=1"), [299, 400, 499])

    def test_the_longest_delay(self):
        nginx = self.serve("ratecell_zone $arg_k zone=x:1m rate=20r/s; ratecell_zone $arg_k zone=y:1m rate=4r/s;"
                           + server_block(GIF % ("ratecell zone=x burst=5; ratecell zone=y burst=5;"
                                                 "add_header S '$ratecell_status $ratecell_zone';")))
        started = time.monotonic()
        self.assertEqual(nginx.get_all(["/?k=1"] * 2)[1].header("S"), "DELAYED y")
        self.assertGreater(time.monotonic() - started, 0.15)


class Killing(NginxTest):
    expected_in_log = (r"worker process \d+ exited on signal 9",)
    KILLS = 30

    def test_workers_killed_under_load(self):
        """Each answer that arrived is within the limit, and what never arrived may have been charged."""
        limit = 1000000
        nginx = self.serve(f'ratecell_zone $arg_k zone=k:1m policy="fixed_window {limit}/1d start=first";'
                           'ratecell_zone $arg_j zone=j:1m rate=1r/h;'
                           + server_block(GIF % f"ratecell zone=k; ratecell zone=j burst={2 * limit} nodelay;"
                                          "location /take { empty_gif; ratecell zone=k cost=$arg_n;"
                                          "add_header Left $ratecell_remaining; }"), workers=2)
        passed, lost, lock, done = [0], [0], threading.Lock(), threading.Event()

        def client():
            while not done.is_set():
                try:
                    with Connection(nginx.port) as connection:
                        while not done.is_set():
                            connection.socket.sendall(b"GET /?k=1&j=1 HTTP/1.1\r\nHost: a\r\n\r\n" * 10)
                            for answered in range(10):
                                try:
                                    status = connection.receive().status
                                except OSError:
                                    with lock:
                                        lost[0] += 10 - answered
                                    raise
                                with lock:
                                    passed[0] += status == 200
                except OSError:
                    pass

        clients = [threading.Thread(target=client) for _ in range(6)]
        for thread in clients:
            thread.start()
        for _ in range(self.KILLS):
            time.sleep(random.uniform(0.02, 0.08))
            pids = wait_for("two workers", lambda: len(nginx.worker_pids()) == 2 and nginx.worker_pids())
            killed = random.choice(sorted(pids))
            os.kill(killed, signal.SIGKILL)
            # Until the master has seen it, the process is there to be chosen again.
            wait_for("its end", lambda: killed not in nginx.worker_pids())
        done.set()
        for thread in clients:
            thread.join()
        wait_for("a worker", nginx.worker_pids)
        left = int(nginx.get("/take?k=1&n=0").header("Left"))
        self.assertGreater(passed[0], 100)
        self.assertLessEqual(passed[0], limit - left)
        self.assertLessEqual(limit - left, passed[0] + lost[0])
        # The zone works on, to the last unit.
        self.assertEqual(nginx.status(f"/take?k=1&n={left - 100}"), 200)
        self.assertEqual(nginx.load(lambda _: ["/?k=1&j=1"] * 50, clients=4), {200: 100, 503: 100})
        wait_for("every end in the log", lambda: len(re.findall("exited on signal 9", nginx.log())) == self.KILLS)


class Reload(NginxTest):
    expected_in_log = (r"\[emerg\]", r"worker process \d+ exited on signal 9")

    def configuration(self, rate="1r/d", key="$arg_k", size="1m", extra="burst=9 nodelay"):
        return (f"ratecell_zone {key} zone=r:{size} rate={rate};"
                + server_block(f"ratecell_headers on; location / {{ empty_gif; ratecell zone=r {extra}; }}"))

    def test_state_is_kept(self):
        nginx = self.serve(self.configuration(), workers=2)
        self.assertEqual([nginx.status("/?k=1") for _ in range(7)], [200] * 7)
        for _ in range(3):
            self.assertEqual(nginx.reload(), "served")
            self.assertEqual(nginx.status("/?k=1"), 200)
        self.assertEqual(nginx.status("/?k=1"), 503)

    def test_a_new_rate_and_burst_hold_at_once(self):
        nginx = self.serve(self.configuration())
        self.assertEqual([nginx.status("/?k=1") for _ in range(11)], [200] * 10 + [503])
        self.assertEqual(nginx.get("/?k=1").header("Retry-After"), "86400")
        nginx.reload(self.configuration(extra="burst=12 nodelay"))
        self.assertEqual([nginx.status("/?k=1") for _ in range(4)], [200, 200, 200, 503])
        nginx.reload(self.configuration(rate="1r/h", extra="burst=9 nodelay"))
        self.assertEqual(nginx.get("/?k=2").header("RateLimit-Policy"), '"r";q=1;w=3600;ratecell-burst=10')

    def test_fields_and_counted_responses_come_and_go(self):
        def configuration(headers, count):
            return (ZONE + server_block(
                f"location / {{ ratecell_headers {headers}; ratecell zone=r burst=9 nodelay {count};"
                "proxy_pass http://127.0.0.1:$PORT2; }" + LEFT) + server_block("location / { return 401; }", "$PORT2"))

        ZONE = "ratecell_zone $arg_k zone=r:1m rate=1r/d;"
        LEFT = ("location /left { empty_gif; ratecell zone=r burst=9 nodelay cost=0;"
                "add_header Left $ratecell_remaining; }")
        nginx = self.serve(configuration("off", ""), ports=2)
        left = 10
        for headers, count, charged in (("off", "", 1), ("on", "count=response:401", 1), ("off", "", 1),
                                        ("on", "count=response:403", 0), ("on", "", 1), ("on", "", 1)):
            self.assertEqual(nginx.reload(configuration(headers, count)), "served")
            response = nginx.get("/?k=1")
            left -= charged
            self.assertEqual(response.status, 401)
            self.assertEqual(response.header("RateLimit") is not None, headers == "on")
            self.assertEqual(nginx.get("/left?k=1").header("Left"), str(left))

    def test_a_worker_started_after_a_refused_reload(self):
        """It has the old configuration, and the filters that the refused one has set up."""
        nginx = self.serve(self.configuration())
        without_fields = self.configuration(key="$arg_l").replace("ratecell_headers on;", "")
        self.assertEqual(nginx.reload(without_fields), "refused")
        (old,) = nginx.worker_pids()
        os.kill(old, signal.SIGKILL)
        wait_for("another worker", lambda: nginx.worker_pids() - {old})
        self.assertIsNotNone(nginx.get("/?k=1").header("RateLimit"))

    def test_another_key_is_refused(self):
        nginx = self.serve(self.configuration())
        self.assertEqual(nginx.reload(self.configuration(key="$arg_l")), "refused")
        self.assertIn('ratecell "r" uses the "$arg_l" key while previously it used the "$arg_k" key', nginx.log())
        self.assertEqual(nginx.status("/?k=1"), 200)

    def test_another_algorithm_or_window_is_refused(self):
        def policy(text):
            return (f'ratecell_zone $arg_k zone=r:1m policy="{text}";'
                    + server_block("location / { empty_gif; ratecell zone=r; }"))
        nginx = self.serve(policy("fixed_window 2/1d start=first"))
        self.assertEqual(nginx.status("/?k=1"), 200)
        for text in ("sliding_window 2/1d", "fixed_window 2/1h", "2/1d", "fixed_window 2/1d & 5/s"):
            self.assertEqual(nginx.reload(policy(text)), "refused", text)
            self.assertIn('ratecell zone "r" cannot be kept: ', nginx.log())
        self.assertEqual(nginx.reload(policy("fixed_window 3/1d start=first")), "served")
        self.assertEqual([nginx.status("/?k=1") for _ in range(3)], [200, 200, 503])

    def test_a_rate_far_from_the_first_is_refused(self):
        for first, second in (("1r/s", "3000000r/s"), ("999983r/52w", "1r/52w")):
            nginx = self.serve(self.configuration(rate=first))
            self.assertEqual(nginx.reload(self.configuration(rate=second)), "refused")
            self.assertIn('ratecell zone "r" cannot be kept: ', nginx.log())
            self.assertEqual(nginx.reload(self.configuration(rate=second, size="2m")), "served")

    def test_another_size_is_a_new_zone(self):
        nginx = self.serve(self.configuration())
        self.assertEqual([nginx.status("/?k=1") for _ in range(11)], [200] * 10 + [503])
        for size in ("2m", "1m", "3m", "1m"):
            self.assertEqual(nginx.reload(self.configuration(size=size)), "served")
            self.assertEqual([nginx.status("/?k=1") for _ in range(11)], [200] * 10 + [503])

    def test_old_and_new_workers_together(self):
        nginx = self.serve('ratecell_zone $arg_k zone=r:1m policy="fixed_window 1000/1d start=first";'
                           + server_block("location / { empty_gif; ratecell zone=r; }"
                                          "location /slow { proxy_pass http://127.0.0.1:$PORT2; }")
                           + server_block("location / { limit_rate 1; root $FOLDER; }", "$PORT2"),
                           workers=2, ports=2)
        # Requests under way keep the old workers, which serve on the connections that they have.
        found, threads, lock = {}, [], threading.Lock()

        def client():
            try:
                with nginx.connect() as connection:
                    for _ in range(60):
                        for status, count in connection.statuses(["/?k=1"] * 5).items():
                            with lock:
                                found[status] = found.get(status, 0) + count
                        time.sleep(0.005)
            except ConnectionError:
                pass

        for _ in range(5):
            batch = [threading.Thread(target=client) for _ in range(2)]
            for thread in batch:
                thread.start()
            threads += batch
            nginx.process.send_signal(signal.SIGHUP)
            time.sleep(0.1)
        for thread in threads:
            thread.join()
        wait_for("the new workers", lambda: len(nginx.worker_pids()) == 2)
        rest = nginx.load(lambda _: ["/?k=1"] * 600, clients=2)
        # Answers that a closing worker did not send may be lost, and nothing passes twice.
        self.assertLessEqual(found.get(200, 0) + rest.get(200, 0), 1000)
        self.assertGreaterEqual(found.get(200, 0) + rest.get(200, 0), 1000 - 5 * len(threads))
        self.assertEqual(nginx.status("/?k=1"), 503)


if __name__ == "__main__":
    unittest.main()
