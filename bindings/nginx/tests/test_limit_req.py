"""What limit_req does, under the names of this module."""

import re
import time
import unittest

from harness import NginxTest, server_block, wait_for

SLOW = "ratecell_zone $arg_k zone=slow:1m rate=1r/h;"


class Basics(NginxTest):
    def test_burst_nodelay(self):
        nginx = self.serve(SLOW + server_block("location / { ratecell zone=slow burst=2 nodelay; }"))
        self.assertEqual([nginx.status("/?k=1") for _ in range(5)], [200, 200, 200, 503, 503])
        self.assertEqual(nginx.status("/?k=2"), 200)

    def test_no_burst(self):
        nginx = self.serve(SLOW + server_block("location / { ratecell zone=slow; }"))
        self.assertEqual([nginx.status("/?k=1") for _ in range(2)], [200, 503])

    def test_refusals_are_not_counted(self):
        nginx = self.serve("ratecell_zone $arg_k zone=one:1m rate=3r/d;"
                           + server_block("location / { ratecell zone=one burst=2 nodelay cost=$arg_n; }"))
        self.assertEqual([nginx.status(f"/?k=1&n={n}") for n in (2, 2, 2, 2, 1, 1)], [200, 503, 503, 503, 200, 503])

    def test_a_fast_rate_after_a_pause(self):
        nginx = self.serve("ratecell_zone $arg_k zone=fast:1m rate=1000r/s;"
                           + server_block("location / { ratecell zone=fast burst=1; }"))
        self.assertEqual(nginx.status("/?k=1"), 200)
        time.sleep(0.1)
        self.assertEqual(nginx.status("/?k=1"), 200)

    def test_an_empty_key_is_not_limited(self):
        nginx = self.serve(SLOW + server_block("location / { ratecell zone=slow; }"))
        self.assertEqual([nginx.status("/") for _ in range(4)], [200] * 4)

    def test_two_variables_in_a_key(self):
        nginx = self.serve("ratecell_zone $arg_a$arg_b zone=two:1m rate=1r/h;"
                           + server_block("location / { ratecell zone=two; }"))
        self.assertEqual(nginx.status("/?a=1&b=2"), 200)
        self.assertEqual(nginx.status("/?a=1&b=3"), 200)
        self.assertEqual(nginx.status("/?a=12"), 503)

    def test_binary_remote_addr_and_uri(self):
        nginx = self.serve("ratecell_zone $binary_remote_addr zone=addr:1m rate=1r/h;"
                           "ratecell_zone $uri zone=uri:1m rate=1r/h;"
                           + server_block("location / { ratecell zone=addr burst=2 nodelay; ratecell zone=uri; }"))
        self.assertEqual([nginx.status(path) for path in ("/a", "/a", "/b", "/index.html", "/c")],
                         [200, 503, 200, 200, 503])

    def test_a_long_key_is_a_key(self):
        nginx = self.serve("large_client_header_buffers 4 128k; ratecell_zone $http_k zone=k:1m rate=1r/h;"
                           + server_block("location / { ratecell zone=k; }"))
        long = "x" * 65600
        self.assertEqual([nginx.status("/", {"K": long}), nginx.status("/", {"K": long}),
                          nginx.status("/", {"K": long[1:]})], [200, 503, 200])


class Levels(NginxTest):
    def test_http_server_and_location(self):
        nginx = self.serve(
            "ratecell_zone $arg_k zone=h:1m rate=1r/h; ratecell_zone $arg_k zone=s:1m rate=1r/h;"
            "ratecell_zone $arg_k zone=l:1m rate=1r/h; ratecell zone=h;"
            + server_block("location / { }", "$PORT")
            + server_block("ratecell zone=s burst=1 nodelay; location / { } "
                           "location /l/ { alias $FOLDER/; ratecell zone=l burst=2 nodelay; }", "$PORT2"),
            ports=2)
        second = nginx.ports[1]
        self.assertEqual([nginx.status("/?k=1") for _ in range(2)], [200, 503])
        self.assertEqual([nginx.get("/?k=1", port=second).status for _ in range(3)], [200, 200, 503])
        self.assertEqual([nginx.get("/l/a?k=1", port=second).status for _ in range(4)], [200, 200, 200, 503])

    def test_status(self):
        nginx = self.serve(SLOW + server_block(
            "ratecell zone=slow; ratecell_status 429; location / { } location /b { ratecell_status 501; }"))
        self.assertEqual([nginx.status(path) for path in ("/a?k=1", "/a?k=1", "/b?k=1")], [200, 429, 501])

    def test_status_444_closes(self):
        nginx = self.serve(SLOW + server_block("location / { ratecell zone=slow; ratecell_status 444; }"))
        self.assertEqual(nginx.status("/?k=1"), 200)
        with self.assertRaises(ConnectionError):
            nginx.status("/?k=1")

    def test_a_zone_defined_after_its_use(self):
        nginx = self.serve(server_block("location / { ratecell zone=slow; }") + SLOW)
        self.assertEqual([nginx.status("/?k=1") for _ in range(2)], [200, 503])


class Delays(NginxTest):
    def test_delay_is_waited_and_told(self):
        nginx = self.serve(
            "ratecell_zone $arg_k zone=d:1m rate=1r/s; log_format times '$request_time $ratecell_status';"
            "access_log $FOLDER/access.log times;"
            + server_block("location / { ratecell zone=d delay=1 burst=2; }"))
        self.assertEqual([response.status for response in nginx.get_all(["/?k=1"] * 3)], [200, 200, 200])
        wait_for("all to be logged", lambda: nginx.read("access.log").count("\n") == 3)
        lines = [line.split() for line in nginx.read("access.log").splitlines()]
        self.assertEqual([line[1] for line in lines], ["PASSED", "PASSED", "DELAYED"])
        self.assertGreater(float(lines[2][0]), 0.1)

    def test_delay_beyond_burst_is_none(self):
        nginx = self.serve(SLOW + server_block(
            "add_header S $ratecell_status always; location / { ratecell zone=slow burst=2 delay=5; }"))
        responses = [nginx.get("/?k=1") for _ in range(4)]
        self.assertEqual([(r.status, r.header("S")) for r in responses],
                         [(200, "PASSED")] * 3 + [(503, "REJECTED")])

    def test_a_big_delayed_response_is_whole(self):
        nginx = self.serve("ratecell_zone $arg_k zone=d:1m rate=2r/s;"
                           + server_block("location / { ratecell zone=d burst=5; }"))
        nginx.write("long", "1234567890\n" * (1 << 16))
        sizes = []
        for _ in range(2):
            with nginx.connect() as connection:
                connection.send("/long?k=1")
                time.sleep(0.7)
                sizes.append(len(connection.receive().body))
        self.assertEqual(sizes, [11 << 16] * 2)

    def test_other_requests_go_on_meanwhile(self):
        nginx = self.serve("ratecell_zone $arg_k zone=d:1m rate=1r/h;"
                           + server_block("location / { ratecell zone=d burst=5; }"))
        self.assertEqual(nginx.status("/?k=1"), 200)
        with nginx.connect() as waiting:
            waiting.send("/?k=1")
            wait_for("the delay", lambda: "delaying request" in nginx.log())
            self.assertEqual(nginx.status("/?k=2"), 200)
            waiting.socket.setblocking(False)
            with self.assertRaises(BlockingIOError):
                waiting.socket.recv(1)

    def test_a_client_that_leaves_during_its_delay(self):
        nginx = self.serve("ratecell_zone $arg_k zone=d:1m rate=1r/m; log_format s '$status';"
                           "access_log $FOLDER/access.log s;"
                           + server_block("location / { ratecell zone=d burst=5; }"))
        self.assertEqual(nginx.status("/?k=1"), 200)
        with nginx.connect() as connection:
            connection.send("/?k=1")
            wait_for("the delay", lambda: "delaying request" in nginx.log())
        wait_for("both to be logged", lambda: nginx.read("access.log").count("\n") == 2)
        self.assertEqual(nginx.read("access.log").split(), ["200", "499"])

    def test_a_body_that_arrives_during_the_delay(self):
        nginx = self.serve("ratecell_zone $arg_k zone=d:1m rate=2r/s;"
                           + server_block("location / { ratecell zone=d burst=5; proxy_pass http://127.0.0.1:$PORT2; }")
                           + server_block("location / { return 200 $content_length; }", "$PORT2"), ports=2)
        self.assertEqual(nginx.status("/?k=1"), 200)
        with nginx.connect() as connection:
            connection.socket.sendall(b"POST /?k=1 HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345")
            time.sleep(0.1)
            connection.socket.sendall(b"67890")
            self.assertEqual(connection.receive().body, b"10")


class DryRun(NginxTest):
    def test_dry_run(self):
        nginx = self.serve(
            "ratecell_zone $arg_k zone=dry:1m rate=1r/m; log_format s '$uri $ratecell_status'; "
            "access_log $FOLDER/access.log s;"
            + server_block("ratecell_dry_run on; add_header S $ratecell_status always;"
                           "location /a { ratecell zone=dry; }"
                           "location /b { ratecell zone=dry burst=5; }"
                           "location /index.html { ratecell zone=dry; ratecell_dry_run off; }"
                           "location /none { return 204; }"))
        found = [(r.status, r.header("S")) for r in
                 [nginx.get(path) for path in ("/a?k=1", "/a?k=1", "/b?k=1", "/index.html?k=1", "/none", "/a")]]
        self.assertEqual(found, [(200, "PASSED"), (200, "REJECTED_DRY_RUN"), (200, "DELAYED_DRY_RUN"),
                                 (503, "REJECTED"), (204, None), (200, None)])
        nginx.stop()
        log = nginx.log()
        self.assertIn('limiting requests, dry run, excess: 1.000 by zone "dry"', rounded(log))
        self.assertIn('delaying request, dry run, excess: 1.000, by zone "dry"', rounded(log))
        self.assertIn("/none -\n", nginx.read("access.log"))


def rounded(log):
    """Between the requests of a test an excess loses a few thousandths."""
    return re.sub(r"excess: (\d+\.\d{3})", lambda match: f"excess: {float(match[1]):.0f}.000", log)


class Log(NginxTest):
    def levels(self, level):
        nginx = self.serve("ratecell_zone $arg_k zone=one:1m rate=1r/m;" + server_block(
            f"location / {{ ratecell zone=one; {level} }}"
            f"location /b {{ ratecell zone=one burst=5; {level} }}"))
        nginx.status("/a?k=1")
        nginx.status("/a?k=1")
        with nginx.connect() as connection:
            connection.send("/b?k=1")
            wait_for("the delay", lambda: "delaying request" in nginx.log())
        log = rounded(nginx.log())
        refused = [line for line in log.splitlines() if 'limiting requests, excess: 1.000 by zone "one"' in line]
        delayed = [line for line in log.splitlines() if 'delaying request, excess: 1.000, by zone "one"' in line]
        self.assertEqual((len(refused), len(delayed)), (1, 1), log)
        self.assertIn('request: "GET /a?k=1 HTTP/1.1"', refused[0])
        return refused[0].split("[")[1].split("]")[0], delayed[0].split("[")[1].split("]")[0]

    def test_levels(self):
        self.assertEqual(self.levels(""), ("error", "warn"))
        self.assertEqual(self.levels("ratecell_log_level warn;"), ("warn", "notice"))
        self.assertEqual(self.levels("ratecell_log_level notice;"), ("notice", "info"))
        self.assertEqual(self.levels("ratecell_log_level info;"), ("info", "info"))


class Beside(NginxTest):
    def test_limit_req_in_the_same_location(self):
        nginx = self.serve(
            "limit_req_zone $arg_l zone=theirs:1m rate=1r/m; ratecell_zone $arg_k zone=ours:1m rate=1r/h;"
            + server_block("location / { limit_req zone=theirs burst=1 nodelay; limit_req_status 420;"
                           "ratecell zone=ours burst=1 nodelay; ratecell_status 421;"
                           "add_header S '$limit_req_status $ratecell_status' always; }"))
        found = [(r.status, r.header("S")) for r in
                 [nginx.get(path) for path in ("/?k=1&l=1", "/?k=1&l=2", "/?k=1&l=3", "/?k=2&l=1", "/?k=2&l=1")]]
        self.assertEqual([status for status, _ in found], [200, 200, 421, 200, 420])
        self.assertEqual(found[0][1], "PASSED PASSED")


if __name__ == "__main__":
    unittest.main()
