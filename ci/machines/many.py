"""Four machines of one limit, two of them nginx if it is there, while an agent is killed, another is stopped, and the
server is killed and comes back empty."""

import contextlib
import os
import pathlib
import signal
import statistics
import sys
import threading
import time

from bound import check
from world import CAPACITY, LAG, POLICY, RATE, Machine, Server, at, end

ROOT = pathlib.Path(__file__).parents[2]

NGINX = """
ratecell_zone $arg_key zone=api:1m policy="RATE/s burst=BURST" file=FILE store=NAME wait=50ms;
server {
    listen 127.0.0.1:$PORT;
    ratecell_status 429;
    location / { empty_gif; ratecell zone=api; }
}
"""


def nginx(running, machine, seconds, results):
    """A machine whose program is nginx, and a client that asks it for the hot key."""
    sys.path.insert(0, str(ROOT / "bindings/nginx/tests"))
    from harness import Connection, Nginx  # noqa: PLC0415, the module is there only with nginx

    text = NGINX.replace("RATE", str(RATE)).replace("BURST", str(CAPACITY)).replace("FILE", str(machine.file))
    it = Nginx(text.replace("NAME", "api"), workers=2)
    running.callback(it.remove)
    running.callback(it.stop)
    it.start()
    log = machine.folder / f"{machine.name}.log"
    machine.logs.append(log)
    log.touch()

    def ask():
        until, asked = time.monotonic() + seconds, 0
        with Connection(it.port) as client, log.open("a") as lines:
            while time.monotonic() < until:
                asked += 1
                if client.get("/?key=hot").status == 200:
                    lines.write(f"{time.monotonic_ns()} hot 0 0 0\n")
                time.sleep(0.001)
        results.append(asked)

    thread = threading.Thread(target=ask)
    thread.start()
    running.callback(thread.join)
    return thread


def many(folder, seconds):
    with contextlib.ExitStack() as running:
        server = Server(folder)
        running.callback(server.stop)
        server.start()
        machines = [Machine(folder, number, server.url) for number in range(4)]
        for machine in machines:
            running.callback(machine.stop)
            machine.start_agent()
        began = time.monotonic()
        behind, asked = [], []
        with_nginx = machines[2:] if os.environ.get("MACHINES_NGINX") == "yes" else []
        for machine in machines:
            if machine in with_nginx:
                behind.append(nginx(running, machine, seconds, asked))
            else:
                machine.run(seconds)
        print(f"{len(machines)} machines, {len(with_nginx)} of them nginx, \"{POLICY}\", {seconds} s")
        at(began + 0.2 * seconds)
        machines[0].kill_agent()
        at(began + 0.2 * seconds + 1)
        machines[0].start_agent()
        print("an agent was killed, and started a second later")
        at(began + 0.4 * seconds)
        machines[1].agent.send_signal(signal.SIGSTOP)
        at(began + 0.4 * seconds + 2)
        machines[1].agent.send_signal(signal.SIGCONT)
        print("an agent was stopped for 2 s")
        at(began + 0.65 * seconds)
        lag = max(machine.counters()[1] for machine in machines)
        lost = time.monotonic()
        server.kill()
        at(lost + 0.5)
        server.start()
        found = time.monotonic()
        print("the server was killed, and started empty half a second later")
        waits = []
        for machine in machines:
            more, theirs = machine.results()
            asked.append(more)
            waits += theirs
        for thread in behind:
            thread.join()
        ended = time.monotonic()
        # Agents count what they did a moment later.
        time.sleep(0.1)
        operations, _, healed = (sum(column) for column in zip(*(machine.counters() for machine in machines)))
        for machine in machines:
            status = end(machine.agent)
            if status != 0:
                sys.exit(f"{machine.name}: its agent ended with {status}, expected 0")
        keys, bound = check(machines, began, ended, [(lost, found)])
        after = sum(instant > found for instant in keys["hot"])
        print(f"{after} units of the hot key after the restart; {healed} words healed; lag {lag / 1e6:.1f} ms before the loss")
        print(
            f"bound = {CAPACITY} (capacity) + {RATE}/s * ({ended - began:.1f} s + {LAG} s of lag) + {CAPACITY} (one burst: the"
            f" store forgot once) = {bound:.0f}"
        )
        print(
            f"{len(keys['hot'])} units of the hot key admitted, at most {bound:.0f}; {operations / sum(asked):.3f} operations a"
            f" request ({operations} of {sum(asked)}); median wait of a miss {statistics.median(waits) / 1e6:.2f} ms"
        )
        if after == 0:
            sys.exit("nothing was admitted after the server's restart")
