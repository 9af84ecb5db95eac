"""Reading what ptxas prints, on text that it printed (names of CUTLASS kernels shortened)."""

from __future__ import annotations

from kernels.toolchain.ptxas import parse_resources, parse_warnings, short_name, shorten_names
from kernels.toolchain.report import Resources

GEMM = "_ZN7cutlass13device_kernelINS_4gemm6kernel13GemmUniversalIN4cute5tupleIJiiiiEEEvEEEEvNT_6ParamsE"
CLEAN = f"""\
ptxas info    : 11 bytes gmem
ptxas info    : Compiling entry function '{GEMM}' for 'sm_90a'
ptxas info    : Function properties for {GEMM}
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 168 registers, used 2 barriers
ptxas info    : Compile time = 155.517 ms
"""
SPILLING = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN26mu_gemm_9909b7a9cf64_types7productEPKfS1_PfNS_5SizesEl' for 'sm_90a'
ptxas info    : Function properties for _ZN26mu_gemm_9909b7a9cf64_types7productEPKfS1_PfNS_5SizesEl
    112 bytes stack frame, 96 bytes spill stores, 84 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 112 bytes cumulative stack size, 8448 bytes smem
ptxas info    : Compiling entry function '_Z5plainPf' for 'sm_90a'
ptxas info    : Function properties for _Z5plainPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for _Z6calleePf
    16 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 12 registers, used 0 barriers
"""
SERIALISED = f"""\
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to \
the presence of Extern calls in the function '{GEMM}'
ptxas info    : (C7511) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.
ptxas info    : (C7511) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.
ptxas warning : Value of threads per SM for entry {GEMM} is out of range. .minnctapersm will be ignored
./u.cu(24): warning #177-D: variable "c0" was declared but never referenced
"""


def test_a_clean_kernel_has_registers_and_no_spills() -> None:
    assert parse_resources(CLEAN) == (Resources("device_kernel", 168, 0, 0, 0, None),)
    assert parse_warnings(CLEAN) == ()


def test_spills_stack_and_static_shared_memory_are_read_for_each_kernel() -> None:
    assert parse_resources(SPILLING) == (
        Resources("product", 32, 96, 84, 112, 8448),
        Resources("plain", 12, 0, 0, 0, None),
    )


def test_every_warning_is_kept_once_with_short_names() -> None:
    warnings = parse_warnings(CLEAN + SERIALISED)
    assert len(warnings) == 4
    assert warnings[0].startswith("ptxas info    : (C7510)")
    assert warnings[0].endswith("in the function 'device_kernel'")
    assert "(C7511)" in warnings[1]
    assert "entry device_kernel is out of range" in warnings[2]
    assert "#177-D" in warnings[3]


def test_text_that_is_not_ptxas_gives_nothing() -> None:
    text = 'u.cu(3): error: identifier "warnings" is undefined\n1 error detected\n'
    assert parse_resources(text) == ()
    assert parse_warnings(text) == ()


def test_names_are_cut_down_to_the_functions_own() -> None:
    assert short_name("_ZN7cutlass13device_kernelIiEEvT_") == "device_kernel"
    assert short_name("_Z11elementwisePKfPf") == "elementwise"
    assert short_name("_ZN12_GLOBAL__N_16kernelEv") == "kernel"
    assert short_name("my_c_kernel") == "my_c_kernel"
    assert short_name("_Zodd") == "_Zodd"
    assert shorten_names(f"for '{GEMM}' and _Z5plainPf.") == "for 'device_kernel' and plain."
