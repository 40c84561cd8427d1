"""The C library, as another program uses it."""

import ctypes
import os


class Request(ctypes.Structure):
    _fields_ = [("key", ctypes.c_char_p), ("key_len", ctypes.c_size_t), ("hash", ctypes.c_uint64),
                ("now_ns", ctypes.c_uint64), ("max_delay_ns", ctypes.c_uint64), ("cost", ctypes.c_uint32),
                ("flags", ctypes.c_uint32), ("zone", ctypes.c_void_p), ("reservation", ctypes.c_void_p)]


class Decision(ctypes.Structure):
    _fields_ = [("limit", ctypes.c_uint64), ("remaining", ctypes.c_uint64), ("retry_after_ns", ctypes.c_uint64),
                ("reset_after_ns", ctypes.c_uint64), ("delay_ns", ctypes.c_uint64), ("outcome", ctypes.c_int32),
                ("layer", ctypes.c_uint32), ("next_ns", ctypes.c_uint64), ("given_back", ctypes.c_uint32),
                ("notes", ctypes.c_uint32)]


AT, NEXT = 1, 32
OUTCOMES = ("allowed", "denied", "never", "clock_range")
LIBRARY = ctypes.CDLL(os.environ["RATECELL_SHARED_LIBRARY"])
LIBRARY.ratecell_limiter_check.argtypes = [
    ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p]
LIBRARY.ratecell_limiter_free.argtypes = [ctypes.c_void_p]
LIBRARY.ratecell_region_size.restype = ctypes.c_size_t


class Limiter:
    def __init__(self, policy):
        self.limiter = ctypes.c_void_p()
        status = LIBRARY.ratecell_limiter_new(policy.encode(), None, ctypes.byref(self.limiter))
        assert status == 0, (policy, status)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        LIBRARY.ratecell_limiter_free(self.limiter)

    def decide(self, key, cost, now_ns):
        """The decision at an instant, with the time to the next unit."""
        decision = Decision()
        request = Request(key, len(key), 0, now_ns, 0, cost, AT | NEXT)
        status = LIBRARY.ratecell_limiter_decide(self.limiter, ctypes.byref(request), ctypes.byref(decision))
        assert status == decision.outcome, (key, cost, now_ns, status)
        return decision
