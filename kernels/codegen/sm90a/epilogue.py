"""How many parts of a result are on their way out of shared memory at once."""

from __future__ import annotations

from kernels.codegen.cuda.writer import SourceWriter

_STORES = """
// The builder's epilogue, but with @STORES@ parts of the result on their way out at once, for which shared memory has
// room beside the stages of the mainloop: a warp that would wait for the second to be gone writes the third.
template <class>
struct StoresOf;
template <int C, int D, int Fragment, bool Reuse, bool Delay, class... Rest>
struct StoresOf<cutlass::epilogue::collective::CollectiveEpilogue<
    cutlass::epilogue::Sm90TmaWarpSpecialized<C, D, Fragment, Reuse, Delay>, Rest...>> {
  using type = cutlass::epilogue::collective::CollectiveEpilogue<
      cutlass::epilogue::Sm90TmaWarpSpecialized<C, @STORES@, Fragment, Reuse, Delay>, Rest...>;
};
using Epilogue = typename StoresOf<Built>::type;
"""


def write_stores(out: SourceWriter, stores: int) -> None:
    """Exchanges ``Built`` for the epilogue with so many parts under way; nothing where ``stores`` is 0."""
    if stores:
        out.lines(_STORES.replace("@STORES@", str(stores)))
        out.line()
