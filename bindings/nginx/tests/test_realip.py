"""The clients behind a proxy are told apart where realip tells them: http, server or location."""

import re
import unittest

from harness import STATIC_NGINX, Connection, NginxTest, server_block, wait_for

TRUST = "set_real_ip_from 127.0.0.1; real_ip_header {};"
REALIP = TRUST.format("X-Forwarded-For")
KEYS = {"binary": "$binary_remote_addr", "text": "$remote_addr", "joined": "$remote_addr,$host"}
A, B = "198.51.100.1", "198.51.100.2"


def zones(where):
    return "".join(f"LIMIT_zone {key} zone={where}-{name}:32k rate=1r/m;" for name, key in KEYS.items())


def locations(where, realip=""):
    """One for each key."""
    return "".join(f"location /{where}/{name} {{ empty_gif; {realip} LIMIT zone={where}-{name}; }}" for name in KEYS)


def forwarded(address, header="X-Forwarded-For"):
    return {header: address}


class Clients:
    """What limit_req does, and this module has to do as well."""

    limiter = "ratecell"
    static = False

    def serve_limits(self, http, **options):
        return self.serve(http.replace("LIMIT", self.limiter), static=self.static, **options)

    def serve_locations(self, key, body, others="", **options):
        """With a zone for each location that has a limit."""
        names = re.findall("LIMIT zone=([a-z]+)", body)
        return self.serve_limits("".join(f"LIMIT_zone {key} zone={name}:32k rate=1r/m;" for name in names)
                                 + others + server_block(body), **options)

    def check(self, nginx, path, header="X-Forwarded-For", port=None):
        """Each client has one request, and no second."""
        found = [nginx.get(path, forwarded(client, header), port=port).status for client in (A, A, B, B)]
        self.assertEqual(found, [200, 503, 200, 503], path)

    def test_at_each_level(self):
        nginx = self.serve_limits(
            "".join(map(zones, ("http", "server", "location"))) + REALIP
            + server_block(locations("http"))
            + server_block("real_ip_header X-Real-IP;" + locations("server"), "$PORT2")
            + server_block("real_ip_header None;" + locations("location", "real_ip_header True-Client-IP;"), "$PORT3"),
            ports=3)
        headers = {"http": "X-Forwarded-For", "server": "X-Real-IP", "location": "True-Client-IP"}
        for port, (where, header) in zip(nginx.ports, headers.items()):
            for name in KEYS:
                self.check(nginx, f"/{where}/{name}", header, port)

    def test_each_header_in_a_location(self):
        headers = ("X-Forwarded-For", "X-Real-IP", "True-Client-IP")
        nginx = self.serve_limits("".join(map(zones, headers)) + server_block(
            "".join(locations(header, TRUST.format(header)) for header in headers)))
        for header in headers:
            for name in KEYS:
                self.check(nginx, f"/{header}/{name}", header)

    def test_the_proxy_protocol_in_a_location(self):
        nginx = self.serve_limits(
            zones("proxy") + server_block(locations("proxy", TRUST.format("proxy_protocol")), "$PORT2 proxy_protocol")
            + server_block(""), ports=2)
        for name in KEYS:
            found = []
            for client in (A, A, B, B):
                with Connection(nginx.ports[1], f"PROXY TCP4 {client} 127.0.0.1 1234 80\r\n".encode()) as proxy:
                    found.append(proxy.get(f"/proxy/{name}").status)
            self.assertEqual(found, [200, 503, 200, 503], name)

    def test_clients_of_one_connection(self):
        """The address is the proxy's again when a request is over."""
        nginx = self.serve_locations("$remote_addr", f"location / {{ {REALIP} empty_gif; LIMIT zone=kept; }}"
                                     "location /peer { return 200 $remote_addr; }")
        with nginx.connect() as connection:
            found = [connection.get("/", forwarded(client)).status for client in (A, B, A, B)]
            self.assertEqual(found, [200, 200, 503, 503])
            self.assertEqual(connection.get("/peer", forwarded(A)).body, b"127.0.0.1")

    def test_a_proxy_that_is_not_trusted(self):
        nginx = self.serve_locations("$remote_addr", f"location / {{ {REALIP.replace('127.0.0.1', '192.0.2.0/24')} "
                                     "empty_gif; LIMIT zone=far; }")
        self.assertEqual([nginx.status("/", forwarded(client)) for client in (A, B)], [200, 503])

    def test_internal_redirects(self):
        """Each client is limited once, by the first location that has a limit."""
        nginx = self.serve_locations(
            "$binary_remote_addr", f"location / {{ {REALIP} LIMIT zone=index; }}"
            f"location /try {{ try_files /none @try; }} location @try {{ {REALIP} empty_gif; LIMIT zone=try; }}"
            f"location /page {{ {REALIP} error_page 404 =200 /a; LIMIT zone=page; }}"
            "location /code { error_page 418 =200 @code; return 418; }"
            f"location @code {{ {REALIP} empty_gif; LIMIT zone=code; }}")
        for path in ("/", "/try", "/page", "/code"):
            self.check(nginx, path)

    def test_an_address_from_before_a_redirect(self):
        """What realip found in one location holds in the next, which has the limit."""
        nginx = self.serve_locations("$binary_remote_addr", f"location /from {{ {REALIP} try_files /none /to; }}"
                                     "location /to { empty_gif; LIMIT zone=to; }")
        self.check(nginx, "/from")

    def test_auth_request(self):
        nginx = self.serve_locations(
            "$remote_addr", f"location /main {{ {REALIP} empty_gif; auth_request /allow; LIMIT zone=main; }}"
            "location /allow { proxy_pass http://127.0.0.1:$PORT2; }"
            "location /sub { empty_gif; error_page 500 =503 /b; auth_request /ask; }"
            f"location /ask {{ {REALIP} proxy_pass http://127.0.0.1:$PORT2; LIMIT zone=sub; }}",
            server_block("return 204;", "$PORT2"), ports=2)
        self.check(nginx, "/main")
        self.check(nginx, "/sub")

    def test_satisfy_any(self):
        nginx = self.serve_locations(
            "$binary_remote_addr", f"location / {{ {REALIP} empty_gif; satisfy any; allow 198.51.100.0/24; deny all;"
            "auth_request /never; LIMIT zone=any; } location /never { return 403; }")
        self.check(nginx, "/")

    def test_what_is_denied_has_been_limited(self):
        nginx = self.serve_locations("$remote_addr", f"location / {{ {REALIP} empty_gif; deny {A}; LIMIT zone=deny; }}")
        self.assertEqual([nginx.status("/", forwarded(client)) for client in (A, A, B, B)], [403, 503, 200, 503])

    def test_a_part_of_a_page(self):
        nginx = self.serve_locations(
            "$remote_addr", "location / { ssi on; default_type text/html; }"
            f"location /part {{ {REALIP} empty_gif; LIMIT zone=part; }}")
        nginx.write("page", '<!--#include virtual="/part" -->')
        found = [b"GIF" in self.whole(nginx, "/page", client) for client in (A, A, B, B)]
        self.assertEqual(found, [True, False, True, False])

    def whole(self, nginx, path, client):
        """All that is sent, up to the connection's end."""
        with nginx.connect() as connection:
            connection.send(path, {"Connection": "close", **forwarded(client)})
            try:
                while True:
                    connection.more()
            except ConnectionError:
                return connection.data

    def test_a_mirror(self):
        nginx = self.serve_locations(
            "$remote_addr", "access_log off; location / { empty_gif; mirror /mirror; }"
            f"location /mirror {{ {REALIP} LIMIT zone=mirror; proxy_pass http://127.0.0.1:$PORT2; }}",
            "log_format seen $http_x_forwarded_for; access_log $FOLDER/seen seen;"
            + server_block("return 204;", "$PORT2"), ports=2)
        for client in (A, A, B, B):
            self.assertEqual(nginx.get("/", forwarded(client)).status, 200)
        self.assertEqual(wait_for("the mirrors", lambda: nginx.read("seen").split()[1:] and nginx.read("seen").split()),
                         [A, B])

    def test_addresses_without_a_limit(self):
        nginx = self.serve_limits("geo $limited { default 1; 198.51.100.2 0; }"
                                  "map $limited $key { 0 ''; 1 $binary_remote_addr; }"
                                  "LIMIT_zone $key zone=most:32k rate=1r/m;"
                                  + server_block(f"location / {{ {REALIP} empty_gif; LIMIT zone=most; }}"))
        self.assertEqual([nginx.status("/", forwarded(client)) for client in (A, A, B, B)], [200, 503, 200, 200])

    def test_an_address_that_was_read_before(self):
        """A variable keeps its first value: the rewrite phase is before realip of a location."""
        nginx = self.serve_locations(
            "$remote_addr", "if ($remote_addr = 192.0.2.1) { return 403; }"
            f"location / {{ {REALIP} empty_gif; LIMIT zone=read; }}")
        self.assertEqual([nginx.status("/", forwarded(client)) for client in (A, B)], [200, 503])


class ByLimitReq(Clients, NginxTest):
    """These are requirements only if they hold of limit_req."""

    limiter = "limit_req"


class OurClients(Clients):
    """What limit_req does not have."""

    def test_rates_bursts_and_costs(self):
        nginx = self.serve_limits(
            "map $remote_addr $rate { 198.51.100.1 1r/h; 198.51.100.2 2r/h; }"
            "map $remote_addr $burst { 198.51.100.2 1; default 0; }"
            "map $remote_addr $cost { 198.51.100.2 2; default 1; }"
            "ratecell_zone $binary_remote_addr zone=rate:32k rate=$rate default_rate=9r/h;"
            "ratecell_zone $binary_remote_addr zone=cost:32k rate=4r/h;"
            + server_block("add_header Left $ratecell_remaining always;"
                           f"location /rate {{ {REALIP} empty_gif; ratecell zone=rate burst=$burst nodelay; }}"
                           f"location /cost {{ {REALIP} empty_gif; ratecell zone=cost burst=3 nodelay cost=$cost; }}"))
        self.assertEqual([nginx.status("/rate", forwarded(client)) for client in (A, A, B, B, B)],
                         [200, 503, 200, 200, 503])
        self.assertEqual([nginx.get("/cost", forwarded(client)).header("Left") for client in (A, A, B, B)],
                         ["3", "2", "2", "0"])

    def test_counted_responses(self):
        nginx = self.serve_limits("ratecell_zone $binary_remote_addr zone=login:32k rate=1r/h;" + server_block(
            f"location / {{ {REALIP} ratecell zone=login count=response:404; }}"))
        self.assertEqual([nginx.status("/none", forwarded(client)) for client in (A, A, B, B)], [404, 503, 404, 503])

    def test_the_log(self):
        nginx = self.serve_limits(
            "ratecell_zone $binary_remote_addr zone=z:32k rate=2r/h;"
            "log_format told '$remote_addr $status $ratecell_status $ratecell_limit $ratecell_remaining';"
            "access_log $FOLDER/told told;"
            + server_block(f"location / {{ {REALIP} empty_gif; ratecell zone=z burst=1 nodelay; }}"))
        for client in (A, A, A, B):
            nginx.get("/", forwarded(client))
        lines = wait_for("the log", lambda: nginx.read("told").splitlines()[3:] and nginx.read("told").splitlines())
        self.assertEqual(lines, [f"{A} 200 PASSED 2 1", f"{A} 200 PASSED 2 0", f"{A} 503 REJECTED 2 0",
                                 f"{B} 200 PASSED 2 1"])
        self.assertIn(f'by zone "z", client: {A}', nginx.log())


class Loaded(OurClients, NginxTest):
    pass


if STATIC_NGINX:
    class BuiltIn(OurClients, NginxTest):
        static = True


if __name__ == "__main__":
    unittest.main()
