"""The form of the page that audits files: several uploads, a pasted text, and a problem to audit them beside."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from kernels import candidates
from kernels.errors import UserError
from kernels.languages import EDITOR_BYTES, Language, check_text
from kernels.models import Problem
from kernels.targets import Policy
from runs.audits import MOST_BYTES, MOST_FILES, Beside, Given, beside_problem, given_file, plain_name
from runs.forms import LANGUAGES, POLICIES, one_of
from sol.audit.form import text_of

_MIB = 2**20
UPLOAD_BYTES = MOST_BYTES + EDITOR_BYTES
"""A request's files and its pasted text."""
FILES_SAID = f"at most {MOST_FILES} files, {MOST_BYTES // _MIB} MiB together"
PASTED_SAID = f"at most {EDITOR_BYTES // 1024} KiB; a longer one goes as a file"
PROBLEM_SAID = f"at most {EDITOR_BYTES // 1024} KiB"
DEFAULTS: dict[str, Any] = {"policy": Policy.TF32.value, "language": Language.PY.value}


class _Text(forms.CharField):
    """A text as it is: what is wrong with it, the audit says."""

    def __init__(self, label: str) -> None:
        super().__init__(label=label, required=False, strip=False)
        self.validators = []


class UploadForm(forms.Form):
    """What is to be audited. Files are read once, in ``clean``; ``given`` and ``beside`` are of a valid form."""

    text = _Text("Text")
    language = one_of("Language of the text", LANGUAGES, required=False)
    problem = forms.ModelChoiceField(
        label="Problem",
        queryset=Problem.objects.all(),
        to_field_name="slug",
        required=False,
        error_messages={"invalid_choice": "not here any more; another, or none"},
    )
    own_problem = _Text("Problem of your own")
    policy = one_of("Precision policy", POLICIES)

    def __init__(self, *args: Any, over_quota: bool = False, **more: Any) -> None:
        super().__init__(*args, **more)
        self._over_quota = over_quota
        self.given: list[Given] = []
        self.beside = Beside(Policy.TF32)

    def clean(self) -> dict[str, Any]:
        """Files and texts together."""
        data: dict[str, Any] = super().clean() or self.cleaned_data
        self._read_files(self.files.getlist("files") if self.files else [])
        pasted = data.get("text") or ""
        if pasted.strip():
            self._read_pasted(pasted, data.get("language") or Language.PY.value)
        if not self.given and not self.errors:
            self._wrong("files", f"nothing given; {FILES_SAID}, or a text below")
        self._read_problem(data)
        return data

    def _wrong(self, name: str, words: str) -> None:
        """An error beside a control, whether or not it is a field of Django's."""
        if name in self.fields:
            self.add_error(name, words)
        elif name not in self.errors:
            self.errors[name] = self.error_class([words])

    def _read_files(self, uploads: list[UploadedFile[bytes]]) -> None:
        if self._over_quota or sum(upload.size or 0 for upload in uploads) > MOST_BYTES:
            self._wrong("files", f"more than {MOST_BYTES // _MIB} MiB; {FILES_SAID}")
        elif len(uploads) > MOST_FILES:
            self._wrong("files", f"{len(uploads)} files; {FILES_SAID}")
        else:
            self.given = [given_file(upload) for upload in uploads]

    def _read_pasted(self, text: str, language: str) -> None:
        data = text.encode("utf-8", "replace")
        if len(data) > EDITOR_BYTES:
            self._wrong("text", f"{len(data)} bytes; {PASTED_SAID}")
        else:
            self.given.append(Given(f"pasted.{language}", data))

    def _read_problem(self, data: dict[str, Any]) -> None:
        """The one problem that was chosen, pasted or uploaded; its text must be Python, and is not run."""
        policy = Policy(data["policy"]) if data.get("policy") else Policy.TF32
        uploads = self.files.getlist("problem_file") if self.files else []
        pasted = data.get("own_problem") or ""
        chosen: Problem | None = data.get("problem")
        if sum((chosen is not None, bool(pasted.strip()), bool(uploads))) > 1:
            self._wrong("problem", "more than one problem; one of the list, a file, a text, or none")
        elif chosen is not None:
            self.beside = beside_problem(chosen, policy)
        elif uploads:
            upload = uploads[0]
            self._own("problem_file", plain_name(upload.name or ""), upload.read(EDITOR_BYTES + 1), policy)
        elif pasted.strip():
            self._own("own_problem", "a problem of one's own", pasted.encode("utf-8", "replace"), policy)
        else:
            self.beside = Beside(policy)

    def _own(self, field: str, name: str, data: bytes, policy: Policy) -> None:
        if len(data) > EDITOR_BYTES:
            self._wrong(field, f"longer than {EDITOR_BYTES // 1024} KiB; {PROBLEM_SAID}")
            return
        try:
            text = text_of(data)
            check_text(text)
            candidates.parsed(text)
        except UserError as error:
            self._wrong(field, f"{error.slug()}: {error}")
        else:
            self.beside = Beside(policy, name, text)
