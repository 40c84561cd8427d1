"""Whether what machines admitted is what one limiter would admit."""

import bisect
import collections
import itertools
import sys

from world import CAPACITY, LAG, NAME, RATE

BURST_NS = CAPACITY * 1_000_000_000 // RATE
UNIT_NS = 1_000_000_000 // RATE
# A lease's clock stands still for so long once it is there; and its deadline is a multiple of the other.
GRACE_NS, STEP_NS = 10_000_000, 1 << 14
# What the region's clock may be behind the system's, and more.
CLOCK_NS = 50_000


def worst(times):
    """The greatest number of admissions of any interval, less what the rate gives in it: at most the capacity, for one
    limiter without a lag."""
    most, least_before = 0, float("inf")
    for number, instant in enumerate(sorted(times)):
        least_before = min(least_before, number - RATE * instant)
        most = max(most, number + 1 - RATE * instant - least_before)
    return most


def check(machines, began, ended, losses=()):
    """Counts each key against the bound, by the time of each admission. A loss is when the store may have begun to forget,
    and when it had ended. Returns the instants of each key, and the bound, or ends with an error."""
    keys = collections.defaultdict(list)
    for machine in machines:
        for instant, key in machine.admitted():
            keys[key].append(instant)
    once = CAPACITY * len(losses)
    bound = CAPACITY + RATE * (ended - began + LAG) + once
    wrong, excess = [], 0
    for key, times in keys.items():
        if len(times) > bound:
            wrong.append(f"{key}: {len(times)} units, more than {bound:.0f}")
        # In an interval that does not contain a loss, nothing is allowed for it.
        edges = [(0, 0), *losses, (float("inf"), float("inf"))]
        for (_, after), (before, _) in itertools.pairwise(edges):
            begins = after and after + CAPACITY / RATE + LAG
            beyond = worst([instant for instant in times if begins < instant < before])
            excess = max(excess, beyond)
            if beyond > CAPACITY + RATE * LAG:
                most = CAPACITY + RATE * LAG
                wrong.append(f"{key}: {beyond:.0f} units beyond the rate in some interval, more than {most:.0f}")
        if worst(times) > CAPACITY + RATE * LAG + once:
            wrong.append(f"{key}: {worst(times):.0f} units beyond the rate in some interval, with the loss")
    print(
        f"in any interval{' without a loss' if losses else ''}, of any of {len(keys)} keys: at most {excess:.0f} units beyond"
        f" the rate, of which the burst is {CAPACITY}: a lag of {max(0, excess - CAPACITY) / RATE * 1000:.0f} ms"
    )
    if len(keys) < 2 or "hot" not in keys:
        wrong.append(f"keys {sorted(keys)}: expected the hot one and cold ones")
    fail(wrong)
    return keys, bound


def fail(wrong):
    for line in wrong[:8]:
        print(f"beyond the bound: {line}", file=sys.stderr)
    if wrong:
        sys.exit(1)


def siphash(secret, text):
    """SipHash-1-3."""
    mask = (1 << 64) - 1
    constant = b"somepseudorandomlygeneratedbytes"
    v = [int.from_bytes(constant[8 * n : 8 * n + 8], "big") ^ secret[n % 2] for n in range(4)]

    def rotated(word, bits):
        return (word << bits | word >> (64 - bits)) & mask

    def mix(rounds):
        for _ in range(rounds):
            v[0], v[2] = (v[0] + v[1]) & mask, (v[2] + v[3]) & mask
            v[1], v[3] = rotated(v[1], 13) ^ v[0], rotated(v[3], 16) ^ v[2]
            v[0] = rotated(v[0], 32)
            v[2], v[0] = (v[2] + v[1]) & mask, (v[0] + v[3]) & mask
            v[1], v[3] = rotated(v[1], 17) ^ v[2], rotated(v[3], 21) ^ v[0]
            v[2] = rotated(v[2], 32)

    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 255])
    for at in range(0, len(padded), 8):
        word = int.from_bytes(padded[at : at + 8], "little")
        v[3] ^= word
        mix(1)
        v[0] ^= word
    v[2] ^= 255
    mix(3)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


class Store:
    """What the store's record says: the secret of its hashes, and when its axis begins, in nanoseconds since 1970."""

    def __init__(self, server):
        record = server.ask("GET", NAME + "#")
        numbers = [int.from_bytes(record[at : at + 8], "big") for at in range(16, 56, 8)]
        self.secret, self.epoch_ns = tuple(numbers[2:4]), numbers[4]

    def h(self, key):
        return siphash(self.secret, key.encode()).to_bytes(8, "big")


def ns(take, ticks):
    return ticks * UNIT_NS // take.unit


def asked_at(take):
    """The instant by which the agent asked, in nanoseconds on the store's axis."""
    return ns(take, take.ceiling - CAPACITY * take.unit)


class Leases:
    """Those of a machine, and the decision instants of what it admitted with them."""

    def __init__(self, machine, door, store):
        if door.swaps:
            sys.exit(f"{machine.name}: {door.swaps} swaps: expected takes alone of gcra")
        self.lines = [line for line in machine.lines() if line.reset is not None]
        # The region's clock less CLOCK_MONOTONIC: it is read after that.
        self.offset = min((line.after - line.noted for line in self.lines), default=0)
        self.arrivals = sorted(door.arrivals)
        self.granted = collections.defaultdict(list)
        self.used = set()
        self.store = store
        for take in sorted((take for take in door.takes if take.forwarded), key=lambda take: take.forwarded):
            self.granted[take.h].append(take)

    def fits(self, take, line):
        """Whether the line may be of that lease; and whether no earlier one can be there any more."""
        lasts = ns(take, take.end) - asked_at(take)
        # When the agent had the answer, by the lease's deadline: after it was sent, and before the agent's next command.
        first = line.before + line.reset - GRACE_NS - lasts
        last = line.after + line.reset - GRACE_NS - lasts + STEP_NS
        came = bisect.bisect_right(self.arrivals, take.forwarded)
        is_last = came < len(self.arrivals)
        until = self.arrivals[came] + self.offset if is_last else line.after
        sent = take.forwarded + self.offset
        could = first <= min(until, line.after) + CLOCK_NS and last >= sent - CLOCK_NS
        return could, could and is_last and until < line.before

    def instants(self):
        """For each line the leases that it may be of, and if it is one, the instant on the store's axis at which it was
        decided, in nanoseconds."""
        hashes = {}
        for line in self.lines:
            h = hashes.setdefault(line.key, self.store.h(line.key))
            granted = self.granted[h]
            found = []
            at = bisect.bisect_right(granted, line.after - self.offset, key=lambda take: take.forwarded)
            for take in reversed(granted[max(0, at - 200) : at]):
                could, is_last = self.fits(take, line)
                if could:
                    found.append(take)
                if is_last:
                    break
            self.used.update(map(id, found))
            if len(found) != 1:
                yield line, found, None
                continue
            # Its clock stands still at first.
            yield line, found, max(asked_at(found[0]), ns(found[0], found[0].end) - line.reset)


def is_overused(take, instants):
    """Whether these uses need more than the lease's own slots."""
    end = ns(take, take.end)
    used = end - take.units * UNIT_NS
    for instant in sorted(instants):
        used = max(used, instant) + UNIT_NS
    return used > end


def refused(instants):
    """How many of these one limiter refuses."""
    end = count = 0
    for instant in sorted(instants):
        after = max(end, instant) + UNIT_NS
        if after > instant + BURST_NS:
            count += 1
        else:
            end = after
    return count


def replay(machines, doors, store):
    """Replays all admissions in the order of their decision instants through one limiter of each key, and those of each
    lease through its slots. Returns how many the limiter refuses of each key, and the leases."""
    keys, leases = collections.defaultdict(list), []
    total = doubtful = used = 0
    wrong = []
    for machine, door in zip(machines, doors, strict=True):
        leases.append(Leases(machine, door, store))
        uses = collections.defaultdict(list)
        for line, found, instant in leases[-1].instants():
            total += 1
            if not found:
                wrong.append(f"{machine.name}: {line.key} was admitted at {line.noted} by no lease that the store granted")
            elif instant is None:
                doubtful += 1
            else:
                keys[line.key].append(instant)
                uses[id(found[0])].append(instant)
        takes = [take for take in door.takes if id(take) in uses]
        used += len(takes)
        for take in takes:
            count = len(uses[id(take)])
            if is_overused(take, uses[id(take)]):
                wrong.append(f"{machine.name}: {count} uses of a lease of {take.units}, or after its slots: {take}")
    fail(wrong)
    counts = {key: refused(instants) for key, instants in keys.items()}
    print(
        f"replayed by decision instants: {sum(counts.values())} of {total - doubtful} admissions of {len(keys)} keys refused;"
        f" none beyond the slots of its lease, of {used}; {doubtful} left out, of which two leases may be the one"
    )
    if doubtful * 2 > total or "hot" not in keys or len(keys) < 2:
        sys.exit(f"{doubtful} of {total} admissions, keys {sorted(keys)}: expected most, of the hot key and cold ones")
    return counts, leases
