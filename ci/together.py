"""Asks uvicorn with four workers and a Go server, which limit by one file, and counts who was let in.

    python together.py FOLDER      FOLDER holds the Go program, and is where the file is made
"""

import collections
import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

LIMIT = 2000
REQUESTS = 5000
CLIENTS = 16
# Seconds until both servers must listen, and ports that are tried.
PATIENCE = 60
ATTEMPTS = 3
EXAMPLES = pathlib.Path(__file__).parents[1] / "bindings/python/examples"


def ask(port):
    """The status of one request; all come from one address, by which both servers limit."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
            answer.read()
            return port, answer.status
    except urllib.error.HTTPError as denied:
        with denied:
            return port, denied.code


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
    """Both servers' ports. A port may be taken by another program before its server has it: then others are tried."""
    deadline = time.monotonic() + PATIENCE
    environment = os.environ | {"LIMITS": file, "POLICY": policy}
    for _ in range(ATTEMPTS):
        asgi, go = free_ports(2)
        uvicorn = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(asgi), "--workers", "4"]
        server = [folder / "server", "-addr", f"127.0.0.1:{go}", "-file", file, "-policy", policy]
        with contextlib.ExitStack() as started:
            servers = []
            for command, where in (([*uvicorn, "--log-level", "warning"], EXAMPLES), (server, folder)):
                servers.append(subprocess.Popen(command, cwd=where, env=environment))
                started.callback(end, servers[-1])
            if all(is_open(port, server, deadline) for port, server in zip((asgi, go), servers)):
                running.push(started.pop_all())
                return {"uvicorn, 4 workers": asgi, "Go": go}
    sys.exit(f"a server ended before it answered, {ATTEMPTS} times")


def main():
    folder = pathlib.Path(sys.argv[1]).absolute()
    file, policy = str(folder / "limits"), f"{LIMIT}/100d"
    with contextlib.ExitStack() as running:
        ports = start(running, folder, file, policy)
        with ThreadPoolExecutor(CLIENTS) as clients:
            answers = collections.Counter(clients.map(ask, [*ports.values()] * (REQUESTS // 2)))
    for name, port in ports.items():
        print(f"{name}: {answers[port, 200]} admitted, {answers[port, 429]} refused")
    admitted = sum(answers[port, 200] for port in ports.values())
    print(f"admitted {admitted} of {REQUESTS} by both: the limit is {LIMIT}")
    return 0 if admitted == LIMIT and answers.total() == REQUESTS else 1


if __name__ == "__main__":
    sys.exit(main())
