"""What is stored of archives that were imported: where a run comes from, and that an archive was here before."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models


class Import(models.Model):
    """One archive that was imported. ``digest`` is of its content; the row outlives its run, so that what was deleted
    is not brought back by itself.

    ``place`` is the name of the installation that it comes from, where that has one; ``number`` the run's number and
    ``owner`` its owner's name there, ``cancelled_by`` who cancelled it. ``hardware`` are the devices that its times
    were measured on. ``notes`` say what the archive told and this installation did not take over. ``recorded``: it
    ships with the product.
    """

    run = models.OneToOneField("runs.Run", on_delete=models.SET_NULL, null=True, related_name="origin")
    digest = models.CharField(max_length=64, unique=True)
    format = models.PositiveSmallIntegerField()
    product = models.CharField(max_length=40)
    place = models.CharField(max_length=200, blank=True)
    number = models.PositiveBigIntegerField()
    owner = models.CharField(max_length=150)
    cancelled_by = models.CharField(max_length=150, blank=True)
    hardware = models.JSONField(default=list)
    notes = models.JSONField(default=list)
    recorded = models.BooleanField(default=False)
    exported = models.DateTimeField()
    imported = models.DateTimeField(auto_now_add=True)
    imported_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering: ClassVar = ["-id"]

    def __str__(self) -> str:
        return f"import {self.digest[:12]}"

    @property
    def where(self) -> str:
        """The run's name at its origin: ``r-12 of lab-3``."""
        return f"r-{self.number} of {self.place}" if self.place else f"r-{self.number} elsewhere"
