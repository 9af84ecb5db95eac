"""Memory of a card that two processes have mapped: the supervisor makes it, and hands it to a child as a descriptor.

CUDA's virtual memory management (CUDA Driver API, "Virtual Memory Management"), whose handles travel like any open
file and so into namespaces, which the older IPC handles do not. Some cards and drivers have no such handles: then
``CardMemoryRefused`` says so, and the arena stays in the host's memory. torch at the top.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import socket
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

_DEVICE, _PINNED, _FILE_DESCRIPTOR, _READ_WRITE = 1, 1, 1, 3
"""CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR and
CU_MEM_ACCESS_FLAGS_PROT_READWRITE of cuda.h."""


class CardMemoryRefused(Exception):
    """The driver does not share memory of this card, with the call and its error number."""


class _Location(ctypes.Structure):
    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class _Properties(ctypes.Structure):
    """CUmemAllocationProp."""

    _fields_ = (
        ("type", ctypes.c_int), ("handle_types", ctypes.c_int), ("location", _Location),
        ("windows", ctypes.c_void_p), ("compression", ctypes.c_ubyte), ("rdma", ctypes.c_ubyte),
        ("usage", ctypes.c_ushort), ("reserved", ctypes.c_ubyte * 4),
    )  # fmt: skip


class _Access(ctypes.Structure):
    """CUmemAccessDesc."""

    _fields_ = (("location", _Location), ("flags", ctypes.c_int))


class CardMemory:
    """A block of device 0's memory, mapped here. ``bytes`` is its size, rounded up to the card's pages."""

    def __init__(self, handle: ctypes.c_ulonglong, size: int) -> None:
        self.bytes = size
        self._handle = handle
        self._address = ctypes.c_ulonglong()
        try:
            _call("cuMemAddressReserve", ctypes.byref(self._address), _size(size), _size(0), _u64(0), _u64(0))
            _call("cuMemMap", self._address, _size(size), _size(0), handle, _u64(0))
            access = _Access(_Location(_DEVICE, 0), _READ_WRITE)
            _call("cuMemSetAccess", self._address, _size(size), ctypes.byref(access), _size(1))
        except CardMemoryRefused:
            self.close()
            raise

    @classmethod
    def create(cls, size: int) -> CardMemory:
        """At least ``size`` bytes, of unknown contents. Raises CardMemoryRefused, also where the card is full."""
        _context()
        wanted = _Properties(_PINNED, _FILE_DESCRIPTOR, _Location(_DEVICE, 0))
        page, handle = ctypes.c_size_t(), ctypes.c_ulonglong()
        _call("cuMemGetAllocationGranularity", ctypes.byref(page), ctypes.byref(wanted), 0)
        size = -(-max(size, 1) // page.value) * page.value
        _call("cuMemCreate", ctypes.byref(handle), _size(size), ctypes.byref(wanted), _u64(0))
        return cls(handle, size)

    @classmethod
    def receive(cls, link: socket.socket, size: int) -> CardMemory:
        """What the other side exported and sent with one byte. Raises CardMemoryRefused and OSError."""
        _, descriptors, _, _ = socket.recv_fds(link, 1, 1)
        if not descriptors:
            raise CardMemoryRefused("no descriptor came")
        try:
            _context()
            handle = ctypes.c_ulonglong()
            given = ctypes.c_void_p(descriptors[0])
            _call("cuMemImportFromShareableHandle", ctypes.byref(handle), given, _FILE_DESCRIPTOR)
            return cls(handle, size)
        finally:
            os.close(descriptors[0])

    @contextlib.contextmanager
    def exported(self) -> Iterator[int]:
        """A descriptor of it, to be sent to another process. Raises CardMemoryRefused."""
        descriptor = ctypes.c_int(-1)
        _call("cuMemExportToShareableHandle", ctypes.byref(descriptor), self._handle, _FILE_DESCRIPTOR, _u64(0))
        try:
            yield descriptor.value
        finally:
            os.close(descriptor.value)

    def tensor(self) -> Tensor:
        """All of it as bytes. Nothing may use it once the memory is closed."""
        return torch.as_tensor(_Interface(self._address.value, self.bytes), device="cuda")

    def settle(self) -> None:
        """Wait for all that this process launched, so that another one finds what was written here."""
        torch.cuda.synchronize()

    def close(self) -> None:
        """Unmap it. The memory itself lives as long as another process has it mapped. Closing again does nothing."""
        if self._address.value:
            with contextlib.suppress(RuntimeError):
                self.settle()
            _driver().cuMemUnmap(self._address, _size(self.bytes))
            _driver().cuMemAddressFree(self._address, _size(self.bytes))
            self._address.value = 0
        if self._handle.value:
            _driver().cuMemRelease(self._handle)
            self._handle.value = 0


class _Interface:
    """A block of memory as numba's CUDA array interface, version 3, has it; torch reads that."""

    def __init__(self, address: int, size: int) -> None:
        self.__cuda_array_interface__: dict[str, Any] = {
            "shape": (size,), "typestr": "|u1", "data": (address, False), "strides": None, "version": 3,
        }  # fmt: skip


@functools.cache
def _driver() -> Any:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise CardMemoryRefused(str(error)) from error


def wake(*products: torch.dtype) -> None:
    """Make the card's context before it is needed, beside other work; what fails here fails again later.

    And have cuBLAS ready for ``products`` in these types, which takes its time as well.
    """
    with contextlib.suppress(RuntimeError, CardMemoryRefused):
        _retain()
        _context()
        for dtype in products:
            one = torch.ones(64, 64, dtype=dtype, device="cuda")
            one @ one


def _retain() -> None:
    """The driver's primary context, which torch takes over. torch makes it under Python's lock; here others go on."""
    context, device = ctypes.c_void_p(), ctypes.c_int()
    _call("cuInit", 0)
    _call("cuDeviceGet", ctypes.byref(device), 0)
    _call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)


def _context() -> None:
    """torch's context, current in this thread."""
    torch.zeros(1, device="cuda")


def _call(name: str, *arguments: Any) -> None:
    code = getattr(_driver(), name)(*arguments)
    if code != 0:
        raise CardMemoryRefused(f"{name} gave error {code}")


def _size(value: int) -> ctypes.c_size_t:
    return ctypes.c_size_t(value)


def _u64(value: int) -> ctypes.c_ulonglong:
    return ctypes.c_ulonglong(value)
