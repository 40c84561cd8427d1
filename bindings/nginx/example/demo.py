"""Serves ratecell.conf on free ports of loopback, and shows what it answers."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tests"))

from harness import Nginx  # noqa: E402, the path comes first

FIELDS = ("RateLimit", "RateLimit-Policy", "Retry-After", "X-Delay", "X-Rule")


def show(nginx, title, requests):
    print(f"\n{title}")
    for path, headers, times in requests:
        with nginx.connect() as connection:
            before = None
            for number in range(1, times + 1):
                response = connection.get(path, headers)
                # Of many alike only the first and the first that is otherwise.
                if response.status == before and number < times:
                    continue
                said = "".join(f"\n         {name}: {value}" for name, value in response.headers if name in FIELDS)
                sent = "".join(f"  {name}: {value}" for name, value in headers.items())
                print(f"  {number:3}  {path}{sent} -> {response.status}{said}")
                before = response.status


def main():
    with open(os.path.join(HERE, "ratecell.conf"), encoding="ascii") as file:
        http = file.read().replace("127.0.0.1:8081", "127.0.0.1:$PORT2").replace("127.0.0.1:8080", "127.0.0.1:$PORT")
    nginx = Nginx(http, workers=2, ports=2)
    try:
        with open(os.path.join(HERE, "limits.toml"), encoding="ascii") as file:
            nginx.write("limits.toml", file.read())
        nginx.start()
        show(nginx, "Ten a second and twenty at once, within a day's quota", [("/api/", {"X-API-Key": "a"}, 23)])
        show(nginx, "Tiers by the plan", [("/tier/", {"X-API-Key": key}, 6) for key in ("gold-1", "silver-1", "free")])
        show(nginx, "A file of rules", [("/rules/", {"X-API-Key": key}, 6) for key in ("gold-1", "silver-1", "free")]
             + [("/rules//%73earch", {"X-API-Key": "gold-2"}, 3)])
        show(nginx, "Wrong passwords count, right ones do not",
             [("/login?password=sesame", {}, 4), ("/login?password=1234", {}, 4), ("/login?password=sesame", {}, 1)])
        show(nginx, "Requests that cost", [("/report?points=60", {}, 1), ("/report?points=60", {}, 1),
                                           ("/report?points=40", {}, 1)])
        show(nginx, "Delayed rather than refused", [("/smooth", {}, 5)])
        print("\nStatistics\n" + nginx.get("/limits?format=json").body.decode().replace('{"zone"', '\n  {"zone"'))
        print("\n".join(line for line in nginx.get("/limits?format=prometheus").body.decode().splitlines()
                        if 'zone="login"' in line))
    finally:
        nginx.stop()
        nginx.remove()


main()
