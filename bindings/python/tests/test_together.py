"""Threads and processes on one limit: together they are allowed what the policy says, and not one more."""

from __future__ import annotations

import ctypes
import errno
import multiprocessing
import os
import stat
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from ratecell import Limiter

FORK = multiprocessing.get_context("fork")
LIMIT = 10_000


def in_a_child(work: Callable[[], int], fork: Callable[[], int] = os.fork) -> int:
    """What `work` returns in a process that is forked off, 0 to 255."""
    child = fork()
    if child == 0:
        try:
            os._exit(work())
        except BaseException:
            traceback.print_exc()
            os._exit(255)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.parametrize("policy", [f"{LIMIT}/100d", f"{LIMIT}/100d & fixed_window {LIMIT}/1d start=first"])
def test_threads(policy: str) -> None:
    limiter = Limiter(policy)
    admitted: list[int] = []
    start = threading.Barrier(4)

    def work() -> None:
        start.wait()
        admitted.append(sum(bool(limiter.check("k")) for _ in range(LIMIT // 2)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(admitted) == LIMIT
    assert len(admitted) == 4


def test_threads_with_batches() -> None:
    limiter = Limiter(f"{LIMIT}/100d")
    admitted: list[int] = []
    # Long enough for the interpreter to be let go.
    keys = ["k"] * 5000

    def work() -> None:
        admitted.append(limiter.decide_many(keys).allowed_count)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(admitted), len(admitted)) == (LIMIT, 4)


def test_a_long_batch_lets_other_threads_in() -> None:
    limiter = Limiter("1/h")
    # So long that who is to be let in has woken up before it ends.
    keys = b"k" * 300_000
    let_in = threading.Event()
    batches = 0

    def work() -> None:
        nonlocal batches
        while not let_in.is_set() and batches < 400:
            limiter.decide_many(keys, width=1)
            batches += 1

    before = sys.getswitchinterval()
    # No thread is made to let another in, so one that gets in was let in.
    sys.setswitchinterval(3600)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        let_in.set()
        thread.join()
    finally:
        sys.setswitchinterval(before)
    assert batches < 400


@pytest.mark.parametrize("made", ["before the fork", "in each process"])
def test_four_processes_on_one_file(tmp_path: Path, made: str) -> None:
    path = tmp_path / "limits"
    shared = Limiter(f"{LIMIT}/100d", path=path)
    start = FORK.Barrier(4)
    counts = FORK.Queue()

    def work() -> None:
        limiter = shared if made == "before the fork" else Limiter(f"{LIMIT}/100d", path=path)
        start.wait()
        with warnings.catch_warnings(record=True) as warned:
            counts.put(sum(bool(limiter.check("k")) for _ in range(LIMIT // 2)))
        counts.put(len(warned))

    processes = [FORK.Process(target=work) for _ in range(4)]
    for process in processes:
        process.start()
    # Each process tells what it was allowed and then that it was not warned: the sum is of both.
    told = [counts.get(timeout=60) for _ in range(8)]
    for process in processes:
        process.join()
    assert sum(told) == LIMIT
    assert told.count(0) >= 4
    assert shared.peek("k").remaining == 0


def test_a_limiter_in_memory_warns_once_after_a_fork() -> None:
    limiter = Limiter("5/h")
    beside = limiter.with_policy("7/h")
    assert limiter.check("k")

    def child() -> int:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            new = Limiter("5/h")
            new.check("k")
            assert not warned
            limiter.check("k")
            limiter.decide_many(["k"])
            limiter.peek("k")
            assert len(warned) == 1
            beside.check("k")
        assert len(warned) == 2
        assert issubclass(warned[0].category, RuntimeWarning)
        assert warned[0].filename == __file__
        assert "used across a fork" in str(warned[0].message)
        return in_a_child(grandchild)

    def grandchild() -> int:
        with pytest.warns(RuntimeWarning, match="used across a fork"):
            limiter.check("k")
        return 7

    assert in_a_child(child) == 7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert limiter.check("k").remaining == 3


def test_a_fork_that_is_not_pythons_is_told_too() -> None:
    limiter = Limiter("5/h")

    def child() -> int:
        with pytest.warns(RuntimeWarning, match="used across a fork"):
            limiter.check("k")
        return 7

    assert in_a_child(child, ctypes.PyDLL(None).fork) == 7


def test_where_the_warning_is_an_error_nothing_is_charged() -> None:
    limiter = Limiter("5/100d")

    def child() -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning):
                limiter.check("k")
        return limiter.peek("k").remaining

    assert in_a_child(child) == 5


def test_a_file_keeps_its_limits_and_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "limits"
    assert Limiter("5/100d", max_keys=1000, path=str(path)).check("k", 3)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    program = "import sys, ratecell; print(ratecell.Limiter('5/100d', path=sys.argv[1]).peek('k').remaining)"
    done = subprocess.run([sys.executable, "-c", program, path], check=True, capture_output=True, text=True)
    assert done.stdout == "2\n"


def test_a_file_names_denied_keys_if_it_is_asked_to(tmp_path: Path) -> None:
    def made(name: str, names: bool | None) -> bytes:
        limiter = Limiter("1/100d", max_keys=1000, path=tmp_path / name, names=names)
        assert [bool(limiter.check(key)) for key in ("allowed", "refused", "refused")] == [True, True, False]
        return (tmp_path / name).read_bytes()

    named = made("named", True)
    assert b"refused" in named
    assert b"allowed" not in named
    assert b"refused" not in made("nameless", None) + made("refusing", False)
    with pytest.raises(
        ValueError, match="the region's names: none are kept; expected a region that was made with"
    ):
        Limiter("1/100d", path=tmp_path / "nameless", names=True)
    with pytest.raises(
        ValueError, match="names: a limiter in memory of its own has no reader of them; expected"
    ):
        Limiter("1/100d", names=True)
    with pytest.raises(TypeError, match="names is of type int: expected bool"):
        Limiter("1/100d", path=tmp_path / "named", names=1)  # type: ignore[arg-type]


def test_a_file_is_refused_by_what_is_wrong_with_it(tmp_path: Path) -> None:
    path = tmp_path / "limits"
    Limiter("5/s", max_keys=1000, path=path)
    with pytest.raises(ValueError, match="the region's words: .*; expected"):
        Limiter("fixed_window 5/1s", path=path)
    with pytest.raises(ValueError, match="the region's max_keys"):
        Limiter("5/s", max_keys=10**6, path=path)
    with pytest.raises(ValueError, match="the region's when_full"):
        Limiter("5/s", when_full="deny", path=path)
    with pytest.raises(ValueError, match="a sliding_log cannot be shared"):
        Limiter("sliding_log 5/1s", path=tmp_path / "other")
    foreign = tmp_path / "foreign"
    foreign.write_text("not ours\n" * 1000)
    with pytest.raises(ValueError, match="not a region of ratecell"):
        Limiter("5/s", path=foreign)
    assert foreign.read_text() == "not ours\n" * 1000


def test_which_permission_is_missing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "limits"
    Limiter("1/s", path=path)
    path.chmod(0o444)
    for folder in [*path.parents][:3]:
        folder.chmod(0o755)
    expected = r"Permission denied: the file is of .* mode 0444; expected one that user \d+ may read"

    def asks() -> int:
        # Of the super-user nothing is refused by a mode: such a one asks as somebody else.
        if os.geteuid() == 0:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
        with pytest.raises(PermissionError, match=expected):
            Limiter("1/s", path=path)
        return 7

    assert in_a_child(asks) == 7


def test_a_file_that_cannot_be_used_is_refused_as_open_refuses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    missing = tmp_path / "none" / "limits"
    with pytest.raises(FileNotFoundError) as refused:
        Limiter("5/s", path=missing)
    assert (refused.value.errno, refused.value.filename) == (errno.ENOENT, str(missing))
    assert refused.value.strerror == "cannot be opened: No such file or directory"
    with pytest.raises(IsADirectoryError):
        Limiter("5/s", path=tmp_path)
    with pytest.raises(OSError, match="cannot be opened: not a regular file: '/dev/null'") as device:
        Limiter("5/s", path="/dev/null")
    assert device.value.errno == errno.EINVAL
    undecodable = os.fsdecode(b"\xff/none")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError) as refused:
        Limiter("5/s", path=undecodable)
    assert refused.value.filename == undecodable
