#include "policy/quantity.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

#include "policy/words.hpp"

namespace fp32shim::policy {
namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::string_view operator_characters = "<>=";

constexpr NamedValue<std::uint64_t> decimal_units[] = {
    {"", 1}, {"K", 1'000}, {"M", 1'000'000}, {"G", 1'000'000'000}, {"T", 1'000'000'000'000}};

constexpr NamedValue<std::uint64_t> byte_units[] = {{"", 1},
                                                    {"B", 1},
                                                    {"KiB", 1ULL << 10},
                                                    {"MiB", 1ULL << 20},
                                                    {"GiB", 1ULL << 30},
                                                    {"TiB", 1ULL << 40},
                                                    {"K", 1'000},
                                                    {"KB", 1'000},
                                                    {"M", 1'000'000},
                                                    {"MB", 1'000'000},
                                                    {"G", 1'000'000'000},
                                                    {"GB", 1'000'000'000},
                                                    {"T", 1'000'000'000'000},
                                                    {"TB", 1'000'000'000'000}};

std::optional<std::uint64_t> parse_with_unit(std::string_view text,
                                             std::span<const NamedValue<std::uint64_t>> units) {
    const std::size_t end = std::min(text.find_first_not_of(digits), text.size());
    const auto number = parse_whole_number(text.substr(0, end));
    const auto unit = parse_word(units, text.substr(end));
    if (!number || !unit || *number > std::numeric_limits<std::uint64_t>::max() / *unit) return std::nullopt;
    return *number * *unit;
}

/// Tells which values satisfy a comparison: those that are less than, equal to, or greater than its operand.
struct ComparisonOperator {
    bool less, equal, greater;
};

constexpr NamedValue<ComparisonOperator> comparisons[] = {
    {"", {false, true, false}},  {"=", {false, true, false}}, {"==", {false, true, false}},
    {"<", {true, false, false}}, {"<=", {true, true, false}}, {">", {false, false, true}},
    {">=", {false, true, true}},
};

/// A term of a range or a version constraint: `>=0.1`. `operation` is empty if the term is only a number.
struct ConstraintTerm {
    std::string_view operation;
    std::string_view operand;
};

/// Removes the first term from `text`, and returns it. Spaces separate terms, and may follow an operator.
ConstraintTerm parse_term(std::string_view& text) {
    const auto remove_prefix = [&](std::size_t length) {
        const std::string_view taken = text.substr(0, length);
        text.remove_prefix(taken.size());
        return taken;
    };
    const auto skip_spaces = [&] { remove_prefix(std::min(text.find_first_not_of(' '), text.size())); };
    skip_spaces();
    const auto operation = remove_prefix(std::min(text.find_first_not_of(operator_characters), text.size()));
    skip_spaces();
    const auto operand = remove_prefix(std::min(text.find_first_of(" <>="), text.size()));
    skip_spaces();
    return {operation, operand};
}

std::optional<double> parse_operand(std::string_view text, RangeNotation notation) {
    if (notation == RangeNotation::compute_capability) return parse_compute_capability(text);
    return parse_with_unit(text, decimal_units);
}

using Version = std::array<std::uint64_t, 3>;

std::optional<Version> parse_version(std::string_view text) {
    Version version = {};
    for (auto& part : version) {
        const std::size_t end = std::min(text.find('.'), text.size());
        const auto number = parse_whole_number(text.substr(0, end));
        if (!number) return std::nullopt;
        part = *number;
        if (end == text.size()) return version;
        text.remove_prefix(end + 1);
    }
    return std::nullopt;  // a version has at most three parts
}

}  // namespace

std::optional<std::uint64_t> parse_whole_number(std::string_view text) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<NumberRange> parse_range(std::string_view text, RangeNotation notation) {
    NumberRange range = {0, std::numeric_limits<double>::infinity()};
    do {
        const auto [operation, operand] = parse_term(text);
        const auto comparison = parse_word(comparisons, operation);
        const auto number = parse_operand(operand, notation);
        if (!number || !comparison) return std::nullopt;
        const double step = comparison->equal ? 0 : 1;
        if (!comparison->less) range.lowest = std::max(range.lowest, *number + step);
        if (!comparison->greater) range.highest = std::min(range.highest, *number - step);
    } while (!text.empty());
    return range;
}

std::optional<std::int32_t> parse_compute_capability(std::string_view text) {
    const std::size_t dot = text.find('.');
    const auto major = parse_whole_number(text.substr(0, dot));
    if (!major || *major > 99) return std::nullopt;
    std::uint64_t minor = 0;
    if (dot != std::string_view::npos) {
        const auto written = parse_whole_number(text.substr(dot + 1));
        if (!written || text.size() != dot + 2) return std::nullopt;
        minor = *written;
    }
    return static_cast<std::int32_t>(10 * *major + minor);
}

std::optional<std::uint64_t> parse_size(std::string_view text) { return parse_with_unit(text, decimal_units); }

std::optional<std::uint64_t> parse_byte_count(std::string_view text) { return parse_with_unit(text, byte_units); }

std::optional<double> parse_fraction(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    // The comparisons are written so that NaN, which fails every comparison, is refused.
    const bool is_fraction = error == std::errc() && end == text.data() + text.size() && number >= 0 && number <= 1;
    return is_fraction ? std::optional(number) : std::nullopt;
}

std::optional<bool> version_satisfies(std::string_view version, std::string_view constraint) {
    const auto present = parse_version(version);
    if (!present) return std::nullopt;
    bool satisfied = true;
    do {
        const auto [operation, operand] = parse_term(constraint);
        const auto comparison = parse_word(comparisons, operation);
        const auto bound = parse_version(operand);
        if (!bound || !comparison || operation.empty()) return std::nullopt;
        const bool holds = (comparison->less && *present < *bound) || (comparison->equal && *present == *bound) ||
                           (comparison->greater && *present > *bound);
        satisfied = satisfied && holds;
    } while (!constraint.empty());
    return satisfied;
}

}  // namespace fp32shim::policy
