#include "policy/algorithm.hpp"

#include <charconv>
#include <iterator>

namespace fp32shim::policy {
namespace {

/// Reads the number at the beginning of `text` into `number`, and removes it from `text`. Returns false if there is
/// none.
template <class Number>
bool take_number(std::string_view& text, Number& number) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

std::string value_text(const AlgorithmAttribute& part, std::uint32_t value) {
    return part.value == &Algorithm::reduction ? reduction_text(value) : std::to_string(value);
}

}  // namespace

std::string reduction_text(std::uint32_t scheme) {
    constexpr std::string_view words[] = {"none", "in_place", "compute_type", "", "output_type"};
    return scheme < std::size(words) && !words[scheme].empty() ? std::string(words[scheme]) : std::to_string(scheme);
}

AlgorithmText format_algorithm(const Algorithm& algorithm) {
    AlgorithmText word{};
    char* at = word.text.data();
    char* const end = at + word.text.size();
    for (const AlgorithmAttribute& part : algorithm_attributes) {
        const std::uint32_t value = algorithm.*part.value;
        constexpr std::ptrdiff_t longest_part = 12;  // the length of `:k4294967295`
        if (end - at < longest_part || (part.letter != 0 && value == Algorithm().*part.value)) continue;
        if (part.letter != 0) *at++ = ':', *at++ = part.letter;
        at = std::to_chars(at, end, value).ptr;
    }
    word.size = static_cast<std::uint8_t>(at - word.text.data());
    return word;
}

std::optional<Algorithm> parse_algorithm(std::string_view word) {
    Algorithm algorithm;
    if (!take_number(word, algorithm.id)) return std::nullopt;
    while (!word.empty()) {
        if (word.size() < 3 || word[0] != ':') return std::nullopt;
        const char letter = word[1];
        word.remove_prefix(2);
        std::uint32_t value = 0;
        if (!take_number(word, value)) return std::nullopt;
        // A letter that is not in the table is skipped, because a newer fp32shim may have written the word.
        for (const AlgorithmAttribute& part : algorithm_attributes)
            if (part.letter == letter) algorithm.*part.value = value;
    }
    return algorithm;
}

std::string algorithm_difference(std::string_view a, std::string_view b) {
    const std::optional<Algorithm> of_a = parse_algorithm(a), of_b = parse_algorithm(b);
    std::string text;
    if (!of_a || !of_b) return text;
    for (const AlgorithmAttribute& part : algorithm_attributes) {
        const std::uint32_t in_a = (*of_a).*part.value, in_b = (*of_b).*part.value;
        if (in_a == in_b) continue;
        text.append(text.empty() ? "" : ", ").append(part.words).append(" ");
        text += value_text(part, in_a) + " -> " + value_text(part, in_b);
    }
    return text;
}

std::string limits_text(const AlgorithmLimits& limits) {
    std::string text;
    const auto add = [&](bool is_set, std::string_view words) {
        if (is_set) text.append(text.empty() ? "" : "; ").append(words);
    };
    add(limits.no_split_k, "no split-K");
    add(limits.reduces_in_compute_type, "reduction in the compute type");
    add(limits.avoids_known_wrong, "none that is known to be wrong");
    return text;
}

const KnownWrongAlgorithm* find_known_wrong_algorithm(const Algorithm& algorithm, std::int32_t version) {
    for (const KnownWrongAlgorithm& row : known_wrong_algorithms)
        if (row.concerns(version) && row.id == algorithm.id && row.least_split_k <= algorithm.split_k) return &row;
    return nullptr;
}

}  // namespace fp32shim::policy
