"""Every way in which a model's configuration or a call can go wrong, each a class of its own.

No message holds a key: what a server said is shown only after ``agent.llm.keys.Key.scrub``.
"""

from __future__ import annotations

from typing import ClassVar

from kernels.errors import UserError


class ModelsUnreadable(UserError):
    """A configuration of models that says nothing usable."""

    template: ClassVar[str] = "{where}: {problem}; {right}"


class UnknownModel(UserError):
    """A run names a model that is not configured."""

    template: ClassVar[str] = "there is no model {name!r}; {known}"


class ModelKeyMissing(UserError):
    """A model whose key is not where its configuration says."""

    template: ClassVar[str] = "model {model}: {problem}; {right}"


class CallError(UserError):
    """A call that led to nothing usable. ``passing`` ones may go away by waiting; after ``form`` ones the model is
    asked again at once with the error in words. ``unpaid`` ones came to their end before anything was written that
    a server would charge for."""

    passing: ClassVar[bool] = False
    form: ClassVar[bool] = False
    unpaid: ClassVar[bool] = False


# --- the server ----------------------------------------------------------------------------------


class ModelUnreachable(CallError):
    """Connection refused, no such host."""

    template: ClassVar[str] = "no connection to the server of {model}: {problem}; a server that runs would be right"
    passing = True
    unpaid = True


class ModelBrokeOff(CallError):
    """A connection that ended before the answer did."""

    template: ClassVar[str] = "the server of {model} broke off before its answer was whole: {problem}"
    passing = True


class ModelHung(CallError):
    """No whole answer in time."""

    template: ClassVar[str] = "{model} gave no whole answer within {seconds:g} s, which its configuration allows"
    passing = True


class ModelBusy(CallError):
    """HTTP 408, 409, 425 or 429. ``retry_after`` (s) is what the server asked for, None where it did not say."""

    template: ClassVar[str] = "the server of {model} has too much to do (HTTP {status}): {problem}"
    passing = True
    unpaid = True


class ModelServerFailed(CallError):
    """HTTP 5xx."""

    template: ClassVar[str] = "the server of {model} failed (HTTP {status}): {problem}"
    passing = True
    unpaid = True


class ModelCreditSpent(CallError):
    """HTTP 402, or 429 with a quota that waiting does not fill."""

    template: ClassVar[str] = "the account of {model} has no credit left (HTTP {status})"
    unpaid = True


class ModelKeyRefused(CallError):
    """HTTP 401 or 403. What the server says may quote the key, so it is not kept."""

    template: ClassVar[str] = "the server of {model} refused the key (HTTP {status}); a key that may use the model"
    unpaid = True


class ModelNotServed(CallError):
    """HTTP 404."""

    template: ClassVar[str] = "the server of {model} does not know it or its address (HTTP 404): {problem}"
    unpaid = True


class ModelContextExceeded(CallError):
    """HTTP 400 or 413 for a prompt that the model has no room for."""

    template: ClassVar[str] = "{model} has no room for the prompt and its answer (HTTP {status}): {problem}"
    unpaid = True


class ModelRequestRefused(CallError):
    """Any other HTTP status: most often a request with a field that the server does not know."""

    template: ClassVar[str] = "the server of {model} refused the request (HTTP {status}): {problem}"
    unpaid = True


# --- the answer ----------------------------------------------------------------------------------


class AnswerTooLarge(CallError):
    """More bytes than any answer needs; reading stopped there."""

    template: ClassVar[str] = "the answer of {model} is larger than {limit:,} bytes; reading stopped there"
    form = True


class AnswerBinary(CallError):
    """Bytes that are no text."""

    template: ClassVar[str] = "the answer of {model} is no text: {problem}"
    form = True


class AnswerMalformed(CallError):
    """HTTP 200 with something that is no chat completion."""

    template: ClassVar[str] = "the server of {model} sent no chat completion: {problem}"
    passing = True


class AnswerRefused(CallError):
    """The model or the server's filter refused."""

    template: ClassVar[str] = "{model} refused to answer: {problem}"


class AnswerTruncated(CallError):
    """finish_reason ``length``."""

    template: ClassVar[str] = "the answer was cut off after {tokens} tokens; a shorter one, {limit} at most"
    form = True


class AnswerEmpty(CallError):
    """Nothing at all."""

    template: ClassVar[str] = "the answer is empty; one JSON object would be right"
    form = True


class AnswerNotJson(CallError):
    """A text without the JSON object that was asked for."""

    template: ClassVar[str] = "the answer holds no JSON object: {problem}"
    form = True


class AnswerNotObject(CallError):
    """JSON that is no object. Objects of another form than was asked for are ``agent.errors.AnswerUnfit``."""

    template: ClassVar[str] = "the answer is JSON, but a {found}; an object would be right"
    form = True


class ToolsWithoutEnd(CallError):
    """Calls of tools, and never an answer."""

    template: ClassVar[str] = "{model} called tools {count} times and gave no answer"


# --- the driver ----------------------------------------------------------------------------------


class ModelPriceUnknown(CallError):
    """A run with a cost limit whose model has no price by now."""

    template: ClassVar[str] = "the run has a cost limit, and {model} has no price; prices in its configuration"
    unpaid = True


class BudgetSpent(CallError):
    """What is left of a run's tokens or money does not cover the worst case of one more call."""

    template: ClassVar[str] = (
        "{left} of the run's {limit} are left, and one more call to {model} may take {worst}; it was not made"
    )


class CallStopped(CallError):
    """Whoever drives the call wants it no more: the run was cancelled, or the job is somebody else's."""

    template: ClassVar[str] = "the call to {model} was stopped; its answer is not waited for"


class ModelFailedOddly(CallError):
    """An error of the client itself that has no name here. Its text is not shown: it may hold anything."""

    template: ClassVar[str] = "the call to {model} ended with {problem}"
