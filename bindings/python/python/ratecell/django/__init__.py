"""Limits for Django: a middleware, a decorator for views, and a check of the settings.

    INSTALLED_APPS = [..., "ratecell.django"]
    MIDDLEWARE = ["ratecell.django.RateLimitMiddleware", ...]
    RATECELL = {"POLICY": "100/m", "PATH": "/dev/shm/my-app"}

Throttles for Django REST framework are in `ratecell.rest_framework`.
"""

from ratecell.django.decorators import rate_limit
from ratecell.django.middleware import RateLimitMiddleware
from ratecell.django.responses import HttpResponseTooManyRequests

__all__ = ["HttpResponseTooManyRequests", "RateLimitMiddleware", "rate_limit"]
