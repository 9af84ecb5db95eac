"""What can be wrong with launching and driving a run, in words for whoever launched it."""

from __future__ import annotations

from kernels.errors import UserError


class ProblemNotUsable(UserError):
    """The problem could not be inspected or traced."""

    template = "{problem} at size {size} cannot be run ({error}): {detail}"


class NothingToDisassemble(UserError):
    """PTX or SASS was asked for of a unit that was not built for a card."""

    template = "unit {unit} of {attempt} was not built for a card; build it for one, then ask again"


class NoDeviceForTarget(UserError):
    """No worker with a card for this target has ever reported."""

    template = "no card for {target} is known here; start a worker on a machine that has one"


class BuildGone(UserError):
    """An attempt's shared objects are neither in the cache nor can they be compiled again here."""

    template = (
        "its shared objects are no longer in the build cache and could not be compiled again on this worker; "
        "a worker with a compiler for the target, or a new attempt with the same program, would be right"
    )


class NotOutside(UserError):
    """A candidate was posted to a run whose candidates are written here."""

    template = "candidates of {run} are written by {proposer!r}; a run with the proposer 'external' takes posts"


class TrajectoryOver(UserError):
    """A post to a trajectory that has ended or is being cancelled."""

    template = "{trajectory} has ended ({how}); a run that is under way would be right"


class TrajectoryBusy(UserError):
    """An agent ends a trajectory while something of it is under way."""

    template = "{trajectory} has work under way or waiting; end it once every result is there"


class AttemptsSpent(UserError):
    """A post beyond the run's budget."""

    template = (
        "all {attempts} attempts of {trajectory} are made or taken by candidates that wait; no more is evaluated"
    )


class AlreadyTried(UserError):
    """The same text again: it would be measured again for nothing."""

    template = "this text is {what} of {trajectory} already; its result stands, and another text would be right"


class ParentUnknown(UserError):
    """A candidate says it was made from an attempt that is not there."""

    template = "{trajectory} has no attempt {parent}; {known} would be right"


class TokenMissing(UserError):
    """A request to the API that says not who asks."""

    template = (
        "no token; the header 'Authorization: Bearer TOKEN', with one from the page API tokens, would be right"
    )


class TokenUnknown(UserError):
    """A token that is none, or whose person has left."""

    template = "there is no such token; one from the page API tokens, copied whole, would be right"


class TokenRevoked(UserError):
    """A token that its person took back."""

    template = "the token {name!r} was revoked; a new one from the page API tokens would be right"


class TokenExpired(UserError):
    """A token past its time."""

    template = "the token {name!r} expired on {when}; a new one from the page API tokens would be right"


class ScopeTooSmall(UserError):
    """A token that may only read."""

    template = "the token {name!r} may only read; one that may submit would be right"


class TooManyRequests(UserError):
    """More requests than a caller may send."""

    template = "more than {most} {what} a minute; wait {seconds} s"


class TooManyFailures(UserError):
    """An address from which wrong tokens come again and again."""

    template = "too many requests with wrong tokens from this address; wait {seconds} s"


class FormForged(UserError):
    """A write by session cookie alone."""

    template = "a write by session needs the header X-CSRFToken of this session; a token would be right too"


class BodyTooLarge(UserError):
    """A request's body over the limit."""

    template = "the body is {size} long; at most {limit} are read"


class BodyNotJson(UserError):
    """A body that is no JSON object."""

    template = "the body is no JSON object in UTF-8 ({why})"


class RequestNotValid(UserError):
    """Fields that are missing, unknown or of the wrong kind."""

    template = "{count} of the request's fields {verb} wrong: {first}"


class NothingHere(UserError):
    """An address of the API at which there is nothing."""

    template = "there is no {what}"


class MethodNotThere(UserError):
    """A route of the API was asked by a method that it does not have."""

    template = "{path} does not take {method}; it takes {allowed}"


class NotYours(UserError):
    """Acting on what belongs to somebody else."""

    template = "{words}"


class KeyReused(UserError):
    """An idempotency key that came before with another request."""

    template = "the idempotency key {key!r} came before with another request; a new key would be right"


class NoDeviceKnown(UserError):
    """A bound was asked for on a device that is not known here."""

    template = "there is no device {name!r}; {known} would be right"


class NoReportYet(UserError):
    """A problem that was not looked at, or cannot be."""

    template = "{problem} at size {size} has no such report: {why}"


class BrokeHere(UserError):
    """A mistake of ours."""

    template = "something broke here while this was answered; it is in the web's log, and no fault of the request"


class LessonTextUnfit(UserError):
    """A person's words for a lesson that cannot be kept."""

    template = "the text has {length} characters; 1 to {most} would be right"


class RunOver(UserError):
    """Something was asked of a run that it is too late for."""

    template = "{run} {how}; {right} would be right"


class RunElsewhere(UserError):
    """A run that was imported cannot go on here."""

    template = "{run} was measured elsewhere and imported; a clone of it, measured here, would be right"


class NothingToRetry(UserError):
    """A retry of a run of which nothing failed."""

    template = "nothing of {run} failed or was lost; a run with a failed problem or a lost attempt would be right"


class NothingChanged(UserError):
    """A budget that is the one the run has already, and with which nothing goes on."""

    template = "{run} has these limits already, and with them nothing goes on; another limit would be right"


class LimitBelowUsed(UserError):
    """A limit under what a run has used already."""

    template = "{field}: {given} is less than the {used} used already; {used} or more would be right"


class GridTooLarge(UserError):
    """More runs at once than one launch may make."""

    template = (
        "{runs} runs are more than the {most} of one grid; fewer controllers, proposers or seeds would be right"
    )


class PresetTaken(UserError):
    """A name under which the person saved a form already."""

    template = "you have a preset {name!r}; another name, or the box that overwrites it, would be right"


class PresetUnnamed(UserError):
    """A form that is to be saved under no name."""

    template = "a preset needs a name; the form is as it was, and not saved"


class WorkerLives(UserError):
    """A worker to be removed that answers."""

    template = "{worker} answers; drain it, and stop it on its machine"


class JobEnded(UserError):
    """A job to be queued again that nobody is at any more."""

    template = "{job} is {how}; one that is under way would be right"
