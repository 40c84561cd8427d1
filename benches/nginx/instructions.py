"""Runs one nginx under callgrind, sends each case's requests to both limiters, and prints the table: benches/nginx.sh.

Both are sent the same keys, and must answer the same.
"""

import collections
import glob
import json
import os
import random
import re
import sys

from harness import Nginx, server_block, wait_for

HANDLERS = {"ratecell": "ngx_http_ratecell_handler", "limit_req": "ngx_http_limit_req_handler"}
# What reads the system's clock: beside the processor's counter now and then, or alone where that is not used.
CLOCK = ("ratecell::clock::counter::anchored", "ratecell::clock::linux::monotonic")
# On its entry callgrind writes what it has counted since the last time.
BOUNDARY = "ngx_http_ratecell_stats_handler"

KNOWN = 100_000
# Half more than one megabyte has room for, so that hardly a place is empty.
FILLING = 80_000
COUNTED = 10_000
# Requests that arrive together.
TOGETHER = 50

# The keys: of a client by its address, which has four bytes, and of an argument of sixteen.
KEYS = {"address": "$binary_remote_addr", "argument": "$arg_key"}

# A case: its zone, the keys that are sent before the counting, those that are counted, and how many of these pass.
Case = collections.namedtuple("Case", "name means zone before counted passing")

# Instructions of a request, those among them that read the system's clock, the requests that passed, the keys evicted.
Measured = collections.namedtuple("Measured", "instructions clock passed evicted")

# Its size, its rate and its burst. In `slow` and `small` a key is idle again after a minute: where a case takes longer,
# some places are free, and not every new key evicts another.
ZONES = {
    "fast": ("1m", "1000r/s", "burst=1000000 nodelay"),
    "slow": ("1m", "1r/m", "burst=5 nodelay"),
    "large": ("64m", "1000r/s", "burst=1000000 nodelay"),
    "small": ("1m", "1r/m", "burst=5 nodelay"),
}


def cases():
    # Each number once, in an order of chance: in another, limit_req's tree could be of another depth.
    chance = random.Random(1)
    keys = chance.sample(range(1 << 24, 2 << 24), KNOWN + FILLING + 2 * COUNTED)
    known, new = keys[:KNOWN], keys[KNOWN:KNOWN + COUNTED]
    filling, evicting = keys[KNOWN + COUNTED:-COUNTED], keys[-COUNTED:]
    hot = [keys[0]]
    return [
        Case("hot", "one key, allowed", "fast", hot * 100, hot * COUNTED, COUNTED),
        Case("refused", "one key, refused", "slow", hot * 100, hot * COUNTED, 0),
        Case("random", "of 100,000 known keys", "large", known, chance.choices(known, k=COUNTED), COUNTED),
        Case("new", "beside 100,000 known keys", "large", known, new, COUNTED),
        Case("exhausted", "new keys in a full zone", "small", filling, evicting, COUNTED),
    ]


def zone_name(limiter, kind, zone):
    return f"{limiter}_{kind}_{zone}"


def configuration():
    # Refusals are not logged.
    lines = ["error_log $FOLDER/error.log crit;", "set_real_ip_from 127.0.0.1;", "real_ip_header X-Real-IP;"]
    places = ["location = /stats { ratecell_stats; }"]
    for zone, (size, rate, burst) in ZONES.items():
        for limiter in HANDLERS:
            for kind, key in KEYS.items():
                name = zone_name(limiter, kind, zone)
                lines.append(f"{limiter}_zone {key} zone={name}:{size} rate={rate};")
                places.append(f"location = /{name} {{ empty_gif; {limiter} zone={name} {burst}; }}")
    return "\n".join([*lines, server_block(" ".join(places))])


def request(name, kind, number):
    """To the location of that name, with the number for a key."""
    if kind == "address":
        address = b"%d.%d.%d.%d" % tuple(number.to_bytes(4, "big"))
        return b"GET /%b HTTP/1.1\r\nHost: localhost\r\nX-Real-IP: %b\r\n\r\n" % (name, address)
    return b"GET /%b?key=%016x HTTP/1.1\r\nHost: localhost\r\n\r\n" % (name, number)


class CountedNginx(Nginx):
    """One process, under callgrind."""

    def __init__(self, profiles):
        self.profiles = profiles
        self.filled = set()
        super().__init__(configuration(), workers=0, static=True)

    def command(self, *arguments):
        # Without compression each profile can be read alone.
        valgrind = ["valgrind", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no",
                    f"--callgrind-out-file={self.profiles}/callgrind", f"--dump-before={BOUNDARY}"]
        valgrind += [f"--toggle-collect={handler}" for handler in HANDLERS.values()]
        return [*valgrind, *super().command("-g", "master_process off;", *arguments)]

    def boundary(self, name):
        """Ends what is counted together: the path of its profile, and the keys that ratecell has evicted by now."""
        stats = json.loads(self.get("/stats?format=json").body)
        written = wait_for("callgrind's profile", lambda: glob.glob(f"{self.profiles}/callgrind.*"))
        path = os.path.join(self.profiles, name)
        os.rename(written[0], path)
        return path, sum(zone["evicted"] for zone in stats["zones"])

    def passed(self, name, kind, numbers):
        """Sends a request of each number: how many passed."""
        passed = 0
        with self.connect() as connection:
            for start in range(0, len(numbers), TOGETHER):
                some = numbers[start:start + TOGETHER]
                connection.socket.sendall(b"".join(request(name, kind, number) for number in some))
                passed += sum(connection.receive().status == 200 for _ in some)
        return passed

    def measure(self, case, limiter, kind):
        name = zone_name(limiter, kind, case.zone).encode()
        if name not in self.filled:
            self.passed(name, kind, case.before)
            self.filled.add(name)
        _, before = self.boundary("uncounted")
        passed = self.passed(name, kind, case.counted)
        profile, after = self.boundary(f"{case.name}-{kind}-{limiter}")
        instructions = inclusive(profile, HANDLERS[limiter])
        assert instructions, f"{profile}: expected calls of {HANDLERS[limiter]}"
        clock = inclusive(profile, CLOCK[0]) or inclusive(profile, CLOCK[1])
        return Measured(instructions / COUNTED, clock / COUNTED, passed, after - before)


def inclusive(profile, function):
    """The instructions of the function and of all that it called."""
    with open(profile, encoding="utf-8") as file:
        calls = re.findall(rf"^cfn={function}\ncalls=.*\n\S+ (\d+)$", file.read(), re.MULTILINE)
    return sum(map(int, calls))


def main():
    profiles, pattern = sys.argv[1], "".join(sys.argv[2:])
    chosen = [(f"{case.name} {kind}", case, kind) for kind in KEYS for case in cases()]
    chosen = [(name, case, kind) for name, case, kind in chosen if pattern in name]
    if not chosen:
        sys.exit(f"no case has \"{pattern}\" in its name: expected a part of one, such as hot or exhausted address")
    server = CountedNginx(profiles)
    try:
        server.start()
        print("| case | ratecell | of it, the system's clock | limit_req | ratio | allowed | ratecell evicted |\n"
              "| --- | --- | --- | --- | --- | --- | --- |")
        for name, case, kind in chosen:
            ours, theirs = (server.measure(case, limiter, kind) for limiter in HANDLERS)
            if not ours.passed == theirs.passed == case.passing:
                sys.exit(f"{name}: ratecell let {ours.passed} requests pass, and limit_req {theirs.passed}: "
                         f"expected {case.passing} of {COUNTED}")
            print(f"| {name}: {case.means} | {ours.instructions:.0f} | {ours.clock:.0f} | {theirs.instructions:.0f} | "
                  f"{ours.instructions / theirs.instructions:.2f} | {ours.passed / COUNTED:.0%} | "
                  f"{ours.evicted / COUNTED:.0%} |", flush=True)
    finally:
        server.stop()
        server.remove()


main()
