"""An nginx with the module, on a free port, in a folder of its own."""

import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

MODULE = os.environ["RATECELL_NGINX_MODULE"]
NGINX = os.environ.get("RATECELL_NGINX", shutil.which("nginx") or "/usr/sbin/nginx")
# One that has the module built in. There is none where nginx's sources cannot be had.
STATIC_NGINX = os.environ.get("RATECELL_NGINX_STATIC")

CONFIGURATION = """
{load_module}
{user}
daemon off;
worker_processes {workers};
worker_rlimit_core 0;
worker_shutdown_timeout 20s;
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{ worker_connections 1024; }}
http {{
    {access_log}
    keepalive_requests 10000000;
    keepalive_timeout 60s;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    root {folder};
{http}
}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(what, condition, seconds=15.0):
    """Waits until the condition holds, and returns what it returned; fails if it never does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        result = condition()
        if result:
            return result
        time.sleep(0.01)
    raise AssertionError(f"waited {seconds} s in vain for: {what}")


class Response:
    def __init__(self, head, body):
        lines = head.decode("latin-1").split("\r\n")
        self.status = int(lines[0].split()[1])
        self.headers = [line.split(": ", 1) for line in lines[1:] if ": " in line]
        self.body = body

    def header(self, name):
        """The one value of a field, or None; two of them are a failure."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name}: {values}"
        return values[0] if values else None


class Connection:
    """A client that keeps its connection, and can send many requests before it reads. A proxy's sends a line first."""

    def __init__(self, port, first=b""):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self.socket.sendall(first)
        self.data = b""

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, path, headers=(), method="GET", body=b""):
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost"]
        lines += [f"{name}: {value}" for name, value in dict(headers).items()]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        self.socket.sendall("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body)

    def more(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise ConnectionError("closed")
        self.data += data

    def receive(self, head_only=False):
        while b"\r\n\r\n" not in self.data:
            self.more()
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        size = int(length[1]) if length and not head_only else 0
        while len(self.data) < size:
            self.more()
        body, self.data = self.data[:size], self.data[size:]
        return Response(head, body)

    def get(self, path, headers=(), method="GET", body=b""):
        self.send(path, headers, method, body)
        return self.receive(head_only=method == "HEAD")

    def get_all(self, paths):
        """The responses to requests that arrive together, so that no time passes between them."""
        self.socket.sendall(b"".join(
            b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode("latin-1") for path in paths))
        return [self.receive() for _ in paths]

    def statuses(self, paths):
        """Of many requests at once: how many had which status."""
        found = {}
        paths = list(paths)
        for start in range(0, len(paths), 50):
            for response in self.get_all(paths[start:start + 50]):
                found[response.status] = found.get(response.status, 0) + 1
        return found


class Nginx:
    def __init__(self, http, workers=1, ports=1, folder=None, static=False):
        self.folder = folder or tempfile.mkdtemp(prefix="ratecell-nginx-")
        self.workers = workers
        self.static = static
        self.ports = [free_port() for _ in range(ports)]
        self.port = self.ports[0]
        self.process = None
        self.configure(http)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="latin-1") as file:
            file.write(text)

    def read(self, name):
        try:
            with open(self.path(name), encoding="latin-1") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def log(self):
        return self.read("error.log")

    def configure(self, http):
        """$PORT, $PORT2 and $FOLDER in the text are this server's."""
        http = http.replace("$FOLDER", self.folder)
        for number, port in reversed(list(enumerate(self.ports, 1))):
            http = http.replace(f"$PORT{number if number > 1 else ''}", str(port))
        self.write("nginx.conf", CONFIGURATION.format(
            load_module="" if self.static else f"load_module {MODULE};",
            folder=self.folder, workers=self.workers, http=http,
            access_log="" if "access_log" in http else "access_log off;",
            user="user root;" if os.getuid() == 0 else ""))

    def command(self, *arguments):
        nginx = STATIC_NGINX if self.static else NGINX
        return [nginx, "-p", self.folder, "-c", "nginx.conf", "-e", "error.log", *arguments]

    def test(self, **options):
        """nginx -t: whether it likes the configuration, and what it says."""
        done = subprocess.run(self.command("-t"), capture_output=True, text=True, encoding="latin-1",
                              check=False, timeout=60, **options)
        return done.returncode == 0, done.stderr

    def start(self):
        with open(self.path("stderr"), "ab") as errors:
            self.process = subprocess.Popen(self.command(), stdout=errors, stderr=errors)
        try:
            wait_for("nginx to accept", self.accepts)
            # From the first fork on the master misses no signal.
            wait_for("the workers", lambda: len(self.worker_pids()) >= self.workers)
        except AssertionError:
            raise AssertionError(self.read("stderr") + self.log()) from None
        return self

    def accepts(self):
        if self.process.poll() is not None:
            raise AssertionError(self.read("stderr") + self.log())
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=5).close()
            return True
        except ConnectionRefusedError:
            return False

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            try:
                self.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.process.send_signal(signal.SIGTERM)
                self.process.wait(timeout=30)
        self.process = None

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def worker_pids(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as children:
            return {int(pid) for pid in children.read().split()}

    def reload(self, http=None):
        """Reloads, and waits until new workers serve or the master has refused."""
        if http is not None:
            self.configure(http)
        old, seen = self.worker_pids(), len(self.log())
        self.process.send_signal(signal.SIGHUP)

        def changed():
            if "[emerg]" in self.log()[seen:]:
                return "refused"
            new = self.worker_pids() - old
            return "served" if len(new) >= self.workers and not old & self.worker_pids() else None

        return wait_for("a reload", changed)

    def connect(self):
        return Connection(self.port)

    def get(self, path="/", headers=(), method="GET", body=b"", port=None):
        with Connection(port or self.port) as connection:
            return connection.get(path, headers, method, body)

    def get_all(self, paths):
        with self.connect() as connection:
            return connection.get_all(paths)

    def status(self, path="/", headers=()):
        return self.get(path, headers).status

    def load(self, paths, clients):
        """The statuses of as many clients at once, each with its own list of paths."""
        totals, lock, failures = {}, threading.Lock(), []

        def client(mine):
            try:
                with self.connect() as connection:
                    found = connection.statuses(mine)
                with lock:
                    for status, count in found.items():
                        totals[status] = totals.get(status, 0) + count
            except OSError as error:
                failures.append(error)

        threads = [threading.Thread(target=client, args=(paths(number),)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
        return totals


class NginxTest(unittest.TestCase):
    """Every test ends with a log in which nothing is wrong."""

    # Lines that a test brings about itself.
    expected_in_log = ()

    def setUp(self):
        self.servers = []

    def serve(self, http, **options):
        server = Nginx(http, **options)
        self.servers.append(server)
        for name in ("index.html", "a", "b"):
            server.write(name, "x")
        return server.start()

    def prepare(self, http, **options):
        server = Nginx(http, **options)
        self.servers.append(server)
        return server

    def tearDown(self):
        for server in self.servers:
            server.stop()
        bad = []
        for server in self.servers:
            for line in (server.log() + server.read("stderr")).splitlines():
                if re.search(r"\[(alert|crit|emerg)\]|sanitizer", line, re.IGNORECASE) and not any(
                        re.search(pattern, line) for pattern in self.expected_in_log):
                    bad.append(line)
            server.remove()
        self.assertEqual(bad, [])


def server_block(body, port="$PORT"):
    return f"server {{ listen 127.0.0.1:{port}; {body} }}"
