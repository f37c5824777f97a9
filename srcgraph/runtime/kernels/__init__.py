"""What is not a loop of generated code: products, factors, sorts and transforms by libraries, as functions of C.

In: addresses, sizes and strides. Out: what a library computed, in memory that the caller gave. All engines call these.
`docs/kernels.md` says how to.

record   what a kernel is, and calling one from Python;  intrinsics: from compiled code
glue     what kernels are written in;  matrix: matrices and vectors in it
machine  from there to machine code, kept on disk;  libraries: the functions that kernels call
blas     products of vectors and matrices;  lapack: factors, eigenvalues, least squares
lines    sorting, and Fourier transforms, of one line after the other
"""

from srcgraph.runtime.kernels import blas, lapack, lines
from srcgraph.runtime.kernels.record import KERNELS, Bound, Kernel, bound_of, kernel

__all__ = ["KERNELS", "Bound", "Kernel", "blas", "bound_of", "kernel", "lapack", "lines"]
