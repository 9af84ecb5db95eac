"""The straight way through an exported file's forward, written out: what a call needs that finds all as it was.

Where calls are short and a clock counts their launch, the lookups of the general way would be a good part of a time.
There is none for programs that call torch or kernels which take arrays, nor for forwards with arguments that are no
tensors: those go the general way. Whatever is not as the general way last saw it goes there too, and is judged there.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernels.codegen.emission import Launch, Plan, PlanValue

_HEAD = '''
def _quick(model, given):
    """forward for dense inputs, and parameters as forward last saw them; None where anything has to be looked at."""
    known = model._known
    if known is None or len(given) != {count}:
        return None
    device, seen = known
'''


class _Text:
    """The function under way; ``names`` are the variables that hold each storage's memory."""

    def __init__(self, plan: Plan, cuda: bool) -> None:
        self.plan = plan
        self.cuda = cuda
        self.values = {value.name: value for value in plan.values}
        self.names: dict[str, str] = {}
        self.lines: list[str] = []

    def text(self) -> str:
        """All of it."""
        self._inputs()
        self._parameters()
        self._once()
        stream = "_raw_stream(device.index)" if self.cuda else "0"
        self.lines.append(f"    stream = {stream}")
        for number, step in enumerate(self.plan.steps):
            if isinstance(step, Launch) and not step.once:
                self._launch(number, step)
        results = ", ".join(self.names[self.values[name].storage] for name in self.plan.outputs)
        self.lines.append(f"    return {results}")
        return _HEAD.format(count=len(self.plan.inputs)) + "\n".join(self.lines)

    def _bar(self, condition: str) -> None:
        self.lines.append(f"    if {condition}:\n        return None")

    def _inputs(self) -> None:
        names = [f"x{index}" for index in range(len(self.plan.inputs))]
        self.lines.append(f"    {', '.join(names)}{',' * (len(names) == 1)} = given")
        if self.cuda:
            self._bar("device.index != _torch.cuda.current_device()")
        for name, x in zip(self.plan.inputs, names, strict=True):
            self.names[name] = x
            shape, dtype = self.values[name].shape, self.values[name].dtype.torch_name
            self._bar(f"type({x}) is not _torch.Tensor or {x}.device != device or not {x}.is_contiguous()")
            self._bar(f"{x}.shape != {shape!r} or {x}.dtype is not _torch.{dtype}")

    def _parameters(self) -> None:
        before: list[str] = []
        for index, name in enumerate(self.plan.parameters):
            variable = self.names[name] = f"p{index}"
            *path, last = name.split(".")
            home = "home" if path else "model"
            if path != before:
                self._walk(path)
            before = path
            self.lines.append(f"    {variable} = {home}._parameters.get({last!r})")
            self._bar(f"{variable} is not seen[{index}][0] or {variable}.data_ptr() != seen[{index}][1]")

    def _walk(self, path: list[str]) -> None:
        """``home``, the module at ``path`` as it is now."""
        home = "model"
        for part in path:
            self.lines.append(f"    home = {home}._modules.get({part!r})")
            self._bar("home is None")
            home = "home"

    def _once(self) -> None:
        made = [step.results for step in self.plan.steps if step.once]
        if not made:
            return
        parameters = [self.names[name] for name in self.plan.parameters]
        state = ", ".join(f"({name}.data_ptr(), {name}._version)" for name in parameters)
        self.lines.append("    kept = model._once")
        self._bar(f"kept is None or kept[0] is None or kept[0] != [{state}]")
        storages = dict.fromkeys(self.values[name].storage for names in made for name in names)
        for index, storage in enumerate(storages):
            self.names[storage] = f"m{index}"
            self.lines.append(f"    m{index} = kept[1][{storage!r}]")

    def _launch(self, number: int, step: Launch) -> None:
        for name in step.results:
            self._memory(self.values[name])
        places = [self._place(self.values[name]) for name in (*step.pointers, *step.results)]
        workspace = "None"
        if step.workspace_bytes:
            self.lines.append(f"    work = _torch.empty({step.workspace_bytes}, dtype=_torch.uint8, device=device)")
            workspace = "work.data_ptr()"
        rows = [places, [str(size) for size in step.sizes], [workspace, "stream"]]
        self.lines.append(f"    code = _ready({number})[0](")
        self.lines += [f"        {', '.join(row)}," for row in rows if row]
        self.lines.append("    )")
        failed = f"stage {step.stage}: {step.symbol} returned {{code}}"
        self.lines.append(f"    if code:\n        raise LaunchFailed(f{failed!r})")
        if step.workspace_bytes:
            self.lines.append("    del work")

    def _memory(self, value: PlanValue) -> None:
        """Memory for the storage of a result, as the output that it is, or as one row."""
        if value.storage in self.names:
            return
        variable = self.names[value.storage] = f"y{len(self.names)}"
        dtype = f"dtype=_torch.{value.dtype.torch_name}, device=device"
        if value.name in self.plan.outputs:
            made = f"_torch.empty_strided({value.shape!r}, {value.strides!r}, {dtype})"
        else:
            made = f"_torch.empty({_elements(self.plan, value)}, {dtype})"
        self.lines.append(f"    {variable} = {made}")

    def _place(self, value: PlanValue) -> str:
        offset = value.offset * value.dtype.bytes
        return f"{self.names[value.storage]}.data_ptr()" + (f" + {offset}" if offset else "")


def quick(plan: Plan, constants: Mapping[int, object], *, cuda: bool) -> str:
    """The source of ``_quick``, or of the word that there is none."""
    if not _straight(plan, constants):
        return "_quick = None"
    return _Text(plan, cuda).text().strip()


def _straight(plan: Plan, constants: Mapping[int, object]) -> bool:
    launches = [step for step in plan.steps if isinstance(step, Launch) and step.abi == "arguments"]
    if constants or not plan.inputs or len(launches) != len(plan.steps):
        return False
    values = {value.name: value for value in plan.values}
    written = {name for step in launches if not step.once for name in step.results}
    owners = [value.storage for value in plan.values]
    # An output is memory of its own, written by one launch, which nothing else lies in.
    alone = all(
        name in written and values[name].offset == 0 and owners.count(values[name].storage) == 1
        for name in plan.outputs
    )
    return alone and len(set(plan.outputs)) == len(plan.outputs)


def _elements(plan: Plan, first: PlanValue) -> int:
    """Elements of ``first``'s type that its storage needs for all values in it."""
    need = 0
    for value in plan.values:
        if value.storage == first.storage and 0 not in value.shape:
            steps = zip(value.shape, value.strides, strict=True)
            last = value.offset + sum((extent - 1) * stride for extent, stride in steps)
            need = max(need, (last + 1) * value.dtype.bytes)
    return -(-need // first.dtype.bytes)
