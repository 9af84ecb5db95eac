"""What passes between a call, the desk that keeps its books, and the proposer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from agent.llm.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Request:
    """One request before it is made. ``body`` is what is sent, without the model's key;
    ``user`` is the whole of what follows the system message, calls of tools and their answers included.

    ``most_prompt`` bounds the prompt's tokens from above: a token is at least one byte of what is sent. So no limit
    is passed, whatever tokenizer the server has.
    """

    spec: ModelSpec
    ask: int
    phase: str
    system: str
    user: str
    body: dict[str, Any]
    most_prompt: int
    left_out: tuple[str, ...] = ()

    @property
    def most_tokens(self) -> int:
        """Tokens that it may take at worst."""
        return self.most_prompt + self.spec.max_output

    @property
    def most_cost(self) -> float | None:
        """Money that it may take at worst; None where no price is known."""
        return None if self.spec.prices is None else self.spec.prices.most(self.most_prompt, self.spec.max_output)


@dataclass(frozen=True, slots=True)
class Call:
    """A request that has ended. Tokens are what the server reported, None where it did not.

    ``answer`` is the text as it came, or the calls of tools as JSON; ``data`` the object found in it, None unless it
    can be used; ``error`` the error's slug and ``words`` what it says, both empty where there was none. ``seconds``
    is from sending to the end of the answer; ``paid`` whether a server may charge for it.
    """

    answer: str
    data: Any
    error: str
    words: str
    prompt_tokens: int | None
    cached_tokens: int | None
    completion_tokens: int | None
    cost: float | None
    seconds: float
    paid: bool = True


class Desk(Protocol):
    """Whoever drives a proposer: it keeps the books, says when to wait and when to stop."""

    def stop(self) -> bool:
        """Whether nobody wants the answer any more; asked several times a second while one is waited for."""
        ...

    def book(self, request: Request) -> float:
        """Seconds to wait before asking again, or 0: the request is booked at its worst case and may be made.

        Raises BudgetSpent where what is left does not cover that.
        """
        ...

    def close(self, call: Call) -> None:
        """Store how the request booked last has ended, before anything is made of it."""
        ...

    def kept(self, ask: int) -> Call | None:
        """A usable answer to that ask that was stored before, by whoever was interrupted then."""
        ...


Sleep = Callable[[float], None]
