"""Why there is no profile, in words for the person who asked for one."""

from __future__ import annotations

from kernels.errors import UserError


class ProfileNeedsCard(UserError):
    template = (
        "Nsight Compute reads the counters of NVIDIA cards and there are none for a CPU; a candidate built for "
        "a card (sm_80 or sm_90a), profiled on a worker that has one, would be right"
    )


class ProfilerMissing(UserError):
    template = (
        "there is no ncu on this machine's PATH; Nsight Compute installed beside the CUDA toolkit, or MUCUTLASS_NCU "
        "set to its path, would be right"
    )


class CountersNotPermitted(UserError):
    template = (
        "the driver does not let this user read the card's counters (ERR_NVGPUCTRPERM); the kernel module's option "
        "NVreg_RestrictProfilingToAdminUsers=0, or CAP_SYS_ADMIN for this process, would be right{held}"
    )


class CardNotProfilable(UserError):
    template = (
        "this Nsight Compute cannot profile this card: {said}; a version that lists the card's chip would be right"
    )


class ProfilerLibraryMissing(UserError):
    template = (
        "Nsight Compute could not load the driver's part for counters: {said}; a container that has the whole driver, "
        "on a kernel that lets it reach the card, would be right"
    )


class CountersBusy(UserError):
    template = (
        "another tool holds the card's counters: {said}; no other profiler, and DCGM's collection paused "
        "(dcgmi profile --pause), would be right"
    )


class NoCardForProfile(UserError):
    template = "there is no card here: {said}; a machine with one and its driver would be right"


class ProfiledCallFailed(UserError):
    template = "the candidate did not come through one call: {said}"


class NoKernelProfiled(UserError):
    template = "the call launched no kernel on the card; a candidate that does its work there would be right"


class ProfileTimedOut(UserError):
    template = "profiling took longer than {seconds:g} s and was stopped; it replays each kernel some tens of times"


class ProfileCancelled(UserError):
    template = "cancelled while it was being profiled"


class ProfilerFailed(UserError):
    template = "Nsight Compute ended without a report (exit status {code}): {said}"
