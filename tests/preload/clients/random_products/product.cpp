#include "product.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>

namespace {

constexpr std::uint32_t poison = 0x7f812345U;  // a signalling NaN, put where nothing may be read

std::uint64_t below(Random& random, std::uint64_t limit) { return random() % limit; }
bool one_in(Random& random, std::uint64_t chances) { return below(random, chances) == 0; }
char one_of(Random& random, const std::string& letters) { return letters[below(random, letters.size())]; }

std::int64_t random_size(Random& random) {
    const std::uint64_t kind = below(random, 1000);
    const std::uint64_t limit = kind < 700 ? 9 : kind < 950 ? 34 : kind < 998 ? 100 : 300;
    return static_cast<std::int64_t>(below(random, limit));
}

float random_special(Random& random) {
    using Limits = std::numeric_limits<float>;
    const float values[] = {Limits::quiet_NaN(),
                            Limits::infinity(),
                            -Limits::infinity(),
                            0.0F,
                            -0.0F,
                            Limits::denorm_min(),
                            -1e-40F,
                            Limits::max(),
                            -Limits::max(),
                            Limits::min(),
                            1.00048828125F,
                            3.3895314e38F};
    return values[below(random, std::size(values))];
}

/// Returns a value that uses all bits of the significand, which shows an operand that was not rounded, or rounded
/// twice.
float random_value(Random& random) {
    const auto mantissa = static_cast<float>(static_cast<std::int64_t>(random() >> 39) - (1 << 24));
    const int exponent = one_in(random, 16) ? static_cast<int>(below(random, 60)) - 30 : 0;
    return std::ldexp(mantissa, exponent - 24);
}

/// Chooses random options for the operation. `trans` 'R' is an extension that not every library has.
void draw_options(Random& random, Product& product) {
    const Operation operation = product.operation;
    using enum Operation;
    const bool is_gemm = operation == gemm || operation == gemm3m || operation == gemmt || operation == gemmtr;
    if (operation == symm || operation == hemm || product.is_triangular()) product.side = one_of(random, "LR");
    if (operation != gemm && operation != gemm3m) product.uplo = one_of(random, "UL");
    if (is_gemm) {
        product.trans_a = one_of(random, "NTC");
        product.trans_b = one_of(random, "NTC");
    } else if (operation == herk || operation == her2k) {
        product.trans_a = one_of(random, "NC");
    } else if (operation == syrk || operation == syr2k) {
        product.trans_a = one_of(random, product.is_complex ? "NT" : "NTC");
    } else if (product.is_triangular()) {
        product.trans_a = one_of(random, "NTC");
        product.diag = one_of(random, "NU");
    }
}

Shape shape(const Product& product, std::int64_t rows, std::int64_t columns) {
    return {rows, columns, 1, product.is_complex ? 2 : 1, product.row_major, Stored::whole, false};
}

/// Sets the shapes that follow from options and sizes.
void set_shapes(Product& p) {
    using enum Operation;
    const Stored triangle = p.uplo == 'U' ? Stored::upper : Stored::lower;
    const auto op = [&](std::int64_t rows, std::int64_t columns, char trans) {
        return trans == 'N' ? shape(p, rows, columns) : shape(p, columns, rows);
    };
    if (p.side != 0) {
        const std::int64_t order = p.side == 'L' ? p.m : p.n;
        p.a = shape(p, order, order);
        p.a.stored = triangle;
        p.a.real_diagonal = p.operation == hemm;
        p.b = shape(p, p.m, p.n);
        p.c = p.is_triangular() ? Shape{} : shape(p, p.m, p.n);
        return;
    }
    const bool is_gemm = p.trans_b != 0;
    const std::int64_t rows = p.has_m() ? p.m : p.n;
    p.a = op(rows, p.k, p.trans_a);
    p.b = is_gemm ? op(p.k, p.n, p.trans_b) : op(p.n, p.k, p.trans_a);
    if (!p.has_b()) p.b = Shape{};
    p.c = shape(p, rows, p.n);
    if (p.uplo != 0) p.c.stored = triangle;
    p.c.real_diagonal = p.operation == herk || p.operation == her2k;
}

void draw_ld(Random& random, Shape& shape) {
    const std::uint64_t extra = one_in(random, 2) ? 0 : one_in(random, 20) ? below(random, 60) : below(random, 4);
    shape.ld = std::max<std::int64_t>(1, shape.inner()) + static_cast<std::int64_t>(extra);
}

bool belongs(const Shape& shape, std::int64_t row, std::int64_t column) {
    return shape.stored == Stored::whole || (shape.stored == Stored::upper ? row <= column : row >= column);
}

}  // namespace

std::array<float, 2> random_scalar(Random& random) {
    const auto part = [&] {
        switch (below(random, 8)) {
            case 0:
                return 0.0F;
            case 1:
            case 2:
                return 1.0F;
            case 3:
                return -1.0F;
            case 4:
                return one_in(random, 8) ? random_special(random) : 0.5F;
            default:
                return random_value(random);
        }
    };
    const float real = part();
    return {real, one_in(random, 2) ? 0.0F : part()};
}

std::string Product::description() const {
    static const char* const names[] = {"gemm", "gemm3m", "gemmt", "gemmtr", "symm", "hemm",
                                        "syrk", "herk",   "syr2k", "her2k",  "trmm", "trsm"};
    std::string text = is_complex ? "c" : "s";
    text += names[static_cast<int>(operation)];
    text += row_major ? " row-major " : " column-major ";
    for (const char option : {side, uplo, trans_a, trans_b, diag}) text += option == 0 ? '-' : option;
    for (const std::int64_t number : {m, n, k, a.ld, b.ld, c.ld}) text += ' ' + std::to_string(number);
    for (const float scalar : {alpha[0], alpha[1], beta[0], beta[1]}) text += ' ' + std::to_string(scalar);
    return text;
}

Product random_product(Random& random, bool row_major_allowed, std::int64_t limit, const Product* like) {
    Product product;
    if (like != nullptr) {
        product = *like;
    } else {
        product.operation = static_cast<Operation>(below(random, static_cast<int>(Operation::trsm) + 1));
        using enum Operation;
        const bool only_complex = product.operation == hemm || product.operation == herk ||
                                  product.operation == her2k || product.operation == gemm3m;
        product.is_complex = only_complex || one_in(random, 2);
        product.row_major = row_major_allowed && one_in(random, 2);
        draw_options(random, product);
        product.alpha = random_scalar(random);
        product.beta = random_scalar(random);
    }
    do {
        product.n = random_size(random);
        product.m = product.has_m() ? random_size(random) : 0;
        product.k = product.has_k() ? random_size(random) : 0;
        set_shapes(product);
        for (Shape* operand : {&product.a, &product.b, &product.c}) draw_ld(random, *operand);
    } while (std::max({product.a.span(), product.b.span(), product.c.span()}) > limit);
    return product;
}

std::vector<std::uint32_t> random_values(Random& random, const Shape& shape) {
    std::vector<std::uint32_t> values(static_cast<std::size_t>(shape.span()), poison);
    const bool has_specials = one_in(random, 10);
    for (std::int64_t row = 0; row < shape.rows; ++row) {
        for (std::int64_t column = 0; column < shape.columns; ++column) {
            if (!belongs(shape, row, column)) continue;
            const std::int64_t index = shape.row_major ? row * shape.ld + column : row + column * shape.ld;
            const int parts = shape.real_diagonal && row == column ? 1 : shape.width;
            for (int part = 0; part < parts; ++part) {
                const bool is_special = has_specials && one_in(random, 30);
                values[static_cast<std::size_t>(index * shape.width + part)] =
                    std::bit_cast<std::uint32_t>(is_special ? random_special(random) : random_value(random));
            }
        }
    }
    return values;
}
