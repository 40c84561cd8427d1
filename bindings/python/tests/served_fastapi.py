"""An application of FastAPI for two workers."""

from __future__ import annotations

import os
from typing import Annotated

from fastapi import Depends, FastAPI

from ratecell import Header, Limiter
from ratecell.fastapi import RateLimit

limit = RateLimit(Limiter(os.environ["POLICY"], path=os.environ["LIMITS"] + "/api"), Header("x-user"))
app = FastAPI()


@app.get("/")
async def endpoint(decision: Annotated[object, Depends(limit)]) -> str:
    """Says which worker answers."""
    return f"worker {os.getpid()}: {decision}"
