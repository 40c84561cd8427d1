"""A reload that changes a zone's policy: what each key has used stays used, in units, in old and new workers."""

import json
import signal
import socket
import threading
import unittest

from harness import NginxTest, server_block, wait_for

# Rates at which nothing comes back during a test.
LEFT = "add_header Left $ratecell_remaining always; add_header Pid $pid always;"


def zone(policy, name="r", extra=""):
    return f'ratecell_zone $arg_k zone={name}:1m policy="{policy}" {extra};'


def of_policy(policy, extra=""):
    return zone(policy, extra=extra) + server_block(
        LEFT + "location / { empty_gif; ratecell zone=r; } location /left { empty_gif; ratecell zone=r cost=0; }")


def of_rate(rate, extra="", places="", burst="burst=999"):
    """A zone at a rate, with a place that lets 1,000 pass, and one that queues five after the first five."""
    return f"ratecell_zone $arg_k zone=r:1m rate={rate} {extra};" + server_block(
        LEFT + f"location / {{ empty_gif; ratecell zone=r {burst} nodelay; }}"
        f"location /left {{ empty_gif; ratecell zone=r {burst} nodelay cost=0; }}"
        "location /queue { empty_gif; ratecell zone=r burst=9 delay=4 cost=0; }" + places)


class ChangeTest(NginxTest):
    def left(self, nginx, key="1", place="/left"):
        return int(nginx.get(f"{place}?k={key}").header("Left"))

    def use(self, nginx, units, key="1"):
        with nginx.connect() as connection:
            self.assertEqual(connection.statuses([f"/?k={key}"] * units), {200: units})

    def passes(self, nginx, requests, key="1"):
        with nginx.connect() as connection:
            return connection.statuses([f"/?k={key}"] * requests).get(200, 0)

    def reload(self, nginx, http):
        self.assertEqual(nginx.reload(http), "served")

    def begin(self, nginx, path):
        """A request whose head is not whole yet: its worker waits for the rest, and so stays over a reload."""
        connection = nginx.connect()
        self.addCleanup(connection.close)
        # Both arrive together: with the first response the worker has read the second request, too.
        connection.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\nGET {path} HTTP/1.1\r\n".encode("ascii"))
        return connection, connection.receive().header("Pid")

    def end(self, begun):
        """The response, which comes from the worker that has the request's beginning."""
        connection, pid = begun
        connection.socket.sendall(b"Host: a\r\n\r\n")
        response = connection.receive()
        connection.close()
        self.assertEqual(response.header("Pid"), pid)
        return response

    def reload_beside(self, nginx, http):
        """Reloads while old workers stay, which accept no other connection."""
        nginx.configure(http)
        old = nginx.worker_pids()
        nginx.process.send_signal(signal.SIGHUP)
        wait_for("new workers", lambda: nginx.worker_pids() - old)
        for pid in old:
            wait_for("an old worker to accept no more",
                     lambda pid=pid: f" {pid}#{pid}: gracefully shutting down" in nginx.log())
        return old


class Units(ChangeTest):
    def test_a_raise_lets_exactly_the_difference_pass(self):
        nginx = self.serve(of_policy("1000/52w"))
        self.assertEqual(self.passes(nginx, 1010), 1000)
        self.reload(nginx, of_policy("1500/52w"))
        self.assertEqual(self.passes(nginx, 600), 500)

    def test_a_lowered_rate_forgives_nothing(self):
        nginx = self.serve(of_policy("1000/52w"))
        self.use(nginx, 600)
        self.reload(nginx, of_policy("500/52w"))
        self.assertEqual((self.left(nginx), self.passes(nginx, 10)), (0, 0))
        self.assertEqual(self.passes(nginx, 510, key="2"), 500)
        self.reload(nginx, of_policy("1000/52w"))
        self.assertEqual([self.left(nginx, key) for key in "12"], [400, 500])

    def test_a_rate_with_bursts_of_its_places(self):
        nginx = self.serve(of_rate("2r/w"))
        self.use(nginx, 3)
        for rate in ("1r/w", "3r/w", "1r/2w", "120r/60w"):
            self.reload(nginx, of_rate(rate))
            self.assertEqual([self.left(nginx), self.left(nginx, place="/queue")], [997, 7], rate)

    def test_the_layers_of_a_policy(self):
        nginx = self.serve(of_policy("1000/52w & fixed_window 800/52w"))
        self.use(nginx, 600)
        for policy, left in (("700/52w & fixed_window 900/52w", 100), ("900/52w & fixed_window 650/52w", 50),
                             ("900/52w & fixed_window 2000/52w", 300)):
            self.reload(nginx, of_policy(policy))
            self.assertEqual(self.left(nginx), left, policy)

    def test_each_algorithm(self):
        """Three units are used of each limit in turn."""
        for policies in (
                ("gcra 9/w burst=20", "leaky_meter 3/w capacity=30", "leaky_queue 2/w queue=10 burst=15",
                 "token_bucket 1/w capacity=40", "0.5/w burst=12"),
                ("token_bucket 9/w capacity=20 mode=interval", "token_bucket 3/w capacity=30 mode=interval",
                 "token_bucket 5/w capacity=10 mode=interval"),
                ("token_bucket 9/w capacity=20 mode=interval_first", "token_bucket 3/w capacity=30 mode=interval_first",
                 "token_bucket 5/w capacity=10 mode=interval_first"),
                ("sliding_window 20/52w", "sliding_window 30/52w strict=true", "sliding_window 10/52w"),
                ("fixed_window 20/52w", "fixed_window 30/52w", "fixed_window 10/52w"),
                ("calendar_window 20/year tz=UTC", "calendar_window 30/year tz=UTC", "calendar_window 9/year tz=UTC")):
            nginx = self.serve(of_policy(policies[0]))
            limits = [self.left(nginx, key="idle")]
            self.use(nginx, 3)
            for policy in policies[1:]:
                self.reload(nginx, of_policy(policy))
                limits.append(self.left(nginx, key="idle"))
                self.assertEqual(self.left(nginx), limits[-1] - 3, policy)
            self.assertEqual(len(set(limits)), len(policies))

    def test_a_zone_in_a_file(self):
        nginx = self.serve(of_policy("1000/52w", "file=$FOLDER/keys"))
        self.assertEqual(self.passes(nginx, 1010), 1000)
        self.reload(nginx, of_policy("1500/52w", "file=$FOLDER/keys"))
        self.assertEqual(self.passes(nginx, 600), 500)
        # It outlives nginx, in the units of the policy that is in force.
        nginx.stop()
        nginx.configure(of_policy("1500/52w", "file=$FOLDER/keys"))
        nginx.start()
        self.reload(nginx, of_policy("2500/52w", "file=$FOLDER/keys"))
        self.assertEqual(self.passes(nginx, 1100), 1000)

    def test_forth_and_back_under_load(self):
        """Half a unit forgiven at each reload would be hundreds: not one is."""
        rates, limit = ("1r/w", "3r/w"), 1000
        def configuration(rate):
            return of_rate(rate, places="location /stats { ratecell_stats; }")

        nginx = self.serve(configuration(rates[0]), workers=2)
        over = threading.Event()

        def client():
            asked = 0
            # All of them leave some of the limit to the requests that follow.
            while not over.wait(0.002) and asked < limit // 5:
                try:
                    nginx.status("/?k=1")
                except OSError:
                    pass
                asked += 1

        threads = [threading.Thread(target=client) for _ in range(4)]
        for thread in threads:
            thread.start()
        reloads = 8
        try:
            for number in range(1, reloads + 1):
                self.reload(nginx, configuration(rates[number % 2]))
        finally:
            over.set()
            for thread in threads:
                thread.join()
        nginx.load(lambda _: ["/?k=1"] * limit, clients=4)
        self.assertEqual(nginx.status("/?k=1"), 503)
        passed = json.loads(nginx.get("/stats").body)["zones"][0]["passed"]
        # A charge beside a change may count twice, once for each change and caller.
        self.assertLessEqual(passed, limit)
        self.assertGreaterEqual(passed, limit - reloads * len(threads))


class OldWorkers(ChangeTest):
    def test_they_decide_by_the_new_policy(self):
        nginx = self.serve(of_policy("1000/52w"))
        self.use(nginx, 1000)
        begun = self.begin(nginx, "/?k=1")
        self.reload_beside(nginx, of_policy("1500/52w"))
        response = self.end(begun)
        self.assertEqual((response.status, response.header("Left")), (200, "499"))

    def test_they_keep_the_bursts_of_their_places(self):
        nginx = self.serve(of_rate("2r/w"))
        self.use(nginx, 3)
        begun = [self.begin(nginx, f"{place}?k=1") for place in ("/left", "/queue", "/?k=2&z=")]
        self.reload_beside(nginx, of_rate("1r/w", burst="burst=499"))
        self.assertEqual([self.end(one).header("Left") for one in begun], ["997", "7", "998"])
        self.assertEqual([self.left(nginx, key) for key in "12"], [497, 498])

    def test_they_follow_each_change(self):
        nginx = self.serve(of_policy("fixed_window 100/52w & 50/52w"))
        self.use(nginx, 20)
        first = [self.begin(nginx, "/left?k=1") for _ in range(3)]
        second = []
        for limits, left in (((300, 60), "40"), ((90, 200), "70"), ((85, 200), "65")):
            self.reload_beside(nginx, of_policy("fixed_window %d/52w & %d/52w" % limits))
            self.assertEqual(self.end(first.pop()).header("Left"), left)
            if second:
                self.assertEqual(self.end(second.pop()).header("Left"), left)
            else:
                second = [self.begin(nginx, "/left?k=1") for _ in range(2)]


    def held(self, policy):
        """A zone whose requests hold 100 units, or a permit, until their body has come."""
        return policy + server_block(
            LEFT + "location / { ratecell zone=r cost=$arg_n settle=$arg_used; proxy_pass http://127.0.0.1:$PORT2; }"
            "location /left { empty_gif; ratecell zone=r cost=0; }") + server_block("return 204;", "$PORT2")

    def hold(self, nginx, query):
        connection = nginx.connect()
        self.addCleanup(connection.close)
        connection.socket.sendall(f"POST /?{query} HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n".encode("ascii"))
        return connection

    def test_what_they_give_back(self):
        """Units that were held at another rate stay used; permits and what windows count come back."""
        for old, new, held, left in (("1000/52w", "1500/52w", 900, 1400),
                                     ("fixed_window 1000/52w", "fixed_window 1020/52w", 900, 980),
                                     ("2/52w & in_flight 90 hold=1h", "300/52w & in_flight 120 hold=1h", 1, 120)):
            with self.subTest(old=old):
                nginx = self.serve(self.held(zone(old)), ports=2)
                units = 1 if "in_flight" in old else 100
                request = self.hold(nginx, f"k=1&n={units}&used=40")
                wait_for("the request's units", lambda: self.left(nginx) == held)
                old_workers = self.reload_beside(nginx, self.held(zone(new)))
                request.socket.sendall(b"x")
                self.assertEqual(request.receive().status, 204)
                request.close()
                wait_for("the end of the old worker", lambda: not old_workers & nginx.worker_pids())
                self.assertEqual(self.left(nginx), left)


class AsBefore(ChangeTest):
    """Zones whose keys have used units at several rates: times are kept, by each configuration's own rate."""

    OWN = "location /own { empty_gif; ratecell zone=r rate=%s burst=9; }"
    BURST = "location /own { empty_gif; ratecell zone=r burst=$arg_b; }"
    FILE = "file=$FOLDER/keys"
    SECOND = "ratecell_zone $arg_k zone=s:1m rate=2r/w file=$FOLDER/keys;"

    def test_a_place_with_a_rate_of_its_own(self):
        own, same, varies = self.OWN % "3r/w", self.OWN % "120r/60w", self.OWN % "$arg_r"
        for old, new, left in (("", "", 0), (same, "", 0), (own, "", 500), ("", own, 500), (own, own, 500),
                               ("", varies, 500), (varies, "", 500), (self.BURST, "", 500), ("", self.BURST, 500)):
            with self.subTest(old=old, new=new):
                nginx = self.serve(of_rate("2r/w", places=old))
                self.use(nginx, 1000)
                self.reload(nginx, of_rate("1r/w", places=new))
                self.assertEqual(self.left(nginx), left)

    def test_two_zones_with_one_file(self):
        for old, new, left in (("", "", 0), (self.SECOND, "", 500), ("", self.SECOND, 500)):
            with self.subTest(old=old, new=new):
                nginx = self.serve(old + of_rate("2r/w", self.FILE))
                self.use(nginx, 1000)
                self.reload(nginx, new + of_rate("1r/w", self.FILE))
                self.assertEqual(self.left(nginx), left)

    def test_a_file_with_another_policy_in_force(self):
        nginx = self.serve(of_rate("4r/w", self.FILE))
        self.use(nginx, 1000)
        nginx.stop()
        nginx.configure(of_rate("2r/w", self.FILE))
        nginx.start()
        self.assertEqual(self.left(nginx), 500)
        self.reload(nginx, of_rate("1r/w", self.FILE))
        self.assertEqual(self.left(nginx), 750)
        self.assertIn("its keys keep their times", nginx.log())

    def test_a_test_changes_nothing(self):
        for extra in ("", self.FILE):
            with self.subTest(extra=extra):
                nginx = self.serve(of_policy("1000/52w", extra))
                self.use(nginx, 1000)
                nginx.configure(of_policy("1500/52w", extra))
                right, said = nginx.test()
                self.assertTrue(right, said)
                self.assertEqual(self.passes(nginx, 10), 0)


class Refused(ChangeTest):
    expected_in_log = (r"\[emerg\]",)

    def test_a_configuration_that_is_refused_changes_nothing(self):
        """A socket that cannot be had, and a zone that cannot be kept: each after the zone was read."""
        other = zone("fixed_window %d/52w start=first", "other")
        with socket.create_server(("127.0.0.1", 0)) as taken:
            listen = server_block("", str(taken.getsockname()[1]))
            for refused, reason in ((of_policy("1500/52w") + listen, "still could not bind"),
                                    (of_policy("1500/52w") + zone("5/52w", "other"), '"other" cannot be kept')):
                with self.subTest(reason=reason):
                    nginx = self.serve(of_policy("1000/52w") + other % 7)
                    self.use(nginx, 1000)
                    self.assertEqual(nginx.reload(refused), "refused")
                    wait_for("the end of the attempt", lambda: reason in nginx.log())
                    self.assertEqual(self.passes(nginx, 10), 0)
                    self.reload(nginx, of_policy("1500/52w") + other % 5)
                    self.assertEqual(self.passes(nginx, 600), 500)
                    self.assertRegex(nginx.log(), r'has policy "1500/52w[^"]*" in force, after "1000/52w')

    def test_a_change_that_the_words_have_no_room_for(self):
        """Units of the greatest burst that the zone ever had would take a million years at the new rate."""
        nginx = self.serve(of_rate("1000r/s", burst="burst=4294967293"))
        self.reload(nginx, of_rate("1r/h", burst="burst=9"))
        self.assertRegex(nginx.log(), r'\[error\] .* ratecell zone "r" cannot put policy "gcra 1/\d+ns burst=1" in force '
                         r"over live keys, so that .*: .*range")
        self.assertEqual([self.passes(nginx, 20, key) for key in "12"], [10, 10])


if __name__ == "__main__":
    unittest.main()
