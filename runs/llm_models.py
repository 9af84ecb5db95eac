"""What calls of language models left behind: one row a request, from before it is sent. Never a key."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class LlmCall(models.Model):
    """One request to a model, for ask ``ask`` of a trajectory.

    It is made before the request is sent, with its worst case as ``counted_tokens`` and ``counted_cost``, and updated
    as soon as it has ended: so no limit is passed by workers that ask at once, and one whose worker died still counts
    as paid. ``finished`` is null until then. Tokens are the server's own count and null where it gave none; ``cost``
    is in ``currency`` and null where a price or a count is missing. ``data`` is set where the answer could be used.
    """

    run = models.ForeignKey("runs.Run", on_delete=models.CASCADE, related_name="llm_calls")
    trajectory = models.ForeignKey("runs.Trajectory", on_delete=models.CASCADE, related_name="llm_calls")
    ask = models.PositiveIntegerField()
    phase = models.CharField(max_length=20)
    model = models.CharField(max_length=40, db_index=True)
    served_as = models.CharField(max_length=200)
    system = models.TextField()
    user = models.TextField()
    left_out = models.JSONField(default=list)
    answer = models.TextField(blank=True)
    data = models.JSONField(null=True)
    error = models.CharField(max_length=40, blank=True)
    words = models.TextField(blank=True)
    prompt_tokens = models.PositiveIntegerField(null=True)
    cached_tokens = models.PositiveIntegerField(null=True)
    completion_tokens = models.PositiveIntegerField(null=True)
    cost = models.FloatField(null=True)
    currency = models.CharField(max_length=8, blank=True)
    seconds = models.FloatField(null=True)
    paid = models.BooleanField(default=True)
    counted_tokens = models.PositiveBigIntegerField()
    counted_cost = models.FloatField(null=True)
    started = models.DateTimeField(auto_now_add=True, db_index=True)
    finished = models.DateTimeField(null=True)

    class Meta:
        ordering: ClassVar = ["id"]
        indexes: ClassVar = [models.Index(fields=["trajectory", "ask"], name="calls_of_an_ask")]

    def __str__(self) -> str:
        return f"call {self.pk} of {self.trajectory} ask {self.ask}"


class ModelTurn(models.Model):
    """A model by name. Whoever books a call holds its row until that is done, so that rates hold for all workers."""

    model = models.CharField(max_length=40, unique=True)

    def __str__(self) -> str:
        return self.model
