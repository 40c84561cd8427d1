"""Rates and policies, and what a variable tells of them."""

import time
import unittest

from harness import NginxTest, server_block


def passes(nginx, path, tries):
    """How many of so many requests at once pass."""
    with nginx.connect() as connection:
        return connection.statuses([path] * tries).get(200, 0)


class Rates(NginxTest):
    def test_every_unit_is_exact(self):
        periods = {"5s": 5, "2m": 120, "h": 3600, "1d": 86400, "w": 604800}
        nginx = self.serve(
            "".join(f"ratecell_zone $arg_k zone=z{p}:1m rate=1r/{p};" for p in periods)
            + server_block("ratecell_headers on;" + "".join(
                f"location /{p} {{ empty_gif; ratecell zone=z{p}; }}" for p in periods)))
        for period, seconds in periods.items():
            allowed, refused = nginx.get_all([f"/{period}?k=1"] * 2)
            self.assertEqual((allowed.status, refused.status), (200, 503))
            self.assertEqual(refused.header("Retry-After"), str(seconds))
            self.assertEqual(refused.header("RateLimit-Policy"), f'"z{period}";q=1;w={seconds}')

    def test_once_a_minute_is_sixty_seconds(self):
        """Not the 62.5 that thousandths of a request a second make of it."""
        nginx = self.serve("ratecell_zone $arg_k zone=m:1m rate=1r/m;"
                           + server_block("location / { empty_gif; ratecell zone=m; ratecell_headers on; }"))
        self.assertEqual(nginx.get_all(["/?k=1"] * 2)[1].header("Retry-After"), "60")

    def test_a_rate_without_a_unit_and_in_milliseconds(self):
        nginx = self.serve("ratecell_zone $arg_k zone=a:1m rate=2; ratecell_zone $arg_k zone=b:1m rate=1r/100ms;"
                           + server_block("location /a { empty_gif; ratecell zone=a; }"
                                          "location /b { empty_gif; ratecell zone=b; }"))
        for path, seconds in (("/a?k=1", 0.52), ("/b?k=1", 0.12)):
            self.assertEqual([response.status for response in nginx.get_all([path] * 2)], [200, 503])
            time.sleep(seconds)
            self.assertEqual(nginx.status(path), 200)

    def test_ten_in_five_seconds(self):
        nginx = self.serve("ratecell_zone $arg_k zone=t:1m rate=10r/5s;"
                           + server_block("location / { empty_gif; ratecell zone=t burst=9 nodelay; }"))
        self.assertEqual(passes(nginx, "/?k=1", 20), 10)

    def test_a_rate_is_the_policy_of_its_text_without_the_burst(self):
        """As limit_req has it, a rate alone has no burst; a policy of the same text lets its limit pass at once."""
        rates = {"s": ("7r/10s", 7), "m": ("5r/m", 5), "h": ("3r/2h", 3), "d": ("4/d", 4), "w": ("2r/w", 2)}
        nginx = self.serve(
            "".join(f'ratecell_zone $arg_k zone=rate_{n}:1m rate={rate}; ratecell_zone $arg_k zone=policy_{n}:1m '
                    f'policy={rate}; ratecell_zone $arg_k zone=one_{n}:1m policy="{rate} burst=1";'
                    for n, (rate, _) in rates.items())
            + server_block("ratecell_headers on;" + "".join(
                f"location /{zone}_{n} {{ empty_gif; ratecell zone={zone}_{n}; }}"
                for n in rates for zone in ("rate", "policy", "one"))))
        for n, (rate, limit) in rates.items():
            self.assertEqual(passes(nginx, f"/policy_{n}?k=1", 12), limit, rate)
            told = []
            for zone in ("rate", "one"):
                allowed, refused = nginx.get_all([f"/{zone}_{n}?k=1"] * 2)
                self.assertEqual((allowed.status, refused.status), (200, 503), rate)
                told.append((refused.header("Retry-After"), refused.header("RateLimit-Policy").split(";", 1)[1]))
            self.assertEqual(told[0], told[1], rate)

    def test_a_rate_of_its_own_in_a_location(self):
        nginx = self.serve("ratecell_zone $arg_k zone=t:1m rate=1r/s;" + server_block(
            "ratecell_headers on; location /a { empty_gif; ratecell zone=t rate=1r/h; }"
            "location /b { empty_gif; ratecell zone=t burst=3; }"))
        self.assertEqual(nginx.get_all(["/a?k=1"] * 2)[1].header("Retry-After"), "3600")
        self.assertEqual(nginx.get("/b?k=2").header("RateLimit-Policy"), '"t";q=1;w=1;ratecell-burst=4')


class Policies(NginxTest):
    def test_policies_of_every_kind(self):
        policies = {
            "fixed": ("fixed_window 3/1d start=first", 3), "sliding": ("sliding_window 4/1d", 4),
            "gcra": ("gcra 5/1d burst=2", 2), "bucket": ("token_bucket 5/1d capacity=6", 6),
            "layers": ("10/1d & fixed_window 7/1d start=first", 7),
        }
        nginx = self.serve(
            "".join(f'ratecell_zone $arg_k zone={name}:1m policy="{text}";' for name, (text, _) in policies.items())
            + server_block("".join(f"location /{name} {{ empty_gif; ratecell zone={name}; }}" for name in policies)))
        for name, (_, expected) in policies.items():
            self.assertEqual(passes(nginx, f"/{name}?k=1", 12), expected, name)

    def test_a_queue_delays(self):
        nginx = self.serve('ratecell_zone $arg_k zone=q:1m policy="leaky_queue 10/s queue=2";'
                           + server_block("add_header S $ratecell_status; location / { empty_gif; ratecell zone=q; }"
                                          "location /n { empty_gif; ratecell zone=q nodelay; }"))
        for path, expected in (("/?k=1", ["PASSED", "DELAYED"]), ("/n?k=2", ["PASSED", "PASSED"])):
            self.assertEqual([response.header("S") for response in nginx.get_all([path] * 2)], expected)

    def test_the_excess_of_a_window_is_counted(self):
        nginx = self.serve('ratecell_zone $arg_k zone=w:1m policy="fixed_window 3/1d start=first";'
                           + server_block("location / { empty_gif; ratecell zone=w; }"))
        passes(nginx, "/?k=1", 4)
        self.assertIn('limiting requests, excess: 3.000 by zone "w"', nginx.log())


class Costs(NginxTest):
    def test_cost(self):
        nginx = self.serve("ratecell_zone $arg_k zone=c:1m rate=10r/d;" + server_block(
            "add_header Left $ratecell_remaining always;"
            "location / { empty_gif; ratecell zone=c burst=9 nodelay cost=$arg_n; }"
            "location /two { empty_gif; ratecell zone=c burst=9 nodelay cost=2; }"))
        found = [(r.status, r.header("Left")) for r in [nginx.get(path) for path in (
            "/?k=1&n=3", "/?k=1&n=0", "/?k=1", "/two?k=1", "/?k=1&n=5", "/?k=1&n=4", "/?k=1&n=0", "/?k=1")]]
        self.assertEqual(found, [(200, "7"), (200, "7"), (200, "6"), (200, "4"), (503, "4"), (200, "0"),
                                 (200, "0"), (503, "0")])

    def test_a_cost_above_the_capacity_never_passes(self):
        nginx = self.serve("ratecell_zone $arg_k zone=c:1m rate=10r/d;" + server_block(
            "ratecell_headers on; location / { empty_gif; ratecell zone=c burst=9 nodelay cost=$arg_n; }"))
        response = nginx.get("/?k=1&n=11")
        self.assertEqual((response.status, response.header("Retry-After")), (503, None))
        self.assertEqual(nginx.status("/?k=1&n=10"), 200)

    def test_a_cost_too_large_to_be_a_number_never_passes(self):
        nginx = self.serve("ratecell_zone $arg_k zone=c:1m rate=3r/d;" + server_block(
            "location / { empty_gif; ratecell zone=c burst=2 nodelay cost=$arg_n; }"
            "location /left { empty_gif; ratecell zone=c burst=2 nodelay cost=0;"
            "add_header Left $ratecell_remaining; }"))
        for cost in (4294967294, 4294967295, 4294967296, 99999999999, 2 ** 64, 2 ** 64 + 1, 10 ** 30):
            self.assertEqual(nginx.status(f"/?k=1&n={cost}"), 503, cost)
        self.assertEqual(nginx.get("/left?k=1").header("Left"), "3")
        self.assertNotIn("[warn]", nginx.log())

    def test_a_burst_too_large_to_be_a_number_is_the_largest(self):
        nginx = self.serve("ratecell_zone $arg_k zone=c:1m rate=1000r/s;" + server_block(
            "location / { empty_gif; ratecell zone=c burst=$arg_b nodelay; add_header Limit $ratecell_limit; }"))
        self.assertEqual(nginx.get(f"/?k=1&b={10 ** 20}").header("Limit"), "4294967295")

    def test_what_is_no_cost_is_one_and_logged_once(self):
        nginx = self.serve("ratecell_zone $arg_k zone=c:1m rate=3r/d;" + server_block(
            "location / { empty_gif; ratecell zone=c burst=2 nodelay cost=$arg_n; }"))
        self.assertEqual([nginx.status(f"/?k=1&n={n}") for n in ("x", "-1", "", "1")], [200, 200, 200, 503])
        warnings = [line for line in nginx.log().splitlines() if "[warn]" in line]
        self.assertEqual(len(warnings), 1)
        self.assertIn('invalid cost "x" of a request limited by zone "c"', warnings[0])


class Tiers(NginxTest):
    ZONE = ('map $arg_t $rate { gold 1000r/d; silver 100r/d; bad lots; } map $arg_t $burst { gold 9; silver 4; '
            'zero 0; bad many; } ratecell_zone $arg_k zone=t:1m rate=$rate default_rate=10r/d;')

    def test_rate_and_burst_by_variable(self):
        nginx = self.serve(self.ZONE + server_block(
            "location / { empty_gif; ratecell zone=t burst=$burst default_burst=1 nodelay; }"))
        for tier, expected in (("gold", 10), ("silver", 5), ("zero", 1), ("none", 2), ("bad", 2)):
            self.assertEqual(passes(nginx, f"/?k={tier}&t={tier}", 20), expected, tier)

    def test_bursts_of_one_rate(self):
        nginx = self.serve("ratecell_zone $arg_k zone=t:1m rate=1r/d;" + server_block(
            "location / { empty_gif; ratecell zone=t burst=$arg_b nodelay; }"))
        for burst in (3, 1, 5, 3, 1):
            self.assertEqual(passes(nginx, f"/?k={time.monotonic_ns()}&b={burst}", 10), burst + 1)

    def test_the_rate_is_the_tier_s(self):
        nginx = self.serve(self.ZONE + server_block("ratecell_headers on; location / { empty_gif; ratecell zone=t; }"))
        for tier, seconds in (("gold", 87), ("silver", 864), ("none", 8640)):
            allowed, refused = nginx.get_all([f"/?k={tier}&t={tier}"] * 2)
            self.assertEqual((allowed.status, refused.header("Retry-After")), (200, str(seconds)))

    def test_one_key_keeps_what_it_used_over_tiers(self):
        nginx = self.serve(self.ZONE + server_block(
            "location / { empty_gif; ratecell zone=t burst=$burst default_burst=1 nodelay; }"))
        self.assertEqual(passes(nginx, "/?k=1&t=silver", 20), 5)
        # A tier's units are times: five at 864 s are half a unit of 8,640 s, and two have room.
        self.assertEqual(passes(nginx, "/?k=1&t=none", 20), 1)

    def test_without_a_default_it_is_one_a_second(self):
        nginx = self.serve("ratecell_zone $arg_k zone=t:1m rate=$arg_r;" + server_block(
            "ratecell_headers on; location / { empty_gif; ratecell zone=t; }"))
        self.assertEqual(nginx.get("/?k=1").header("RateLimit-Policy"), '"t";q=1;w=1')

    def test_each_kind_of_wrong_value_is_logged_once(self):
        nginx = self.serve("ratecell_zone $arg_k zone=t:1m rate=$arg_r default_rate=1r/d;" + server_block(
            "location / { empty_gif; ratecell zone=t burst=$arg_b nodelay cost=$arg_n; }"))
        for query in ("n=x", "r=x", "b=x", "r=1r/1000w&b=4000000000") * 2:
            nginx.status(f"/?k=1&{query}")
        warnings = [line for line in nginx.log().splitlines() if "[warn]" in line]
        self.assertEqual(len(warnings), 4, warnings)
        for line, said in zip(warnings, ('cost "x"', 'rate "x"', 'burst "x"',
                                         'rate and burst "gcra 1/604800000000000000ns burst=4000000001"')):
            self.assertIn(f'invalid {said} of a request limited by zone "t", the default is used', line)

    def test_more_tiers_than_are_kept(self):
        nginx = self.serve("ratecell_zone $arg_k zone=t:1m rate=$arg_r default_rate=1r/d;" + server_block(
            "ratecell_headers on; location / { empty_gif; ratecell zone=t; }"))
        with nginx.connect() as connection:
            for number in list(range(1, 200)) * 2:
                # A tier that a delayed request holds is not to vanish under it, nor one be mixed up.
                policy = connection.get(f"/?k={number}&r=1r/{number}h").header("RateLimit-Policy")
                self.assertEqual(policy, f'"t";q=1;w={number * 3600}')

    def test_a_delayed_request_holds_its_tier(self):
        nginx = self.serve("ratecell_zone $arg_k zone=t:1m rate=$arg_r default_rate=1r/d;" + server_block(
            "ratecell_headers on; location / { empty_gif; ratecell zone=t burst=3; }"))
        self.assertEqual(nginx.status("/?k=d&r=2r/s"), 200)
        with nginx.connect() as waiting:
            waiting.send("/?k=d&r=2r/s")
            for number in range(1, 100):
                nginx.status(f"/?k={number}&r={number}r/m")
            self.assertEqual(waiting.receive().header("RateLimit-Policy"), '"t";q=2;w=1;ratecell-burst=4')


class Strict(NginxTest):
    def test_refusals_count(self):
        nginx = self.serve("ratecell_zone $arg_k zone=s:1m rate=3r/d;" + server_block(
            "location / { empty_gif; ratecell zone=s burst=2 nodelay strict cost=$arg_n; }"
            "location /n { empty_gif; ratecell zone=s burst=2 nodelay cost=$arg_n; }"))
        for path, last in (("/?k=1", 503), ("/n?k=2", 200)):
            self.assertEqual([nginx.status(f"{path}&n={n}") for n in (2, 2, 1)], [200, 503, last])

    def test_retry_after_is_from_the_refusal(self):
        nginx = self.serve("ratecell_zone $arg_k zone=s:1m rate=1r/h;" + server_block(
            "ratecell_headers on; location / { empty_gif; ratecell zone=s burst=4 nodelay strict cost=$arg_n; }"))
        refused = nginx.get_all(["/?k=1&n=3"] * 2)[1]
        self.assertEqual(refused.header("Retry-After"), str(3 * 3600))
        self.assertEqual(nginx.status("/?k=1&n=1"), 503)


class Responses(NginxTest):
    def serve_responses(self, count):
        return self.serve("ratecell_zone $arg_k zone=r:1m rate=2r/d;" + server_block(
            f"location / {{ ratecell zone=r burst=1 {count}; proxy_pass http://127.0.0.1:$PORT2; }}")
            + server_block("location / { return 204; } location /401 { return 401; } location /403 { return 403; } "
                           "location /502 { return 502; }", "$PORT2"), ports=2)

    def test_listed_responses_are_counted(self):
        nginx = self.serve_responses("count=response:401,500-599")
        self.assertEqual([nginx.status(path) for path in (
            "/?k=1", "/403?k=1", "/401?k=1", "/?k=1", "/502?k=1", "/?k=1", "/401?k=1", "/401?k=2")],
            [204, 403, 401, 204, 502, 503, 503, 401])

    def test_classes_of_responses(self):
        nginx = self.serve_responses("count=response:4xx")
        self.assertEqual([nginx.status(path) for path in ("/502?k=1", "/403?k=1", "/401?k=1", "/?k=1")],
                         [502, 403, 401, 503])

    def test_all_responses(self):
        nginx = self.serve_responses("count=response")
        self.assertEqual([nginx.status("/?k=1") for _ in range(3)], [204, 204, 503])

    def test_a_refusal_is_no_response_unless_strict(self):
        for strict, left in (("", "3"), ("strict", "2")):
            nginx = self.serve("ratecell_zone $arg_k zone=r:1m rate=9r/d; ratecell_zone $arg_k zone=o:1m rate=1r/d;"
                               + server_block(
                                   "location / { empty_gif; ratecell zone=o;"
                                   f"ratecell zone=r burst=2 count=response:5xx {strict}; }}"
                                   "location /left { empty_gif; ratecell zone=r burst=2 nodelay cost=0;"
                                   "add_header Left $ratecell_remaining; }"))
            self.assertEqual([nginx.status("/?k=1") for _ in range(2)], [200, 503])
            self.assertEqual(nginx.get("/left?k=1").header("Left"), left)

    def test_beside_a_limit_of_requests(self):
        nginx = self.serve(
            "ratecell_zone $arg_k zone=r:1m rate=2r/d; ratecell_zone $arg_k zone=o:1m rate=9r/d;" + server_block(
                "location / { ratecell zone=o burst=4 nodelay; ratecell zone=r burst=1 count=response:401; "
                "proxy_pass http://127.0.0.1:$PORT2; }"
                "location /left { empty_gif; ratecell zone=o burst=4 nodelay cost=0;"
                "add_header Left $ratecell_remaining; }")
            + server_block("location / { return 401; }", "$PORT2"), ports=2)
        self.assertEqual([nginx.status("/?k=1") for _ in range(4)], [401, 401, 503, 503])
        # What the responses refused was not charged to the requests.
        self.assertEqual(nginx.get("/left?k=1").header("Left"), "3")


if __name__ == "__main__":
    unittest.main()
