"""What the shim sees of each step of workloads.py: the table of wheels, checked.

A step's entry is a list of `function caller provider` patterns, one for each decision, in order. `Some(patterns)`:
one decision or more, each of which matches one of the patterns; for algorithms that choose their number of products by
the machine. A step with an empty list is not seen.
"""

import platform

import processor

UMATH = "_multiarray_umath.*"
OPENBLAS64 = "libscipy_openblas64_-*.so"  # the OpenBLAS in numpy's wheel, with 64-bit integers
OPENBLAS32 = "libscipy_openblas-*.so"     # the OpenBLAS in scipy's wheel, with 32-bit integers
TORCH = "libtorch_cpu.so libtorch_cpu.so"  # MKL is linked into torch, so the caller is also the provider
FAISS_OPENBLAS = "libopenblaso-*.so*"


class Some(tuple):
    pass


def after_medium(pattern):
    """Returns what is seen of a product under torch's own `medium`, where oneDNN multiplies if the processor has AVX-512."""
    return [] if processor.has("avx512bw") or platform.machine() != "x86_64" else [pattern]


def numpy(function):
    return f"scipy_cblas_{function}64_ {UMATH} {OPENBLAS64}"


def scipy(function, module="_fblas.*"):
    return f"scipy_{function}_ {module} {OPENBLAS32}"


# sklearn and jaxlib have function pointers from scipy.linalg.cython_blas. These callers neither import the name nor
# have its provider in their scope.
SKLEARN = scipy("sgemm", "_cython_blas.*")
JAXLIB = "_lapack.so"

STEPS = {
    "numpy.matmul": [numpy("sgemm")],
    "numpy.matmul_transposed": [numpy("sgemm")],
    "numpy.gram": [numpy("ssyrk")],
    "numpy.complex": [numpy("cgemm")],
    "numpy.complex_gram": [numpy("csyrk")],
    "numpy.stack": [numpy("sgemm")] * 3,
    "numpy.solve": [],  # calls from LAPACK inside OpenBLAS stay inside the library

    "scipy.sgemm": [scipy("sgemm")],
    "scipy.cgemm": [scipy("cgemm")],
    "scipy.ssyrk": [scipy("ssyrk")],
    "scipy.ssymm": [scipy("ssymm")],
    "scipy.strmm": [scipy("strmm")],
    "scipy.strsm": [scipy("strsm")],
    "scipy.expm": Some([scipy("sgemm", "_matfuncs_expm.*"), numpy("sgemm")]),
    "scipy.sqrtm": [numpy("ssyrk")] + [scipy("sgemm", "_matfuncs_schur_sqrtm.*")] * 2,
    "scipy.qr": [],
    "scipy.solve": [],

    "sklearn.kmeans": Some([SKLEARN]),
    "sklearn.pca": [numpy("ssyrk"), numpy("sgemm")],
    "sklearn.pca_randomized": Some([numpy("sgemm"), numpy("ssyrk")]),

    "torch.mm": [f"sgemm_ {TORCH}"],
    "torch.complex_mm": [f"cgemm_ {TORCH}"],
    "torch.bmm": [f"cblas_sgemm_batch {TORCH}"],
    "torch.complex_bmm": [f"cblas_cgemm_batch {TORCH}"],
    "torch.linear": [f"sgemm_ {TORCH}"],
    "torch.attention": Some([f"sgemm_ {TORCH}"]),
    "torch.attention_math": [f"cblas_sgemm_batch {TORCH}"] * 2,
    "torch.solve_triangular": [f"strsm_ {TORCH}"],
    "torch.qr": [],
    # oneDNN is linked into torch. It runs products under torch's own setting `medium`, and products in LSTMs.
    "torch.lstm": [],
    "torch.mm_medium": after_medium(f"sgemm_ {TORCH}"),
    "torch.bmm_medium": after_medium(f"cblas_sgemm_batch {TORCH}"),
    "torch.linear_medium": after_medium(f"sgemm_ {TORCH}"),
    "torch.mm_again": [f"sgemm_ {TORCH}"],

    # On a CPU, XLA uses kernels of its own.
    "jax.dot": [],
    "jax.jit_dot": [],
    "jax.solve_triangular": [scipy("strsm", JAXLIB)],
    "jax.jit_solve_triangular": [scipy("strsm", JAXLIB)],
    "jax.complex_solve_triangular": [scipy("ctrsm", JAXLIB)],

    "faiss.flat": Some([f"sgemm_ libfaiss.so {FAISS_OPENBLAS}"]),
    "faiss.inverted_file": Some([f"sgemm_ libfaiss.so {FAISS_OPENBLAS}"]),
    "faiss.pca": [f"ssyrk_ libfaiss.so {FAISS_OPENBLAS}", f"sgemm_ libfaiss.so {FAISS_OPENBLAS}"],
    "faiss.pairwise": [f"sgemm_ libfaiss.so {FAISS_OPENBLAS}"],
    "faiss.transform": [f"sgemm_ libfaiss.so {FAISS_OPENBLAS}"],
    # This OpenBLAS calls its own sgemm_ through its PLT, so the products of its LAPACK are seen.
    "faiss.random_rotation": Some([f"sgemm_ {FAISS_OPENBLAS} {FAISS_OPENBLAS}",
                                   f"strmm_ {FAISS_OPENBLAS} {FAISS_OPENBLAS}"]),

    # onnxruntime has kernels of its own.
    "onnxruntime.matmul": [],

    # The caller is the library that makes foreign calls for ctypes.
    "openblas64.sgemm_batch": [f"sgemm_batch_ * {OPENBLAS64}"],
    "openblas64.sgemm_batch_strided": [f"sgemm_batch_strided_ * {OPENBLAS64}"],
    "openblas64.cblas_sgemm_batch_strided": [f"cblas_sgemm_batch_strided * {OPENBLAS64}"],
}

# Steps that are a single plain product of operands, which --round rounds.
PRODUCTS = ["numpy.matmul", "numpy.matmul_transposed", "numpy.gram", "numpy.complex", "numpy.complex_gram",
            "numpy.stack", "scipy.sgemm", "scipy.cgemm", "scipy.ssyrk", "scipy.ssymm", "scipy.strmm", "torch.mm",
            "torch.complex_mm", "torch.bmm", "torch.complex_bmm", "torch.linear", "torch.mm_again", "faiss.transform",
            "openblas64.sgemm_batch", "openblas64.sgemm_batch_strided", "openblas64.cblas_sgemm_batch_strided"]
