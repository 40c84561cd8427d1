"""What happens to machines: each function is a mode of this program."""

import collections
import contextlib
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import time

from bound import Store, asked_at, check, replay
from proxy import Proxy
from world import CAPACITY, LAG, PATIENCE, RATE, Machine, Server


def chosen_seed():
    """RATECELL_SEED, or another each time."""
    seed = int(os.environ.get("RATECELL_SEED") or random.randrange(1 << 32))
    print(f"seed {seed}")
    return seed


@contextlib.contextmanager
def behind_a_proxy(folder, seed, number, environments=None):
    """A server, a proxy before it, and machines with their agents, each in an environment of its own."""
    with contextlib.ExitStack() as running:
        server = Server(folder)
        running.callback(server.stop)
        server.start()
        proxy = Proxy(server.port, seed, number)
        running.callback(proxy.close)
        machines = [Machine(folder, number, door.url) for number, door in enumerate(proxy.doors)]
        for machine in machines:
            machine.environment = environments[machine.number] if environments else {}
            running.callback(machine.stop)
            machine.start_agent()
        yield server, proxy, machines


def expect_no_refusal(counts):
    wrong = {key: count for key, count in counts.items() if count}
    if wrong:
        sys.exit(f"the replay refuses admissions of these keys: {wrong}, expected 0")


def results(machines):
    asked, waits = 0, []
    for machine in machines:
        more, theirs = machine.results()
        asked += more
        waits += theirs
    return asked, waits


def counted(machines):
    """Operations and healed words of all."""
    # Agents count what they did a moment later.
    time.sleep(0.1)
    counters = [machine.counters() for machine in machines]
    return sum(operations for operations, _, _ in counters), sum(healed for _, _, healed in counters)


def expect_admissions(machines, since):
    """Each program, of those that run until they are killed, admits something after that instant. Then they are killed."""
    deadline = time.monotonic() + PATIENCE
    programs = [(machine, number) for machine in machines for number in range(len(machine.programs))]
    while not all(any(instant > since for instant, _ in machine.admitted(number)) for machine, number in programs):
        if time.monotonic() > deadline:
            sys.exit(f"expected each program to have admissions again within {PATIENCE} s")
        time.sleep(0.2)
    for machine in machines:
        if any(program.poll() is not None for program in machine.programs):
            sys.exit(f"{machine.name}: a program has ended by itself, expected it to run on")
        machine.kill_programs()


def run(folder, seconds):
    """Two machines, each an agent and three programs, killed and stopped at random."""
    seed = chosen_seed()
    chance = random.Random(seed)
    with behind_a_proxy(folder, seed, 2) as (server, proxy, machines):
        store = Store(server)
        began = time.monotonic()
        until = began + seconds
        for machine in machines:
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
            counts["killed"] += 1
            if victim is machine.agent:
                machine.kill_agent()
                machine.start_agent()
            else:
                victim.kill()
                victim.wait()
                machine.programs.remove(victim)
                victim.stdout.close()
                machine.run(max(0.1, until - time.monotonic()))
        results(machines)
        ended = time.monotonic()
        keys, bound = check(machines, began, ended)
        expect_no_refusal(replay(machines, proxy.doors, store)[0])
        print(f"bound = {CAPACITY} (capacity) + {RATE}/s * ({ended - began:.1f} s + {LAG} s of lag) = {bound:.0f}")
        print(
            f"{counts['killed']} killed, {counts['stopped']} stopped; {len(keys['hot'])} units of the hot key admitted, at most"
            f" {bound:.0f}; {sum(map(len, keys.values()))} of {len(keys)} keys"
        )
        if not counts["killed"] or not counts["stopped"] or not any(instant > ended - 1.5 for instant in keys["hot"]):
            sys.exit("expected some killed, some stopped, and admissions in the last 1.5 s")


def faults(folder, seconds):
    """Two machines whose network delays, doubles and loses, and cuts connections."""
    seed = chosen_seed()
    with behind_a_proxy(folder, seed, 2) as (server, proxy, machines):
        store = Store(server)
        began = time.monotonic()
        for machine in machines:
            machine.run(seconds)
            machine.run(seconds)
        proxy.is_faulty = True
        asked, waits = results(machines)
        ended = time.monotonic()
        operations, healed = counted(machines)
        keys, _ = check(machines, began, ended)
        expect_no_refusal(replay(machines, proxy.doors, store)[0])
        print(", ".join(f"{count} x {fault}" for fault, count in sorted(proxy.faults.items())))
        print(
            f"{len(keys['hot'])} units of the hot key, of at most {CAPACITY + RATE * (ended - began):.0f};"
            f" {operations / asked:.3f} operations a request ({operations} of {asked}); {healed} words healed"
        )
        print(
            f"waits of {len(waits)} misses: median {statistics.median(waits) / 1e6:.1f} ms, greatest {max(waits) / 1e6:.1f} ms"
            " (50 ms, and what scheduling adds)"
        )
        if len(proxy.faults) < 7 or len(keys["hot"]) <= CAPACITY:
            sys.exit(f"{sorted(proxy.faults)}: expected every kind of fault, and more than {CAPACITY} units of the hot key")


def forget(folder, seconds):
    """Three machines whose server is killed under load, and comes back empty."""
    seed = chosen_seed()
    chance = random.Random(seed)
    with behind_a_proxy(folder, seed, 3) as (server, proxy, machines):
        store = Store(server)
        began = time.monotonic()
        for machine in machines:
            machine.run(3600)
        losses = []
        while time.monotonic() < began + seconds - 4:
            time.sleep(chance.uniform(3, 5))
            lost = time.monotonic()
            server.kill()
            server.start()
            losses.append((lost, time.monotonic()))
        expect_admissions(machines, losses[-1][1])
        ended = time.monotonic()
        healed = counted(machines)[1]
        keys, _ = check(machines, began, ended, losses)
        counts, _ = replay(machines, proxy.doors, store)
        worst = max(counts.values())
        print(
            f"{len(losses)} times the server was killed and came back empty: the replay refuses at most {worst} of a key, bound"
            f" {CAPACITY} a loss ({100 * worst / CAPACITY / len(losses):.1f} % of it); {healed} words healed;"
            f" {len(keys['hot'])} units of the hot key"
        )
        if not losses or not healed or worst > CAPACITY * len(losses):
            sys.exit(f"expected some losses, at most {CAPACITY} refused of a key at each, and words that were healed")


def kills(folder, deaths):
    """Two machines; agents of the first are killed at random instants while its programs use the file."""
    seed, deaths = chosen_seed(), int(deaths)
    chance = random.Random(seed)
    with behind_a_proxy(folder, seed, 2) as (server, proxy, machines):
        store = Store(server)
        victim = machines[0]
        began = time.monotonic()
        for machine in machines:
            machine.run(3600)
            machine.run(3600)
        # Many die between the store and the table.
        proxy.way = 0.02
        for _ in range(deaths):
            time.sleep(chance.uniform(0, 0.1))
            victim.kill_agent()
            victim.start_agent()
        last = time.monotonic()
        # The file is as it was left, and each program goes on with it.
        expect_admissions(machines, last)
        ended = time.monotonic()
        check(machines, began, ended)
        counts, leases = replay(machines, proxy.doors, store)
        expect_no_refusal(counts)
        hot = [take for take in proxy.doors[0].takes if take.units and take.h == store.h("hot")]
        lost = sum(id(take) not in leases[0].used for take in hot)
        print(
            f"{deaths} agents were killed in {last - began:.1f} s; of {len(hot)} leases of the hot key {lost} were never used,"
            f" {lost / deaths:.2f} a death"
        )
        if lost > deaths:
            sys.exit(f"{lost} leases of one key were lost by {deaths} deaths, expected at most one each")


def slewed(ppm):
    """CLOCK_MONOTONIC as slew.c shows it."""
    turn = 10_000_000_000

    def clock():
        ns = time.monotonic_ns()
        at = ns % (2 * turn)
        return ns + min(at, 2 * turn - at) * ppm // 1_000_000

    return clock


def clock(folder, seconds):
    """Two machines whose clocks are slewed, and whose agents are stopped: what they take for the store's time."""
    seed = chosen_seed()
    chance = random.Random(seed)
    slew = folder / "slew.so"
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", slew, pathlib.Path(__file__).parent / "slew.c"], check=True)
    # Less than the 0.2 % for which an agent allows.
    ppm = int(os.environ.get("SLEW_PPM") or 1500)
    rates = [ppm, -ppm]
    environments = [{"LD_PRELOAD": str(slew), "SLEW_PPM": str(rate)} for rate in rates]
    with behind_a_proxy(folder, seed, 2, environments) as (server, proxy, machines):
        for door, rate in zip(proxy.doors, rates, strict=True):
            door.clock = slewed(rate)
        store = Store(server)
        began = time.monotonic()
        for machine in machines:
            machine.run(seconds)
        stops = 0
        while time.monotonic() < began + seconds - 4:
            time.sleep(chance.uniform(0.1, 0.5))
            agent = chance.choice(machines).agent
            agent.send_signal(signal.SIGSTOP)
            time.sleep(3 * chance.random() ** 3)
            agent.send_signal(signal.SIGCONT)
            stops += 1
        results(machines)
        check(machines, began, time.monotonic())
        expect_no_refusal(replay(machines, proxy.doors, store)[0])
        # The proxy reads the server's clock later than the agent decided.
        behind = [take.wall - store.epoch_ns - asked_at(take) for door in proxy.doors for take in door.takes]
        least, median, most = (figure / 1e6 for figure in (min(behind), statistics.median(behind), max(behind)))
        print(
            f"{stops} stops of agents, clocks slewed by {ppm} ppm; at {len(behind)} takes the agent's time was behind the"
            f" store's by {least:.3f} ms at least, {median:.3f} ms in the median, {most:.1f} ms at most"
        )
        if not stops or min(behind) < 0:
            sys.exit("expected some stops, and no agent's time ahead of the store's")
