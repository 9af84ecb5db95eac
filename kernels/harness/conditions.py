"""The machine's state while subjects are timed, read by the supervisor beside each block of calls.

The readings change nothing and are outside of every timed window. A reading that the system does not give is
missing with its reason; nothing is guessed from another.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from kernels.harness.measures import Conditions, Range
from kernels.harness.nvml import HARMLESS, Card, NoFigure

OTHERS_LIMIT = 0.1
"""Share of the cores' time in other processes from which on it is said that they disturb."""

_CPU = Path("/sys/devices/system/cpu")
_THERMAL = Path("/sys/class/thermal")
_TICKS_S = os.sysconf("SC_CLK_TCK")

Reader = Callable[[], float]


class Watch:
    """Readings of one evaluation. ``before`` and ``after`` stand around each block; ``of`` sums up.

    ``pids`` gives the processes of this evaluation, whose own CPU time is not other processes' load. A subject's
    readings lie at least ``apart_s`` seconds apart: what the cores did in blocks between them goes with the next one.
    """

    def __init__(
        self,
        pids: Callable[[], Iterable[int]],
        card: Card | None = None,
        no_card: str = "",
        apart_s: float = 0.0,
    ) -> None:
        self._pids = pids
        self._apart_s = apart_s
        self._last: dict[str, float] = {}
        self._card = card
        self._readers: dict[str, Reader] = {"load": _load_average, "cpu_clock": _cpu_clock}
        self._missing: dict[str, str] = {}
        if card is not None:
            self._readers |= {"sm_clock": card.sm_clock, "memory_clock": card.memory_clock}
            self._readers |= {"temperature": card.temperature, "power": card.power}
        else:
            self._readers["temperature"] = _host_temperature
        if no_card:
            self._missing = dict.fromkeys(("sm_clock", "memory_clock", "throttle", "power", "others"), no_card)
        self._values: dict[str, dict[str, list[float]]] = {}
        self._readings: dict[str, int] = {}
        self._throttle: dict[str, set[str]] = {}
        self._busy: dict[str, list[tuple[float, float]]] = {}
        self._start: tuple[float, float, float] | None = None
        self._others: int | None = None

    def before(self) -> None:
        """Just before a block: the cores' clocks of work done so far."""
        if self._start is None:
            self._start = self._work()

    def after(self, subject: str) -> None:
        """Just after a subject's block, while clocks and temperature are still those of the work."""
        now = time.monotonic()
        if subject in self._last and now - self._last[subject] < self._apart_s:
            return
        self._last[subject] = now
        self._readings[subject] = self._readings.get(subject, 0) + 1
        for name in list(self._readers):
            self._read(subject, name)
        if self._card is not None and "throttle" not in self._missing:
            try:
                self._throttle.setdefault(subject, set()).update(self._card.throttle())
            except NoFigure as error:
                self._missing["throttle"] = str(error)
        start, end = self._start, self._work()
        self._start = None
        if start is not None and end is not None:
            elapsed, busy, own = (after - before for after, before in zip(end, start, strict=True))
            if elapsed > 0:
                self._busy.setdefault(subject, []).append((elapsed, max(busy - own, 0.0)))

    def look_for_others(self) -> None:
        """Count the compute processes on the card that are not this evaluation's. Once or twice: it takes a while."""
        if self._card is None or "others" in self._missing:
            return
        try:
            found = self._card.processes()
        except NoFigure as error:
            self._missing["others"] = str(error)
            return
        own = set(self._pids())
        if not own & set(found):
            self._missing["others"] = (
                "NVML names no process of this evaluation (a container), so no other can be told"
            )
            return
        self._others = max(self._others or 0, len(set(found) - own))

    def of(self, subject: str | None = None) -> Conditions:
        """Sum up one subject's readings, or all."""
        subjects = list(self._readings) if subject is None else [subject]
        ranges = {name: self._range(name, subjects) for name in self._readers}
        throttle = self._throttle_of(subjects)
        share = self._share(subjects)
        return Conditions(
            source="NVML, /proc and /sys" if self._card is not None else "/proc and /sys",
            readings=sum(self._readings.get(name, 0) for name in subjects),
            throttle=throttle,
            others=self._others,
            others_share=share,
            missing=dict(self._missing),
            cautions=tuple(_cautions(throttle, self._others, share)),
            **ranges,
        )

    def _read(self, subject: str, name: str) -> None:
        try:
            value = self._readers[name]()
        except NoFigure as error:
            self._missing[name] = str(error)
            return
        self._values.setdefault(subject, {}).setdefault(name, []).append(value)

    def _range(self, name: str, subjects: list[str]) -> Range | None:
        values = [value for subject in subjects for value in self._values.get(subject, {}).get(name, [])]
        return Range(min(values), max(values)) if values else None

    def _throttle_of(self, subjects: list[str]) -> tuple[str, ...] | None:
        if self._card is None or "throttle" in self._missing:
            return None
        return tuple(sorted(set().union(*(self._throttle.get(name, set()) for name in subjects))))

    def _share(self, subjects: list[str]) -> float | None:
        blocks = [block for subject in subjects for block in self._busy.get(subject, [])]
        cores_s = sum(elapsed for elapsed, _ in blocks) * len(os.sched_getaffinity(0))
        # /proc counts in ticks: of less than 20 of them nothing can be said.
        if cores_s < 20 / _TICKS_S:
            return None
        return min(sum(busy for _, busy in blocks) / cores_s, 1.0)

    def _work(self) -> tuple[float, float, float] | None:
        """Now, and the seconds that the cores and this evaluation's own processes have worked until now."""
        try:
            busy = busy_seconds(Path("/proc/stat").read_text("ascii"), os.sched_getaffinity(0))
        except (OSError, NoFigure) as error:
            self._missing["others_share"] = str(error)
            return None
        return time.monotonic(), busy, sum(map(_own_seconds, self._pids()))


def _cautions(throttle: tuple[str, ...] | None, others: int | None, share: float | None) -> list[str]:
    found = []
    held = [word for word in throttle or () if word not in HARMLESS]
    if held:
        found.append(f"the card's clocks were held back: {', '.join(held)}")
    if others:
        found.append(f"{others} other compute process{'es' if others > 1 else ''} on the card")
    if share is not None and share > OTHERS_LIMIT:
        found.append(f"other processes took {share * 100:.0f} % of the cores' time")
    return found


def busy_seconds(stat: str, cores: Iterable[int]) -> float:
    """Seconds that these cores have worked since they were started, by /proc/stat; raises NoFigure of an empty one."""
    wanted = {f"cpu{core}" for core in cores}
    total = 0
    for line in stat.splitlines():
        name, *fields = line.split()
        if name in wanted:
            user, nice, system, _, _, irq, softirq = map(int, fields[:7])
            total += user + nice + system + irq + softirq
    if not total:
        raise NoFigure("/proc/stat holds no times of these cores")
    return total / _TICKS_S


def _own_seconds(pid: int) -> float:
    """Seconds a process has worked, its ended children's included; 0 of one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS_S


def _load_average() -> float:
    return os.getloadavg()[0]


def _cpu_clock() -> float:
    """MHz: the highest of the cores that this process may use."""
    found = []
    for core in os.sched_getaffinity(0):
        path = _CPU / f"cpu{core}" / "cpufreq" / "scaling_cur_freq"
        if path.exists():
            found.append(int(path.read_text("ascii")) * 1e-3)
    if not found:
        raise NoFigure("this system does not show the cores' clocks")
    return max(found)


def _host_temperature() -> float:
    """°C of the processor's zone."""
    for zone in sorted(_THERMAL.glob("thermal_zone*")):
        try:
            kind = (zone / "type").read_text("ascii").strip()
            if kind in ("x86_pkg_temp", "cpu-thermal", "cpu_thermal", "k10temp"):
                return int((zone / "temp").read_text("ascii")) * 1e-3
        except (OSError, ValueError):
            continue
    raise NoFigure("this system shows no temperature of the processor")
