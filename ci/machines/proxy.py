"""A proxy between machines and their server, which knows each lease, and can do what networks do."""

import collections
import contextlib
import dataclasses
import random
import socket
import threading
import time

import resp
from world import NAME

# What can become of a command, and of an answer, each with this chance; most often nothing.
REQUEST_FAULTS = {"a request delayed": 0.02, "a request doubled": 0.02, "requests lost": 0.005, "cut in a request": 0.004}
ANSWER_FAULTS = {"an answer delayed": 0.02, "answers lost": 0.005, "cut in an answer": 0.004}
# Seconds; longer than any agent waits.
LONGEST_DELAY = 0.7


@dataclasses.dataclass
class Take:
    """Units that a machine asked the server for. Words count ticks of the store's axis, of which a unit takes `unit`."""

    h: bytes
    ceiling: int
    unit: int
    # When the command came, by the wall clock, which is the server's; in nanoseconds.
    wall: int
    units: int = 0
    end: int = 0
    # When the answer was sent on to a machine that was there, by the machine's CLOCK_MONOTONIC.
    forwarded: int | None = None


def take_of(words):
    """The take of a command, if it is one."""
    key = words[3] if len(words) == 6 and words[0] in (b"EVALSHA", b"EVAL") else b""
    if len(key) != len(NAME) + 8:
        return None
    packed = words[4]
    if len(packed) != 50:
        raise ValueError(f"a take of {len(packed)} bytes: expected one layer")
    ceiling, unit = (int.from_bytes(packed[at : at + 8], "big") for at in (33, 41))
    return Take(key[len(NAME) :], ceiling, unit, time.time_ns())


def is_swap(words):
    key = words[3] if len(words) > 3 and words[0] in (b"EVALSHA", b"EVAL") else words[1] if words[0] == b"SET" else b""
    return len(key) == len(NAME) + 8 and (words[0] == b"SET" or len(words) == 7)


class Connection:
    """Of a machine. Each direction has a thread, in which values keep their order."""

    def __init__(self, door, machine, number):
        self.door, self.machine = door, machine
        self.chance = random.Random(f"{door.proxy.seed} {door.machine} {number}")
        self.server = socket.create_connection(("127.0.0.1", door.proxy.port), timeout=5)
        # For each answer that is to come: the take that it answers, and whether the machine asked for it.
        self.expected = collections.deque()
        for ours in (machine, self.server):
            ours.settimeout(None)
            ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for direction in (self.requests, self.answers):
            threading.Thread(target=self.until_closed, args=(direction,), daemon=True).start()

    def until_closed(self, direction):
        with contextlib.suppress(OSError, EOFError):
            direction()
        # A machine that has gone still has requests on their way.
        if direction == self.requests:
            with contextlib.suppress(OSError):
                self.server.shutdown(socket.SHUT_WR)
        else:
            self.cut()

    def cut(self):
        for ours in (self.machine, self.server):
            with contextlib.suppress(OSError):
                ours.shutdown(socket.SHUT_RDWR)

    def fault(self, faults):
        if not self.door.proxy.is_faulty:
            return None
        roll = self.chance.random()
        for fault, share in faults.items():
            if roll < share:
                self.door.proxy.faults[fault] += 1
                return fault
            roll -= share
        return None

    def delay(self):
        # Most are short, as an agent's patience is.
        time.sleep(LONGEST_DELAY * self.chance.random() ** 2)

    def requests(self):
        stream = self.machine.makefile("rb")
        while True:
            raw, words = resp.read(stream)
            # With it each batch begins.
            if words == [b"TIME"]:
                self.door.arrivals.append(self.door.clock())
            self.door.swaps += is_swap(words)
            take = take_of(words)
            if take:
                self.door.takes.append(take)
            fault = self.fault(REQUEST_FAULTS)
            if fault == "a request delayed":
                self.delay()
            elif fault == "requests lost":
                while stream.read(1):
                    pass
                return
            elif fault == "cut in a request":
                self.server.sendall(raw[: self.chance.randrange(len(raw))])
                self.cut()
                return
            kept = [True]
            if fault == "a request doubled":
                # Either may be the answer that the machine sees.
                kept = self.chance.choice(([True, False], [False, True]))
            self.expected.extend((take, is_kept) for is_kept in kept)
            self.server.sendall(raw * len(kept))

    def answers(self):
        stream = self.server.makefile("rb")
        while True:
            raw, value = resp.read(stream)
            take, is_kept = self.expected.popleft()
            if not is_kept:
                continue
            fault = self.fault(ANSWER_FAULTS)
            if fault == "an answer delayed":
                self.delay()
            elif fault == "answers lost":
                while stream.read(1):
                    pass
                return
            elif fault == "cut in an answer":
                self.machine.sendall(raw[: self.chance.randrange(len(raw))])
                return
            if take:
                time.sleep(self.door.proxy.way * self.chance.random())
            if take and isinstance(value, list):
                take.units, take.end = value[0], int.from_bytes(value[1][1:9], "big")
            now = self.door.clock()
            self.machine.sendall(raw)
            if take and take.units:
                take.forwarded = now


class Door:
    """Where one machine comes in."""

    def __init__(self, proxy, machine):
        self.proxy, self.machine = proxy, machine
        self.takes, self.swaps = [], 0
        # When the batches came, by the machine's clock.
        self.arrivals, self.clock = [], time.monotonic_ns
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.listener.getsockname()[1]}"

    def accept(self):
        number = 0
        with contextlib.suppress(OSError):
            while True:
                machine, _ = self.listener.accept()
                number += 1
                try:
                    Connection(self, machine, number)
                except OSError:
                    # The server is not there.
                    machine.close()


class Proxy:
    """One of a server, with a door for each machine. Without faults until `is_faulty`; what a take answers is up to `way`
    seconds on its way."""

    def __init__(self, port, seed, machines):
        self.port, self.seed, self.way, self.is_faulty, self.faults = port, seed, 0, False, collections.Counter()
        self.doors = [Door(self, number) for number in range(machines)]

    def close(self):
        for door in self.doors:
            door.listener.close()
