"""A store and the agents of machines that share its limits."""

import os
import shutil
import signal
import subprocess
import tempfile

from harness import free_port, wait_for

AGENT = os.environ["RATECELL_AGENT"]
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

    def agent(self, policy, name="api"):
        """The file that a new agent of a machine has made."""
        path = os.path.join(self.folder, f"limits{len(self.agents)}")

        def started():
            agent = subprocess.Popen([AGENT, path, f"redis://127.0.0.1:{self.port}", name, policy],
                                     stdout=subprocess.PIPE, text=True)
            # It writes a line when its file is there, and none if the server does not listen yet.
            if agent.stdout.readline():
                return agent
            agent.wait()
            agent.stdout.close()
            return None

        self.agents.append(wait_for("an agent", started))
        return path

    def pause(self):
        self.server.send_signal(signal.SIGSTOP)

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
