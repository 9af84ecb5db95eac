"""What a forked candidate sees and may do: each thing that it should not is an error code of its own."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kernels.childprocess import python_environment
from kernels.harness import evaluate, isolation
from kernels.harness.evaluation import Outcome
from kernels.harness.forkserver import IMPOSSIBLE, JUDGES, SUBJECTS
from tests.harness.conftest import MakeRequest
from tests.harness.local import write
from tests.harness.programs import HEAD, one_launch

SPY = r"""
#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
static int entries(const char* folder, int numbers_only) {
  DIR* d = opendir(folder);
  if (!d) return -1;
  int n = 0;
  while (dirent* e = readdir(d))
    if (numbers_only ? (e->d_name[0] >= '0' && e->d_name[0] <= '9') : e->d_name[0] != '.') n++;
  closedir(d);
  return n;
}
static int field(const char* name, char* into) {
  FILE* f = fopen("/proc/self/status", "r");
  char line[256];
  while (f && fgets(line, sizeof line, f))
    if (!strncmp(line, name, strlen(name))) { sscanf(line + strlen(name), "%255s", into); fclose(f); return 1; }
  return 0;
}
static int writes(const char* path) {
  FILE* f = fopen(path, "w");
  if (f) fclose(f);
  return f != 0;
}
static int look() {
  char text[256];
  if (!field("CapEff:", text) || strtoull(text, 0, 16)) return 61;
  if (!field("CapBnd:", text) || strtoull(text, 0, 16)) return 62;
  if (!field("NoNewPrivs:", text) || strcmp(text, "1")) return 63;
  if (entries("/proc", 1) != 2) return 64;            /* itself, and process 1 */
  if (entries("/proc/self/fd", 1) > 3 + 3 + 1 + 1) return 65;  /* standard, socket, arena twice, file, listing */
  if (entries("/tmp", 0) > MOST_IN_TMP) return 66;
  const char* places[] = {"/var/tmp/spy", "/usr/spy", "/dev/spy", "/spy", "OWN_FOLDER/spy", "HOME_FOLDER/spy"};
  for (const char* place : places) if (writes(place)) return 67;
  if (writes("/proc/sys/kernel/core_pattern") || writes("/proc/sysrq-trigger")) return 68;
  if (!writes("/proc/self/comm")) return 75;  /* CUDA's driver names its threads, and does not start where it cannot */
  if (!mount("none", "/tmp", "tmpfs", 0, 0)) return 69;
  FILE* f = fopen("PROBLEM_PATH", "r");
  if (f && fgetc(f) != EOF) return 70;
  struct stat s;
  if (!stat("/tmp/kept", &s) || !stat("/dev/shm/kept", &s)) return 71;
  if (!writes("/tmp/kept") || !writes("/dev/shm/kept")) return 72;
  if (getenv("SECRET_KEY")) return 73;
  if (entries("CHECKOUT", 0) > 2 || entries("CHECKOUT/kernels", 0) < 3) return 74;  /* kernels, .venv */
  return 0;
}
API spy(BIAS_RELU) {
  static int seen = look();
  right(x, b, y, m, n);
  return seen;
}
"""

ROOT = Path(isolation.__file__).resolve().parent.parent.parent


@pytest.mark.skipif(isolation.probe() == isolation.PROCESS, reason="this system lets nobody make namespaces")
@pytest.mark.parametrize("method", [isolation.BUBBLEWRAP, isolation.UNSHARE])
def test_a_forked_candidate_is_alone_and_keeps_nothing(
    make_request: MakeRequest, problem: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    if method == isolation.BUBBLEWRAP and isolation.probe() != method:
        pytest.skip("bubblewrap does not work here")
    monkeypatch.setattr(isolation, "probe", lambda: method)
    monkeypatch.setenv("SECRET_KEY", "k")
    kept_in_tmp = {path.split("/")[2] for path in map(str, isolation._interpreter()) if path.startswith("/tmp/")}
    text = SPY.replace("MOST_IN_TMP", str(1 + len(kept_in_tmp))).replace("PROBLEM_PATH", str(problem))
    # A checkout below /tmp is kept within the candidate's own /tmp, beside which it may write.
    own = "/usr" if ROOT.is_relative_to("/tmp") else str(ROOT)
    text = text.replace("OWN_FOLDER", own).replace("CHECKOUT", str(ROOT)).replace("HOME_FOLDER", str(Path.home()))
    source = write(tmp_path, "spy.cpp", HEAD + text)
    library = tmp_path / "spy.so"
    subprocess.run(["g++", "-fopenmp", "-shared", "-fPIC", "-w", source, "-o", str(library)], check=True)
    # The second one would find what the first one has written.
    for _ in range(2):
        evaluation = evaluate(make_request(plan=one_launch("spy"), artifacts={"spy": str(library)}))
        assert evaluation.outcome is Outcome.PASSED, evaluation.detail
        assert evaluation.isolation is not None
        assert evaluation.isolation.warm is True


ENTER = """
import json, os, sys
from kernels.harness import namespaces
namespaces._SYS_MOUNT_SETATTR = int(sys.argv[1])
namespaces.separate()
if os.fork() == 0:
    namespaces.enter(namespaces.View(masked=["/usr/share"], kept=["/usr/share/zoneinfo"], hidden=["/etc/hostname"],
                                     tmp_bytes=2**20))
    written = []
    for folder in ("/tmp", "/var/tmp", "/usr/share", "/dev"):
        try:
            open(folder + "/mark", "w").write("x" * 100)
            written.append(folder)
        except OSError:
            pass
    try:
        open("/tmp/large", "w").write("x" * 2**22)
    except OSError as error:
        written.append(error.errno)
    hidden = open("/etc/hostname").read()
    print(json.dumps([written, os.listdir("/usr/share"), hidden, os.getpid()]), flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.skipif(isolation.probe() == isolation.PROCESS, reason="this system lets nobody make namespaces")
@pytest.mark.parametrize("number", [442, 100000], ids=["mount_setattr", "before Linux 5.12"])
def test_a_view_is_read_only_but_for_a_small_tmp(number: int) -> None:
    """Without ``mount_setattr`` each mount is made read-only by itself."""
    told = subprocess.run(
        [sys.executable, "-c", ENTER, str(number)],
        env=python_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    kept = ["zoneinfo"] if Path("/usr/share/zoneinfo").is_dir() else []
    assert json.loads(told.stdout) == [["/tmp", 28], kept, "", 1], told.stderr


@pytest.mark.skipif(Path("/dev/nvidia0").exists(), reason="there is a card here")
@pytest.mark.parametrize("role", [JUDGES, SUBJECTS])
def test_a_server_whose_processes_cannot_use_the_card_says_so_and_serves_nobody(role: str) -> None:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        number = theirs.fileno()
        ended = subprocess.run(
            [sys.executable, "-m", "kernels.harness.forkserver", role, str(number), "null", "cuda"],
            pass_fds=(number,), env=python_environment({"OPENBLAS_NUM_THREADS": "1"}),
            capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
    assert ended.returncode == IMPOSSIBLE
    assert "no fork server here: " in ended.stderr
    assert "cuda" in ended.stderr.lower()
