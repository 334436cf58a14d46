#include "cli/recordings/filter.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/command_line/options.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "policy/conditions.hpp"
#include "policy/load.hpp"
#include "policy/words.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

struct FilterOption {
    const char* name;
    const char* type;
    const char* description;
};

constexpr FilterOption keys[] = {
    {"function", "GLOB", "Only calls to functions like this: 'cublasSgemm*'"},
    {"caller", "GLOB", "Only calls from objects like this: 'libtorch_*'"},
    {"executable", "GLOB", "Only processes of programs like this"},
    {"command", "GLOB", "Only processes with command lines like this"},
    {"host", "GLOB", "Only processes on hosts like this"},
    {"scope", "GLOB", "Only calls within labels like this"},
    {"where", "GLOB", "Only calls from lines like this: 'train.py:41 *'"},
    {"call_site", "GLOB", "Only calls from compiled functions like this: 'libphysics.so!solve*'"},
    {"stack", "GLOB", "Only calls that a line of Python like this led to: 'train.py:* Trainer.*'"},
    {"device", "cpu|cuda", "Only products that ran on this device"},
    {"dtype", "float32|complex64|float64|complex128", "Only products with operands of this type"},
    {"compute_capability", "RANGE", "Only products on GPUs like this: '>=8.0'"},
    {"m", "SIZE", "Only products of this size: 128, '<=128', '>=64 <=256'"},
    {"n", "SIZE", "Likewise"},
    {"k", "SIZE", "Likewise"},
    {"batch", "SIZE", "Only batches of this many products"},
    {"min_dim", "SIZE", "The smallest of m, n and k"},
    {"max_dim", "SIZE", "The largest of m, n and k"},
    {"flops", "SIZE", "Operations of the product: '>=2G'"},
};

std::string option_of(std::string key) {
    std::replace(key.begin(), key.end(), '_', '-');
    return "--" + key;
}

std::string toml_string(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            result += fmt::format("\\u{:04x}", c);
        else
            result += c;
    }
    return result + '"';
}

/// Multiplies the upper bounds of `ranges` by `factor`, less one. A size that was rounded up is less than `factor`
/// times its true value, so it then matches whenever its true value may match.
void widen(std::vector<policy::NumberRange>& ranges, double factor) {
    for (policy::NumberRange& range : ranges)
        if (range.lowest <= range.highest) range.highest = std::max(range.highest, factor * range.highest - 1);
}

/// Stands for the lines of a call path in a comparison whose result is already known. Every condition on the lines
/// has the result `holds`.
struct CallPathWithKnownResult : policy::PythonStackLines {
    CallPathWithKnownResult() {
        any = [](const PythonStackLines& lines, bool (*)(void*, std::string_view), void*) {
            return static_cast<const CallPathWithKnownResult&>(lines).holds;
        };
    }
    bool holds = false;
};

/// Returns the strictest floor (lowest allowed format) that a row's calls meet; nullopt for calls that were only
/// forwarded, since their format is unknown.
std::optional<policy::Floor> floor_met(const record::RecordedRow& row) {
    return floor_shown_by(row.decision.actual.value_or(row.decision.applied), row.decision.call.function,
                          row.decision.mantissa_bits);
}

}  // namespace

void CallFilter::declare_options(CLI::App& app) {
    for (const FilterOption& key : keys)
        add_values(app, option_of(key.name), values_[key.name], key.description)
            ->type_name(key.type)
            ->group("Which calls");
    std::vector<std::string_view> floors = policy::texts_of(policy::strict_floor_words);
    floors.pop_back();  // no format is below the loosest floor, so the option would select nothing
    add_choice(app, "--ran-below", ran_below_text_, floors, "Only calls that ran below this format")
        ->group("Which calls");
}

std::string CallFilter::parse_options() {
    const std::string rule_begin =  // `accumulate` makes the rule match float16 and bfloat16 too
        "schema = 1\n[[rule]]\nprecision = \"native\"\naccumulate = \"as_called\"\nwhen = { ";
    ran_below_ = policy::parse_floor(ran_below_text_);
    std::string conditions;
    for (const auto& [key, texts] : values_) {
        if (texts.empty()) continue;
        std::string list;
        for (const std::string& text : texts) (list += list.empty() ? "" : ", ") += toml_string(text);
        // Each key is read alone, so that an error message names one key.
        const std::string condition = fmt::format("{} = [{}]", key, list);
        const policy::LoadedPolicy one = policy::read_policy(rule_begin + condition + " }\n", "filter");
        if (!one.errors.empty()) {
            std::string message = one.errors.front().message;
            if (message.starts_with(key + ": ")) message.erase(0, key.size() + 2);
            constexpr std::string_view list_in_a_file = ", or a list of these";
            if (message.ends_with(list_in_a_file))
                message.replace(message.size() - list_in_a_file.size(), message.npos,
                                "; repeat the option to allow several");
            return option_of(key) + ": " + message;
        }
        (conditions += conditions.empty() ? "" : ", ") += condition;
    }
    if (conditions.empty()) return {};
    policy::LoadedPolicy all = policy::read_policy(rule_begin + conditions + " }\n", "filter");
    if (!all.errors.empty()) return all.errors.front().message;
    rule_ = folded_rule_ = std::move(all.policy.rules.front());
    policy::Conditions& folded = folded_rule_.when;
    for (auto* ranges : {&folded.m, &folded.n, &folded.k, &folded.batch, &folded.min_dim, &folded.max_dim})
        widen(*ranges, 2);
    widen(folded.flops, 16);  // a product of four sizes, each of which may be rounded up to twice its value
    return {};
}

bool RowFilter::passes(const record::RecordedRow& row) {
    if (filter_->is_empty()) return true;
    if (row.is_overflow) return false;
    if (filter_->ran_below_) {
        const std::optional<policy::Floor> met = floor_met(row);
        if (!met || *met >= *filter_->ran_below_) return false;
    }
    return meets_conditions(row);
}

bool RowFilter::cannot_decide(const record::RecordedRow* row) {
    if (!filter_->ran_below_) return false;
    if (row != nullptr && !row->is_overflow) return !floor_met(*row) && meets_conditions(*row);
    const policy::Conditions& when = filter_->rule_.when;
    const record::ProcessFacts& process = recording_->facts().process;
    return policy::matches_any_glob(when.executable, system::base_name(process.executable)) &&
           policy::matches_any_glob(when.command, process.command) &&
           policy::matches_any_glob(when.host, process.host);
}

/// Returns true if a row meets all options but `--ran-below`.
bool RowFilter::meets_conditions(const record::RecordedRow& row) {
    const policy::Rule& rule = row.is_folded ? filter_->folded_rule_ : filter_->rule_;
    const record::ProcessFacts& process = recording_->facts().process;
    policy::MatmulCall call = row.decision.call;
    // A rule without `dtype` does not match products of float64. A filter without it selects products of all types,
    // so float64 is compared as float32.
    if (rule.when.dtype.empty() && policy::is_double(call.dtype))
        call.dtype = policy::is_complex(call.dtype) ? policy::Dtype::complex64 : policy::Dtype::float32;
    CallPathWithKnownResult path;
    if (!rule.when.stack.empty()) {
        const PathMatch found = match_path(row.stack);
        path.holds = found == PathMatch::match;
        if (found != PathMatch::none) call.stack = &path;
    }
    return policy::decides_call(rule, call, {system::base_name(process.executable), process.command, process.host});
}

/// Compares the lines of the call path that ends in `frame` with the filter. Each frame is read only once, since
/// paths share their outer frames.
RowFilter::PathMatch RowFilter::match_path(record::format::StringId frame) {
    std::vector<std::pair<record::format::StringId, std::string>> unknown;  // lines, innermost first
    PathMatch found = PathMatch::none;
    while (frame != 0) {
        if (const auto known = known_.find(frame); known != known_.end()) {
            found = known->second;
            break;
        }
        const std::optional<record::RecordedFrame> read = recording_->frame(frame);
        if (!read) break;
        char words[512];
        unknown.emplace_back(frame, record::frame_text({read->file, read->function, read->line, 0}, words));
        frame = read->parent;
    }
    const std::vector<std::string>& globs = filter_->rule_.when.stack;
    for (auto next = unknown.rbegin(); next != unknown.rend(); ++next) {
        const std::string& line = next->second;
        if (found != PathMatch::match && !line.empty())
            found = policy::matches_any_glob(globs, line) ? PathMatch::match : PathMatch::no_match;
        known_[next->first] = found;
    }
    return found;
}

std::string rounded_sizes_warning(std::uint64_t calls) {
    return fmt::format("{} {} sizes that are known only up to the next power of two, so some may not match",
                       counted(calls, "call"), calls == 1 ? "has" : "have");
}

}  // namespace fp32shim::cli
