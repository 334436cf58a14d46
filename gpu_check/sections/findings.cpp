#include "gpu_check/sections/findings.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

namespace gpu {

const std::vector<std::string>& FindingMap::values_of(const std::string& name) const {
    static const std::vector<std::string> none;
    const auto found = values_.find(name);
    return found == values_.end() ? none : found->second;
}

std::string FindingMap::lowest_format(const std::string& name) const {
    const auto& values = values_of(name);
    if (values.empty()) return not_measured;
    std::string result = values.front();
    for (const std::string& value : values) result = less_precise_format(result, value);
    return result;
}

std::string FindingMap::joined_values(const std::string& name) const {
    const auto& values = values_of(name);
    std::string result;
    for (const std::string& value : std::set<std::string>(values.begin(), values.end())) {
        result += (result.empty() ? "" : "+") + value;
    }
    return result.empty() ? not_measured : result;
}

std::vector<double> FindingMap::sorted_numbers(const std::string& name) const {
    std::vector<double> result;
    for (const std::string& value : values_of(name)) {
        char* end = nullptr;
        const double number = std::strtod(value.c_str(), &end);
        if (end != value.c_str() && *end == '\0') result.push_back(number);
    }
    std::sort(result.begin(), result.end());
    return result;
}

namespace {

constexpr std::array<std::string_view, 4> format_names{"fp32", "tf32", "bf16", "fp16"};  // formats from highest to
                                                                                         // lowest

}  // namespace

bool is_format_name(const std::string& answer) {
    return std::find(format_names.begin(), format_names.end(), answer) != format_names.end();
}

std::string less_precise_format(const std::string& left, const std::string& right) {
    const auto rank = [](const std::string& answer) {
        return std::find(format_names.begin(), format_names.end(), answer);
    };
    return rank(left) < rank(right) ? right : left;
}

std::string format_number(const char* format, double number) {
    char text[64];
    std::snprintf(text, sizeof text, format, number);
    return text;
}

double median(const std::vector<double>& ascending) {
    if (ascending.empty()) return 0;
    const std::size_t middle = ascending.size() / 2;
    return ascending.size() % 2 ? ascending[middle] : (ascending[middle - 1] + ascending[middle]) / 2;
}

}  // namespace gpu
