"""What all cards share: CUDA kernels that need no tensor core, and the writing of ``.cu`` units.

``sm90a`` and ``sm80`` choose among these and add their own CUTLASS kernels.
"""
