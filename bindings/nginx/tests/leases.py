"""A store and the agents of machines that share its limits."""

import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from harness import free_port, wait_for

PROGRAM = os.environ["RATECELL_PROGRAM"]
SERVER = shutil.which("valkey-server") or shutil.which("redis-server")


class Store:
    def __init__(self):
        assert SERVER, "expected valkey-server or redis-server (Debian: redis-server)"
        self.folder = tempfile.mkdtemp(prefix="ratecell-store-")
        self.port = free_port()
        self.agents = []
        self.server = subprocess.Popen(
            [SERVER, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder],
            stdout=subprocess.DEVNULL)
        wait_for("the server to listen", self.listens)

    def listens(self):
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
            return True
        except ConnectionRefusedError:
            return False

    def agent(self, policy, name="api"):
        """The file that a new agent of a machine has made."""
        path = os.path.join(self.folder, f"limits{len(self.agents)}")
        agent = subprocess.Popen([PROGRAM, "sync", path, f"redis://127.0.0.1:{self.port}",
                                  "--name", name, "--policy", policy],
                                 stdout=subprocess.PIPE, text=True)
        self.agents.append(agent)
        # It writes a line when its file is there.
        assert agent.stdout.readline(), "the agent ended"
        return path

    def pause(self):
        self.server.send_signal(signal.SIGSTOP)
        # The signal is on its way: other threads may still run.
        wait_for("the store to stop", lambda: all(state == "T" for state in self.states()))

    def states(self):
        """Of each thread of the server: what follows its name, which may hold anything."""
        for stat in glob.glob(f"/proc/{self.server.pid}/task/*/stat"):
            with open(stat, encoding="ascii", errors="replace") as file:
                yield file.read().rsplit(")", 1)[1].split()[0]

    def resume(self):
        self.server.send_signal(signal.SIGCONT)

    def kill_agents(self):
        for agent in self.agents:
            agent.kill()
            agent.wait()
            agent.stdout.close()
        self.agents = []

    def end(self):
        self.kill_agents()
        self.server.kill()
        self.server.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
