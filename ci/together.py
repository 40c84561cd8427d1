"""Asks nginx, a Go server and uvicorn with four workers, which limit by one file, and counts who was let in.

    python together.py FOLDER      FOLDER holds the Go program, and is where the file is made

All three know their clients behind one proxy, which this program is: it adds a client's address to X-Forwarded-For, each
time in another of the ways in which proxies write one.
"""

import collections
import contextlib
import http.client
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "bindings/nginx/tests"))

from harness import Nginx  # noqa: E402, the path comes first

LIMIT = 1000
# Requests of a client, by its name, and how its address may be written; {n} is another number each time.
CLIENTS = {
    "an IPv4 client": (3000, ("203.0.113.7", "203.0.113.7:{n}", "::ffff:203.0.113.7", "6.6.6.6, [::ffff:cb00:7107]:{n}")),
    "an IPv6 client": (2400, ("2001:db8:1:2::{n:x}", "[2001:DB8:1:2:0:0:0:{n:x}]:80", "{n}, 2001:db8:1:2::")),
    "a third client": (LIMIT // 2, ("198.51.100.1", "203.0.113.7, 198.51.100.1")),
}
THREADS = 12
# Seconds until the servers must listen, and ports that are tried.
PATIENCE = 60
ATTEMPTS = 3
EXAMPLES = ROOT / "bindings/python/examples"

NGINX = """
ratecell_client field=X-Forwarded-For hops=1;
ratecell_zone $ratecell_client zone=shared:1m policy="POLICY" file=FILE;
server {
    listen 127.0.0.1:$PORT;
    ratecell_status 429;
    location / { empty_gif; ratecell zone=shared; }
}
"""

connections = threading.local()


def ask(request):
    """A request of a client to a port: the client, the port and the status."""
    client, port, address = request
    mine = connections.__dict__.setdefault("by_port", {})
    if port not in mine:
        mine[port] = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    mine[port].request("GET", "/", headers={"X-Forwarded-For": address})
    with mine[port].getresponse() as answer:
        answer.read()
        return client, port, answer.status


def requests(ports):
    """Those of all clients, to each port in turn, each with its address written in another way."""
    for client, (count, ways) in CLIENTS.items():
        for number in range(count):
            turn, place = divmod(number, len(ports))
            yield client, ports[place], ways[turn % len(ways)].format(n=number % 9999 + 1)


def free_ports(count):
    """Ports that nobody listens on, each another."""
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [free.getsockname()[1] for free in sockets]


def is_open(port, server, deadline):
    """Whether the server listens, or has ended before."""
    while server.poll() is None:
        if time.monotonic() > deadline:
            sys.exit(f"{server.args[0]}: expected it to listen on port {port} within {PATIENCE} s")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            # Whoever answers is the server only if it is still there: another may have taken the port before it.
            time.sleep(0.2)
            return server.poll() is None
        time.sleep(0.05)
    return False


def end(server):
    """Ends a server, whether it wants to or not."""
    server.terminate()
    try:
        server.wait(timeout=10)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def start(running, folder, file, policy):
    """Each server's port. A port may be taken by another program before its server has it: then others are tried."""
    deadline = time.monotonic() + PATIENCE
    environment = os.environ | {"LIMITS": file, "POLICY": policy, "PROXIES": "1"}
    nginx = Nginx(NGINX.replace("POLICY", policy).replace("FILE", file), workers=2)
    running.callback(nginx.remove)
    running.callback(nginx.stop)
    nginx.start()
    for _ in range(ATTEMPTS):
        asgi, go = free_ports(2)
        # uvicorn would take the proxy's word itself.
        uvicorn = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(asgi), "--workers", "4", "--no-proxy-headers"]
        server = [folder / "server", "-addr", f"127.0.0.1:{go}", "-file", file, "-policy", policy, "-proxies", "1"]
        with contextlib.ExitStack() as started:
            servers = []
            for command, where in (([*uvicorn, "--log-level", "warning"], EXAMPLES), (server, folder)):
                servers.append(subprocess.Popen(command, cwd=where, env=environment))
                started.callback(end, servers[-1])
            if all(is_open(port, server, deadline) for port, server in zip((asgi, go), servers)):
                running.push(started.pop_all())
                return {"nginx, 2 workers": nginx.port, "Go": go, "uvicorn, 4 workers": asgi}
    sys.exit(f"a server ended before it answered, {ATTEMPTS} times")


def main():
    folder = pathlib.Path(sys.argv[1]).absolute()
    file, policy = str(folder / "limits"), f"{LIMIT}/100d"
    with contextlib.ExitStack() as running:
        ports = start(running, folder, file, policy)
        with ThreadPoolExecutor(THREADS) as threads:
            answers = collections.Counter(threads.map(ask, requests([*ports.values()])))
    is_right = True
    for client, (count, _) in CLIENTS.items():
        for name, port in ports.items():
            print(f"{client}, {name}: {answers[client, port, 200]} admitted, {answers[client, port, 429]} refused")
        admitted = sum(answers[client, port, 200] for port in ports.values())
        refused = sum(answers[client, port, 429] for port in ports.values())
        print(f"{client}: admitted {admitted} of {count} by all three: the limit is {LIMIT}")
        is_right &= admitted == min(count, LIMIT) and admitted + refused == count
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
