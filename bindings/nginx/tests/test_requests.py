"""Requests that are more than one request to nginx: each is limited once."""

import signal
import time
import unittest

from harness import NginxTest, server_block, wait_for
from http2 import Http2

LEFT = "location /left { empty_gif; ratecell zone=o burst=9 nodelay cost=0; add_header Left $ratecell_remaining; }"
ZONE = "ratecell_zone $http_k zone=o:1m rate=1r/d;"
LIMIT = "ratecell zone=o burst=9 nodelay;"
K = {"K": "1"}


class Once(NginxTest):
    def left(self, nginx):
        return int(nginx.get("/left", K).header("Left"))

    def check(self, locations, path, status=200, left=9, **options):
        nginx = self.serve(ZONE + server_block(locations + LEFT), **options)
        self.assertEqual(nginx.get(path, K).status, status)
        self.assertEqual(self.left(nginx), left)
        return nginx

    def test_the_index(self):
        self.check(f"location / {{ {LIMIT} }}", "/")

    def test_try_files_and_named_locations(self):
        self.check(f"{LIMIT} location / {{ try_files /none @named; }} location @named {{ empty_gif; }}", "/x")

    def test_error_pages(self):
        self.check(f"{LIMIT} error_page 404 /a; location / {{ }}", "/x", 404)

    def test_error_pages_of_an_upstream(self):
        nginx = self.serve(ZONE + server_block(
            f"{LIMIT} location / {{ proxy_pass http://127.0.0.1:$PORT2; proxy_intercept_errors on;"
            "error_page 502 = @named; } location @named { empty_gif; }" + LEFT)
            + server_block("location / { return 502; }", "$PORT2"), ports=2)
        self.assertEqual(nginx.get("/", K).status, 200)
        self.assertEqual(self.left(nginx), 9)

    def test_a_replaced_response(self):
        """A filter that fails ends what was begun and clears the modules' contexts."""
        self.check(f"{LIMIT} error_page 416 /b; location / {{ }}", "/a")
        nginx = self.servers[-1]
        response = nginx.get("/a", {**K, "Range": "bytes=100-"})
        self.assertEqual(response.status, 416)
        self.assertEqual(self.left(nginx), 8)

    def test_subrequests(self):
        nginx = self.serve(ZONE + server_block(f"{LIMIT} ssi on; location / {{ default_type text/html; }}" + LEFT))
        nginx.write("ssi", '<!--#include virtual="/a" --><!--#include virtual="/b" -->')
        self.assertEqual(nginx.get("/ssi", K).status, 200)
        self.assertEqual(self.left(nginx), 9)

    def test_auth_request(self):
        nginx = self.serve(ZONE + server_block(
            f"{LIMIT} location / {{ auth_request /auth; }} location = /auth {{ internal; "
            "proxy_pass http://127.0.0.1:$PORT2; }" + LEFT)
            + server_block("location / { return 204; }", "$PORT2"), ports=2)
        self.assertEqual(nginx.get("/a", K).status, 200)
        self.assertEqual(self.left(nginx), 9)

    def test_a_redirect_to_a_limited_location(self):
        self.check(f"location / {{ empty_gif; {LIMIT} }} location /from {{ try_files /none /to; }}", "/from")

    def test_a_status_after_an_internal_redirect(self):
        nginx = self.serve(ZONE + server_block(f"location / {{ {LIMIT} add_header S $ratecell_status; }}"))
        self.assertEqual(nginx.get("/", K).header("S"), "PASSED")

    def test_what_returns_in_the_rewrite_phase_is_not_limited(self):
        self.check(f"location / {{ return 204; {LIMIT} }}", "/", status=204, left=10)


class DelayedParts(NginxTest):
    def test_a_delayed_mirror_holds_up_nobody(self):
        nginx = self.serve(
            "ratecell_zone $uri zone=slow:1m rate=20r/m; log_format u '$request_uri'; access_log $FOLDER/access.log u;"
            + server_block("access_log off; location / { mirror /mirror; proxy_pass http://127.0.0.1:$PORT2; }"
                           "location /mirror { internal; ratecell zone=slow burst=1; "
                           "proxy_pass http://127.0.0.1:$PORT2; }")
            + server_block("location / { empty_gif; }", "$PORT2"), ports=2)

        def mirrored():
            return nginx.read("access.log").split().count("/mirror")

        self.assertEqual(nginx.get("/1").status, 200)
        wait_for("the first mirror", lambda: mirrored() == 1)
        self.assertEqual(nginx.get("/2").status, 200)
        self.assertEqual(mirrored(), 1)
        wait_for("the second mirror", lambda: mirrored() == 2)

    def test_a_delayed_subrequest(self):
        nginx = self.serve(
            "ratecell_zone $uri zone=slow:1m rate=2r/s;"
            + server_block("ssi on; location / { default_type text/html; } location /part { alias $FOLDER/a; "
                           "ratecell zone=slow burst=5; }"))
        nginx.write("ssi", 'begin <!--#include virtual="/part" --> end')
        with nginx.connect() as connection:
            for _ in range(2):
                connection.socket.sendall(b"GET /ssi HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
                                          if _ else b"GET /ssi HTTP/1.1\r\nHost: a\r\n\r\n")
                time.sleep(0.1)
            connection.socket.settimeout(10)
            while True:
                try:
                    connection.more()
                except ConnectionError:
                    break
        self.assertEqual(connection.data.count(b"begin "), 2)
        self.assertEqual(connection.data.count(b" end"), 2)

    def test_a_quick_stop_during_a_delay(self):
        nginx = self.serve("ratecell_zone $arg_k zone=slow:1m rate=1r/s;" + server_block(
            "location / { empty_gif; ratecell zone=slow burst=5; }"), workers=2)
        nginx.status("/?k=1")
        with nginx.connect() as connection:
            connection.send("/?k=1")
            time.sleep(0.1)
            nginx.process.send_signal(signal.SIGTERM)
            nginx.process.wait(timeout=20)

    def test_a_graceful_stop_waits_for_the_delayed(self):
        nginx = self.serve("ratecell_zone $arg_k zone=slow:1m rate=1r/s;" + server_block(
            "location / { empty_gif; ratecell zone=slow burst=5; }"))
        nginx.status("/?k=1")
        with nginx.connect() as connection:
            connection.send("/?k=1")
            wait_for("the delay", lambda: "delaying request" in nginx.log())
            nginx.process.send_signal(signal.SIGQUIT)
            self.assertEqual(connection.receive().status, 200)

    def test_many_delayed_at_once(self):
        nginx = self.serve("ratecell_zone $arg_k zone=slow:1m rate=50r/s;" + server_block(
            "location / { empty_gif; ratecell zone=slow burst=40; }"), workers=2)
        self.assertEqual(nginx.load(lambda _: ["/?k=1"], clients=30), {200: 30})


class OverHttp2(NginxTest):
    CONFIGURATION = ("ratecell_zone $arg_k zone=h:1m rate=2r/s;" + server_block(
        "location / { proxy_pass http://127.0.0.1:$PORT2; ratecell zone=h burst=3; }"
        "location /file { alias $FOLDER/a; ratecell zone=h burst=3; } location /free { empty_gif; }", "$PORT http2")
        + server_block("location / { return 200 $content_length; }", "$PORT2"))

    def test_delays_and_refusals(self):
        nginx = self.serve(self.CONFIGURATION, ports=2)
        with Http2(nginx.port) as client:
            streams = client.requests(["/file?k=1"] * 5)
            # The refused is answered first, and the delayed in their order.
            self.assertEqual(client.response(streams[4])[0], 503)
            self.assertEqual([client.response(stream)[0] for stream in streams[1:4]], [200] * 3)

    def test_bodies_during_a_delay(self):
        nginx = self.serve(self.CONFIGURATION, ports=2)
        with Http2(nginx.port) as client:
            self.assertEqual(client.response(client.request("/?k=1"))[0], 200)
            stream = client.request("/?k=1", "POST", end=False)
            time.sleep(0.1)
            client.body(stream, b"12345", end=False)
            client.body(stream, b"67890")
            self.assertEqual(client.response(stream), (200, b"10"))
            stream = client.request("/?k=1", "POST", end=False)
            client.body(stream, b"")
            self.assertEqual(client.response(stream)[0], 200)

    def test_the_rest_of_a_body_after_the_response(self):
        nginx = self.serve(self.CONFIGURATION, ports=2)
        with Http2(nginx.port) as client:
            self.assertEqual(client.response(client.request("/file?k=1"))[0], 200)
            stream = client.request("/file?k=1", "POST", end=False)
            rest = client.body(stream, b"12345", cut=11)
            time.sleep(0.8)
            client.socket.sendall(rest)
            self.assertIn(client.response(stream)[0], (200, 405))
            self.assertEqual(client.response(client.request("/free"))[0], 200)

    def test_a_client_that_leaves_during_its_delay(self):
        nginx = self.serve(self.CONFIGURATION, ports=2)
        for _ in range(3):
            with Http2(nginx.port) as client:
                stream = client.request("/?k=1", "POST", end=False)
                client.body(stream, b"12345", cut=11)
                client.request("/file?k=1")
                time.sleep(0.05)
        time.sleep(1.5)
        with Http2(nginx.port) as client:
            self.assertEqual(client.response(client.request("/file?k=2"))[0], 200)


if __name__ == "__main__":
    unittest.main()
