"""Limits by a file of rules, in a table that other programs have in common with nginx."""

import json
import os
import threading
import unittest

from harness import NginxTest, server_block
from library import CHANGE, FOLLOW, Rules

HEAD = "ratecell_rules = 1\n"
CLIENT = "127.0.0.1"
SHOW = "add_header Rule '$ratecell_rule' always; add_header Left '$ratecell_remaining' always;"


def limit(units, name="api", rest=""):
    """So many of each client, of whom none comes back during a test."""
    return f"[[rule]]\nname = '{name}'\nkey = ['client']\nlimit = '{units}/52w burst={units}'\n{rest}"


class RulesFileTest(NginxTest):
    def limited(self, text, words="", **options):
        server = self.prepare(self.conf(words), **options)
        server.write("limits.toml", HEAD + text)
        return server

    def conf(self, words="", http=""):
        return http + server_block(
            f"ratecell_status 429; {SHOW} ratecell_rules limits.toml file=cells {words};"
            "location / { empty_gif; }")

    def beside(self, nginx, text, flags=0):
        rules = Rules(HEAD + text, nginx.path("cells"), flags)
        self.addCleanup(rules.__exit__)
        return rules

    def passes(self, nginx, requests):
        with nginx.connect() as connection:
            return connection.statuses(["/"] * requests).get(200, 0)


class Together(RulesFileTest):
    def test_one_limit_with_another_program(self):
        nginx = self.limited(limit(100)).start()
        other = self.beside(nginx, limit(100))
        self.assertEqual(self.passes(nginx, 30), 30)
        self.assertEqual(other.decide(client=CLIENT), ("allowed", 69))
        self.assertEqual([other.decide(client=CLIENT)[0] for _ in range(40)], ["allowed"] * 40)
        self.assertEqual(self.passes(nginx, 40), 29)
        self.assertEqual(other.decide(client=CLIENT)[0], "denied")
        self.assertEqual(other.decide(client="192.0.2.1"), ("allowed", 99))

    def test_who_came_first_makes_the_file(self):
        nginx = self.limited(limit(10))
        other = self.beside(nginx, limit(10))
        self.assertEqual(other.decide(client=CLIENT), ("allowed", 9))
        self.assertEqual(self.passes(nginx.start(), 20), 9)

    def test_it_outlives_nginx(self):
        nginx = self.limited(limit(10)).start()
        self.assertEqual(self.passes(nginx, 4), 4)
        nginx.stop()
        self.assertEqual(self.passes(nginx.start(), 20), 6)

    def test_requests_in_flight_beside(self):
        """A program that decides without reservations has no rule that counts them, and others in common."""
        flying = "[[rule]]\nname = 'slow'\nkey = ['client']\nlimit = 'in_flight 5 hold=1m'\n"
        nginx = self.limited(limit(10) + flying).start()
        other = self.beside(nginx, limit(10))
        self.assertEqual(self.passes(nginx, 4), 4)
        self.assertEqual(other.decide(client=CLIENT), ("allowed", 5))


class Reloads(RulesFileTest):
    def test_under_load(self):
        """Each of three limits, while both are asked: all that it allows is admitted, and no more, and nothing fails."""
        nginx = self.limited(limit(1000), workers=2).start()
        other = self.beside(nginx, limit(1000))
        found, counted, failed, lock, over = {}, [0], [], threading.Lock(), threading.Event()

        def client():
            try:
                while not over.wait(0.001):
                    status = nginx.get("/").status
                    with lock:
                        found[status] = found.get(status, 0) + 1
            except (OSError, AssertionError) as error:
                failed.append(error)

        def program():
            while not over.wait(0.001):
                counted[0] += other.decide(client=CLIENT)[0] == "allowed"

        threads = [threading.Thread(target=work) for work in (client, client, client, program)]
        for thread in threads:
            thread.start()
        try:
            for units in (1400, 1200, 1300):
                nginx.write("limits.toml", HEAD + limit(units))
                self.assertEqual(nginx.reload(), "served")
        finally:
            over.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failed, [])
        self.assertLessEqual(set(found), {200, 429})
        rest = nginx.load(lambda _: ["/"] * 700, clients=2)
        counted[0] += other.decide(client=CLIENT)[0] == "allowed"
        admitted = found.get(200, 0) + rest.get(200, 0) + counted[0]
        # Units that were used before a lower limit stay used: at most the greatest was ever admitted.
        self.assertLessEqual(admitted, 1400)
        self.assertGreaterEqual(admitted, 1300)
        self.assertEqual(other.decide(client=CLIENT)[0], "denied")

    def test_a_raised_limit_frees_the_exhausted(self):
        nginx = self.limited(limit(10)).start()
        other = self.beside(nginx, limit(10))
        self.assertEqual(self.passes(nginx, 12), 10)
        nginx.write("limits.toml", HEAD + limit(15))
        self.assertEqual(nginx.reload(), "served")
        self.assertEqual(other.decide(client=CLIENT), ("allowed", 4))
        self.assertEqual(self.passes(nginx, 12), 4)

    def test_a_lowered_limit_forgives_nothing(self):
        nginx = self.limited(limit(10)).start()
        other = self.beside(nginx, limit(10))
        self.assertEqual(self.passes(nginx, 6), 6)
        for units, passes in ((5, 0), (3, 0), (8, 2), (8, 0)):
            nginx.write("limits.toml", HEAD + limit(units))
            self.assertEqual(nginx.reload(), "served")
            self.assertEqual(self.passes(nginx, 9), passes)
            self.assertEqual(other.decide(client=CLIENT)[0], "denied")

    def test_a_reload_puts_the_rules_in_force_again(self):
        nginx = self.limited(limit(10)).start()
        self.assertEqual(self.passes(nginx, 10), 10)
        self.beside(nginx, limit(20), CHANGE)
        self.assertEqual(self.passes(nginx, 15), 10)
        self.assertEqual(nginx.reload(), "served")
        self.assertEqual(self.passes(nginx, 1), 0)
        with self.assertRaisesRegex(ValueError, "`10/52w burst=10` of rule api; expected"):
            Rules(HEAD + limit(20), nginx.path("cells"))


class Damaged(RulesFileTest):
    def test_limits_that_cannot_be_read_are_a_fault(self):
        nginx = self.limited(limit(10))
        nginx.configure(self.conf().replace("location /", "location /stats { ratecell_rules off; ratecell_stats; } location /"))
        nginx.start()
        other = self.beside(nginx, limit(10))
        self.assertNotIn("fault", json.loads(nginx.get("/stats").body)["rules"][0])
        other.change(HEAD + limit(11))
        held = nginx.read("cells")
        with open(nginx.path("cells"), "r+b") as file:
            file.seek(held.rindex(" api 11/52w") + 1)
            file.write(b"x")
        self.assertEqual(nginx.status(), 403)
        (found,) = json.loads(nginx.get("/stats").body)["rules"]
        self.assertTrue(found["fault"].startswith("RATECELL_EREGION_DAMAGED: "), found)
        self.assertGreater(found["slots"], 1000)


class Refused(RulesFileTest):
    expected_in_log = (r"\[emerg\]",)

    def test_a_reload_that_fails_changes_no_limit(self):
        nginx = self.limited(limit(10)).start()
        other = self.beside(nginx, limit(10))
        self.assertEqual(self.passes(nginx, 12), 10)
        for text, conf in ((limit(50), self.conf() + "no_such_directive;"), (limit(50) + "nonsense", self.conf()),
                           (limit(50) + "[[rule]]\nname = 'log'\nkey = []\nlimit = 'sliding_log 5/1h'\n", self.conf())):
            with self.subTest(text=text):
                nginx.write("limits.toml", HEAD + text)
                self.assertEqual(nginx.reload(conf), "refused")
                self.assertEqual((self.passes(nginx, 1), other.decide(client=CLIENT)[0]), (0, "denied"))
        nginx.write("limits.toml", HEAD + limit(10))
        self.assertEqual(nginx.reload(self.conf()), "served")
        self.assertEqual(self.passes(nginx, 1), 0)

    def test_a_test_of_the_configuration_changes_no_limit(self):
        nginx = self.limited(limit(10)).start()
        self.assertEqual(self.passes(nginx, 12), 10)
        nginx.write("limits.toml", HEAD + limit(50))
        self.assertEqual(nginx.test()[0], True, nginx.test()[1])
        self.assertEqual(self.passes(nginx, 1), 0)

    def test_a_test_of_the_configuration_leaves_no_file(self):
        nginx = self.limited(limit(10))
        self.assertEqual(nginx.test()[0], True, nginx.test()[1])
        self.assertEqual([name for name in os.listdir(nginx.folder) if name.startswith("cells")], [])

    def test_a_start_over_another_limit(self):
        nginx = self.limited(limit(20))
        other = self.beside(nginx, limit(10))
        with self.assertRaises(AssertionError) as refused:
            nginx.start()
        self.assertRegex(str(refused.exception),
                         r'rules ".*/limits.toml" cannot use the file ".*/cells": the region\'s policy: '
                         r"`10/52w burst=10` of rule api; expected `20/52w burst=20`, or a limiter that follows")
        self.assertEqual(other.decide(client=CLIENT), ("allowed", 9))

    def test_a_start_that_follows(self):
        nginx = self.limited(limit(20), "follow")
        other = self.beside(nginx, limit(10))
        self.assertEqual(self.passes(nginx.start(), 15), 10)
        nginx.write("limits.toml", HEAD + limit(30))
        self.assertEqual(nginx.reload(), "served")
        self.assertEqual((self.passes(nginx, 1), other.decide(client=CLIENT)[0]), (0, "denied"))
        with self.assertRaises(ValueError):
            Rules(HEAD + limit(30), nginx.path("cells"))
        Rules(HEAD + limit(30), nginx.path("cells"), FOLLOW).__exit__()

    def test_a_start_that_changes(self):
        nginx = self.limited(limit(20), "change")
        other = self.beside(nginx, limit(10))
        self.assertEqual([other.decide(client=CLIENT)[0] for _ in range(11)], ["allowed"] * 10 + ["denied"])
        # A test of it changes nothing yet.
        self.assertEqual(nginx.test()[0], True, nginx.test()[1])
        self.assertEqual(other.decide(client=CLIENT)[0], "denied")
        self.assertEqual(self.passes(nginx.start(), 15), 10)
        self.assertEqual(other.decide(client=CLIENT)[0], "denied")

    def test_a_file_of_something_else(self):
        nginx = self.limited(limit(20))
        nginx.write("cells", "text")
        right, said = nginx.test()
        self.assertFalse(right)
        self.assertRegex(said, r'cannot use the file ".*/cells": not a region of ratecell')
        self.assertEqual(nginx.read("cells"), "text")


if __name__ == "__main__":
    unittest.main()
