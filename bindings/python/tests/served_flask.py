"""An application of Flask for two workers."""

from __future__ import annotations

import os
from typing import Any

from flask import Flask

from ratecell.flask import RateLimit


def by_user(request: Any) -> str:
    """The field that says the user."""
    return str(request.headers["x-user"])


app = Flask(__name__)
app.config["RATECELL_POLICY"] = os.environ["POLICY"]
app.config["RATECELL_PATH"] = os.environ["LIMITS"] + "/site"
app.config["RATECELL_KEY"] = "served_flask.by_user"
RateLimit(app)


@app.get("/")
def view() -> str:
    """Says which worker answers."""
    return f"worker {os.getpid()}: served"
