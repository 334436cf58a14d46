// Reads the [[rule]] tables of a policy file.
#include <algorithm>
#include <limits>
#include <string>

#include "policy/conditions.hpp"
#include "policy/decide.hpp"
#include "policy/glob.hpp"
#include "policy/quantity.hpp"
#include "policy/toml/fields.hpp"
#include "system/hash.hpp"

namespace fp32shim::policy {
namespace {

/// The largest number of rules. It is limited because every call may try all rules, and because every pair of rules
/// is compared to find shadowed ones.
constexpr std::size_t max_rules = 1000;

void read_devices(const TomlEntry& entry, Conditions& conditions, ErrorCollector& report) {
    for (const toml::node* item : items_of_entry(entry, report))
        if (const auto device = read_word(entry, *item, device_words, report)) conditions.device.push_back(*device);
}

void read_dtypes(const TomlEntry& entry, Conditions& conditions, ErrorCollector& report) {
    for (const toml::node* item : items_of_entry(entry, report)) {
        const auto* text = value_as<std::string>(*item);
        const auto known = text ? parse_word(dtype_words, *text) : std::nullopt;
        if (known && !parse_word(governed_dtype_words, *text))
            report_not_allowed(
                entry, *item,
                joined(texts_of(governed_dtype_words)) + "; narrower products are observed, never altered", report);
        else if (const auto dtype = read_word(entry, *item, governed_dtype_words, report))
            conditions.dtype.push_back(*dtype);
    }
}

std::optional<NumberRange> range_of(const toml::node& item, RangeNotation notation) {
    if (const auto* text = value_as<std::string>(item)) return parse_range(*text, notation);
    const auto* number = value_as<std::int64_t>(item);
    if (!number || *number < 0 || notation != RangeNotation::size) return std::nullopt;
    return NumberRange{static_cast<double>(*number), static_cast<double>(*number)};
}

template <std::vector<NumberRange> Conditions::*field, RangeNotation notation = RangeNotation::size>
void read_ranges_into(const TomlEntry& entry, Conditions& conditions, ErrorCollector& report) {
    const std::string_view allowed =
        notation == RangeNotation::size
            ? "a whole number, a string such as \"<=128\", \">=64 <=256\", \"2G\", or a list of these"
            : "a string such as \">=8.0\", \"9.0\", or a list of these";
    for (const toml::node* item : items_of_entry(entry, report)) {
        const auto range = range_of(*item, notation);
        if (!range)
            report_not_allowed(entry, *item, allowed, report);
        else if (range->lowest > range->highest)
            report.add_error(position_of(*item),
                             entry.key + ": found " + describe_value(*item) + ", which no number satisfies");
        else
            (conditions.*field).push_back(*range);
    }
}

constexpr TableKey<Conditions> condition_keys[] = {
    {"function", read_globs_into<&Conditions::function>},
    {"caller", read_globs_into<&Conditions::caller>},
    {"executable", read_globs_into<&Conditions::executable>},
    {"command", read_globs_into<&Conditions::command>},
    {"host", read_globs_into<&Conditions::host>},
    {"scope", read_globs_into<&Conditions::scope>},
    {"where", read_globs_into<&Conditions::where>},
    {"text", read_globs_into<&Conditions::text>},
    {"call_site", read_globs_into<&Conditions::call_site>},
    {"stack", read_globs_into<&Conditions::stack>},
    {"device", read_devices},
    {"dtype", read_dtypes},
    {"compute_capability", read_ranges_into<&Conditions::compute_capability, RangeNotation::compute_capability>},
    {"m", read_ranges_into<&Conditions::m>},
    {"n", read_ranges_into<&Conditions::n>},
    {"k", read_ranges_into<&Conditions::k>},
    {"batch", read_ranges_into<&Conditions::batch>},
    {"min_dim", read_ranges_into<&Conditions::min_dim>},
    {"max_dim", read_ranges_into<&Conditions::max_dim>},
    {"flops", read_ranges_into<&Conditions::flops>},
    {"call_number", read_ranges_into<&Conditions::call_number>},
};
constexpr TableKey<Tolerance> tolerance_keys[] = {
    {"tolerance", read_positive_into<&Tolerance::error>},
    {"metric", read_word_into<&Tolerance::metric, metric_words>},
};

constexpr std::string_view fixed_point_word = "fixed";

/// Reads the precision `fixed:N`, where N is a number of bits.
void read_fixed_point(const TomlEntry& entry, std::string_view text, Rule& rule, ErrorCollector& report) {
    constexpr int fewest_bits = 8, most_bits = 53;  // one slice of cuBLAS has 8 bits, and a float64 has 53
    rule.precision = Precision::fixed;
    int bits = 0;
    const std::string_view digits = text.substr(std::min(fixed_point_word.size() + 1, text.size()));
    for (const char digit : digits.substr(0, 3)) bits = digit >= '0' && digit <= '9' ? 10 * bits + digit - '0' : 1000;
    if (text.size() > fixed_point_word.size() && text[fixed_point_word.size()] == ':' && bits >= fewest_bits &&
        bits <= most_bits && digits.size() <= 2)
        rule.fixed_point_bits = static_cast<std::uint8_t>(bits);
    else
        report.add_error(position_of(*entry.value),
                         "precision: found " + in_quotes(text) +
                             "; allowed: fixed:N with N bits, from 8 to 53, as in \"fixed:40\"");
}

/// Reads the key `precision`: a precision, or a table with a tolerance. With a tolerance, audits choose the
/// precision, and the rule's precision is the cheapest one that they may choose.
void read_precision(const TomlEntry& entry, Rule& rule, ErrorCollector& report) {
    const auto* table = entry.value->as_table();
    const auto* text = value_as<std::string>(*entry.value);
    if (text != nullptr && equal_ignoring_case(text->substr(0, fixed_point_word.size()), fixed_point_word))
        return read_fixed_point(entry, *text, rule, report);
    if (table == nullptr) return assign_if_read(rule.precision, read_word(entry, precision_words, report));
    rule.tolerance.emplace();
    rule.precision = Precision::medium;
    read_entries(*table, entry.key, tolerance_keys, *rule.tolerance, report);
    if (!table->contains("tolerance"))
        report.add_error(position_of(*entry.value),
                         "precision has no tolerance; write precision = { tolerance = 1e-3 }");
}

/// The largest number of bits that a rule can ask cuBLAS to keep. cuBLAS names no limit, but a recording can hold no
/// larger number.
constexpr std::int64_t max_mantissa_bits = 127;

void read_conditions(const TomlEntry& entry, Conditions& conditions, ErrorCollector& report) {
    read_table(entry, condition_keys, conditions, report);
    if (conditions.text.empty()) return;
    if (conditions.where.empty())
        report.add_error(entry.at, entry.key +
                                       ": found text without where; add the place: "
                                       "where = \"train.py:41 forward\"");
    for (const std::string& where : conditions.where)
        conditions.where_of_any_line.push_back(glob_for_any_line(where));
}

constexpr TableKey<Rule> rule_keys[] = {
    {"name", read_string_into<&Rule::name>},
    {"precision", read_precision},
    {"accumulate", read_word_into<&Rule::accumulate, accumulate_words>},
    {"mantissa_bits", read_whole_number_into<&Rule::mantissa_bits, 1, max_mantissa_bits>},
    {"split_k", read_split_k_into<&Rule::algorithms>},
    {"reduction", read_reduction_into<&Rule::algorithms>},
    {"assume_aligned", read_boolean_into<&Rule::assume_aligned>},
    {"lower_guarded", read_boolean_into<&Rule::lower_guarded>},
    {"when", [](const TomlEntry& entry, Rule& rule, ErrorCollector& r) { read_conditions(entry, rule.when, r); }},
    {"unless", [](const TomlEntry& entry, Rule& rule, ErrorCollector& r) { read_conditions(entry, rule.unless, r); }},
};

double lowest_lower_bound(const std::vector<NumberRange>& ranges) {
    return ranges.empty() ? 0 : std::ranges::min(ranges, {}, &NumberRange::lowest).lowest;
}

double highest_upper_bound(const std::vector<NumberRange>& ranges) {
    return ranges.empty() ? std::numeric_limits<double>::infinity()
                          : std::ranges::max(ranges, {}, &NumberRange::highest).highest;
}

/// Returns an obvious reason why no call can satisfy the rule, or an empty text if there is none.
std::string why_rule_never_applies(const Rule& rule) {
    const Conditions& when = rule.when;
    if (!rule.unless.empty() && when == rule.unless) return "unless is the same as when";
    const bool on_cpu_only = when.device == std::vector{Device::cpu};
    if (on_cpu_only && !when.compute_capability.empty()) return "device is cpu, which has no compute_capability";
    if (lowest_lower_bound(when.min_dim) > highest_upper_bound(when.max_dim))
        return "min_dim and max_dim exclude each other";
    const std::pair<std::string_view, const std::vector<NumberRange>*> sizes[] = {
        {"m", &when.m}, {"n", &when.n}, {"k", &when.k}};
    for (const auto& [name, ranges] : sizes) {
        if (ranges->empty()) continue;
        if (lowest_lower_bound(*ranges) > highest_upper_bound(when.max_dim))
            return std::string(name) + " and max_dim exclude each other";
        if (highest_upper_bound(*ranges) < lowest_lower_bound(when.min_dim))
            return std::string(name) + " and min_dim exclude each other";
    }
    return {};
}

/// Returns true if `earlier` obviously applies to all calls to which `later` applies, and decides as much.
bool shadows(const Rule& earlier, const Rule& later) {
    return earlier.when == later.when && (earlier.unless.empty() || earlier.unless == later.unless) &&
           decides_as_much(earlier, later);
}

std::string label(const Rule& rule) { return "rule " + in_quotes(rule.name); }

/// A rule that is being read. `is_valid` is true as long as the rule has no errors. Only valid rules are compared
/// with each other.
struct RuleDraft {
    Rule rule;
    TextPosition at;
    TextPosition name_at;
    bool is_valid = true;
};

void add_to(system::Hash& hash, const toml::node& value) {
    hash.add(static_cast<std::uint64_t>(value.type()));
    if (const auto* array = value.as_array()) {
        hash.add(std::uint64_t{array->size()});
        for (const toml::node& item : *array) add_to(hash, item);
    } else if (const auto* table = value.as_table()) {
        hash.add(std::uint64_t{table->size()});
        for (const auto& [key, item] : *table) add_to(hash.add(key.str()), item);
    } else {
        const auto* text = value_as<std::string>(value);
        hash.add(text != nullptr ? *text : describe_value(value));
    }
}

std::uint64_t content_hash(const Rule& rule, const toml::table& table) {
    system::Hash hash;
    add_to(hash.add(rule.file).add(rule.name), table);
    return hash.value();
}

std::string precisions_of_float64() {
    std::vector<std::string_view> words;
    for (const auto& [text, precision] : precision_words)
        if (is_allowed_for_float64(precision) && text != to_string(Precision::highest)) words.push_back(text);
    return joined(words);
}

/// Reports a precision that products of the rule's element types cannot have.
void check_precision_of_dtype(const toml::table& table, const Rule& rule, ErrorCollector& report) {
    const toml::node* const precision = table.get("precision");
    if (precision == nullptr) return;
    const std::vector<Dtype>& types = rule.when.dtype;
    const bool applies_to_single = types.empty() || std::any_of(types.begin(), types.end(), is_single);
    const bool applies_to_double = std::any_of(types.begin(), types.end(), is_double);
    const auto* const text = value_as<std::string>(*precision);
    const auto refuse = [&](const std::string& why) {
        report.add_error(position_of(*precision), "precision: found " + in_quotes(*text) + ", " + why);
    };
    if (applies_to_single && is_float64_only(rule.precision)) {
        refuse("which is for float64 only; add dtype = [\"float64\", \"complex128\"] to the rule's `when`");
    } else if (!applies_to_double || text == nullptr) {
        return;  // with a tolerance, audits choose among the formats that float64 products have
    } else if (equal_ignoring_case(*text, to_string(Precision::highest))) {
        refuse("which is FP32; for float64 write \"fp64\" or \"fp32\"");
    } else if (!is_allowed_for_float64(rule.precision)) {
        refuse("which float64 products cannot have; allowed: " + precisions_of_float64());
    }
}

/// Reports a rule whose element types, devices or functions leave one of its keys without effect. Also reports a rule
/// that names a half type but has no key that decides something about half products.
void check_keys_have_effect(const toml::table& table, const Rule& rule, ErrorCollector& report) {
    const std::vector<Dtype>& types = rule.when.dtype;
    const bool has_half = std::any_of(types.begin(), types.end(), is_half);
    const bool has_other = !std::all_of(types.begin(), types.end(), is_half);
    const toml::node* const precision = table.get("precision");
    const toml::node* const accumulate = table.get("accumulate");
    const bool changes = rule.accumulate == Accumulate::fp32;
    const toml::node* const type = table.at_path("when.dtype").node();
    const bool is_of_cpu = rule.when.device == std::vector{Device::cpu};
    const bool is_of_others = !matches_any_glob(rule.when.function, "cublasLtMatmul");
    for (const char* key : {"accumulate", "split_k", "reduction"}) {
        const bool is_limit = key[0] != 'a';
        if (!table.contains(key) || !(is_limit ? rule.algorithms.any() : changes)) continue;
        const std::string name = key;
        if (is_of_cpu)
            report.add_error(position_of(*table.get(key)), name + " is for GPUs, but device is cpu");
        else if (is_limit && is_of_others)
            report.add_error(position_of(*table.get(key)),
                             name + " is for cublasLtMatmul, which function does not match");
    }
    if (has_half && accumulate == nullptr && !rule.algorithms.any())
        report.add_error(
            position_of(*type),
            "dtype: found a half type, for which a rule needs accumulate, split_k or reduction; half products have "
            "no precision to choose");
    else if (changes && !types.empty() && !has_half)
        report.add_error(position_of(*accumulate),
                         "accumulate is for float16 and bfloat16, of which dtype names none");
    else if (precision != nullptr && rule.precision != Precision::native && has_half && !has_other)
        report.add_error(position_of(*precision), "precision is for float32 and float64, of which dtype names none");
}

RuleDraft read_rule(const toml::table& table, std::size_t number, ErrorCollector& report) {
    const std::size_t errors_before = report.error_count();
    RuleDraft draft;
    draft.at = draft.name_at = position_of(table);
    draft.rule.name = "rule " + std::to_string(number);
    draft.rule.file = report.file();
    draft.rule.line = draft.at.line;
    read_entries(table, "rule", rule_keys, draft.rule, report);
    check_precision_of_dtype(table, draft.rule, report);
    if (draft.rule.mantissa_bits != 0 && draft.rule.precision != Precision::fp64_emulated)
        report.add_error(position_of(*table.get("mantissa_bits")),
                         "mantissa_bits: only a rule with precision = \"fp64_emulated\" may have it");
    check_keys_have_effect(table, draft.rule, report);
    draft.rule.content = content_hash(draft.rule, table);
    if (const toml::node* name = table.get("name")) draft.name_at = position_of(*name);
    draft.rule.has_precision = table.contains("precision");
    if (!draft.rule.has_precision && !draft.rule.algorithms.any() && !table.contains("accumulate"))
        report.add_error(draft.at, label(draft.rule) +
                                       " has no precision, accumulate, split_k or reduction; precisions: " +
                                       joined(texts_of(precision_words)));
    draft.is_valid = report.error_count() == errors_before;
    return draft;
}

void check_against_earlier(const std::vector<RuleDraft>& drafts, std::size_t index, ErrorCollector& report) {
    const RuleDraft& later = drafts[index];
    bool shadowed = false;
    for (std::size_t i = 0; i < index; ++i) {
        const RuleDraft& earlier = drafts[i];
        const std::string line = std::to_string(earlier.rule.line);
        if (earlier.rule.name == later.rule.name)
            report.add_error(later.name_at, "name: found " + in_quotes(later.rule.name) +
                                                ", which the rule on line " + line + " already has");
        if (shadowed || !earlier.is_valid || !later.is_valid || earlier.rule.when.empty()) continue;
        if (!shadows(earlier.rule, later.rule)) continue;
        report.add_error(later.at, label(later.rule) + " is never reached, because " + label(earlier.rule) +
                                       " on line " + line + " applies to the same calls");
        shadowed = true;
    }
}

}  // namespace

void read_rules(const TomlEntry& entry, std::vector<Rule>& rules, ErrorCollector& report) {
    const auto* array = entry.value->as_array();
    const bool tables_only =
        array && std::all_of(array->begin(), array->end(), [](const toml::node& item) { return item.is_table(); });
    if (!tables_only) {
        report_not_allowed(entry, "tables that each begin with [[rule]]", report);
        return;
    }
    if (array->size() > max_rules) {
        report.add_error(position_of(*entry.value), "found " + std::to_string(array->size()) +
                                                        " rules; allowed: at most " + std::to_string(max_rules));
        return;
    }

    std::vector<RuleDraft> drafts;
    for (const toml::node& item : *array) drafts.push_back(read_rule(*item.as_table(), drafts.size() + 1, report));
    for (std::size_t i = 0; i < drafts.size(); ++i) {
        const RuleDraft& draft = drafts[i];
        check_against_earlier(drafts, i, report);
        if (draft.is_valid && draft.rule.when.empty() && i + 1 < drafts.size())
            report.add_error(draft.at, label(draft.rule) + " has no when; only the last rule may omit it");
        if (const std::string why = draft.is_valid ? why_rule_never_applies(draft.rule) : ""; !why.empty())
            report.add_error(draft.at, label(draft.rule) + " can never apply: " + why);
    }
    for (RuleDraft& draft : drafts) rules.push_back(std::move(draft.rule));
}

}  // namespace fp32shim::policy
