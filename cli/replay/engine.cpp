#include "cli/replay/engine.hpp"

namespace fp32shim::cli {
namespace {

bool is_plain(char letter) { return letter == 'N' || letter == 'R'; }

std::optional<std::size_t> bytes_of_matrix(std::int64_t rows, std::int64_t columns, const GemmTask& task) {
    std::size_t bytes = task.is_complex ? 2 * sizeof(float) : sizeof(float);
    for (const std::int64_t size : {rows, columns, task.batch})
        if (__builtin_mul_overflow(bytes, static_cast<std::size_t>(size), &bytes)) return std::nullopt;
    return bytes;
}

}  // namespace

std::optional<GemmBytes> bytes_of(const GemmTask& task) {
    const auto a = bytes_of_matrix(task.sizes.m, task.sizes.k, task);
    const auto b = bytes_of_matrix(task.sizes.k, task.sizes.n, task);
    const auto c = bytes_of_matrix(task.sizes.m, task.sizes.n, task);
    if (!a || !b || !c) return std::nullopt;
    return GemmBytes{*a, *b, *c};
}

LeadingDimensions leading_dimensions(const GemmSizes& sizes, Layout layout) {
    const bool by_rows = layout == Layout::row_major;
    return {is_plain(sizes.trans_a) == by_rows ? sizes.k : sizes.m,
            is_plain(sizes.trans_b) == by_rows ? sizes.n : sizes.k, by_rows ? sizes.n : sizes.m};
}

void fill_randomly(float* numbers, std::size_t count) {
    std::uint32_t state = 0x2545f491;  // state of the random generator xorshift32
    for (std::size_t i = 0; i < count; ++i) {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        numbers[i] = static_cast<float>(static_cast<std::int32_t>(state)) * 0x1p-31F;
    }
}

}  // namespace fp32shim::cli
