"""Runs the shop on loopback, sends visitors to it, and shows who was denied where.

    python shop.py          runs it, and ends
    python shop.py --stay   leaves it running, for a browser, until it is interrupted

`make example` builds what it needs and runs it. By hand, these name what was built: SHOP_NGINX_MODULE, the module for
nginx; SHOP_CATALOG, the program in the folder catalog; SHOP_PROGRAM, the program `ratecell`.
"""

from __future__ import annotations

import collections
import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
LIMITS = HERE / "limits.toml"


class Visitor(NamedTuple):
    """All of 127.0.0.0/8 is this machine: a visitor is who has the address."""

    name: str
    address: str


ANN = Visitor("Ann", "127.0.0.11")
BOB = Visitor("Bob", "127.0.0.12")
EVE = Visitor("Eve", "127.0.0.13")


class Request(NamedTuple):
    """A request, and which of the three answers it."""

    method: str
    path: str

    @property
    def where(self) -> str:
        """Which of the three answers the request."""
        first = self.path.split("/")[1]
        return {"catalog": "the catalog (Go)", "orders": "the orders (Python)"}.get(first, "the front (nginx)")


PAGE = Request("GET", "/")
CATALOG = Request("GET", "/catalog")
ORDERS = Request("GET", "/orders")
ORDER = Request("POST", "/orders")
SEARCH = Request("GET", "/catalog/search")


class Answer(NamedTuple):
    """What was answered: None in `rule` where the request was allowed."""

    status: int
    rule: str | None


def free_address() -> str:
    """An address on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def ask(front: str, visitor: Visitor, request: Request) -> Answer:
    """Sends one request, and says which rule refused it: the one of which nothing remains."""
    host, port = front.split(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=30, source_address=(visitor.address, 0))
    try:
        connection.request(request.method, request.path)
        response = connection.getresponse()
        response.read()
    finally:
        connection.close()
    if response.status != 429:
        return Answer(response.status, None)
    remains = dict(re.findall(r'"([^"]+)";r=(\d+)', response.getheader("RateLimit") or ""))
    return Answer(429, " and ".join(name for name, left in remains.items() if left == "0"))


class Shop:
    """nginx, the two services, and the exporter of what they count."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # In memory: a file that is written back to a disk costs its writes.
        memory = Path("/dev/shm")
        self.cells = (memory if memory.is_dir() else folder) / f"shop-{os.getpid()}"
        self.front, self.catalog, self.orders, self.metrics = (free_address() for _ in range(4))
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: list[str], **environment: str) -> None:
        """Starts a program, whose text goes to a file of its name."""
        with (self.folder / f"{name}.log").open("ab") as log:
            self.running[name] = subprocess.Popen(
                command, stdout=log, stderr=log, env={**os.environ, **environment}, start_new_session=True
            )

    def stop(self, name: str) -> None:
        """Stops a program as an operator does."""
        program = self.running.pop(name)
        program.send_signal(signal.SIGTERM)
        try:
            program.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait()

    def start_catalog(self) -> None:
        """Starts the service in Go."""
        program = os.environ["SHOP_CATALOG"]
        self.start("catalog", [program, "-addr", self.catalog, "-limits", str(LIMITS), "-cells", str(self.cells)])
        self.wait_for("catalog", self.catalog, "/catalog/health")

    def start_orders(self) -> None:
        """Starts the service in Python, with two workers."""
        host, port = self.orders.split(":")
        uvicorn = [sys.executable, "-m", "uvicorn", "--host", host, "--port", port, "--workers", "2"]
        where = ["--app-dir", str(HERE / "orders"), "app:app"]
        self.start("orders", uvicorn + where, LIMITS=str(LIMITS), CELLS=str(self.cells))
        self.wait_for("orders", self.orders, "/orders/health")

    def start_front(self) -> None:
        """Starts nginx."""
        configuration = (HERE / "nginx.conf").read_text()
        for word, value in {
            "FOLDER": self.folder,
            "MODULE": os.environ["SHOP_NGINX_MODULE"],
            "LIMITS": LIMITS,
            "CELLS": self.cells,
            "PAGES": HERE / "pages",
            "FRONT": self.front,
            "http://CATALOG": f"http://{self.catalog}",
            "http://ORDERS": f"http://{self.orders}",
        }.items():
            configuration = configuration.replace(word, str(value))
        file = self.folder / "nginx.conf"
        file.write_text(configuration)
        nginx = shutil.which("nginx") or "/usr/sbin/nginx"
        self.start("nginx", [nginx, "-p", str(self.folder), "-c", str(file), "-e", str(self.folder / "error.log")])
        self.wait_for("nginx", self.front, "/catalog/health")

    def start_exporter(self) -> None:
        """Starts the exporter for Prometheus."""
        self.start("export", [os.environ["SHOP_PROGRAM"], "export", str(self.cells), "--listen", self.metrics])
        self.wait_for("export", self.metrics, "/metrics")

    def wait_for(self, name: str, address: str, path: str) -> None:
        """Waits until the program answers; what it said is shown if it never does."""
        host, port = address.split(":")
        end = time.monotonic() + 60
        while time.monotonic() < end and self.running[name].poll() is None:
            connection = http.client.HTTPConnection(host, int(port), timeout=10)
            try:
                connection.request("GET", path)
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            finally:
                connection.close()
            time.sleep(0.05)
        said = (self.folder / f"{name}.log").read_text(errors="replace")
        raise SystemExit(f"{name} does not answer {path} on {address}:\n{said}")

    def metric(self, name: str) -> int:
        """The sum of one metric over all limits."""
        host, port = self.metrics.split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
        connection.close()
        values = [line.rsplit(" ", 1)[1] for line in lines if re.match(rf"{name}[ {{]", line)]
        assert values, f"the exporter has no {name}"
        return sum(int(float(value)) for value in values)

    def close(self) -> None:
        """Stops all that runs, and removes what was counted."""
        for name in list(self.running):
            self.stop(name)
        self.cells.unlink(missing_ok=True)


class Visits:
    """What came of the requests of a visitor."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.answers: list[tuple[Visitor, Request, Answer]] = []

    def make(self, visitor: Visitor, requests: Iterable[Request], at_once: int = 1) -> list[Answer]:
        """Sends requests, so many at once."""
        wanted = list(requests)
        with ThreadPoolExecutor(at_once) as pool:
            answers = list(pool.map(lambda request: ask(self.shop.front, visitor, request), wanted))
        self.answers += [(visitor, *pair) for pair in zip(wanted, answers, strict=True)]
        return answers

    def show(self) -> None:
        """Prints a table: who was allowed, and denied by what, where."""
        rows: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(collections.Counter)
        for visitor, request, answer in self.answers:
            rows[visitor.name, request.where][answer.rule or "allowed"] += 1
        print(f"{'visitor':8} {'asked':20} {'allowed':>7} {'denied':>7}  by")
        for (name, where), counts in sorted(rows.items()):
            denied = {rule: count for rule, count in counts.items() if rule != "allowed"}
            by = ", ".join(f"{rule} ({count})" for rule, count in denied.items())
            print(f"{name:8} {where:20} {counts['allowed']:7} {sum(denied.values()):7}  {by}".rstrip())


def allowed(answers: list[Answer]) -> int:
    """How many were allowed."""
    return sum(answer.rule is None for answer in answers)


def expect(what: str, got: object, expected: object) -> None:
    """Ends the program where what it shows is not so."""
    if got != expected:
        raise SystemExit(f"{what}: {got}, expected {expected}")


def visit(shop: Shop) -> None:
    """Sends the three visitors, and compares what they get with the limits."""
    visits = Visits(shop)
    print("Ann looks around and buys something. She is never denied.")
    answers = visits.make(ANN, [PAGE, CATALOG, PAGE, CATALOG, SEARCH, ORDERS, ORDER])
    expect("Ann's requests that were allowed", allowed(answers), 7)

    print("Bob orders six times: three a minute are allowed.")
    answers = visits.make(BOB, [ORDER] * 6)
    expect("Bob's orders", [answer.status for answer in answers], [201] * 3 + [429] * 3)

    print("Eve asks all three in turn, eight at once. Together they let her in 30 times, and not once more.")
    answers = visits.make(EVE, [PAGE, CATALOG, ORDERS] * 30, at_once=8)
    expect("Eve's requests that were allowed", allowed(answers), 30)

    print("The catalog is restarted. It still knows Eve.")
    shop.stop("catalog")
    shop.start_catalog()
    answers = visits.make(EVE, [CATALOG] * 5)
    expect("Eve's requests after the restart", allowed(answers), 0)

    print("Ann searches five times at once: two searches run at a time.")
    answers = visits.make(ANN, [SEARCH] * 5, at_once=5)
    expect("searches at once", allowed(answers), 2)

    print()
    visits.show()
    print(f"\nThe exporter at http://{shop.metrics}/metrics counts {shop.metric('ratecell_live_keys')} keys in {shop.cells}.")


def main() -> None:
    """Runs the shop."""
    stay = sys.argv[1:] == ["--stay"]
    if sys.argv[1:] and not stay:
        raise SystemExit(f"{' '.join(sys.argv[1:])}: expected --stay, or nothing")
    with tempfile.TemporaryDirectory(prefix="shop-") as folder:
        shop = Shop(Path(folder))
        try:
            shop.start_catalog()
            shop.start_orders()
            shop.start_front()
            shop.start_exporter()
            visit(shop)
            if stay:
                print(f"\nThe shop is at http://{shop.front}/ until you press Ctrl-C. In another terminal:")
                print(f"    {os.environ['SHOP_PROGRAM']} stats {shop.cells}")
                signal.pause()
        except KeyboardInterrupt:
            print()
        finally:
            shop.close()


if __name__ == "__main__":
    main()
