"""What a zone holds, what happens when it is full, and tables in files."""

import ctypes
import json
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import unittest

from harness import NginxTest, server_block
from library import LIBRARY

GIF = "location / { empty_gif; ratecell zone=m%s; } location /stats { ratecell_stats; }"


def address(number):
    return socket.inet_ntoa(struct.pack("!I", (10 << 24) + number))


class Capacity(NginxTest):
    def stats(self, nginx, zone="m"):
        zones = json.loads(nginx.get("/stats").body)["zones"]
        return next(found for found in zones if found["zone"] == zone)

    def fill(self, nginx, keys, header="K"):
        with nginx.connect() as connection:
            for start in range(0, len(keys), 50):
                part = keys[start:start + 50]
                connection.socket.sendall(b"".join(
                    f"GET / HTTP/1.1\r\nHost: a\r\n{header}: {key}\r\n\r\n".encode() for key in part))
                for _ in part:
                    yield connection.receive().status

    def keys_per_megabyte(self, key, text):
        nginx = self.serve(
            "set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;"
            f'ratecell_zone {key} zone=m:1m policy="fixed_window 1/1w";' + server_block(GIF % ""))
        header = "X-Real-IP" if key == "$binary_remote_addr" else "K"
        keys = [text(number) for number in range(32000)]
        self.assertEqual(set(self.fill(nginx, keys, header)), {200})
        # All of them are remembered: each is refused, and none was erased.
        self.assertEqual(set(self.fill(nginx, keys, header)), {503})
        stats = self.stats(nginx)
        self.assertEqual((stats["live"], stats["evicted"], stats["passed"], stats["rejected"]),
                         (32000, 0, 32000, 32000))
        return stats["slots"]

    def test_all_that_a_megabyte_is_advertised_for(self):
        nginx = self.serve('ratecell_zone $http_k zone=m:1m policy="fixed_window 1/1w";' + server_block(GIF % ""))
        keys = [f"{number:016d}" for number in range(41000)]
        self.assertEqual(set(self.fill(nginx, keys)), {200})
        # One in a thousand may have found no place near its own.
        self.assertLessEqual(self.stats(nginx)["evicted"], 41)

    def test_keys_of_4_bytes(self):
        self.keys_per_megabyte("$binary_remote_addr", address)

    def test_keys_of_16_bytes(self):
        self.keys_per_megabyte("$http_k", lambda number: f"{number:016d}")

    def test_keys_of_40_bytes(self):
        self.keys_per_megabyte("$http_k", lambda number: f"{number:040d}")

    def test_a_full_zone_refuses_nobody_for_room(self):
        nginx = self.serve("ratecell_zone $http_k zone=m:64k rate=1r/d;" + server_block(GIF % ""))
        short = self.fill(nginx, [f"{number}" for number in range(20000)])
        long = self.fill(nginx, [f"{number:01000d}" for number in range(300)])
        self.assertEqual((set(short), set(long)), ({200}, {200}))
        stats = self.stats(nginx)
        self.assertLessEqual(stats["live"], stats["slots"])
        self.assertEqual(stats["passed"], 20300)
        self.assertGreaterEqual(stats["live"] + stats["evicted"], 20300)
        self.assertGreaterEqual(stats["forgiven"], stats["evicted"])

    def test_a_full_zone_limits_still(self):
        nginx = self.serve("ratecell_zone $http_k zone=m:64k rate=1r/d;" + server_block(GIF % " burst=9 nodelay"))
        hot = list(self.fill(nginx, ["hot"] * 12))
        self.assertEqual(hot, [200] * 10 + [503] * 2)
        # Keys with little to remember go before one with much.
        list(self.fill(nginx, [f"{number}" for number in range(10000)]))
        self.assertEqual(nginx.get("/", {"K": "hot"}).status, 503)

    def test_the_smallest_zone(self):
        nginx = self.serve("ratecell_zone $http_k zone=m:32k rate=1r/d;" + server_block(GIF % ""))
        self.assertEqual(list(self.fill(nginx, ["1", "1", "2"])), [200, 503, 200])


class Resident(NginxTest):
    def zone(self, size):
        return f"ratecell_zone $http_k zone=m:{size} rate=1r/s;" + server_block(GIF % "")

    def shared(self, nginx, process=None):
        """How many KB of shared memory a process has touched, by default the master."""
        with open(f"/proc/{process or nginx.process.pid}/status", encoding="ascii") as status:
            (shared,) = (line.split()[1] for line in status if line.startswith("RssShmem:"))
        return int(shared)

    def test_a_zone_takes_memory_as_keys_come(self):
        nginx = self.serve(self.zone("512m"))
        # nginx itself has 24 bytes for each page: 3 MB.
        self.assertLess(self.shared(nginx), 16 << 10)
        self.assertEqual(nginx.reload(self.zone("513m")), "served")
        self.assertLess(self.shared(nginx), 32 << 10)
        self.assertEqual([nginx.status("/", {"K": "1"}) for _ in range(2)], [200, 503])

    def test_the_stats_of_a_zone_take_none(self):
        nginx = self.serve(self.zone("512m"))
        for _ in range(3):
            zone = json.loads(nginx.get("/stats").body)["zones"][0]
            self.assertLessEqual(zone["live"], zone["live_error"])
        for process in nginx.process.pid, *nginx.worker_pids():
            self.assertLess(self.shared(nginx, process), 24 << 10)

    def test_a_test_of_the_configuration_takes_none(self):
        code = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
                "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
        nginx = self.prepare(self.zone("512m"))
        done = subprocess.run([sys.executable, "-c", code, *nginx.command("-t")], capture_output=True, text=True,
                              check=True)
        self.assertLess(int(done.stdout), 64 << 10)


class File(NginxTest):
    expected_in_log = (r"\[emerg\]",)

    def configuration(self, policy='policy="fixed_window 100/1d start=first"', size="1m"):
        return (f"ratecell_zone $arg_k zone=f:{size} {policy} file=$FOLDER/table;"
                + server_block("location / { empty_gif; ratecell zone=f; }"))

    def other_process(self, path, tries):
        """How many of so many checks of the key "1" another program is allowed in the same file."""
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                limiter = ctypes.c_void_p()
                status = LIBRARY.ratecell_limiter_open(
                    path.encode(), b"fixed_window 100/1d start=first", None, ctypes.byref(limiter))
                passed = sum(LIBRARY.ratecell_limiter_check(limiter, b"1", 1, 1, None) == 0
                             for _ in range(tries)) if status == 0 else status
                os.write(write, str(passed).encode())
            finally:
                os._exit(0)
        os.close(write)
        os.waitpid(child, 0)
        with os.fdopen(read, "rb") as answer:
            return int(answer.read())

    def test_another_process_shares_the_limit(self):
        nginx = self.serve(self.configuration(), workers=2)
        with nginx.connect() as connection:
            self.assertEqual(connection.statuses(["/?k=1"] * 30), {200: 30})
        self.assertEqual(self.other_process(nginx.path("table"), 50), 50)
        with nginx.connect() as connection:
            self.assertEqual(connection.statuses(["/?k=1"] * 30), {200: 20, 503: 10})
        self.assertEqual(self.other_process(nginx.path("table"), 5), 0)

    def test_it_outlives_a_restart_and_a_reload(self):
        nginx = self.serve(self.configuration())
        with nginx.connect() as connection:
            self.assertEqual(connection.statuses(["/?k=1"] * 60), {200: 60})
        nginx.stop()
        nginx.start()
        self.assertEqual(nginx.reload(), "served")
        with nginx.connect() as connection:
            self.assertEqual(connection.statuses(["/?k=1"] * 60), {200: 40, 503: 20})

    def test_a_file_of_another_size_is_used_as_it_is(self):
        nginx = self.serve(self.configuration())
        self.assertEqual(nginx.status("/?k=1"), 200)
        before = os.path.getsize(nginx.path("table"))
        self.assertEqual(nginx.reload(self.configuration(size="4m")), "served")
        self.assertEqual(os.path.getsize(nginx.path("table")), before)
        self.assertEqual(self.other_process(nginx.path("table"), 100), 99)

    def test_a_file_names_whoever_is_refused_if_it_is_asked_to(self):
        def contents(names):
            configuration = self.configuration('policy="fixed_window 1/1d"').replace("/table", f"/{names} names={names}")
            nginx = self.serve(configuration)
            with nginx.connect() as connection:
                statuses = connection.statuses(["/?k=allowed", "/?k=refused", "/?k=refused"])
            self.assertEqual(statuses, {200: 2, 503: 1})
            self.assertLessEqual(os.path.getsize(nginx.path(names)), 1 << 20)
            with open(nginx.path(names), "rb") as file:
                return file.read()

        named = contents("on")
        self.assertIn(b"refused", named)
        self.assertNotIn(b"allowed", named)
        self.assertNotIn(b"refused", contents("off"))

    def test_the_size_is_that_of_a_new_file(self):
        for size, bytes_ in (("64k", 64 << 10), ("1m", 1 << 20), ("3m", 3 << 20)):
            for policy in ("rate=1r/s", 'policy="fixed_window 100/1d start=first & 5/s & 9/m"'):
                nginx = self.serve(self.configuration(policy=policy, size=size))
                made = os.path.getsize(nginx.path("table"))
                # What is less than another group of keys is left over.
                self.assertTrue(bytes_ - 1024 < made <= bytes_, (policy, size, made))

    def test_a_test_leaves_no_file(self):
        nginx = self.prepare(self.configuration())
        for policy in ("rate=1r/s", 'policy="sliding_window 5/1h"'):
            nginx.configure(self.configuration(policy=policy))
            good, said = nginx.test()
            self.assertTrue(good, said)
            self.assertEqual([name for name in os.listdir(nginx.folder) if name.startswith("table")], [])
        nginx.configure(self.configuration())
        nginx.start()
        self.assertIn("table", os.listdir(nginx.folder))

    def test_a_test_looks_into_the_file_that_is_there(self):
        nginx = self.serve(self.configuration())
        with nginx.connect() as connection:
            self.assertEqual(connection.statuses(["/?k=1"] * 60), {200: 60})
        nginx.configure(self.configuration(policy="rate=1r/s"))
        good, said = nginx.test()
        self.assertFalse(good)
        self.assertRegex(said, r'ratecell zone "f" cannot use the file "\S+/table": the region\'s words: fixed.*; '
                         r"expected gcra")
        nginx.configure(self.configuration())
        good, said = nginx.test()
        self.assertTrue(good, said)
        with nginx.connect() as connection:
            self.assertEqual(connection.statuses(["/?k=1"] * 60), {200: 40, 503: 20})

    def test_a_file_of_something_else_is_refused(self):
        nginx = self.prepare(self.configuration())
        nginx.write("table", "something else entirely\n" * 500)
        good, said = nginx.test()
        self.assertFalse(good)
        self.assertRegex(said, r'ratecell zone "f" cannot use the file "\S+/table": not a region of ratecell: expected')
        self.assertEqual(nginx.read("table"), "something else entirely\n" * 500)

    def test_what_the_system_refuses_is_said(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))

        good, said = self.prepare(self.configuration()).test(preexec_fn=small_files)
        self.assertFalse(good)
        self.assertRegex(said, r'ratecell zone "f" cannot use the file "\S+/table": cannot be made \d+ bytes long: '
                         r"File too large \(os error 27\)")
        good, said = self.prepare(self.configuration().replace("$FOLDER", "/nowhere")).test()
        self.assertFalse(good)
        self.assertIn('cannot use the file "/nowhere/table": cannot be opened: No such file or directory', said)

    @unittest.skipIf(os.geteuid() != 0, "only the super-user can be another")
    def test_which_permission_is_missing_is_said(self):
        nginx = self.prepare(self.configuration())
        self.assertEqual(self.other_process(nginx.path("table"), 1), 1)
        os.chmod(os.path.dirname(nginx.path("table")), 0o777)

        def nobody():
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        good, said = nginx.test(preexec_fn=nobody)
        self.assertFalse(good)
        self.assertRegex(said, r'cannot use the file "\S+": cannot be opened: Permission denied \(os error 13\): '
                         r"the file is of user 0, group 0, mode 0600; expected one that user 65534 may read and write")

    def test_a_file_that_is_none_is_refused(self):
        good, said = self.prepare(self.configuration().replace("$FOLDER/table", "/dev/null")).test()
        self.assertFalse(good)
        self.assertIn("not a regular file", said)

    def test_another_algorithm_is_refused(self):
        nginx = self.serve(self.configuration())
        self.assertEqual(nginx.reload(self.configuration(policy="rate=1r/s")), "refused")
        self.assertIn('ratecell zone "f" cannot use the file "', nginx.log())
        self.assertEqual(nginx.status("/?k=1"), 200)


if __name__ == "__main__":
    unittest.main()
