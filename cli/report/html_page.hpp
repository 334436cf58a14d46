// Pages of reports: HTML that loads nothing, with data of anybody's. page/ has the parts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cli/output/json_fwd.hpp"

namespace fp32shim::cli {

/// Truncates a text longer than 400 bytes at the end of a character, and appends `…`.
std::string truncated(std::string_view text);

enum class Page : std::uint8_t { report, comparison, results };

/// Returns a page with its data: UTF-8. `data` holds the names in recordings, which may be anything: it becomes JSON
/// without `<`, and the page runs no script but its own.
std::string html_page(Page page, Json data);

}  // namespace fp32shim::cli
