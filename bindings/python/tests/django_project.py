"""A project of Django in one file: for its tests, and for real servers, which take `wsgi` and `asgi`."""

from __future__ import annotations

import os
from typing import Any

import django
from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path

from ratecell import Limiter

POLICY = os.environ.get("POLICY", "fixed_window 2/365d")
FOLDER = os.environ.get("LIMITS")

RATECELL: dict[str, Any] = {"POLICY": POLICY, "KEY": "django_project.by_user"}
if FOLDER:
    RATECELL |= {"PATH": f"{FOLDER}/site", "THROTTLE_FOLDER": FOLDER}


def by_user(request: Any) -> str:
    """The field that says the user, for there are no sessions here."""
    return str(request.headers.get("x-user", "nobody"))


settings.configure(
    ALLOWED_HOSTS=["*"],
    INSTALLED_APPS=["ratecell.django", "rest_framework"],
    MIDDLEWARE=["ratecell.django.RateLimitMiddleware"],
    RATECELL=RATECELL,
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_THROTTLE_CLASSES": ["ratecell.rest_framework.AnonRateThrottle"],
        "DEFAULT_THROTTLE_RATES": {"anon": POLICY, "uploads": "fixed_window 1/365d"},
        "UNAUTHENTICATED_USER": None,
    },
    ROOT_URLCONF="django_project",
    SECRET_KEY="of a test",
    LOGGING_CONFIG=None,
)
django.setup()

from django.core.asgi import get_asgi_application  # noqa: E402 - after the setup
from django.core.wsgi import get_wsgi_application  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402

from ratecell.rest_framework import ScopedRateThrottle  # noqa: E402

permits = Limiter("in_flight 1 hold=1h")
seen: list[int] = []


def view(request: Any) -> HttpResponse:
    """Says which worker answers, and what remains."""
    decision = request.META.get("ratecell.decision")
    left = "unlimited" if decision is None else decision.remaining
    return HttpResponse(f"worker {os.getpid()}: {left}")


def inside(request: Any) -> HttpResponse:
    """A limit that denies inside a view."""
    Limiter("1/h").limit(key="k", cost=2)(view)(request)
    raise AssertionError("it is denied")


def stream(request: Any) -> StreamingHttpResponse:
    """A response that takes its time."""

    def parts() -> Any:
        seen.append(permits.peek("k").remaining)
        yield b"some"

    return StreamingHttpResponse(parts())


class Api(APIView):
    """A view of Django REST framework."""

    def get(self, request: Any) -> Any:
        """Answers."""
        return Response({"worker": os.getpid()})


class Uploads(Api):
    """A view with a scope of its own."""

    throttle_classes = (ScopedRateThrottle,)
    throttle_scope = "uploads"


urlpatterns = [
    path("", view),
    path("inside", inside),
    path("stream", stream),
    path("api", Api.as_view()),
    path("uploads", Uploads.as_view()),
]
wsgi = get_wsgi_application()
asgi = get_asgi_application()
