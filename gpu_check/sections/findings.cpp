#include "gpu_check/sections/findings.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <string_view>

namespace gpu {

const std::vector<std::string>& Findings::all(const std::string& name) const {
    static const std::vector<std::string> none;
    const auto found = values_.find(name);
    return found == values_.end() ? none : found->second;
}

std::string Findings::lowest_format(const std::string& name) const {
    const auto& values = all(name);
    if (values.empty()) return not_measured;
    std::string result = values.front();
    for (const std::string& value : values) result = lower_format(result, value);
    return result;
}

std::string Findings::distinct(const std::string& name) const {
    const auto& values = all(name);
    std::string result;
    for (const std::string& value : std::set<std::string>(values.begin(), values.end())) {
        result += (result.empty() ? "" : "+") + value;
    }
    return result.empty() ? not_measured : result;
}

std::vector<double> Findings::numbers(const std::string& name) const {
    std::vector<double> result;
    for (const std::string& value : all(name)) {
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

bool is_format(const std::string& answer) {
    return std::find(format_names.begin(), format_names.end(), answer) != format_names.end();
}

std::string lower_format(const std::string& left, const std::string& right) {
    const auto rank = [](const std::string& answer) {
        return std::find(format_names.begin(), format_names.end(), answer);
    };
    return rank(left) < rank(right) ? right : left;
}

std::string digits(const char* format, double number) {
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
