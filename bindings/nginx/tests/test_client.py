"""$ratecell_client: the key of a client, the same text as in every program that limits by ratecell."""

import collections
import ipaddress
import json
import pathlib
import re
import socket
import unittest

from harness import STATIC_NGINX, Connection, NginxTest, server_block

VECTORS = pathlib.Path(__file__).parents[3] / "vectors/edges"
A, B = "198.51.100.1", "198.51.100.2"
# What the definition calls a port and a zone. Python's parser reads the address alone exactly as it does.
PORT = r"(?::(?:\d{1,5}|_[A-Za-z0-9._-]{1,63}))?"
NODES = [r"([0-9.]+)" + PORT, r"([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)(?:%[A-Za-z0-9._~-]{1,63})?",
         r"\[([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)(?:%[A-Za-z0-9._~-]{1,63})?\]" + PORT]

# nginx's inet_addr has no other number for what is no address.
BROADCAST = ipaddress.ip_address("255.255.255.255")


def vectors(kind, *names):
    """The lines of the files of a kind, without their first ones."""
    found = []
    for name in (kind, *names):
        first, *lines = (VECTORS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        if json.loads(first)["kind"] != kind:
            raise ValueError(f"{name}: not a file of vectors of {kind}")
        found += map(json.loads, lines)
    return found


def encoded(text):
    """A character is one byte; a text with others is taken as UTF-8."""
    try:
        return text.encode("latin-1")
    except UnicodeEncodeError:
        return text.encode()


def address_of(peer):
    """The address of a peer, or None where it has none."""
    for node in NODES:
        found = re.fullmatch(node, peer, re.ASCII)
        if found:
            try:
                return ipaddress.ip_address(found[1])
            except ValueError:
                pass
    return None


def is_unix(peer):
    return peer == "" or peer.startswith(("@", "/", "unix:"))


def can_be_sent(name, value):
    """Whether a line can be in a request. Other bytes end a line or the request."""
    return re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) and not set(value) & set("\0\r\n")


def request(path, lines):
    fields = b"".join(encoded(name) + b": " + encoded(value) + b"\r\n" for name, value in lines)
    return b"GET " + path.encode() + b" HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n"


class UnixConnection(Connection):
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(30)
        self.socket.connect(path)
        self.data = b""


def from_peer(nginx, peer):
    """A connection whose peer nginx takes for this one: an address, by the PROXY protocol, or a Unix socket."""
    if is_unix(peer):
        return UnixConnection(nginx.path("socket"))
    address = address_of(peer)
    protocol, own = ("TCP4", "127.0.0.1") if address.version == 4 else ("TCP6", "::1")
    return Connection(nginx.port, f"PROXY {protocol} {address} {own} 1234 80\r\n".encode())


def quoted(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def directive(line):
    """The configuration of a line of the vectors."""
    parameters = [f"{version}_width={width}" for version, width in line["width"].items()]
    trust = line["trust"] or {}
    parameters += [f"{name}={trust[name]}" for name in ("field", "kind", "hops") if name in trust]
    parameters += [f"network={network}" for network in trust.get("networks", ())]
    return "ratecell_client " + " ".join(map(quoted, parameters)) + ";"


def servers(locations):
    return ("large_client_header_buffers 4 1m; client_header_buffer_size 64k; server { "
            "listen 127.0.0.1:$PORT proxy_protocol; listen unix:$FOLDER/socket;"
            "set_real_ip_from 127.0.0.1; real_ip_header proxy_protocol; default_type text/plain;"
            + "".join(f"location = /{number} {{ {text} return 200 $ratecell_client; }}"
                      for number, text in enumerate(locations)) + "}")


class Published(NginxTest):
    """Every published key that HTTP can carry, by requests."""

    # Configurations that are refused.
    expected_in_log = (r"\[emerg\]",)

    def ask(self, nginx, rows):
        """The keys of (path, peer, lines, what is expected): many requests by one connection of each peer."""
        failures, by_peer = [], collections.defaultdict(list)
        for row in rows:
            by_peer["" if is_unix(row[1]) else str(address_of(row[1]))].append(row)
        for peer, mine in by_peer.items():
            with from_peer(nginx, peer) as connection:
                for start in range(0, len(mine), 20):
                    some = mine[start:start + 20]
                    connection.socket.sendall(b"".join(request(path, lines) for path, _, lines, _ in some))
                    for row in some:
                        response = connection.receive()
                        if (response.status, response.body.decode("latin-1")) != (200, row[3]):
                            failures.append((*row, response.status, response.body))
        return failures

    def test_requests(self):
        sections, rows, left = [], [], collections.Counter()
        for line in vectors("client_keys", "rfc7239"):
            if isinstance(line, dict):
                sections.append(directive(line))
                continue
            peer, lines, key, _ = line
            if not is_unix(peer) and address_of(peer) is None:
                left["a peer that is no address"] += 1
            elif address_of(peer) == BROADCAST:
                left["a peer that nginx reads as none"] += 1
            elif not all(can_be_sent(*pair) for pair in lines):
                left["bytes that end a line, or a name that is no token"] += 1
            else:
                rows.append((f"/{len(sections) - 1}", peer, lines, key))
        nginx = self.serve(servers(sections))
        self.assertEqual(self.ask(nginx, rows)[:20], [])
        self.tell("client_keys", len(rows), left)
        self.assertGreater(len(rows), 4000)

    def test_addresses(self):
        """As the one address of a field, and as a peer."""
        widths = [{"width": {"v4": 32, "v6": width}, "trust": None} for width in (128, 64)]
        single = {"field": "X-Address", "kind": "single", "hops": 1}
        nginx = self.serve(servers([directive(line) for line in (
            widths + [{**width, "trust": single} for width in widths])]))
        rows, left = [], collections.Counter()
        for text, *keys in vectors("client_keys_addresses", "rfc5952"):
            if address_of(text) not in (None, BROADCAST):
                rows += [(f"/{number}", text, [], key) for number, key in enumerate(keys)]
            if not can_be_sent("X-Address", text) or text != text.strip(" \t"):
                left["bytes that end a line, or white space that a field's value has not"] += 1
                continue
            rows += [(f"/{number}", "192.0.2.1", [("X-Address", text)], key or "192.0.2.1")
                     for number, key in enumerate(keys, 2)]
        self.assertEqual(self.ask(nginx, rows)[:20], [])
        self.tell("client_keys_addresses", len(rows), left)
        self.assertGreater(len(rows), 10_000)

    def test_configurations(self):
        taken, refused, left = [], [], collections.Counter()
        for line in vectors("client_keys_construct"):
            if (line["trust"] or {}).get("networks") == []:
                left["a list of no networks"] += 1
            elif line["error"] is None:
                taken.append(directive(line))
            else:
                refused.append((directive(line), line["error"]))
        nginx = self.prepare(servers(taken))
        self.assertEqual(nginx.test()[0], True, nginx.test())
        for text, error in refused:
            nginx.configure(server_block(text))
            is_taken, said = nginx.test()
            self.assertFalse(is_taken, text)
            # A number that is none for the directive, and an unknown kind, have sentences of their own.
            self.assertRegex(said, f'invalid "ratecell_client": {error}: |invalid number "|invalid kind "kind=', text)
        self.tell("client_keys_construct", len(taken) + len(refused), left)

    def tell(self, kind, count, left):
        without = "".join(f"; without {number}: {reason}" for reason, number in left.items())
        print(f"{kind}: {count} by nginx, 0 failed{without}")


class Clients:
    """What the directive and the variable do in a configuration."""

    static = False

    def serve_clients(self, http, **options):
        return self.serve(http, static=self.static, **options)

    def test_without_a_directive_the_peer_is_the_client(self):
        nginx = self.serve_clients(server_block("return 200 $ratecell_client;")
                                   + "server { listen unix:$FOLDER/socket; return 200 $ratecell_client; }")
        self.assertEqual(nginx.get("/", {"X-Forwarded-For": A}).body, b"127.0.0.1")
        with UnixConnection(nginx.path("socket")) as connection:
            self.assertEqual(connection.get("/", {"X-Forwarded-For": A}).body, b"unix")

    def test_the_inner_directive_holds(self):
        nginx = self.serve_clients(
            "ratecell_client field=X-Forwarded-For hops=1;"
            + server_block("location /a { return 200 $ratecell_client; }"
                           "location /b { ratecell_client field=X-Real-IP kind=single network=127.0.0.0/8 network=unix;"
                           " return 200 $ratecell_client; }"
                           "location /c { ratecell_client v4_width=8; return 200 $ratecell_client; }"))
        fields = {"x-forwarded-for": f"6.6.6.6, {A}", "X-Real-Ip": "[2001:db8:1:2::3]:80"}
        self.assertEqual([nginx.get(path, fields).body for path in ("/a", "/b", "/c")],
                         [A.encode(), b"2001:db8:1:2::/64", b"127.0.0.0/8"])

    def test_a_key_of_a_zone(self):
        nginx = self.serve_clients(
            "ratecell_client field=X-Forwarded-For hops=1;"
            "ratecell_zone $ratecell_client zone=alone:32k rate=1r/m;"
            "ratecell_zone $ratecell_client,$host zone=joined:32k rate=1r/m;"
            + server_block("location /a { ratecell zone=alone; } location /b { ratecell zone=joined; }"))
        for path in ("/a", "/b"):
            found = [nginx.status(path, {"X-Forwarded-For": f"6.6.6.{turn}, {client}"})
                     for turn, client in enumerate((A, A, B, f"::ffff:{B}"))]
            self.assertEqual(found, [200, 503, 200, 503], path)

    def test_realip_comes_first(self):
        """Also where the variable was read before, and by an internal redirect."""
        nginx = self.serve_clients(
            server_block("if ($ratecell_client = 192.0.2.1) { return 403; }"
                         "location / { set_real_ip_from 127.0.0.1; real_ip_header X-Forwarded-For;"
                         " add_header Client $ratecell_client; error_page 404 = /other; }"
                         "location /other { ratecell_client v4_width=24; add_header Client $ratecell_client; empty_gif; }"))
        self.assertEqual(nginx.get("/a", {"X-Forwarded-For": A}).header("Client"), A)
        self.assertEqual(nginx.get("/none", {"X-Forwarded-For": A}).header("Client"), "198.51.100.0/24")

    def test_what_is_wrong(self):
        for text, said in {
            "ratecell_client;": "invalid number of arguments",
            "ratecell_client trusted=1;": 'invalid parameter "trusted=1": expected field=, kind=, hops=, network=',
            "ratecell_client field=X hops=0;": 'invalid number "hops=0": expected 1 to 16 hops',
            "ratecell_client field=X hops=;": 'invalid number "hops="',
            "ratecell_client field=X hops=17;": 'invalid "ratecell_client": bad_hops: 17 hops of a list field',
            "ratecell_client v6_width=0;": 'invalid number "v6_width=0"',
            "ratecell_client field=X kind=all hops=1;": 'invalid kind "kind=all": expected list, forwarded or single',
            "ratecell_client field=X;": 'invalid "ratecell_client": bad_trust: neither hops nor networks',
            "ratecell_client field=X network=10.0.0.1/8;": "bad_network: the network `10.0.0.1/8` has bits beyond",
            "ratecell_client hops=1;": "bad_field: the field is ``",
            "ratecell_client v4_width=24; ratecell_client v4_width=24;": '"ratecell_client" directive is duplicate',
        }.items():
            nginx = self.prepare(server_block(text), static=self.static)
            is_taken, found = nginx.test()
            self.assertFalse(is_taken, text)
            self.assertIn(said, found)


class Loaded(Clients, NginxTest):
    expected_in_log = (r"\[emerg\]",)


if STATIC_NGINX:
    class BuiltIn(Clients, NginxTest):
        expected_in_log = (r"\[emerg\]",)
        static = True


if __name__ == "__main__":
    unittest.main()
