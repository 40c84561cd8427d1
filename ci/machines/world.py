"""Servers, and machines that share a limit through them."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time

import resp

RATE, CAPACITY = 100, int(os.environ.get("MACHINES_BURST", "200"))
POLICY = f"{RATE}/s burst={CAPACITY}"
NAME = "api"
# The decision instant of an admission is less than this earlier than the admission: an answer that is late is dropped.
LAG = 1.0
PATIENCE = 30


def free_port():
    """A port such that it and that of a cluster's bus are free."""
    while True:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
            with contextlib.suppress(OSError, OverflowError), socket.create_server(("127.0.0.1", port + 10_000)):
                return port


def at(instant):
    time.sleep(max(0, instant - time.monotonic()))


def end(process):
    """Ends a process, whether it wants to or not, and returns its status."""
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)
        process.terminate()
    try:
        return process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()


class Server:
    """A real server that keeps nothing on disk."""

    def __init__(self, folder, *options):
        self.folder, self.options, self.port, self.process = folder, options, free_port(), None

    def start(self):
        program = os.environ.get("RATECELL_REDIS_SERVER", "redis-server")
        command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", *self.options]
        self.process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError, EOFError):
                if self.ask("PING") == b"PONG":
                    return
            if self.process.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"redis-server: expected it to answer on port {self.port}")
            time.sleep(0.05)

    def ask(self, *words):
        """The answer to a command; an error of the server's is one, too."""
        with resp.Client(self.port) as client:
            return client.ask(*words)

    @property
    def url(self):
        return f"redis://127.0.0.1:{self.port}"

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        if self.process:
            end(self.process)


class Line:
    """What a program noted of a decision: its key, when it was noted, the region's time before and after it, and how long
    its lease lasts, in nanoseconds. No `reset`: nobody answered."""

    def __init__(self, words):
        self.noted, self.key = int(words[0]), words[1]
        self.before, self.after = int(words[2]), int(words[3])
        self.reset = None if words[4] == "unanswered" else int(words[4])


class Machine:
    """A file, its agent, and the programs that open it."""

    def __init__(self, folder, number, url):
        self.name, self.file, self.folder, self.url = f"machine{number}", folder / f"leases{number}", folder, url
        self.number, self.agent, self.programs, self.logs, self.environment = number, None, [], [], {}

    def start(self, command, **options):
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | self.environment, **options)

    def start_agent(self):
        command = [os.environ["RATECELL_BIN"] + "/ratecell", "sync", self.file, self.url, "--name", NAME]
        # Its warnings are what a test brings about.
        with (self.folder / f"{self.name}.warnings").open("a") as warnings:
            self.agent = self.start([*command, "--policy", POLICY, "--max-keys", "10000"], stderr=warnings)
        self.expect_ready()

    def expect_ready(self):
        line = self.agent.stdout.readline()
        if not line.startswith("ready: "):
            warnings = (self.folder / f"{self.name}.warnings").read_text()
            sys.exit(f"{self.name}: expected its agent to be ready, found {line!r}\n{warnings}")

    def kill_agent(self):
        self.agent.kill()
        self.agent.wait()
        self.agent.stdout.close()

    def run(self, seconds):
        log = self.folder / f"{self.name}-{len(self.logs)}.log"
        self.logs.append(log)
        command = [os.environ["RATECELL_BIN"] + "/examples/machine", self.file, str(seconds), log]
        self.programs.append(self.start(command))

    def counters(self):
        """Operations, lag in nanoseconds, words healed."""
        command = [os.environ["RATECELL_BIN"] + "/examples/machine", self.file]
        return [int(word) for word in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()]

    def kill_programs(self):
        for program in self.programs:
            program.kill()
            program.wait()
            program.stdout.close()
        self.programs.clear()

    def stop(self):
        for process in [*self.programs, *([self.agent] if self.agent else [])]:
            end(process)

    def results(self):
        """How many requests, and the waits in nanoseconds, of the programs that were not killed. Each must end by itself."""
        asked, waits = 0, []
        for program in self.programs:
            try:
                output = program.communicate(timeout=PATIENCE)[0]
            except subprocess.TimeoutExpired:
                sys.exit(f"{self.name}: a program hangs: expected it to end by itself")
            if program.returncode != 0:
                sys.exit(f"{self.name}: a program ended with {program.returncode}, expected 0")
            for line in output.splitlines():
                what, figure = line.split()
                if what == "asked":
                    asked += int(figure)
                else:
                    waits.append(int(figure))
        return asked, waits

    def lines(self, program=None):
        """What the programs noted, or one of them. The line that a killed program has not ended is left out."""
        logs = self.logs if program is None else [self.logs[program]]
        # One that has just been started may not have made its own yet.
        for log in (log for log in logs if log.exists()):
            for line in log.read_text().splitlines(keepends=True):
                if line.endswith("\n"):
                    yield Line(line.split())

    def admitted(self, program=None):
        """Pairs of an instant in seconds, and a key."""
        return ((line.noted / 1e9, line.key) for line in self.lines(program) if line.reset is not None)
