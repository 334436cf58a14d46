#include "shim/ranges/wanted.hpp"

#include <cstdlib>
#include <string_view>

#include "shim/settings/settings.hpp"

namespace fp32shim {
namespace {

/// Returns true if a list of words, separated by commas, has `word`.
bool has_word(std::string_view list, std::string_view word) {
    for (;;) {
        const std::size_t comma = list.find(',');
        if (list.substr(0, comma) == word) return true;
        if (comma == std::string_view::npos) return false;
        list.remove_prefix(comma + 1);
    }
}

}  // namespace

bool ranges_wanted(RangeSource source) {
    const char* const where = std::getenv("FP32_MATMUL_WHERE");
    if (where == nullptr || settings().forward_everything) return false;
    return has_word(where, "auto") || has_word(where, source == RangeSource::nvtx ? "nvtx" : "itt");
}

}  // namespace fp32shim
