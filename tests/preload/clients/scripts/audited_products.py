"""Multiplies by every routine that can be audited, at sizes that tell the products apart, and prints as JSON lines what an
audit has to find: the errors of TF32 operands, from products in float64."""

import ctypes
import json
import sys

import numpy as np

BLAS = ctypes.CDLL(sys.argv[1])
rng = np.random.default_rng(7)


def tf32(x):
    """Rounds to nearest, ties away from zero, real and imaginary parts alike."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(x.dtype).reshape(x.shape)


def bf16(x):
    bits = np.ascontiguousarray(x).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(x.dtype).reshape(x.shape)


ROUND = {"tf32": tf32, "bf16": bf16, "fp32": lambda x: x}


def random(rows, columns, dtype):
    """Elements of very different sizes: rows differ by up to 2^12."""
    x = rng.standard_normal((rows, columns)) * np.exp2(rng.integers(-6, 7, (rows, 1)))
    if dtype == np.complex64:
        x = x + 1j * rng.standard_normal((rows, columns))
    return x.astype(dtype)


def wide(x):
    return x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)


def errors(tested, reference, bound, written=True):
    """`written`: the elements of the result that the routine writes; the others are zero in both results."""
    d, r = abs(tested - reference), abs(reference)
    norm = np.linalg.norm
    return {"norm": norm(d) / norm(r), "max": d.max() / r.max(), "mean": d.max() / r.mean(where=written), "component": (d / bound).max(),
            "row": (norm(d, axis=1) / norm(r, axis=1)).max(), "column": (norm(d, axis=0) / norm(r, axis=0)).max()}


def triangle(uplo, x, other):
    """x in the stored triangle, `other` in the rest."""
    keep = np.triu(np.ones(x.shape, bool)) if uplo == "U" else np.tril(np.ones(x.shape, bool))
    return np.where(keep, x, other)


def op(x, trans):
    return {"N": x, "T": x.T, "C": x.conj().T}[trans]


def by_reference(value, dtype):
    if isinstance(value, str):
        return ctypes.c_char_p(value.encode())
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return ctypes.byref(ctypes.c_int(value))
    if isinstance(value, np.ndarray):
        return value.ctypes.data_as(ctypes.c_void_p)
    scalar = np.array([value], dtype)
    by_reference.kept.append(scalar)
    return scalar.ctypes.data_as(ctypes.c_void_p)


by_reference.kept = []


def call(name, *arguments, scalars):
    getattr(BLAS, name)(*(by_reference(value, scalars.pop(0)) if isinstance(value, (float, complex)) else
                          by_reference(value, None) for value in arguments))


def expect(function, sizes, product, bound, tested, written=True):
    """`product(round)`: the result in float64 from operands that `round` has rounded."""
    reference, result = product(lambda x: x), product(ROUND[tested])
    print(json.dumps({"function": function, "sizes": sizes, **errors(result, reference, bound(), written)}))


def main():
    tested = sys.argv[2]
    size = 20

    def sizes():
        nonlocal size
        size += 3
        return size, size + 1, size + 2

    for dtype, letter in ((np.float32, "s"), (np.complex64, "c")):
        is_complex = dtype == np.complex64
        alpha, beta = (1.5 - 0.5j, 0.75 + 0.25j) if is_complex else (-1.5, 0.75)
        for trans_a in "NTC":
            for trans_b in "NTC":
                m, n, k = sizes()
                beta_here = beta if trans_b != "T" else type(beta)(0)
                a = random(m, k, dtype) if trans_a == "N" else random(k, m, dtype)
                b = random(k, n, dtype) if trans_b == "N" else random(n, k, dtype)
                c = random(m, n, dtype)
                stored = [np.asfortranarray(x) for x in (a, b, c)]
                call(f"{letter}gemm_", trans_a, trans_b, m, n, k, alpha, stored[0], a.shape[0], stored[1], b.shape[0],
                     beta_here, stored[2], m, scalars=[dtype, dtype])
                expect(f"{letter}gemm_", [m, n, k],
                       lambda r: alpha * op(wide(r(a)), trans_a) @ op(wide(r(b)), trans_b) + beta_here * wide(c),
                       lambda: abs(alpha) * op(abs(wide(a)), trans_a) @ op(abs(wide(b)), trans_b) + abs(beta_here) * abs(wide(c)),
                       tested)
        for routine in ("symm", "hemm") if is_complex else ("symm",):
            for side, uplo in ("LU", "LL", "RU", "RL"):
                m, n, _ = sizes()
                order = m if side == "L" else n
                a, b, c = random(order, order, dtype), random(m, n, dtype), random(m, n, dtype)
                stored = [np.asfortranarray(x) for x in (a, b, c)]
                call(f"{letter}{routine}_", side, uplo, m, n, alpha, stored[0], order, stored[1], m, beta, stored[2], m,
                     scalars=[dtype, dtype])

                def full(x):
                    mirrored = triangle(uplo, x, x.conj().T if routine == "hemm" else x.T)
                    if routine == "hemm":
                        np.fill_diagonal(mirrored, mirrored.diagonal().real)
                    return mirrored

                def product(r, take=lambda x: x, alpha=alpha, beta=beta):
                    x, y = full(take(wide(r(a)))), take(wide(r(b)))
                    return alpha * (x @ y if side == "L" else y @ x) + beta * take(wide(c))

                expect(f"{letter}{routine}_", [m, n, order], product,
                       lambda: product(lambda x: x, lambda x: abs(full(x)) if x.shape[0] == x.shape[1] else abs(x), abs(alpha), abs(beta)),
                       tested)
        for routine in ("syrk", "syr2k", "herk", "her2k") if is_complex else ("syrk", "syr2k"):
            hermitian = routine.startswith("he")
            for uplo, trans in ("UN", "LN", "UT", "LT"):
                trans = "C" if hermitian and trans == "T" else trans
                _, n, k = sizes()
                shape = (n, k) if trans == "N" else (k, n)
                a, b, c = random(*shape, dtype), random(*shape, dtype), random(n, n, dtype)
                if hermitian:
                    np.fill_diagonal(c, c.diagonal().real)
                first = 1.5 if routine == "herk" else alpha
                second = 0.75 if hermitian else beta
                stored = [np.asfortranarray(x) for x in (a, b, c)]
                more = [stored[1], shape[0]] if routine.endswith("2k") else []
                call(f"{letter}{routine}_", uplo, trans, n, k, first, stored[0], shape[0], *more, second, stored[2], n,
                     scalars=[np.float32 if routine == "herk" else dtype, np.float32 if hermitian else dtype])
                turn = (lambda x: x.conj().T) if hermitian else (lambda x: x.T)
                symmetric_c = triangle(uplo, wide(c), turn(wide(c)))

                def product(r, take=lambda x: x, alpha=first, beta=second):
                    x, y = take(wide(r(a))), take(wide(r(b)))
                    left, other = (x, y) if trans == "N" else (turn(x), turn(y))
                    both = left @ turn(other) if routine.endswith("2k") else left @ turn(left)
                    if routine.endswith("2k"):
                        return alpha * both + (np.conj(alpha) if hermitian else alpha) * turn(both) + beta * take(symmetric_c)
                    return alpha * both + beta * take(symmetric_c)

                expect(f"{letter}{routine}_", [n, n, k], product, lambda: product(lambda x: x, abs, abs(first), abs(second)), tested)
        for side, uplo, trans, diag in ("LUNN", "LLTU", "RUCN", "RLNU"):
            m, n, _ = sizes()
            order = m if side == "L" else n
            a, b = random(order, order, dtype), random(m, n, dtype)
            stored = [np.asfortranarray(x) for x in (a, b)]
            call(f"{letter}trmm_", side, uplo, trans, diag, m, n, alpha, stored[0], order, stored[1], m, scalars=[dtype])

            def product(r, take=lambda x: x, alpha=alpha):
                x = triangle(uplo, take(wide(r(a))), 0)
                if diag == "U":
                    np.fill_diagonal(x, 1)
                x, y = op(x, trans), take(wide(r(b)))
                return alpha * (x @ y if side == "L" else y @ x)

            expect(f"{letter}trmm_", [m, n, order], product, lambda: product(lambda x: x, abs, abs(alpha)), tested)
    # C's own order: rows are contiguous.
    m, n, k = sizes()
    a, b = random(m, k, np.float32), random(k, n, np.float32)
    c = a @ b
    assert c.flags.c_contiguous
    expect("cblas_sgemm", [m, n, k], lambda r: wide(r(a)) @ wide(r(b)), lambda: abs(wide(a)) @ abs(wide(b)), tested)
    if sys.argv[3:] == ["batches"]:
        batch(tested, *sizes())
        half_of_a_product(tested, *sizes())


ROW_MAJOR, NO_TRANS, UPPER = 101, 111, 121


def array(kind, *values):
    return (kind * len(values))(*values)


def address(x):
    return x.ctypes.data_as(ctypes.c_void_p)


def batch(tested, m, n, k):
    """Three products in two groups of one size; an error of the batch is the largest of the three."""
    a, b, c = ([random(*shape, np.float32) for _ in range(3)] for shape in ((m, k), (k, n), (m, n)))
    before = [wide(x) for x in c]
    alphas, betas = (0.75, 0.75, 1.5), (0.5, 0.5, 0)
    two = lambda value: array(ctypes.c_int, value, value)  # noqa: E731
    pointers = [array(ctypes.c_void_p, *(x.ctypes.data for x in matrices)) for matrices in (a, b, c)]
    BLAS.cblas_sgemm_batch(ROW_MAJOR, two(NO_TRANS), two(NO_TRANS), two(m), two(n), two(k),
                           array(ctypes.c_float, alphas[0], alphas[2]), pointers[0], two(k), pointers[1], two(n),
                           array(ctypes.c_float, betas[0], betas[2]), pointers[2], two(n), 2, array(ctypes.c_int, 2, 1))
    largest = {}
    for i, (alpha, beta) in enumerate(zip(alphas, betas)):
        exact = alpha * wide(a[i]) @ wide(b[i]) + beta * before[i]
        rounded = alpha * wide(ROUND[tested](a[i])) @ wide(ROUND[tested](b[i])) + beta * before[i]
        bound = abs(alpha) * abs(wide(a[i])) @ abs(wide(b[i])) + abs(beta) * abs(before[i])
        for name, error in errors(rounded, exact, bound).items():
            largest[name] = max(error, largest.get(name, 0))
    print(json.dumps({"function": "cblas_sgemm_batch", "sizes": [m, n, k], **largest}))


def half_of_a_product(tested, _, n, k):
    """gemmt: one triangle of a matrix that need not be symmetric."""
    a, b, c = random(n, k, np.float32), random(k, n, np.float32), np.zeros((n, n), np.float32)
    BLAS.cblas_sgemmt(ROW_MAJOR, UPPER, NO_TRANS, NO_TRANS, n, k, ctypes.c_float(1), address(a), k, address(b), n,
                      ctypes.c_float(0), address(c), n)
    expect("cblas_sgemmt", [n, n, k], lambda r: np.triu(wide(r(a)) @ wide(r(b))),
           lambda: np.triu(abs(wide(a)) @ abs(wide(b))) + np.tril(np.ones((n, n)), -1), tested,
           written=np.triu(np.ones((n, n), bool)))


main()
