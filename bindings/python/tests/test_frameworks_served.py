"""Real servers with two workers on one file, and a real client: together they admit exactly the limit."""

from __future__ import annotations

import collections
import contextlib
import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LIMIT = 60
REQUESTS = 150

UVICORN = ["uvicorn", "--workers", "2", "--log-level", "warning", "--fd"]
GUNICORN = [
    "gunicorn",
    "--workers",
    "2",
    "--worker-class",
    "gthread",
    "--threads",
    "4",
    "--log-level",
    "warning",
]


@contextlib.contextmanager
def served(command: list[str], folder: Path) -> Iterator[int]:
    """The port of a server of `command`, which finds its socket behind the last of its words."""
    with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
        listening.set_inheritable(True)
        fd, port = listening.fileno(), listening.getsockname()[1]
        behind = [str(fd)] if command[-1] == "--fd" else ["--bind", f"fd://{fd}"]
        environment = os.environ | {"LIMITS": str(folder), "POLICY": f"fixed_window {LIMIT}/365d"}
        server = subprocess.Popen(
            [sys.executable, "-m", *command, *behind], cwd=HERE, env=environment, pass_fds=[fd]
        )
        try:
            yield port
        finally:
            server.terminate()
            server.wait()


def ask(port: int, path: str, user: str) -> tuple[int, str, bool]:
    """Status, worker, and whether the fields of the limit are there."""
    # A connection each, for the system gives connections to workers.
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
        connection.request("GET", path, headers={"x-user": user})
        answer = connection.getresponse()
        worker = answer.read().decode().partition(":")[0]
        return answer.status, worker, answer.headers["RateLimit"] is not None


@pytest.mark.parametrize(
    ("command", "path"),
    [
        pytest.param([*UVICORN[:1], "served_fastapi:app", *UVICORN[1:]], "/", id="fastapi"),
        pytest.param([*GUNICORN[:1], "served_flask:app", *GUNICORN[1:]], "/", id="flask"),
        pytest.param([*GUNICORN[:1], "django_project:wsgi", *GUNICORN[1:]], "/", id="django"),
        pytest.param([*UVICORN[:1], "django_project:asgi", *UVICORN[1:]], "/", id="django-asgi"),
    ],
)
def test_two_workers_admit_exactly_the_limit(command: list[str], path: str, tmp_path: Path) -> None:
    with served(command, tmp_path) as port, ThreadPoolExecutor(8) as clients:
        workers: set[str] = set()
        deadline = time.monotonic() + 120
        turn = 0
        while len(workers) < 2:
            assert time.monotonic() < deadline
            turn += 1
            users = [f"warm-{turn}-{number}" for number in range(8)]
            workers |= {worker for _, worker, _ in clients.map(ask, [port] * 8, [path] * 8, users)}
        answers = list(clients.map(ask, [port] * REQUESTS, [path] * REQUESTS, ["ann"] * REQUESTS))
    counted = collections.Counter(status for status, *_ in answers)
    assert counted == {200: LIMIT, 429: REQUESTS - LIMIT}
    assert all(has_fields for *_, has_fields in answers)


def test_a_throttle_of_django_rest_framework(tmp_path: Path) -> None:
    """The throttle's limit is reached before that of the middleware, which counts by user."""
    command = [*GUNICORN[:1], "django_project:wsgi", *GUNICORN[1:]]
    with served(command, tmp_path) as port, ThreadPoolExecutor(8) as clients:
        users = [f"user-{number}" for number in range(REQUESTS)]
        answers = list(clients.map(ask, [port] * REQUESTS, ["/api"] * REQUESTS, users))
    counted = collections.Counter(status for status, *_ in answers)
    assert counted == {200: LIMIT, 429: REQUESTS - LIMIT}
