"""Who may reach each address: one line for every name. A new address needs a line here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

GET, POST = "GET", "POST"


class Least(Enum):
    """The least that somebody must be."""

    ANYBODY = "anybody, signed in or not"
    MEMBER = "whoever is signed in"
    RUNNER = "a runner"
    OWNER = "the run's owner, as a runner at least, or an admin"
    REVIEWER = "a reviewer"
    ADMIN = "an admin"


@dataclass(frozen=True)
class Rule:
    """What an address takes, asked with ``method`` and ``data``."""

    least: Least
    method: str = GET
    data: tuple[tuple[str, str], ...] = ()


def _all(least: Least, names: str, method: str = GET) -> dict[str, Rule]:
    return {name: Rule(least, method) for name in names.split()}


RULES: dict[str, Rule] = {
    **_all(Least.ANYBODY, "sign-in enter sso-start sso-callback api-openapi join"),
    **_all(
        Least.MEMBER,
        "home problem-sol problem-audit audit-files audit audit-lines compare compare-figures compare-csv "
        "compare-numbers runs-list grids grid run run-live run-chart run-numbers run-csv run-gap run-gap-figures "
        "run-gap-csv run-gap-numbers run-attempts run-audit run-audit-json run-audit-csv run-export run-replay "
        "run-replay-chart run-replay-csv transcript transcript-json transcript-call candidate-code "
        "candidate-source candidate-object candidate-state candidate-listing candidate-export candidate-profile "
        "candidate-profile-file candidate problems-list problem kernels kernels-csv kernels-best kernels-best-csv "
        "kernels-record-chart kernels-record-csv kernels-record kernel lessons lesson triage triage-filters "
        "triage-case api mentions tokens playground feedback feedback-tool people person teams team fleet "
        "fleet-live search",
    ),
    **_all(
        Least.MEMBER,
        "sign-out playground-check candidate-remark remark-withdraw token-revoke triage-comment preset-delete",
        POST,
    ),
    **_all(Least.RUNNER, "runs-new runs-new-summary run-import"),
    **_all(Least.RUNNER, "candidate-audit", POST),
    **_all(Least.OWNER, "run-budget run-stop"),
    **_all(
        Least.OWNER,
        "run-delete run-cancel run-pause run-resume run-retry candidate-disassemble candidate-profile-make "
        "candidate-cross-build lesson-edit lesson-retire lesson-restore",
        POST,
    ),
    **_all(Least.REVIEWER, "triage-undo triage-settle triage-assign candidate-reviewed", POST),
    **_all(Least.ADMIN, "invitations ledger ledger-csv"),
    **_all(
        Least.ADMIN,
        "person-role person-deactivate person-reactivate person-token-revoke team-rename team-member team-delete "
        "invitation-revoke worker-drain worker-undrain worker-remove job-requeue",
        POST,
    ),
}

MORE: dict[str, tuple[str, Rule]] = {
    "launching": ("runs-new", Rule(Least.RUNNER, POST)),
    "importing": ("run-import", Rule(Least.RUNNER, POST)),
    "other limits": ("run-budget", Rule(Least.OWNER, POST)),
    "stopping a problem": ("run-stop", Rule(Least.OWNER, POST)),
    "making a team": ("teams", Rule(Least.ADMIN, POST, (("name", "Gemm"),))),
    "inviting": ("invitations", Rule(Least.ADMIN, POST)),
    "a token that may submit": ("tokens", Rule(Least.RUNNER, POST, (("scope", "submit"),))),
    "a token that may read": ("tokens", Rule(Least.MEMBER, POST, (("scope", "read"),))),
}
"""What else an address takes: by its own words, the address's name and the rule."""
