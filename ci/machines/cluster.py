"""Machines whose masters fail under load: those of a cluster, of which slots move, too, or one behind an address."""

import contextlib
import sys
import time

from bound import Store, check, replay
from scenes import behind_a_proxy, chosen_seed, expect_admissions
from world import CAPACITY, NAME, PATIENCE, Machine, Server

SLOTS = 16_384
OPTIONS = [
    *("--cluster-enabled", "yes", "--cluster-node-timeout", "2000", "--cluster-require-full-coverage", "no"),
    *("--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0"),
]


def wait_for(what, is_so):
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            sys.exit(f"expected {what} within {PATIENCE} s")
        time.sleep(0.05)


class Node(Server):
    """A server of a cluster."""

    def __init__(self, folder, number):
        place = folder / f"node{number}"
        place.mkdir()
        super().__init__(place, *OPTIONS)

    def tell(self, *words):
        answer = self.ask(*words)
        if isinstance(answer, Exception):
            sys.exit(f"{words}: {answer}")
        return answer

    @property
    def id(self):
        return self.tell("CLUSTER", "MYID")

    def is_master(self):
        return self.tell("ROLE")[0] == b"master"

    def is_well(self):
        """It knows of all four, and who holds each slot."""
        info = self.tell("CLUSTER", "INFO")
        return all(word in info for word in (b"cluster_state:ok", b"cluster_slots_ok:16384", b"cluster_known_nodes:4"))


class Cluster:
    """Three masters, and a replica of the first."""

    def __init__(self, running, folder):
        self.nodes = [Node(folder, number) for number in range(4)]
        self.masters, self.replica = self.nodes[:3], self.nodes[3]
        for node in self.nodes:
            running.callback(node.stop)
            node.start()
        for number, node in enumerate(self.masters):
            node.tell("CLUSTER", "ADDSLOTS", *range(number * SLOTS // 3, (number + 1) * SLOTS // 3))
            node.tell("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
        for node in self.nodes:
            node.tell("CLUSTER", "MEET", "127.0.0.1", self.masters[0].port)
        wait_for("a cluster", lambda: all(node.is_well() for node in self.nodes))
        self.replica.tell("CLUSTER", "REPLICATE", self.masters[0].id)
        self.expect_replica(self.replica)

    def expect_replica(self, node):
        wait_for("a replica in step with its master", lambda: node.tell("ROLE")[3:4] == [b"connected"])

    def fail_over(self):
        """The replica becomes a master; on a busy computer not at once, or before it is asked to."""
        asked = 0

        def is_master():
            nonlocal asked
            # The servers give up after five seconds.
            if time.monotonic() > asked + 6:
                asked = time.monotonic()
                self.replica.ask("CLUSTER", "FAILOVER")
            return self.replica.is_master()

        wait_for("the replica to be a master", is_master)

    @property
    def url(self):
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.masters)

    def owner(self, slot):
        for first, last, master, *_ in self.masters[0].tell("CLUSTER", "SLOTS"):
            if first <= slot <= last:
                return next(node for node in self.nodes if node.port == master[1])
        sys.exit(f"slot {slot}: expected a master that holds it")

    def move(self, slot, target):
        """As `redis-cli --cluster reshard` does: announced on both sides, its keys one by one, then told to all."""
        source = self.owner(slot)
        target.tell("CLUSTER", "SETSLOT", slot, "IMPORTING", source.id)
        source.tell("CLUSTER", "SETSLOT", slot, "MIGRATING", target.id)
        while keys := source.tell("CLUSTER", "GETKEYSINSLOT", slot, 10):
            for key in keys:
                source.tell("MIGRATE", "127.0.0.1", target.port, key, 0, 5000)
        for node in [target, source, *self.masters]:
            node.tell("CLUSTER", "SETSLOT", slot, "NODE", target.id)


def cluster(folder, rounds):
    """Two machines, each an agent and two programs; `rounds` times a slot moves and masters fail."""
    with contextlib.ExitStack() as running:
        it = Cluster(running, folder)
        first, second, _ = it.masters
        machines = [Machine(folder, number, it.url) for number in range(2)]
        for machine in machines:
            running.callback(machine.stop)
            machine.start_agent()
        record = first.tell("CLUSTER", "KEYSLOT", NAME + "#")
        hot = first.tell("CLUSTER", "KEYSLOT", NAME.encode() + Store(it.owner(record)).h("hot"))
        began = time.monotonic()
        for machine in machines:
            machine.run(3600)
            machine.run(3600)
        losses = []

        def expect_decisions(what, began):
            """Each machine decides on: it admits the hot key and others."""
            told = time.monotonic()

            def decides(machine):
                keys = {key == "hot" for instant, key in machine.admitted() if instant > told}
                return len(keys) == 2

            wait_for(f"both machines to decide after {what}", lambda: all(decides(machine) for machine in machines))
            gaps = []
            for machine in machines:
                unanswered = [line.noted / 1e9 for line in machine.lines() if line.reset is None]
                gaps.append(max((instant - began for instant in unanswered if instant > began), default=0))
            print(f"{what}: the last requests without an answer came {gaps[0]:.2f} s and {gaps[1]:.2f} s after it began")

        for number in range(int(rounds)):
            expect_decisions("the start", time.monotonic())
            # In the end the hot key is at the master that has a replica, and the record by turns.
            for slot, home in ((record, it.masters[number % 2]), (hot, first)):
                for target in (first if home is second else second, home):
                    if it.owner(slot) is not target:
                        moved = time.monotonic()
                        it.move(slot, target)
                        expect_decisions("a slot that moved", moved)
            failed = time.monotonic()
            it.fail_over()
            it.expect_replica(first)
            expect_decisions("a master that stepped back", failed)
            time.sleep(0.5)
            lost = time.monotonic()
            it.replica.kill()
            wait_for("the first to be a master again", first.is_master)
            losses.append((lost, time.monotonic()))
            print(f"a master was killed, and its replica promoted {losses[-1][1] - lost:.2f} s later")
            expect_decisions("a master that was killed", lost)
            it.replica.start()
            it.expect_replica(it.replica)
        expect_admissions(machines, losses[-1][1])
        keys, bound = check(machines, began, time.monotonic(), losses)
        healed = sum(machine.counters()[2] for machine in machines)
        print(
            f"{len(keys['hot'])} units of the hot key, at most {bound:.0f}, of which {CAPACITY} for each of {len(losses)} masters"
            f" that was killed; {healed} words healed"
        )


def failover(folder, rounds):
    """Two machines, whose server becomes a replica; another takes over its address, but not the connections to it."""
    with behind_a_proxy(folder, chosen_seed(), 2) as (old, proxy, machines), contextlib.ExitStack() as running:
        store = Store(old)
        (folder / "other").mkdir()
        new = Server(folder / "other")
        running.callback(new.stop)
        new.start()
        for server in (old, new):
            server.ask("CONFIG", "SET", "repl-diskless-sync-delay", 0)
        began = time.monotonic()
        for machine in machines:
            machine.run(3600)
        losses = []
        for _ in range(int(rounds)):
            new.ask("REPLICAOF", "127.0.0.1", old.port)
            wait_for("a replica in step with its master", lambda: new.ask("ROLE")[3:4] == [b"connected"])
            time.sleep(2)
            lost = time.monotonic()
            new.ask("REPLICAOF", "NO", "ONE")
            old.ask("REPLICAOF", "127.0.0.1", new.port)
            proxy.port = new.port
            found = time.monotonic()
            losses.append((lost, found))

            def has_leases(door):
                return any(take.forwarded and take.forwarded > found * 1e9 for take in list(door.takes))

            wait_for("both machines to follow the address", lambda: all(map(has_leases, proxy.doors)))
            print(f"both machines have leases of the new master {time.monotonic() - found:.2f} s after it took over")
            old, new = new, old
        expect_admissions(machines, losses[-1][1])
        check(machines, began, time.monotonic(), losses)
        worst = max(replay(machines, proxy.doors, store)[0].values())
        print(f"{len(losses)} masters became replicas: the replay refuses at most {worst} of a key, bound {CAPACITY} each")
        if worst > CAPACITY * len(losses):
            sys.exit(f"expected at most {CAPACITY} refused of a key for each")
