#include "cli/recordings/location_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace fp32shim::cli {

std::string product_size_text(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t batch, bool is_folded) {
    const auto text = [](std::int64_t size) { return size < 0 ? "?" : fmt::format("{}", size); };
    return fmt::format("{}{}x{}x{}{}", is_folded ? "<=" : "", text(m), text(n), text(k),
                       batch == 1 ? "" : fmt::format(" batch {}", batch));
}

std::string_view without_offset(std::string_view call_site) {
    return call_site.substr(0, std::min(call_site.rfind("+0x"), call_site.size()));
}

SplitLocation split_location(std::string_view where) {
    for (std::size_t colon = where.find(':'); colon != std::string_view::npos; colon = where.find(':', colon + 1)) {
        const std::size_t end = where.find_first_not_of("0123456789", colon + 1);
        if (end != std::string_view::npos && end > colon + 1 && where[end] == ' ')
            return {where.substr(0, colon), where.substr(end)};
    }
    return {};
}

std::string without_line(std::string_view where) {
    const SplitLocation cut = split_location(where);
    return cut.file.empty() ? std::string(without_offset(where)) : std::string(cut.file).append(cut.rest);
}

}  // namespace fp32shim::cli
