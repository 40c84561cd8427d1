"""Machines that share a limit through a real server, while their agents and the server are killed and stopped.

    python machines.py many FOLDER SECONDS    four machines of one limit, each an agent and a program; the server is killed
    python machines.py run FOLDER SECONDS     two machines, each an agent and three programs, killed and stopped at random
    python machines.py server FOLDER COMMAND...    the command, with RATECELL_STORE as the address of a server

RATECELL_BIN is the folder of the built programs; FOLDER is where the files, the logs and the server's socket are. With
MACHINES_NGINX=yes two of the four are nginx, whose module RATECELL_NGINX_MODULE is.
"""

import collections
import contextlib
import os
import pathlib
import random
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).parents[1]
RATE, CAPACITY = 100, 200
POLICY = f"{RATE}/s burst={CAPACITY}"
# The decision instant of an admission is less than this earlier than the admission: an answer that is late is dropped.
LAG = 1.0
# What was granted before the store forgot ends by so much later.
BURST_TIME = CAPACITY / RATE
PATIENCE = 30

NGINX = """
ratecell_zone $arg_key zone=api:1m policy="RATE/s burst=BURST" file=FILE store=NAME wait=50ms;
server {
    listen 127.0.0.1:$PORT;
    ratecell_status 429;
    location / { empty_gif; ratecell zone=api; }
}
"""


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def end(process):
    """Ends a process, whether it wants to or not, and returns its status."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
    try:
        return process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class Server:
    """A real server that keeps nothing on disk."""

    def __init__(self, folder):
        self.folder, self.port, self.process = folder, free_port(), None

    def start(self):
        program = os.environ.get("RATECELL_REDIS_SERVER", "redis-server")
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=5) as it:
                it.sendall(b"PING\r\n")
                if it.recv(5) == b"+PONG":
                    return
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"redis-server: expected it to answer on port {self.port}")
            time.sleep(0.05)

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process:
            end(self.process)


class Machine:
    """A file, its agent, and the programs that open it."""

    def __init__(self, folder, number, server):
        self.name, self.file, self.folder, self.server = f"machine{number}", folder / f"leases{number}", folder, server
        self.agent, self.programs, self.logs = None, [], []

    def start_agent(self):
        command = [os.environ["RATECELL_BIN"] + "/ratecell", "sync", self.file, self.server.url, "--name", "api"]
        self.agent = subprocess.Popen(
            [*command, "--policy", POLICY, "--max-keys", "10000"], stdout=subprocess.PIPE, text=True
        )
        line = self.agent.stdout.readline()
        if not line.startswith("ready: "):
            sys.exit(f"{self.name}: expected its agent to be ready, found {line!r}")

    def run(self, seconds):
        log = self.folder / f"{self.name}-{len(self.logs)}.log"
        self.logs.append(log)
        command = [os.environ["RATECELL_BIN"] + "/examples/machine", self.file, str(seconds), log]
        self.programs.append(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))

    def counters(self):
        """Operations, lag in nanoseconds, words healed."""
        command = [os.environ["RATECELL_BIN"] + "/examples/machine", self.file]
        return [int(word) for word in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]

    def stop(self):
        for process in [*self.programs, *([self.agent] if self.agent else [])]:
            end(process)

    def results(self):
        """How many requests, and the waits, of the programs that were not killed."""
        asked, waits = 0, []
        for program in self.programs:
            for line in program.communicate(timeout=PATIENCE)[0].splitlines():
                what, figure = line.split()
                if what == "asked":
                    asked += int(figure)
                else:
                    waits.append(int(figure))
        return asked, waits

    def admitted(self):
        """Pairs of an instant in seconds, and a key. The line that a killed program has not ended is left out."""
        for log in self.logs:
            for line in log.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    now, key = line.split()[:2]
                    yield int(now) / 1e9, key


def worst(times):
    """The greatest number of admissions of any interval, less what the rate gives in it: at most the capacity, for one
    limiter without a lag."""
    most, least_before = 0, float("inf")
    for number, instant in enumerate(sorted(times)):
        least_before = min(least_before, number - RATE * instant)
        most = max(most, number + 1 - RATE * instant - least_before)
    return most


def check(machines, began, ended, forgot=None):
    """Counts each key against the bound. Returns the hot key's units and the bound, or ends with an error."""
    keys = collections.defaultdict(list)
    for machine in machines:
        for instant, key in machine.admitted():
            keys[key].append(instant)
    seconds = ended - began
    once = CAPACITY if forgot else 0
    bound = CAPACITY + RATE * (seconds + LAG) + once
    wrong = []
    excess = 0
    for key, times in keys.items():
        if len(times) > bound:
            wrong.append(f"{key}: {len(times)} units, more than {bound:.0f}")
        # In an interval that does not contain the loss, nothing is allowed for it.
        parts = [times]
        if forgot:
            parts = [[at for at in times if at < forgot[0]], [at for at in times if at > forgot[1] + BURST_TIME + LAG]]
        for part in parts:
            excess = max(excess, worst(part))
            if worst(part) > CAPACITY + RATE * LAG:
                wrong.append(f"{key}: {worst(part):.0f} units beyond the rate in some interval, more than {CAPACITY + RATE * LAG:.0f}")
        if worst(times) > CAPACITY + RATE * LAG + once:
            wrong.append(f"{key}: {worst(times):.0f} units beyond the rate in some interval, with the loss")
    print(
        f"in any interval{' without the loss' if forgot else ''}, of any of {len(keys)} keys: at most {excess:.0f} units beyond"
        f" the rate, of which the burst is {CAPACITY}: a lag of {max(0, excess - CAPACITY) / RATE * 1000:.0f} ms"
    )
    if len(keys) < 2 or "hot" not in keys:
        wrong.append(f"keys {sorted(keys)}: expected the hot one and cold ones")
    for line in wrong[:8]:
        print(f"beyond the bound: {line}", file=sys.stderr)
    if wrong:
        sys.exit(1)
    return keys, bound


def at(instant):
    time.sleep(max(0, instant - time.monotonic()))


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
                    lines.write(f"{time.monotonic_ns()} hot\n")
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
        machines = [Machine(folder, number, server) for number in range(4)]
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
        machines[0].agent.kill()
        machines[0].agent.wait()
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
        keys, bound = check(machines, began, ended, forgot=(lost, found))
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


def run(folder, seconds):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    with contextlib.ExitStack() as running:
        server = Server(folder)
        running.callback(server.stop)
        server.start()
        machines = [Machine(folder, number, server) for number in range(2)]
        began = time.monotonic()
        until = began + seconds
        for machine in machines:
            running.callback(machine.stop)
            machine.start_agent()
            for _ in range(3):
                machine.run(seconds)
        counts = collections.Counter()
        while time.monotonic() < until - 1.5:
            time.sleep(chance.uniform(0.1, 0.5))
            machine = chance.choice(machines)
            # The machine's last three programs are those that may run.
            victim = chance.choice([machine.agent, *machine.programs[-3:]])
            if victim.poll() is not None:
                continue
            if chance.random() < 0.5:
                victim.send_signal(signal.SIGSTOP)
                time.sleep(chance.uniform(0.05, 0.5))
                victim.send_signal(signal.SIGCONT)
                counts["stopped"] += 1
                continue
            victim.kill()
            victim.wait()
            counts["killed"] += 1
            if victim is machine.agent:
                machine.start_agent()
            else:
                machine.programs.remove(victim)
                victim.stdout.close()
                machine.run(max(0.1, until - time.monotonic()))
        for machine in machines:
            machine.results()
        ended = time.monotonic()
        last = ended - 1.5
        keys, bound = check(machines, began, ended)
        print(f"bound = {CAPACITY} (capacity) + {RATE}/s * ({ended - began:.1f} s + {LAG} s of lag) = {bound:.0f}")
        print(
            f"{counts['killed']} killed, {counts['stopped']} stopped; {len(keys['hot'])} units of the hot key admitted, at most"
            f" {bound:.0f}; {sum(map(len, keys.values()))} of {len(keys)} keys"
        )
        if not counts["killed"] or not counts["stopped"] or not any(instant > last for instant in keys["hot"]):
            sys.exit("expected some killed, some stopped, and admissions in the last 1.5 s")


def main():
    mode, folder, rest = sys.argv[1], pathlib.Path(sys.argv[2]).absolute(), sys.argv[3:]
    if mode == "server":
        server = Server(folder)
        server.start()
        try:
            sys.exit(subprocess.run(rest, env=os.environ | {"RATECELL_STORE": server.url}, check=False).returncode)
        finally:
            server.stop()
    {"many": many, "run": run}[mode](folder, float(rest[0]))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    main()
