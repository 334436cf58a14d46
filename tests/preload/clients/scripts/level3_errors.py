"""Products by every routine that can be audited, at sizes that tell them apart, and as JSON lines what an audit has to find:
the errors of rounded operands, from products in float64."""

import json

import numpy as np

rng = np.random.default_rng(7)


def tf32(x):
    """Rounds to nearest, ties away from zero, real and imaginary parts alike."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    return ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(x.dtype).reshape(x.shape)


def bf16(x):
    bits = np.ascontiguousarray(x).view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> 16) & np.uint32(1))) & np.uint32(0xFFFF0000)).view(x.dtype).reshape(x.shape)


def of_any_width(rounding):
    """Float64 is rounded to float32 first."""
    def rounded(x):
        narrow = {"d": np.float32, "D": np.complex64}.get(x.dtype.char)
        return rounding(x) if narrow is None else rounding(x.astype(narrow)).astype(x.dtype)
    return rounded


ROUND = {name: of_any_width(rounding) for name, rounding in (("tf32", tf32), ("bf16", bf16), ("fp32", lambda x: x))}
SINGLE, DOUBLE = ((np.float32, "s"), (np.complex64, "c")), ((np.float64, "d"), (np.complex128, "z"))


def random(rows, columns, dtype):
    """Returns random elements of very different sizes: rows differ by factors of up to 2^12."""
    x = rng.standard_normal((rows, columns)) * np.exp2(rng.integers(-6, 7, (rows, 1)))
    if np.issubdtype(dtype, np.complexfloating):
        x = x + 1j * rng.standard_normal((rows, columns))
    return x.astype(dtype)


def wide(x):
    """Converts float64 to a type that no BLAS multiplies, so that the reference products are not audited."""
    single, double = (np.float64, np.longdouble), (np.complex128, np.clongdouble)
    return x.astype((double if np.iscomplexobj(x) else single)[x.dtype.char in "dDgG"])


def errors(tested, reference, bound, written=True):
    """`written`: the elements of the result that the routine writes; the others are zero in both results."""
    d, r = abs(tested - reference), abs(reference)
    norm = np.linalg.norm
    return {"norm": norm(d) / norm(r), "max": d.max() / r.max(), "mean": d.max() / r.mean(where=written), "component": (d / bound).max(),
            "row": (norm(d, axis=1) / norm(r, axis=1)).max(), "column": (norm(d, axis=0) / norm(r, axis=0)).max()}


def triangle(uplo, x, other):
    """Returns a matrix with x in the stored triangle, and `other` in the rest."""
    keep = np.triu(np.ones(x.shape, bool)) if uplo == "U" else np.tril(np.ones(x.shape, bool))
    return np.where(keep, x, other)


def op(x, trans):
    return {"N": x, "T": x.T, "C": x.conj().T}[trans]


def expect(function, sizes, product, bound, tested, written=True):
    """`product(round)`: the result in float64 from operands that `round` has rounded."""
    reference, result = product(lambda x: x), product(ROUND[tested])
    print(json.dumps({"function": function, "sizes": sizes,
                      **{name: float(error) for name, error in errors(result, reference, bound(), written).items()}}))


size = 50  # an audit's own product takes 64 rows at once; the first sizes are below 64, later ones above


def sizes():
    """Returns m, n, k that no other product has in this order. Small sizes, because long double, the reference, is slow."""
    global size
    size += 1
    return size, size + 1, size + 2


def level3(call, name_of, tested, types=SINGLE):
    """Multiplies by `call(routine, arguments in the order of Fortran…, scalars=[types of alpha and beta])`, and prints the
    errors under the names that `name_of(routine)` gives."""
    real = types[0][0]
    for dtype, letter in types:
        is_complex = dtype != real
        alpha, beta = (1.5 - 0.5j, 0.75 + 0.25j) if is_complex else (-1.5, 0.75)
        for trans_a in "NTC":
            for trans_b in "NTC":
                m, n, k = sizes()
                beta_here = beta if trans_b != "T" else type(beta)(0)
                a = random(m, k, dtype) if trans_a == "N" else random(k, m, dtype)
                b = random(k, n, dtype) if trans_b == "N" else random(n, k, dtype)
                c = random(m, n, dtype)
                stored = [np.asfortranarray(x) for x in (a, b, c)]
                call(f"{letter}gemm", trans_a, trans_b, m, n, k, alpha, stored[0], a.shape[0], stored[1], b.shape[0],
                     beta_here, stored[2], m, scalars=[dtype, dtype])
                expect(name_of(f"{letter}gemm"), [m, n, k],
                       lambda r: alpha * op(wide(r(a)), trans_a) @ op(wide(r(b)), trans_b) + beta_here * wide(c),
                       lambda: (abs(alpha) * op(abs(wide(a)), trans_a) @ op(abs(wide(b)), trans_b)
                                + abs(beta_here) * abs(wide(c))),
                       tested)
        for routine in ("symm", "hemm") if is_complex else ("symm",):
            for side, uplo in ("LU", "LL", "RU", "RL"):
                m, n, _ = sizes()
                order = m if side == "L" else n
                a, b, c = random(order, order, dtype), random(m, n, dtype), random(m, n, dtype)
                stored = [np.asfortranarray(x) for x in (a, b, c)]
                call(f"{letter}{routine}", side, uplo, m, n, alpha, stored[0], order, stored[1], m, beta, stored[2], m,
                     scalars=[dtype, dtype])

                def full(x):
                    mirrored = triangle(uplo, x, x.conj().T if routine == "hemm" else x.T)
                    if routine == "hemm":
                        np.fill_diagonal(mirrored, mirrored.diagonal().real)
                    return mirrored

                def product(r, take=lambda x: x, alpha=alpha, beta=beta):
                    x, y = full(take(wide(r(a)))), take(wide(r(b)))
                    return alpha * (x @ y if side == "L" else y @ x) + beta * take(wide(c))

                expect(name_of(f"{letter}{routine}"), [m, n, order], product,
                       lambda: product(lambda x: x, lambda x: abs(full(x)) if x.shape[0] == x.shape[1] else abs(x),
                                       abs(alpha), abs(beta)),
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
                call(f"{letter}{routine}", uplo, trans, n, k, first, stored[0], shape[0], *more, second, stored[2], n,
                     scalars=[real if routine == "herk" else dtype, real if hermitian else dtype])
                turn = (lambda x: x.conj().T) if hermitian else (lambda x: x.T)
                symmetric_c = triangle(uplo, wide(c), turn(wide(c)))

                def product(r, take=lambda x: x, alpha=first, beta=second):
                    x, y = take(wide(r(a))), take(wide(r(b)))
                    left, other = (x, y) if trans == "N" else (turn(x), turn(y))
                    both = left @ turn(other) if routine.endswith("2k") else left @ turn(left)
                    if routine.endswith("2k"):
                        return alpha * both + (np.conj(alpha) if hermitian else alpha) * turn(both) + beta * take(symmetric_c)
                    return alpha * both + beta * take(symmetric_c)

                expect(name_of(f"{letter}{routine}"), [n, n, k], product,
                       lambda: product(lambda x: x, abs, abs(first), abs(second)), tested)
        for side, uplo, trans, diag in ("LUNN", "LLTU", "RUCN", "RLNU"):
            m, n, _ = sizes()
            order = m if side == "L" else n
            a, b = random(order, order, dtype), random(m, n, dtype)
            stored = [np.asfortranarray(x) for x in (a, b)]
            call(f"{letter}trmm", side, uplo, trans, diag, m, n, alpha, stored[0], order, stored[1], m, scalars=[dtype])

            def product(r, take=lambda x: x, alpha=alpha):
                x = triangle(uplo, take(wide(r(a))), 0)
                if diag == "U":
                    np.fill_diagonal(x, 1)
                x, y = op(x, trans), take(wide(r(b)))
                return alpha * (x @ y if side == "L" else y @ x)

            expect(name_of(f"{letter}trmm"), [m, n, order], product, lambda: product(lambda x: x, abs, abs(alpha)), tested)
