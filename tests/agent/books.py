"""A desk without rows: the books of a model's calls in a list."""

from __future__ import annotations

from agent.llm.errors import BudgetSpent
from agent.llm.record import Call, Request
from agent.llm.spec import ModelSpec


def spec(base_url: str, **changes: object) -> ModelSpec:
    """A model at that address that is tried again twice."""
    chosen: dict[str, object] = {"retries": 2, "timeout_s": 5.0, "max_output": 500, **changes}
    return ModelSpec("scripted", base_url, **chosen)  # type: ignore[arg-type]


class Books:
    """Keeps every request and call. ``tokens`` is a limit; ``stop_after`` stops once so many looks were taken."""

    def __init__(self, tokens: int | None = None, waits: tuple[float, ...] = ()) -> None:
        self.requests: list[Request] = []
        self.calls: list[Call] = []
        self.waits = list(waits)
        self.stopped = False
        self._tokens = tokens

    def stop(self) -> bool:
        return self.stopped

    def book(self, request: Request) -> float:
        spent = sum((call.prompt_tokens or 0) + (call.completion_tokens or 0) for call in self.calls)
        if self._tokens is not None and request.most_tokens > self._tokens - spent:
            left = str(self._tokens - spent)
            raise BudgetSpent(
                left=left, limit=f"{self._tokens} tokens", model="scripted", worst=request.most_tokens
            )
        if self.waits:
            return self.waits.pop(0)
        self.requests.append(request)
        return 0.0

    def close(self, call: Call) -> None:
        self.calls.append(call)

    def kept(self, ask: int) -> Call | None:
        found = [call for request, call in zip(self.requests, self.calls, strict=False) if request.ask == ask]
        return next((call for call in found if call.data is not None), None)

    @property
    def errors(self) -> list[str]:
        """The error of each call in order; empty for a good one."""
        return [call.error for call in self.calls]
