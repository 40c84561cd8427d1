"""Tasks under limits, for workers whose broker is a server of Redis in the same folder."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import Any

from celery import Celery
from celery.signals import task_retry

from ratecell import Limiter
from ratecell.celery import rate_limit

FOLDER = Path(os.environ.get("FOLDER") or tempfile.mkdtemp())
app = Celery("celery_app", broker=f"redis+socket://{FOLDER}/redis")
app.conf.update(worker_hijack_root_logger=False, worker_enable_remote_control=False, task_ignore_result=True)


def note(task: Any, number: int) -> None:
    """One line in a file, written at once."""
    line = f"{task.name} {number} {task.request.retries} {time.monotonic_ns()}\n"
    with (FOLDER / "ran").open("ab", buffering=0) as file:
        file.write(line.encode())


@task_retry.connect
def note_retry(sender: Any, **_: Any) -> None:
    """A denied call was sent again."""
    with (FOLDER / "again").open("ab", buffering=0) as file:
        file.write(f"{sender.name}\n".encode())


if "FOLDER" in os.environ:

    @app.task(bind=True, name="limited")
    @rate_limit(Limiter("2/s burst=1", path=FOLDER / "limited"), "all")
    def limited(self: Any, number: int) -> None:
        """Two a second."""
        note(self, number)

    @app.task(bind=True, name="queued")
    @rate_limit(Limiter("leaky_queue 2/s queue=20", path=FOLDER / "queued"), "all")
    def queued(self: Any, number: int) -> None:
        """Each has a turn of its own."""
        note(self, number)

    def send() -> None:
        """Sends them all at once."""
        for number in range(4):
            queued.delay(number)
        for number in range(3):
            limited.delay(number)
