#include "gpu_check/sections/findings.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <sstream>
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
    std::vector<std::string> values = values_of(name);
    std::ranges::sort(values);
    values.erase(std::ranges::unique(values).begin(), values.end());
    return values.empty() ? not_measured : joined(values, "+");
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

/// Returns the position of `answer` among the formats, from the highest to the lowest. Returns 4 if `answer` is no
/// format.
std::ptrdiff_t rank_of(std::string_view answer) {
    constexpr std::string_view formats[] = {"fp32", "tf32", "bf16", "fp16"};
    return std::ranges::find(formats, answer) - formats;
}

}  // namespace

bool is_format_name(const std::string& answer) { return rank_of(answer) < 4; }

std::string less_precise_format(const std::string& left, const std::string& right) {
    return rank_of(left) < rank_of(right) ? right : left;
}

std::string joined(const std::vector<std::string>& texts, const char* separator) {
    std::string result;
    for (const std::string& text : texts) result += (&text == texts.data() ? "" : separator) + text;
    return result;
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
    return parts;
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
