"""The application `ratecell.django`: it has no models, and registers the checks."""

from __future__ import annotations

from django.apps import AppConfig
from django.core.checks import Tags, register


class RatecellConfig(AppConfig):
    """Registers the checks of the settings."""

    name = "ratecell.django"
    label = "ratecell"
    verbose_name = "ratecell"

    def ready(self) -> None:
        """Is called when all applications are loaded."""
        from ratecell.django import checks

        register(checks.check_limit, Tags.security)
        register(checks.check_throttles, Tags.security)
        register(checks.check_deployment, Tags.security, deploy=True)
