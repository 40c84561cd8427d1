"""The definition's rows of fields, whose decisions requests can bring about: the same lines, byte for byte."""

import collections
import json
import pathlib
import re
import time
import unittest

from harness import NginxTest, server_block
from library import LIBRARY, OUTCOMES, Limiter

VECTORS = pathlib.Path(__file__).parents[3] / "vectors" / "edges"
SECOND = 10**9
# Seconds since 1970, and so another on each day.
INSTANTS = {"x_unix": "X-RateLimit-Reset", "github": "X-RateLimit-Reset", "twitter": "X-Rate-Limit-Reset"}
# Why no request brings a row about.
NO_WORD = "nginx's workers cannot share a sliding_log"
UNNAMED = "every zone has a name of its own, and these policies have none or one twice"
UNLABELLED = "a zone has no unit and no partition"
CLOCK_RANGE = "no clock is out of range"
WALL_CLOCK = "it depends on where in a window of the wall clock it is decided"
EARLIER = "it follows on requests of long before, or does not say what it knows of the next unit"
# Nothing of it is at a boundary of a window.
START = 103 * 3600 * SECOND + 123_456_789


def seconds(ns):
    return -(-ns // SECOND)


def rows(file, section):
    """The rows of the sections of real policies, each with its policies."""
    for line in (VECTORS / file).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "policies" in row:
            policies = row["policies"] if row["section"].startswith(section) else None
        elif "fields" in row and policies:
            yield policies, row


def text(policy):
    return " & ".join(layer["text"] for layer in policy["layers"])


def shown(style, outcome, limit, remaining, layer, retry_ns, reset_ns, next_ns):
    """The parts of a decision that fields of a style show: times in seconds, and None where there is none."""
    retry = seconds(retry_ns) if outcome == "denied" else None
    following = seconds(next_ns) if next_ns else None
    if style == "every":
        return outcome, limit, remaining, layer, retry, seconds(reset_ns), following
    if style == "draft11":
        return outcome, remaining, layer, retry, following
    if style.startswith("draft"):
        return outcome, limit, remaining, retry or following
    return outcome, limit, remaining, layer, retry, seconds(reset_ns)


def of_row(style, row):
    return shown(style, row["outcome"], row["limit"], row["remaining"], row["layer"], row["retry_ns"],
                 row["reset_ns"], row["next_ns"])


def of_library(style, decision):
    return shown(style, OUTCOMES[decision.outcome], decision.limit, decision.remaining, decision.layer,
                 decision.retry_after_ns, decision.reset_after_ns, decision.next_ns)


def lasts(decision):
    """Whether fields show the same for as long as requests take that are sent together."""
    times = [decision.reset_after_ns, decision.next_ns]
    times += [decision.retry_after_ns] if decision.outcome == OUTCOMES.index("denied") else []
    return all(ns % SECOND == 0 or ns % SECOND > SECOND // 200 for ns in times)


class Ways:
    """The costs of two requests at one instant that bring about decisions of a policy on a new key."""

    def __init__(self, policy):
        self.ways, self.limiter, self.keys, self.by_the_wall_clock = [], Limiter(policy), 0, False
        with self.limiter:
            capacity = self.decided([0], START).limit
            costs = sorted({*range(min(capacity, 60) + 2), capacity // 2, capacity - 1, capacity, capacity + 1})
            for way in ([used, cost] for used in costs[:-1] for cost in costs):
                decision, later = self.decided(way, START), self.decided(way, START + 12_345_678_901)
                assert OUTCOMES[decision.outcome] != "clock_range", policy
                if bytes(decision) != bytes(later):
                    self.by_the_wall_clock = True
                elif lasts(decision):
                    self.ways.append((way, decision))

    def decided(self, way, now_ns):
        self.keys += 1
        for cost in way:
            decision = self.limiter.decide(str(self.keys).encode(), cost, now_ns)
        return decision

    def to(self, style, row, uncharged):
        """A way to a row's decision, of a request that is not charged if another refuses it."""
        wanted = of_row(style, row)
        return next(((way, decision.reset_after_ns) for way, decision in self.ways
                     if of_library(style, decision) == wanted and not (uncharged and way[1])), None)


class Served:
    """The zones and locations of one server, whose zones have different names."""

    def __init__(self):
        self.zones, self.locations, self.asked = {}, [], []

    @staticmethod
    def quoted(name):
        return name.replace("\\", "\\\\").replace("'", "\\'")

    def configuration(self):
        zones = "".join(f"ratecell_zone $arg_k 'zone={self.quoted(name)}:64k' policy=\"{policy}\";\n"
                        for name, policy in self.zones.items())
        return zones + server_block("".join(
            f"location = /{number} {{ empty_gif; ratecell_headers {style};" + "".join(
                f"ratecell 'zone={self.quoted(name)}' cost=$arg_c{place} nodelay;"
                for place, name in enumerate(names)) + "}\n"
            for number, (names, style) in enumerate(self.locations)))

    def location(self, names, style):
        self.locations.append((names, style))
        return len(self.locations) - 1


class Definition(NginxTest):
    def setUp(self):
        super().setUp()
        self.ways, self.keys, self.left_out, self.replayed = {}, 0, collections.Counter(), collections.Counter()

    def way(self, policy):
        if policy not in self.ways:
            self.ways[policy] = Ways(policy)
        return self.ways[policy]

    def why_not(self, policies, row, decisions):
        """Why no request can bring about the row; None if one can."""
        style = row["style"]
        if any(LIBRARY.ratecell_region_size(text(policy).encode(), None) == 0 for policy in policies):
            return NO_WORD
        names = [policy["name"] for policy in policies]
        if style == "draft11":
            if None in names or len(set(names)) < len(names):
                return UNNAMED
            if any(policy["unit"] not in (None, "requests") or policy["partition"] is not None for policy in policies):
                return UNLABELLED
        if any(decision["outcome"] == "clock_range" for decision in decisions):
            return CLOCK_RANGE
        return None

    def plan(self, policies, row, decisions):
        """The ways of all limits, and None; or None, and why there are none."""
        refused = any(decision["outcome"] != "allowed" for decision in decisions)
        style, plans = row["style"] if len(decisions) == 1 else "every", []
        for policy, decision in zip(policies, decisions):
            ways = self.way(text(policy))
            plans.append(ways.to(style, decision, refused and decision["outcome"] == "allowed"))
            if plans[-1] is None and ways.by_the_wall_clock:
                return None, WALL_CLOCK
        return (None, EARLIER) if None in plans else (plans, None)

    def replay(self, file, section, decisions_of):
        served = []
        for policies, row in rows(file, section):
            decisions = decisions_of(row)
            why = self.why_not(policies, row, decisions)
            plans, why = (None, why) if why else self.plan(policies, row, decisions)
            if plans is None:
                self.left_out[why] += 1
                continue
            named = row["style"] == "draft11"
            own = [policy["name"] if named else f"{number}: {text(policy)}"[:60].replace(":", "")
                   for number, policy in enumerate(policies)]
            zones = dict(zip(own, map(text, policies)))
            place = next((one for one in served
                          if all(one.zones.get(name, policy) == policy for name, policy in zones.items())), None)
            if place is None:
                place = Served()
                served.append(place)
            place.zones.update(zones)
            alone = [place.location([name], "x") for name in own]
            place.asked.append((alone, place.location(own, row["style"]), plans, row))
        for place in served:
            nginx = self.serve(place.configuration())
            for asked in place.asked:
                self.check(nginx, *asked)

    def check(self, nginx, alone, together, plans, row):
        ways, resets = zip(*plans)
        for attempt in range(20):
            self.keys += 1
            paths = [f"/{location}?k={self.keys}&c0={way[0]}" for location, way in zip(alone, ways)]
            paths.append(f"/{together}?k={self.keys}" + "".join(
                f"&c{place}={way[1]}" for place, way in enumerate(ways)))
            before = time.time_ns()
            response = nginx.get_all(paths)[-1]
            after = time.time_ns()
            found = [[name, value] for name, value in response.headers
                     if re.search("rate-?limit|retry-after", name, re.IGNORECASE)]
            wanted = [list(field) for field in row["fields"]]
            if row["style"] in INSTANTS:
                self.instants(found, wanted, INSTANTS[row["style"]],
                              seconds(before + min(resets)), seconds(after + max(resets)))
            if found == wanted:
                self.replayed[row["style"]] += 1
                return
        # So often the machine does not stop between two requests that it has already.
        self.assertEqual(found, wanted, (row, plans, attempt))

    def instants(self, found, wanted, name, earliest, latest):
        """Puts the row's instant in the place of one that is as far from the decision."""
        for field, own in zip(wanted, found):
            if field[0] == own[0] == name and earliest <= int(own[1]) <= latest:
                own[1] = field[1]

    def test_one_limit(self):
        self.replay("fields.jsonl", "decided/", lambda row: [row["decision"]])
        self.assertEqual(dict(self.replayed), {
            "draft11": 29, "draft07": 18, "draft06": 21, "draft03": 22, "x": 21, "x_unix": 23, "github": 18,
            "twitter": 31, "kong": 26})
        self.assertEqual(dict(self.left_out), {
            NO_WORD: 204, UNNAMED: 246, UNLABELLED: 238, WALL_CLOCK: 171, EARLIER: 60})

    def test_several_limits(self):
        self.replay("fields_several.jsonl", "several/", lambda row: row["decisions"])
        self.assertEqual(dict(self.replayed), {
            "draft11": 3, "draft07": 7, "draft06": 2, "draft03": 4, "x": 1, "x_unix": 4, "github": 5, "twitter": 3,
            "kong": 2})
        self.assertEqual(dict(self.left_out), {
            NO_WORD: 112, UNNAMED: 140, UNLABELLED: 43, CLOCK_RANGE: 51, WALL_CLOCK: 121, EARLIER: 62})


if __name__ == "__main__":
    unittest.main()
