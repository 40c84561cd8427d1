"""What a request holds until it ends: a permit of a layer in_flight, and a reservation that is settled."""

import os
import signal
import socket
import unittest

from harness import NginxTest, server_block, wait_for

K = {"K": "1"}
FLIGHT = 'ratecell_zone $http_k zone=o:1m policy="in_flight 5 hold=1h";'
TOKENS = 'ratecell_zone $http_k zone=t:1m policy="10000/52w";'


def left(zone):
    return f"location /left_{zone} {{ empty_gif; ratecell zone={zone} cost=0; add_header Left $ratecell_remaining; }}"


class Upstream:
    """A server that answers each request when the test says so."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.socket.settimeout(30)
        self.location = f"proxy_pass http://127.0.0.1:{self.socket.getsockname()[1]};"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def accept(self):
        """The next request, when it is here."""
        request, _ = self.socket.accept()
        request.settimeout(30)
        head = b""
        while b"\r\n\r\n" not in head:
            head += request.recv(1 << 16)
        return request

    def answer(self, request, field=""):
        with request:
            request.sendall(f"HTTP/1.0 200 OK\r\n{field}Content-Length: 1\r\n\r\nx".encode("ascii"))


class HoldTest(NginxTest):
    def left(self, nginx, zone="o"):
        return int(nginx.get(f"/left_{zone}", K).header("Left"))

    def ends(self, nginx, units, zone="o"):
        wait_for(f"{units} are left", lambda: self.left(nginx, zone) == units)


    def begin(self, nginx, upstream):
        client = nginx.connect()
        client.send("/", K)
        self.clients.append(client)
        return client, upstream.accept()

    def setUp(self):
        super().setUp()
        self.clients = []

    def tearDown(self):
        # nginx does not end before its requests.
        for client in self.clients:
            client.close()
        super().tearDown()


class InFlight(HoldTest):
    def serve_behind(self, upstream, text="in_flight 2 hold=1h", more="", **options):
        return self.serve(
            f'ratecell_zone $http_k zone=o:1m policy="{text}";'
            + server_block(f"location / {{ {upstream.location} ratecell zone=o; {more} }}" + left("o")), **options)

    def test_as_many_as_the_limit_are_there_at_once(self):
        with Upstream() as upstream:
            nginx = self.serve_behind(upstream, more="ratecell_headers on;")
            (first, a), (second, b) = self.begin(nginx, upstream), self.begin(nginx, upstream)
            refused = nginx.get("/", K)
            self.assertEqual((refused.status, refused.header("RateLimit").split(";")[:2]), (503, ['"o"', "r=0"]))
            self.assertGreater(int(refused.header("Retry-After")), 0)
            # Another client has permits of its own.
            with nginx.connect() as other:
                other.send("/", {"K": "2"})
                upstream.answer(upstream.accept())
                self.assertEqual(other.receive().status, 200)
            upstream.answer(a)
            self.assertEqual(first.receive().status, 200)
            self.ends(nginx, 1)
            third, c = self.begin(nginx, upstream)
            self.assertEqual(nginx.status("/", K), 503)
            for client, request in ((second, b), (third, c)):
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

    def test_a_rate_is_not_given_back(self):
        with Upstream() as upstream:
            nginx = self.serve_behind(upstream, "in_flight 2 hold=1h & fixed_window 3/1w start=first")
            for remaining in (2, 1, 0):
                client, request = self.begin(nginx, upstream)
                upstream.answer(request)
                self.assertEqual(client.receive().status, 200)
                self.ends(nginx, remaining)
            self.assertEqual(nginx.status("/", K), 503)

    def test_a_dry_run_releases_what_it_holds(self):
        with Upstream() as upstream:
            nginx = self.serve_behind(upstream, more="ratecell_dry_run on; add_header S $ratecell_status;")
            clients = [self.begin(nginx, upstream) for _ in range(3)]
            statuses = []
            for client, request in reversed(clients):
                upstream.answer(request)
                statuses.append(client.receive().header("S"))
            self.assertEqual(statuses, ["REJECTED_DRY_RUN", "PASSED", "PASSED"])
            self.ends(nginx, 2)

    def test_an_old_worker_releases_in_the_same_zone(self):
        with Upstream() as upstream:
            nginx = self.serve_behind(upstream)
            client, request = self.begin(nginx, upstream)
            old = nginx.worker_pids()
            nginx.process.send_signal(signal.SIGHUP)
            wait_for("a new worker", lambda: nginx.worker_pids() - old)
            wait_for("no more of the old one", lambda: self.left(nginx) == 1)
            upstream.answer(request)
            self.assertEqual(client.receive().status, 200)
            self.ends(nginx, 2)


class Killed(HoldTest):
    expected_in_log = ("exited on signal 9",)

    def test_the_permit_of_a_killed_worker_comes_back(self):
        with Upstream() as upstream:
            nginx = self.serve('ratecell_zone $http_k zone=o:1m policy="in_flight 1 hold=1s";' + server_block(
                f"location / {{ {upstream.location} ratecell zone=o; }}" + left("o")))
            _, request = self.begin(nginx, upstream)
            for worker in nginx.worker_pids():
                os.kill(worker, signal.SIGKILL)
            self.ends(nginx, 1)
            request.close()


class Once(HoldTest):
    """Requests that are more than one request to nginx hold one permit, and release it once."""

    LIMIT = "ratecell zone=o; add_header R $ratecell_remaining always;"

    def check(self, locations, path, status=200, headers=(), ask=None):
        nginx = self.serve(FLIGHT + server_block(locations + left("o")))
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

    STAYS = "location /stays { proxy_pass http://127.0.0.1:1; ratecell zone=o; }"

    def test_the_index(self):
        self.check(f"location / {{ {self.LIMIT} }}" + self.STAYS, "/")

    def test_try_files_and_named_locations(self):
        self.check(f"{self.LIMIT} location / {{ try_files /none @named; }} location @named {{ empty_gif; }}"
                   + self.STAYS, "/x")

    def test_error_pages(self):
        self.check(f"{self.LIMIT} error_page 404 /a; location / {{ }}" + self.STAYS, "/x", 404)

    def test_a_replaced_response(self):
        self.check(f"{self.LIMIT} error_page 416 /b; location / {{ }}" + self.STAYS, "/a", 416,
                   {"Range": "bytes=100-"})

    def test_subrequests(self):
        # Its end is that of the connection.
        self.check(f"{self.LIMIT} ssi on; location / {{ }}" + self.STAYS, "/ssi.html",
                   ask=lambda path, headers: self.servers[-1].get(path, headers))

    def test_a_redirect_to_a_limited_location(self):
        self.check(f"location / {{ empty_gif; {self.LIMIT} }} location /from {{ try_files /none /to; }}"
                   + self.STAYS, "/from")


class Settled(HoldTest):
    def serve_with(self, upstream, more="", locations=""):
        return self.serve(TOKENS + server_block(
            f"location / {{ {upstream.location} ratecell zone=t cost=$http_c settle=$upstream_http_x_used; {more} }}"
            + left("t") + locations))

    def ask(self, nginx, upstream, cost, used):
        with nginx.connect() as client:
            client.send("/", {**K, "C": str(cost)})
            request = upstream.accept()
            held = self.left(nginx, "t")
            upstream.answer(request, f"X-Used: {used}\r\n" if used is not None else "")
            self.assertEqual(client.receive().status, 200)
        return held

    def test_units_that_were_not_used_come_back(self):
        with Upstream() as upstream:
            nginx = self.serve_with(upstream)
            remaining = 10_000
            # The last three are not known, so that all of it counts as used.
            for cost, used, counted in ((100, 30, 30), (100, 100, 100), (100, 0, 0), (100, 250, 250), (0, 5, 5),
                                        (100, None, 100), (100, "", 100), (100, "some", 100)):
                held = self.ask(nginx, upstream, cost, used)
                self.assertEqual(held, remaining - cost)
                remaining -= counted
                self.ends(nginx, remaining, "t")
            self.assertIn('[warn]', nginx.log())
            self.assertEqual(nginx.log().count('invalid settle "some" of a request limited by zone "t"'), 1)

    def test_the_status_and_the_bytes_of_a_response(self):
        nginx = self.serve(TOKENS + server_block(
            "location / { ratecell zone=t cost=500 settle=$status; add_header R $ratecell_remaining always; }"
            "location /b { ratecell zone=t cost=500 settle=$body_bytes_sent; }" + left("t")))
        self.assertEqual(nginx.get("/none", K).header("R"), "9500")
        self.ends(nginx, 10_000 - 404, "t")
        self.assertEqual(nginx.status("/b", K), 200)
        self.ends(nginx, 10_000 - 404 - 1, "t")

    def test_a_client_that_goes_is_settled(self):
        with Upstream() as upstream:
            nginx = self.serve(TOKENS + server_block(
                f"location / {{ {upstream.location} ratecell zone=t cost=100 settle=$body_bytes_sent; }}" + left("t")))
            with nginx.connect() as client:
                client.send("/", K)
                request = upstream.accept()
                self.assertEqual(self.left(nginx, "t"), 9_900)
            self.ends(nginx, 10_000, "t")
            request.close()

    def test_a_redirected_request_is_settled_once(self):
        nginx = self.serve(TOKENS + server_block(
            "error_page 404 /a; location / { ratecell zone=t cost=500 settle=$status; }" + left("t")))
        for number in range(1, 4):
            self.assertEqual(nginx.status("/none", K), 404)
            self.ends(nginx, 10_000 - 404 * number, "t")

    def test_tiers_settle_too(self):
        nginx = self.serve("ratecell_zone $http_k zone=t:1m rate=10000r/52w;" + server_block(
            "location / { ratecell zone=t burst=$http_b default_burst=9999 nodelay cost=500 settle=$status; }"
            "location /left_t { empty_gif; ratecell zone=t burst=9999 nodelay cost=0;"
            "add_header Left $ratecell_remaining; }"))
        for number in range(1, 4):
            self.assertEqual(nginx.status("/none", {**K, "B": str(8000 + number)}), 404)
            self.ends(nginx, 10_000 - 404 * number, "t")


class Several(HoldTest):
    def test_all_are_held_and_charged_or_none(self):
        nginx = self.serve(FLIGHT + TOKENS
                           + 'ratecell_zone $http_k zone=w:1m policy="fixed_window 1/1w start=first";'
                           'ratecell_zone $http_j zone=f:1m policy="in_flight 1 hold=1h";' + server_block(
                               "location / { ratecell zone=w; ratecell zone=t cost=100 settle=$http_used;"
                               "ratecell zone=o; ratecell zone=f; }"
                               "location /stays { proxy_pass http://127.0.0.1:1; ratecell zone=f; }"
                               + left("w") + left("t") + left("o")))

        def lefts():
            return [self.left(nginx, zone) for zone in "wto"]

        # The last permit is another request's, whose body is not all here yet.
        other = nginx.connect()
        self.clients.append(other)
        other.send("/stays", {"J": "1", "Content-Length": "1"}, "POST")
        wait_for("the permit is taken", lambda: nginx.status("/stays", {"J": "1"}) == 503)
        self.assertEqual(nginx.status("/", {**K, "J": "1", "Used": "7"}), 503)
        self.assertEqual(lefts(), [1, 10_000, 5])
        self.assertEqual(nginx.status("/", {**K, "J": "2", "Used": "7"}), 200)
        self.ends(nginx, 5)
        self.assertEqual(lefts(), [0, 9_993, 5])
        # A window that is full takes back what the others held.
        for _ in range(3):
            self.assertEqual(nginx.status("/", {**K, "J": "2", "Used": "7"}), 503)
        self.assertEqual(lefts(), [0, 9_993, 5])


class Reloaded(HoldTest):
    expected_in_log = ("has no room for that",)

    def test_a_zone_without_room_for_what_is_given_back(self):
        def text(more, size="1m"):
            return TOKENS.replace("1m", size) + server_block(f"location / {{ ratecell zone=t cost=9 {more}; }}"
                                                             + left("t"))

        nginx = self.serve(text(""))
        self.assertEqual(nginx.reload(text("settle=$status")), "refused")
        self.assertIn('ratecell zone "t" was made when nothing was given back to it, and has no room for that: '
                      'expected another size or name, for "settle" or a layer "in_flight" in ', nginx.log())
        self.assertEqual(nginx.reload(text("settle=$http_used", "2m")), "served")
        self.assertEqual(nginx.status("/", {**K, "Used": "2"}), 200)
        self.ends(nginx, 9_998, "t")
        # It keeps its room, whether or not it is used.
        self.assertEqual(nginx.reload(text("", "2m")), "served")
        self.assertEqual(nginx.reload(text("settle=$http_used", "2m")), "served")
        self.assertEqual(self.left(nginx, "t"), 9_998)


if __name__ == "__main__":
    unittest.main()
