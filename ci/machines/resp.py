"""The protocol of Redis: whole values, and a client."""

import socket


def read(stream):
    """The next value of a stream: its bytes, and what it is. An error of the server's is an `Exception`, not raised."""
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise EOFError
    kind, rest = line[:1], line[1:-2]
    if kind == b"+":
        return line, rest
    if kind == b"-":
        return line, RuntimeError(rest.decode())
    if kind == b":":
        return line, int(rest)
    length = int(rest)
    if kind == b"$":
        if length < 0:
            return line, None
        text = stream.read(length + 2)
        if len(text) < length + 2:
            raise EOFError
        return line + text, text[:-2]
    if kind != b"*":
        raise ValueError(f"{line!r}: expected a value of RESP 2")
    parts = [read(stream) for _ in range(max(0, length))]
    return line + b"".join(raw for raw, _ in parts), None if length < 0 else [value for _, value in parts]


def command(*words):
    texts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    return b"*%d\r\n" % len(texts) + b"".join(b"$%d\r\n%s\r\n" % (len(text), text) for text in texts)


class Client:
    """A connection to a server of this computer."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=5)
        self.stream = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        self.socket.close()

    def ask(self, *words):
        self.socket.sendall(command(*words))
        return read(self.stream)[1]
