from __future__ import annotations

import re

from kernels.dsl import parse, reference
from kernels.dsl.functions import FUNCTIONS
from kernels.dsl.knobs import KNOBS
from kernels.dsl.links import LINKS
from kernels.dsl.ops import OPS
from kernels.dsl.views import VIEWS
from tests.dsl.programs import checked, linear

TEXT = reference()


def test_it_fits_a_prompt() -> None:
    assert len(TEXT.encode()) <= 16 * 1024


def test_it_names_everything_that_the_checker_knows() -> None:
    knobs = {row.name for by_op in KNOBS.values() for rows in by_op.values() for row in rows}
    for name in [*OPS, *VIEWS, *LINKS, *FUNCTIONS, *knobs]:
        if name != "view":
            assert re.search(rf"\b{re.escape(name)}\b", TEXT), name


def test_its_example_is_a_legal_program() -> None:
    example = TEXT.split("```")[1]
    assert parse(example).name == "linear_gelu"
    ours = example.replace("weight", "w").replace("bias:", "b:").replace("bias(bias)", "bias(b)")
    assert checked(ours.strip(), linear()).stages
