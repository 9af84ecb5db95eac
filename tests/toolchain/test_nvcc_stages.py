"""nvcc's stages run by us: what is understood of a dry run, what the script does, that the code is nvcc's."""

from __future__ import annotations

import dataclasses
import shutil
import struct
import time
from pathlib import Path

import psutil
import pytest

from kernels.childprocess import ChildLimits, ChildResult, run
from kernels.codegen.emission import Unit
from kernels.codegen.sm90a import emit_stage
from kernels.dtypes import DType
from kernels.toolchain import nvcc
from kernels.toolchain.errors import BuildCancelled
from kernels.toolchain.nvcc import SIDE_BY_SIDE, Nvcc
from kernels.toolchain.nvcc_stages import Stages, module_id, parse
from kernels.toolchain.report import BuildOutcome
from tests.codegen.sm90a_stages import F16, cast, tensor

UNIT = Unit("mu_map_0123456789ab", "cuda", "int answer() { return 42; }\n", (), ("y",))
EM_CUDA = 190
DRY_RUN = """\
#$ _SPACE_= 
#$ CICC_PATH=/kit/bin/../nvvm/bin
#$ PATH=/kit/bin:/usr/bin:/bin
#$ INCLUDES="-I/kit/include"  
#$ gcc -std=c++17 -E -x c++ -D "NDEBUG" "u.cu" -o "/t/tmpxft_01_00-5_u.cpp4.ii" 
#$ cudafe++ --gen_module_id_file --module_id_file_name "/t/tmpxft_01_00-4_u.module_id" "/t/tmpxft_01_00-5_u.cpp4.ii" 
#$ gcc -std=c++17 -E -x c++ "u.cu" -o "/t/tmpxft_01_00-9_u.cpp1.ii" 
#$ "$CICC_PATH/cicc" --module_id_file_name "/t/tmpxft_01_00-4_u.module_id" "/t/tmpxft_01_00-9_u.cpp1.ii" -o "/t/u.ptx"
#$ ptxas -arch=sm_90a "/t/u.ptx" -o "/t/u.cubin" 
#$ fatbinary -64 --embedded-fatbin="/t/u.fatbin.c" 
#$ rm /t/u.fatbin
#$ gcc -std=c++17 -c -x c++ "/t/u.cudafe1.cpp" -o "/t/u.o" 
#$ nvlink -m64 "/t/u.o" -o "/t/u_dlink.cubin" --host-ccbin "gcc"
#$ fatbinary -64 -link --embedded-fatbin="/t/u_dlink.fatbin.c" 
#$ rm /t/u_dlink.fatbin
#$ gcc -std=c++17 -c -x c++ "/kit/bin/crt/link.stub" -o "/t/u_dlink.o" 
#$ g++ -shared "/t/u_dlink.o" "/t/u.o" -o "u.so" 
"""  # noqa: W291

needs_nvcc = pytest.mark.skipif(nvcc.find() is None, reason="no nvcc on PATH, in CUDA_HOME or in wheels")


def understood(dry_run: str = DRY_RUN) -> Stages:
    stages = parse(dry_run)
    assert stages is not None
    return stages


def sh(stages: Stages, folder: Path) -> ChildResult:
    return run(["sh", "-c", stages.script()], limits=ChildLimits(seconds=20), directory=folder)


def chains(host: tuple[str, ...], device: tuple[str, ...], rest: tuple[str, ...] = ()) -> Stages:
    return Stages({}, host, device, rest, Path("tmpxft_01_00-4_u.module_id"))


def test_a_dry_run_is_split_into_two_halves_and_the_rest() -> None:
    stages = understood()
    assert [line.split()[0] for line in stages.host] == ["gcc", "cudafe++"]
    assert [line.split()[0] for line in stages.device] == ["gcc", '"$CICC_PATH/cicc"', "ptxas", "fatbinary"]
    assert [line.split()[0] for line in stages.rest] == ["gcc", "nvlink", "fatbinary", "gcc", "g++"]
    assert stages.variables == {"CICC_PATH": "/kit/bin/../nvvm/bin", "PATH": "/kit/bin:/usr/bin:/bin"}


def test_the_module_id_is_ours_to_write() -> None:
    stages = understood()
    assert stages.module_id == Path("/t/tmpxft_01_00-4_u.module_id")
    assert stages.prefix == "tmpxft_01_00-"
    assert "--gen_module_id_file" not in stages.script()
    assert stages.script().count("--module_id_file_name") == 2


def test_units_of_other_text_have_other_module_ids() -> None:
    assert module_id("a", "u.cu") == module_id("a", "u.cu")
    assert module_id("a", "u.cu") != module_id("b", "u.cu")
    assert "_4_u_cu_" in module_id("a", "u.cu")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("#$ ptxas", "#$ ptxas-next"),
        ("#$ nvlink", "#$ cicc"),
        (" --gen_module_id_file", ""),
        ("#$ CICC_PATH", "#$ ELSEWHERE"),
        ("#$ gcc -std=c++17 -c", "#$ clang -c"),
        ('#$ gcc -std=c++17 -E -x c++ "u.cu"', "nvcc warning : something is deprecated\n#$ gcc -E"),
        ('-o "/t/u.ptx"', '-o "/t/u.ptx'),
        (DRY_RUN, ""),
    ],
)
def test_a_dry_run_of_another_shape_is_not_understood(old: str, new: str) -> None:
    assert old in DRY_RUN
    assert parse(DRY_RUN.replace(old, new)) is None


def test_the_halves_run_at_the_same_time_and_the_rest_after_both(tmp_path: Path) -> None:
    wait = "n=0; while [ ! -e {} ] && [ $n -lt 100 ]; do sleep 0.1; n=$((n+1)); done; [ -e {} ]"
    host = ("touch from_host", f"({wait.replace('{}', 'from_device')})")
    device = ("touch from_device", f"({wait.replace('{}', 'from_host')})", "touch fatbin")
    result = sh(chains(host, device, ("test -e fatbin", "echo linked")), tmp_path)
    assert (result.code, result.stdout) == (0, "linked\n")


@pytest.mark.parametrize(
    "stages",
    [
        chains(("echo a: error; false", "touch late"), ("sleep 60",), ("touch late",)),
        chains(("true",), ("echo a: error; false", "touch late"), ("touch late",)),
        chains(("true",), ("echo a: error",), ("false", "touch late")),
    ],
)
def test_a_stage_that_fails_ends_the_build_with_what_it_said(tmp_path: Path, stages: Stages) -> None:
    result = sh(stages, tmp_path)
    assert result.code == 1
    assert result.seconds < 15
    assert "a: error" in result.stdout
    assert not (tmp_path / "late").exists()


def fake(folder: Path, cicc: str) -> Nvcc:
    """An nvcc whose dry run is understood, whose stages do nothing, but for cicc; called plainly it says so."""
    programs = folder / "kit"
    programs.mkdir()
    for name, body in {"cicc": cicc, "g++": "echo so >u.so"}.items():
        (programs / name).write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    for name in ("gcc", "cudafe++", "ptxas", "fatbinary", "nvlink"):
        (programs / name).write_text("#!/bin/sh\n", encoding="utf-8")
    dry_run = DRY_RUN.replace("/t/", f"{folder}/").replace("/kit/bin/../nvvm/bin", str(programs))
    (folder / "dry_run").write_text(dry_run.replace("PATH=/kit/bin", f"PATH={programs}"), encoding="utf-8")
    (programs / "nvcc").write_text(
        f'#!/bin/sh\n[ "$1" = --dryrun ] || {{ echo "one call"; exit 1; }}\ncat {folder}/dry_run >&2\n',
        encoding="utf-8",
    )
    for program in programs.iterdir():
        program.chmod(0o755)
    return Nvcc(programs / "nvcc", folder / "nowhere", "13.0.88", None)


def test_a_build_by_stages_says_so_and_leaves_no_temporary_files(tmp_path: Path) -> None:
    made = fake(tmp_path, f"touch {tmp_path}/tmpxft_01_00-6_u.ptx; cat {tmp_path}/tmpxft_01_00-4_u.module_id")
    result = made.compile(UNIT, tmp_path / "u.so", 30)
    assert result.outcome is BuildOutcome.BUILT, result.log
    assert result.command.endswith(SIDE_BY_SIDE)
    assert result.log == module_id(UNIT.source, f"{UNIT.symbol}.cu")
    assert list(tmp_path.glob("tmpxft*")) == []


def test_the_time_limit_is_that_of_all_stages(tmp_path: Path) -> None:
    result = fake(tmp_path, "sleep 60").compile(UNIT, tmp_path / "u.so", 1)
    assert result.outcome is BuildOutcome.TIMEOUT
    assert result.command.endswith(SIDE_BY_SIDE)


def test_a_change_of_mind_ends_both_halves(tmp_path: Path) -> None:
    made = fake(tmp_path, f"echo $$ >{tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; exec sleep 60")
    with pytest.raises(BuildCancelled):
        made.compile(UNIT, tmp_path / "u.so", 30, (tmp_path / "pid").exists)
    pid = int((tmp_path / "pid").read_text(encoding="utf-8"))
    # It was sent SIGKILL, which takes effect soon.
    until = time.monotonic() + 5
    while lives(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not lives(pid)


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_what_is_not_understood_is_left_to_one_call(tmp_path: Path) -> None:
    made = fake(tmp_path, "true")
    plain = dataclasses.replace(made, side_by_side=False).compile(UNIT, tmp_path / "u.so", 30)
    (tmp_path / "dry_run").write_text("#$ something new\n", encoding="utf-8")
    for result in (plain, made.compile(UNIT, tmp_path / "u.so", 30)):
        assert result.log == "one call\n"
        assert not result.command.endswith(SIDE_BY_SIDE)


def machine_code(shared_object: Path) -> dict[str, bytes]:
    """``.text.<kernel>`` sections of the device images in a shared object, which nvcc stores uncompressed."""
    data = shared_object.read_bytes()
    found: dict[str, bytes] = {}
    at = data.find(b"\x7fELF", 1)
    while at != -1:
        if struct.unpack_from("<H", data, at + 18)[0] == EM_CUDA:
            found.update(_text_sections(data[at:]))
        at = data.find(b"\x7fELF", at + 1)
    return found


def _text_sections(image: bytes) -> dict[str, bytes]:
    (offset,) = struct.unpack_from("<Q", image, 40)
    size, count, names = struct.unpack_from("<HHH", image, 58)
    headers = [struct.unpack_from("<IIQQQQ", image, offset + size * number) for number in range(count)]
    strings = headers[names][4]
    found = {}
    for name_at, _, _, _, begin, length in headers:
        name = image[strings + name_at : image.index(b"\0", strings + name_at)].decode()
        if name.startswith(".text."):
            found[name] = image[begin : begin + length]
    return found


@pytest.mark.nvcc
@needs_nvcc
@pytest.mark.timeout(1200)
def test_the_machine_code_is_the_same_as_by_one_call(tmp_path: Path) -> None:
    found = nvcc.find()
    assert found is not None
    if not shutil.which("g++"):
        pytest.skip("no host compiler is installed")
    unit = emit_stage(cast(tensor("x", F16, (512, 256)), DType.F32), None).unit
    code = []
    for side_by_side in (True, False):
        folder = tmp_path / str(side_by_side)
        folder.mkdir()
        result = dataclasses.replace(found, side_by_side=side_by_side).compile(unit, folder / "u.so", 580)
        assert result.outcome is BuildOutcome.BUILT, result.log
        assert result.command.endswith(SIDE_BY_SIDE) is side_by_side
        code.append(machine_code(folder / "u.so"))
    assert len(code[0]) == 1
    assert code[0] == code[1]
