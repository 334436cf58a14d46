#include "shim/ranges/wanted.hpp"

#include <cstdlib>
#include <string_view>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
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

/// Returns true if the program's references bind to the shim: it was preloaded, or linked. A child that has lost its
/// LD_PRELOAD may still have a variable that makes NVTX or ITT open the library, which then sees no product.
bool is_in_global_scope() {
    const elf::Reading reading;
    const elf::Scope global = elf::global_scope();
    const std::size_t count = global.count();
    for (std::size_t i = 0; i < count; ++i)
        if (global.at(i) == elf::own_object()) return true;
    return count == 0;
}

}  // namespace

bool ranges_wanted(RangeSource source) {
    const char* const where = std::getenv("FP32_MATMUL_WHERE");
    if (where == nullptr) return false;
    if (!has_word(where, "auto") && !has_word(where, source == RangeSource::nvtx ? "nvtx" : "itt")) return false;
    return is_in_global_scope() && !settings().forward_everything;
}

}  // namespace fp32shim
