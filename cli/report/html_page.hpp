// Makes the HTML pages of reports. The pages load no other files, and their data comes from untrusted recordings. The
// parts of the pages are in page/.
#pragma once

#include <cstdint>
#include <string>

#include "cli/output/json_fwd.hpp"
#include "cli/report/tables.hpp"

namespace fp32shim::cli {

/// Returns a table as data for showTextTable() of page/shared/tables.js.
Json table_json(const LimitedTable& limited);

/// The kinds of pages.
enum class Page : std::uint8_t { report, diff };

/// Returns a page with its data, in UTF-8. Names in `data` come from recordings and may be any text. The names become
/// JSON without `<`, and the page runs only its own scripts.
std::string html_page(Page page, Json data);

}  // namespace fp32shim::cli
