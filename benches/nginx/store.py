"""What requests wait at an nginx while the store of one of its zones is stopped, beside before: benches/nginx-store.sh.

One client asks for each kind of request in turn, at a fixed rate; beside it others ask for keys that have no lease. The
rounds with a store that answers and with one that is stopped alternate. Prints, and judges nothing.
"""

import collections
import multiprocessing
import select
import statistics
import sys
import time

from harness import Connection, Nginx, server_block, wait_for
from leases import Store

# Seconds of each half of a round, and until the store is taken for there again.
SECONDS, PAUSE = 4, 3
# Between two requests of the client, and between two misses.
STEP, MISS_STEP = 0.001, 0.005
# At most so many misses wait at once.
MISSES = 40
# Units of the lease that the hits use, which lasts longer than the run: 10 seconds each, at rest.
LEASE = 500_000
POLICY = "gcra 1/10s burst=2000000"

KINDS = {
    "no limiter": "/free",
    "a zone of this machine": "/local?k=hot",
    "a lease that is there": "/?k=hot",
}
PLACES = ("location / { empty_gif; ratecell zone=l; } location /free { empty_gif; } "
          "location /local { empty_gif; ratecell zone=n burst=4000000 nodelay; } location /stats { ratecell_stats; }")


def zone(path, wait):
    return f"ratecell_zone $arg_k zone=l file={path} store=api wait={wait};"


def misses(port, until, name, answers):
    """Asks for a new key at each step, if fewer than the most are waiting, and counts the waits."""
    idle = collections.deque(Connection(port) for _ in range(MISSES))
    waiting, waits, left_out, number = {}, [], 0, 0
    due = time.perf_counter()
    while time.monotonic() < until or waiting:
        pause = max(0.0, due - time.perf_counter())
        for socket in select.select([connection.socket for connection in waiting], [], [], pause)[0]:
            connection = next(connection for connection in waiting if connection.socket is socket)
            status = connection.receive().status
            waits.append((time.perf_counter() - waiting.pop(connection), status))
            idle.append(connection)
        if time.perf_counter() >= due:
            due += MISS_STEP
            if time.monotonic() >= until:
                continue
            if not idle:
                left_out += 1
                continue
            number += 1
            connection = idle.popleft()
            waiting[connection] = time.perf_counter()
            connection.send(f"/?k={name}-{number}")
    answers.put((waits, left_out))


def half(port, name):
    """The waits of each kind of request, and of the misses beside them, in seconds."""
    until = time.monotonic() + SECONDS
    answers = multiprocessing.Queue()
    beside = multiprocessing.Process(target=misses, args=(port, until, name, answers))
    beside.start()
    waits = {kind: [] for kind in KINDS}
    with Connection(port) as connection:
        due = time.perf_counter()
        while time.monotonic() < until:
            for kind, path in KINDS.items():
                due = max(due + STEP, time.perf_counter())
                time.sleep(max(0.0, due - time.perf_counter()))
                began = time.perf_counter()
                status = connection.get(path).status
                waits[kind].append(time.perf_counter() - began)
                if status != 200:
                    sys.exit(f"{path}: answered {status}, expected 200")
    missed, left_out = answers.get()
    beside.join()
    return waits, missed, left_out


def at(waits, part):
    """The wait below which this part of them is, in milliseconds."""
    ordered = sorted(waits)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] * 1000


def main():
    rounds = int(sys.argv[1])
    store = Store()
    servers = []
    try:
        path = store.agent(POLICY)
        # A miss of many units that does not wait leaves them to the requests of one unit that follow.
        primer = Nginx(zone(path, "0") + server_block(f"location / {{ empty_gif; ratecell zone=l cost={LEASE}; }}"))
        servers.append(primer)
        primer.start()
        primer.get("/?k=hot")
        nginx = Nginx(zone(path, "50ms") + 'ratecell_zone $arg_k zone=n:1m rate=1000r/s;' + server_block(PLACES))
        servers.append(nginx)
        nginx.start()
        wait_for("the lease", lambda: nginx.status("/?k=hot") == 200)
        found = {which: ({kind: [] for kind in KINDS}, [], []) for which in ("before", "stopped")}
        ratios = {kind: [] for kind in KINDS}
        for number in range(rounds):
            tails = {}
            for which in found:
                if which == "stopped":
                    store.pause()
                waits, missed, left_out = half(nginx.port, f"{which}{number}")
                if which == "stopped":
                    store.resume()
                    time.sleep(PAUSE)
                for kind, some in waits.items():
                    found[which][0][kind].extend(some)
                    tails[which, kind] = at(some, 0.999)
                found[which][1].extend(missed)
                found[which][2].append(left_out)
            for kind in KINDS:
                ratios[kind].append(tails["stopped", kind] / tails["before", kind])
        print(f"{rounds} rounds of {SECONDS} s each; one worker; at most a request a millisecond, "
              f"beside {1 / MISS_STEP:.0f} misses a second:\n")
        print("| request | requests | median, ms | 99th | 99.9th | store stopped: requests | median, ms | 99th | 99.9th | "
              "99.9th, of before: median of the rounds |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
        for kind in KINDS:
            cells = []
            for waits, _, _ in found.values():
                cells += [str(len(waits[kind])), *(f"{at(waits[kind], part):.3f}" for part in (0.5, 0.99, 0.999))]
            print(f"| {kind} | {' | '.join(cells)} | {statistics.median(ratios[kind]):.2f} |")
        print()
        for which, (_, missed, left_out) in found.items():
            waits = [wait for wait, _ in missed]
            statuses = collections.Counter(status for _, status in missed)
            print(f"misses, {which}: {len(waits)}, answered {dict(statuses)}, median {at(waits, 0.5):.2f} ms, "
                  f"99th {at(waits, 0.99):.2f}, 99.9th {at(waits, 0.999):.2f}, {sum(left_out)} not sent")
    finally:
        store.resume()
        for server in servers:
            server.stop()
            server.remove()
        store.end()


if __name__ == "__main__":
    main()
