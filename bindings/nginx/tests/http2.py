"""As much of an HTTP/2 client as the tests need: frames, and headers that nothing compresses."""

import socket
import struct

DATA, HEADERS, SETTINGS, GOAWAY = 0, 1, 4, 7
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def literal(text):
    return bytes([len(text)]) + text.encode("ascii")


def framed(kind, flags, stream, payload):
    return struct.pack("!I", len(payload))[1:] + bytes([kind, flags]) + struct.pack("!I", stream) + payload


class Http2:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=20)
        self.data = b""
        self.last = -1
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self.frame(SETTINGS, 0, 0, b"")

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def frame(self, kind, flags, stream, payload, cut=None):
        """Sends a frame, or the first `cut` bytes of it; returns the rest."""
        data = framed(kind, flags, stream, payload)
        cut = len(data) if cut is None else cut
        self.socket.sendall(data[:cut])
        return data[cut:]

    def begin(self, path, method="GET", end=True):
        """A new stream's first frame: the static table's :method and :scheme, and :path and :authority as literals."""
        self.last += 2
        block = {"GET": b"\x82", "POST": b"\x83"}[method] + b"\x86\x04" + literal(path) + b"\x01" + literal("localhost")
        return framed(HEADERS, END_HEADERS | (END_STREAM if end else 0), self.last, block)

    def request(self, path, method="GET", end=True):
        self.socket.sendall(self.begin(path, method, end))
        return self.last

    def requests(self, paths):
        """The streams of requests that arrive together."""
        first = self.last + 2
        self.socket.sendall(b"".join(self.begin(path) for path in paths))
        return range(first, self.last + 1, 2)

    def body(self, stream, data, end=True, cut=None):
        return self.frame(DATA, END_STREAM if end else 0, stream, data, cut)

    def exactly(self, size):
        while len(self.data) < size:
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError("closed")
            self.data += more
        data, self.data = self.data[:size], self.data[size:]
        return data

    def response(self, stream):
        """The status and the body of a stream, when it has ended."""
        status, body = None, b""
        while True:
            head = self.exactly(9)
            payload = self.exactly(int.from_bytes(head[:3], "big"))
            kind, flags, of = head[3], head[4], int.from_bytes(head[5:], "big")
            assert kind != GOAWAY, payload
            if kind == SETTINGS and not flags & ACK:
                self.frame(SETTINGS, ACK, 0, b"")
            if of != stream:
                continue
            if kind == HEADERS:
                # The first is :status: an entry of the static table, or a literal with the name of one.
                status = 200 if payload[0] == 0x88 else int(payload[2:5])
            if kind == DATA:
                body += payload
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                return status, body
