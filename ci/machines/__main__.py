"""Machines that share a limit through a real server, while much goes wrong.

    python machines server FOLDER COMMAND...    the command, with RATECELL_STORE as the address of a server
    python machines MODE FOLDER FIGURE          a function of many.py, scenes.py or cluster.py: its seconds, or its deaths

RATECELL_BIN is the folder of the built programs; FOLDER is where the files and the logs are. RATECELL_SEED repeats the
choices of a run, though not its timing; MACHINES_BURST is another burst than 200. With MACHINES_NGINX=yes two machines of
`many` are nginx, whose module RATECELL_NGINX_MODULE is.
"""

import os
import pathlib
import subprocess
import sys

import cluster
import many
import scenes
from world import Server

MODES = [many.many, cluster.cluster, cluster.failover, scenes.run, scenes.faults, scenes.forget, scenes.kills, scenes.clock]


def main():
    mode, folder, rest = sys.argv[1], pathlib.Path(sys.argv[2]).absolute(), sys.argv[3:]
    if mode == "server":
        server = Server(folder)
        server.start()
        try:
            sys.exit(subprocess.run(rest, env=os.environ | {"RATECELL_STORE": server.url}, check=False).returncode)
        finally:
            server.stop()
    {function.__name__: function for function in MODES}[mode](folder, float(rest[0]))


if __name__ == "__main__":
    sys.stdout.reconfigure(line_buffering=True)
    main()
