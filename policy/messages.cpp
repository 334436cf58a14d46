#include "policy/messages.hpp"

#include <algorithm>
#include <string>

#include "policy/words.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::policy {
namespace {

constexpr std::size_t longest_quote = 200, longest_path = 4096;

/// Returns the optimal string alignment distance of `a` and `b`: the fewest insertions, deletions, replacements and
/// swaps of neighbours. The time grows with the product of the lengths. The product is small, because one text is a
/// short known name, and callers exclude texts of a very different length.
std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        before.swap(previous);
        previous.swap(row);
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = lower_case(a[i - 1]) == lower_case(b[j - 1]);
            row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (same ? 0 : 1)});
            const bool swapped = i > 1 && j > 1 && lower_case(a[i - 1]) == lower_case(b[j - 2]) &&
                                 lower_case(a[i - 2]) == lower_case(b[j - 1]);
            if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
        }
    }
    return row[b.size()];
}

/// Returns the candidate that means the same precision as `name`, such as `fp32` for `highest`, or nullopt if none
/// does.
std::optional<std::string_view> same_precision(std::string_view name,
                                               const std::vector<std::string_view>& candidates) {
    const auto precision = parse_word(precision_words, name);
    const auto same = std::find_if(candidates.begin(), candidates.end(), [&](std::string_view candidate) {
        return precision && parse_word(precision_words, candidate) == precision;
    });
    return same == candidates.end() ? std::nullopt : std::optional(*same);
}

bool ends_in_name(std::string_view path, std::string_view extension) {
    if (!path.ends_with(extension)) return false;
    path.remove_suffix(extension.size());
    return !path.empty() && path.back() != '/';
}

/// Returns plain_text() of `text`. If `text` has more than `longest` bytes, cuts it between two characters first,
/// and adds a `…`.
std::string printable_cut_to(std::string_view text, std::size_t longest) {
    const bool cut = text.size() > longest;
    if (cut) {
        std::size_t length = longest;
        while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0) == 0x80)
            --length;  // never cuts inside a UTF-8 character
        text = text.substr(0, length);
    }
    return system::plain_text(text) + (cut ? "…" : "");
}

}  // namespace

std::string printable(std::string_view text) { return printable_cut_to(text, longest_quote); }

std::string in_quotes(std::string_view text) { return '"' + printable(text) + '"'; }

std::string quoted_path(std::string_view path) { return '"' + printable_cut_to(path, longest_path) + '"'; }

std::string joined(const std::vector<std::string_view>& names) {
    std::string result;
    for (const auto& name : names) {
        if (!result.empty()) result += ", ";
        result += name;
    }
    return result;
}

std::optional<std::string_view> nearest_name(std::string_view name, const std::vector<std::string_view>& candidates) {
    std::optional<std::string_view> best;
    std::size_t best_distance = 0;
    for (const std::string_view candidate : candidates) {
        const std::size_t allowed = std::max<std::size_t>(1, std::min(name.size(), candidate.size()) / 3);
        const std::size_t longer = std::max(name.size(), candidate.size());
        const std::size_t shorter = std::min(name.size(), candidate.size());
        if (shorter < 2 || longer - shorter > allowed) continue;
        const std::size_t distance = edit_distance(name, candidate);
        if (distance > allowed || (best && distance >= best_distance)) continue;
        best = candidate;
        best_distance = distance;
    }
    return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string_view>& candidates) {
    auto candidate = same_precision(name, candidates);
    if (!candidate) candidate = nearest_name(name, candidates);
    return candidate ? "; did you mean " + in_quotes(*candidate) + '?' : "";
}

std::string unknown_word_error(std::string_view found, const std::vector<std::string_view>& allowed) {
    return "found " + in_quotes(found) + "; allowed: " + joined(allowed) + did_you_mean(found, allowed);
}

std::string default_precision_error(std::string_view found) {
    const std::vector<std::string_view> allowed = texts_of(default_precision_words);
    const auto for_rules = parse_word(rule_precision_words, found);
    if (!for_rules) return unknown_word_error(found, allowed);
    const std::string name(to_string(*for_rules));
    return "found " + in_quotes(found) + "; allowed: " + joined(allowed) + "; " + name + " is for rules only";
}

std::optional<std::string> problem_with_log_path(std::string_view path) {
    for (std::size_t i = path.find('%'); i != std::string_view::npos; i = path.find('%', i + 2)) {
        const std::string_view placeholder = path.substr(i, 2);
        if (placeholder.size() == 2 && std::string_view("phrjt%").find(placeholder[1]) != std::string_view::npos)
            continue;
        return "found " + quoted_path(path) + ", where " + in_quotes(placeholder) +
               " is not a placeholder; allowed: %p (pid), %h (host), %r (rank), %j (job), %t (start time), %%";
    }
    if (path == "stderr" || ends_in_name(path, ".jsonl") || ends_in_name(path, ".fp32rec")) return std::nullopt;
    return "found " + quoted_path(path) + "; allowed: stderr, NAME.jsonl, NAME.fp32rec";
}

}  // namespace fp32shim::policy
