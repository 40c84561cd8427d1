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


class Config(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("max_keys", ctypes.c_uint64), ("when_full", ctypes.c_uint64),
                ("flags", ctypes.c_uint64), ("why", ctypes.c_char_p), ("why_len", ctypes.c_size_t),
                ("machines", ctypes.c_uint64 * 4), ("store", ctypes.c_char_p), ("store_name", ctypes.c_char_p),
                ("epoch_s", ctypes.c_int64), ("beside", ctypes.c_void_p), ("policy_version", ctypes.c_uint64),
                ("file", ctypes.c_char_p)]


class Attribute(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("name_len", ctypes.c_size_t), ("value", ctypes.c_char_p),
                ("value_len", ctypes.c_size_t)]


class RulesRequest(ctypes.Structure):
    _fields_ = [("attributes", ctypes.POINTER(Attribute)), ("n_attributes", ctypes.c_size_t), ("now_ns", ctypes.c_uint64),
                ("flags", ctypes.c_uint32), ("reserved", ctypes.c_uint32), ("claims", ctypes.c_void_p),
                ("max_claims", ctypes.c_size_t), ("shadows", ctypes.c_void_p), ("max_shadows", ctypes.c_size_t),
                ("held", ctypes.c_void_p), ("max_held", ctypes.c_size_t)]


class RulesAnswer(ctypes.Structure):
    _fields_ = [("retry_after_ns", ctypes.c_uint64), ("delay_ns", ctypes.c_uint64), ("limit", ctypes.c_uint64),
                ("remaining", ctypes.c_uint64), ("reset_after_ns", ctypes.c_uint64), ("outcome", ctypes.c_int32),
                ("n_claims", ctypes.c_uint32), ("n_shadows", ctypes.c_uint32), ("reserved", ctypes.c_uint32),
                ("rule", ctypes.c_char * 72)]


AT, NEXT = 1, 32
FOLLOW, CHANGE = 8192, 16384
OUTCOMES = ("allowed", "denied", "never", "clock_range")
LIBRARY = ctypes.CDLL(os.environ["RATECELL_SHARED_LIBRARY"])
LIBRARY.ratecell_limiter_check.argtypes = [
    ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_void_p]
LIBRARY.ratecell_limiter_free.argtypes = [ctypes.c_void_p]
LIBRARY.ratecell_rules_free.argtypes = [ctypes.c_void_p]
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


class Rules:
    """Limits by rules in a file, beside nginx."""

    def __init__(self, text, file, flags=0):
        self.rules = ctypes.c_void_p()
        text, why = text.encode(), ctypes.create_string_buffer(512)
        config = Config(size=ctypes.sizeof(Config), flags=flags, why=ctypes.addressof(why), why_len=len(why),
                        file=os.fsencode(file))
        status = LIBRARY.ratecell_rules_new(text, ctypes.c_size_t(len(text)), ctypes.byref(config), ctypes.byref(self.rules))
        if status != 0:
            raise ValueError(why.value.decode())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        LIBRARY.ratecell_rules_free(self.rules)

    def change(self, text):
        text = text.encode()
        status = LIBRARY.ratecell_rules_change(self.rules, text, ctypes.c_size_t(len(text)), 0, ctypes.c_uint64(0), None,
                                               ctypes.c_size_t(0))
        assert status == 0, status

    def decide(self, **attributes):
        """Whether a request with these attributes may go, and how many more."""
        given = [(name.encode(), value.encode()) for name, value in attributes.items()]
        given = [Attribute(name, len(name), value, len(value)) for name, value in given]
        request = RulesRequest(attributes=(Attribute * len(given))(*given), n_attributes=len(given))
        answer = RulesAnswer()
        status = LIBRARY.ratecell_rules_decide(self.rules, ctypes.byref(request), ctypes.byref(answer))
        assert status == answer.outcome, status
        return OUTCOMES[status], answer.remaining
