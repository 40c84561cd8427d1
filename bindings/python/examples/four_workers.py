"""Starts uvicorn with four workers on app.py, asks more than the limit, and counts who was let in.

    python examples/four_workers.py

The last line is "admitted N of M by W workers: exactly the limit".
"""

from __future__ import annotations

import collections
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LIMIT = 300
REQUESTS = 1000
WORKERS = 4
CLIENTS = 16


def ask(url: str, key: str = "ann") -> tuple[int, str]:
    """The status of one request, and the worker that let it in."""
    request = urllib.request.Request(url, headers={"x-api-key": key, "connection": "close"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read().decode().partition(":")[0]
    except urllib.error.HTTPError as denied:
        with denied:
            return denied.code, ""


def until_all_answer(url: str, server: subprocess.Popen[bytes], clients: ThreadPoolExecutor) -> None:
    """Returns when each worker has answered; these requests are each of a key of its own."""
    workers: set[str] = set()
    turn = 0
    while len(workers) < WORKERS:
        if server.poll() is not None:
            sys.exit("the server ended before all of it answered")
        turn += 1
        keys = [f"warm-{turn}-{number}" for number in range(CLIENTS)]
        try:
            workers |= {worker for _, worker in clients.map(ask, [url] * CLIENTS, keys)}
        except urllib.error.URLError:
            time.sleep(0.05)


def run(folder: Path) -> collections.Counter[tuple[int, str]]:
    """The answers, counted by status and worker."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}/"
    command = [sys.executable, "-m", "uvicorn", "app:app", "--port", str(port), "--workers", str(WORKERS)]
    environment = os.environ | {"LIMITS": str(folder / "limits"), "POLICY": f"{LIMIT}/100d"}
    server = subprocess.Popen(
        [*command, "--log-level", "warning"], cwd=Path(__file__).parent, env=environment
    )
    try:
        with ThreadPoolExecutor(CLIENTS) as clients:
            until_all_answer(url, server, clients)
            return collections.Counter(clients.map(ask, [url] * REQUESTS))
    finally:
        server.terminate()
        server.wait()


def main() -> int:
    """Runs it, and tells what came of it."""
    with tempfile.TemporaryDirectory() as folder:
        answers = run(Path(folder))
    for (status, worker), count in sorted(answers.items()):
        print(f"{count:5} times {status} {worker}")
    admitted = {worker: count for (status, worker), count in answers.items() if status == 200}
    total = sum(admitted.values())
    verdict = "exactly the limit" if total == LIMIT else f"expected {LIMIT}"
    print(f"admitted {total} of {REQUESTS} by {len(admitted)} workers: {verdict}")
    return 0 if total == LIMIT and {status for status, _ in answers} == {200, 429} else 1


if __name__ == "__main__":
    sys.exit(main())
