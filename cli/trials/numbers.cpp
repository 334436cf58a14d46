#include "cli/trials/numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "cli/files/own_files.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::string_view npy_magic = "\x93NUMPY";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.'; }

template <class Element>
Numbers elements(std::string_view bytes) {
    Numbers numbers;
    if (bytes.size() % sizeof(Element) != 0) return {{}, "ends in the middle of an element"};
    numbers.values.reserve(bytes.size() / sizeof(Element));
    for (; !bytes.empty(); bytes.remove_prefix(sizeof(Element))) {
        Element element;
        std::memcpy(&element, bytes.data(), sizeof element);
        numbers.values.push_back(element);
    }
    return numbers;
}

/// Reads numpy's file format: magic, version, length of the header, the header (a Python literal), the elements.
Numbers numbers_of_npy(std::string_view bytes) {
    static_assert(std::endian::native == std::endian::little);
    if (bytes.size() < 12) return {{}, "is truncated"};
    std::uint32_t size = 0;
    const std::size_t size_bytes = bytes[6] == 1 ? 2 : 4;
    std::memcpy(&size, &bytes[8], size_bytes);
    const std::size_t begin = 8 + size_bytes + size;
    if (bytes.size() < begin) return {{}, "is truncated"};
    const std::string_view header = bytes.substr(0, begin);
    const auto has = [header](std::string_view part) { return header.find(part) != std::string_view::npos; };
    if (!has("'fortran_order': False")) return {{}, "is in Fortran order; allowed: C order"};
    if (has("'descr': '<f4'")) return elements<float>(bytes.substr(begin));
    if (has("'descr': '<f8'")) return elements<double>(bytes.substr(begin));
    return {{}, "has elements that are neither float32 nor float64"};
}

/// Returns the position after a number that ends at `at`: after a full stop, or the `j` of an imaginary part. Returns
/// nullptr if a word goes on there, as in `3.2ms` or `1.2.3`.
const char* after_number(const char* at, const char* end) {
    if (at != end && (*at == '.' || *at == 'j')) ++at;
    return at == end || !is_word(*at) ? at : nullptr;
}

}  // namespace

std::vector<double> numbers_in(std::string_view text) {
    std::vector<double> values;
    const char* const end = text.data() + text.size();
    const char* at = text.data();
    while (at != end) {
        if (!is_word(*at) && *at != '-') {
            ++at;
            continue;
        }
        double value = 0;
        const auto [after, error] = std::from_chars(at, end, value);
        const char* const next = after_number(after, end);
        const bool is_number = error != std::errc::invalid_argument && next != nullptr;
        if (is_number) {
            if (error == std::errc::result_out_of_range) value = std::strtod(std::string(at, after).c_str(), nullptr);
            values.push_back(value);
            at = next;
            continue;
        }
        ++at;  // a sign without a number, or a word; both are skipped
        while (at != end && is_word(at[-1]) && is_word(*at)) ++at;
    }
    return values;
}

Numbers read_numbers(const std::string& path) {
    const FileText file = read_regular_file(path);
    if (!file.problem.empty()) return {{}, file.problem};
    const std::string& bytes = file.text;
    if (bytes.starts_with(npy_magic)) return numbers_of_npy(bytes);
    Numbers numbers{numbers_in(bytes), {}};
    if (numbers.values.empty()) numbers.problem = "has no numbers";
    return numbers;
}

std::string difference_between(const std::vector<double>& reference, const std::vector<double>& found,
                               double relative, double absolute) {
    if (reference.size() != found.size())
        return fmt::format("{} numbers instead of {}", found.size(), reference.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double wanted = reference[i];
        const double distance = std::abs(found[i] - wanted);
        const bool is_same = found[i] == wanted || (std::isnan(found[i]) && std::isnan(wanted));
        if (is_same || (std::isfinite(wanted) && distance <= absolute + relative * std::abs(wanted))) continue;
        return fmt::format("number {} is {} instead of {}", i + 1, found[i], wanted);
    }
    return {};
}

double output_error(const std::vector<double>& reference, const std::vector<double>& found, OutputMetric metric) {
    constexpr double infinite = std::numeric_limits<double>::infinity();
    if (reference.size() != found.size()) return infinite;
    double difference = 0, size = 0, largest_ratio = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
        const double wanted = reference[i];
        const bool is_same = found[i] == wanted || (std::isnan(found[i]) && std::isnan(wanted));
        if (!is_same && !(std::isfinite(found[i]) && std::isfinite(wanted))) return infinite;
        const double distance = is_same ? 0 : std::abs(found[i] - wanted);
        if (distance > 0)
            largest_ratio = std::max(largest_ratio, wanted == 0 ? infinite : distance / std::abs(wanted));
        if (!std::isfinite(wanted)) continue;
        // hypot() neither overflows nor underflows on the way.
        difference = metric == OutputMetric::max ? std::max(difference, distance) : std::hypot(difference, distance);
        size = metric == OutputMetric::max ? std::max(size, std::abs(wanted)) : std::hypot(size, wanted);
    }
    if (metric == OutputMetric::each) return largest_ratio;
    if (difference == 0) return 0;
    return size == 0 ? infinite : difference / size;
}

}  // namespace fp32shim::cli
