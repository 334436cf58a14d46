#include "report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>

namespace gpu {

void Table::print(const char* title) const {
    std::vector<std::size_t> widths(rows_[0].size(), 3);
    for (const auto& row : rows_) {
        for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::printf("### %s\n\n", title);
    for (std::size_t r = 0; r < rows_.size(); ++r) {
        for (std::size_t i = 0; i < rows_[r].size(); ++i) {
            std::printf("| %-*s ", static_cast<int>(widths[i]), rows_[r][i].c_str());
        }
        std::printf("|\n");
        if (r != 0) continue;
        for (const std::size_t width : widths) std::printf("|%s", std::string(width + 2, '-').c_str());
        std::printf("|\n");
    }
    std::printf("\n");
    std::fflush(stdout);
}

std::string scientific(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1e", value);
    return text;
}

}  // namespace gpu
