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


def free_port():
    """A port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def until_open(port, server):
    """Returns when the server listens."""
    while True:
        if server.poll() is not None:
            sys.exit(f"{server.args[0]} ended before it answered")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
            return
        time.sleep(0.05)


def main():
    folder = pathlib.Path(sys.argv[1])
    file, policy = str(folder / "limits"), f"{LIMIT}/100d"
    ports = {"uvicorn, 4 workers": free_port(), "Go": free_port()}
    asgi, go = ports.values()
    uvicorn = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(asgi), "--workers", "4"]
    environment = os.environ | {"LIMITS": file, "POLICY": policy}
    servers = [
        subprocess.Popen([*uvicorn, "--log-level", "warning"], cwd=EXAMPLES, env=environment),
        subprocess.Popen([folder / "server", "-addr", f"127.0.0.1:{go}", "-file", file, "-policy", policy]),
    ]
    try:
        for port, server in zip(ports.values(), servers):
            until_open(port, server)
        with ThreadPoolExecutor(CLIENTS) as clients:
            answers = collections.Counter(clients.map(ask, [asgi, go] * (REQUESTS // 2)))
    finally:
        for server in servers:
            server.terminate()
            server.wait()
    for name, port in ports.items():
        print(f"{name}: {answers[port, 200]} admitted, {answers[port, 429]} refused")
    admitted = sum(answers[port, 200] for port in ports.values())
    print(f"admitted {admitted} of {REQUESTS} by both: the limit is {LIMIT}")
    return 0 if admitted == LIMIT and answers.total() == REQUESTS else 1


if __name__ == "__main__":
    sys.exit(main())
