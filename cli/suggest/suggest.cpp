// fp32shim suggest: ranks the products of recordings by the errors of their audits, and names the commands that can
// tell which of them have to stay exact.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/product_groups/groups.hpp"
#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/recordings/row_audits.hpp"
#include "policy/words.hpp"

namespace fp32shim::cli {
namespace {

struct SuggestOptions {
    std::vector<std::string> recordings;
    std::string dtype, precision, metric;
    bool is_json = false;
};

/// All products of some recordings, with their audits in one format.
struct AuditedGroups {
    Groups groups;
    AuditSums audits;                                      ///< by number of the group
    std::map<std::size_t, Share> counted;                  ///< by number of the group
    std::map<std::size_t, std::uint64_t> noise;            ///< audits left out as noise, by number of the group
    std::map<policy::AuditFormat, std::uint64_t> formats;  ///< number of audits of these types, by tested format
    Share of_other_types;                                  ///< calls that are not ranked
    std::uint64_t audits_of_other_types = 0;
    Share float64_on_gpu;  ///< calls that no audit can judge, and no rule lowers
    std::uint64_t total_ns = 0;
    std::uint64_t recordings = 0;
};

TriedTypes types_of(const SuggestOptions& options) {
    return options.dtype == to_string(TriedTypes::float64) ? TriedTypes::float64 : TriedTypes::float32;
}

constexpr std::string_view single_word = "fp32";
constexpr std::string_view sgemm_word = "sgemm";

policy::AuditFormat format_of(const SuggestOptions& options) {
    if (options.precision == single_word) return policy::AuditFormat::fp32;
    if (options.precision == sgemm_word) return policy::AuditFormat::sgemm;
    return options.precision == "medium" ? policy::AuditFormat::bf16 : policy::AuditFormat::tf32;
}

/// Returns the format in which products of these types are called, to which audits compare lower ones.
policy::AuditFormat exact_format(TriedTypes types) {
    return types == TriedTypes::float64 ? policy::AuditFormat::fp64 : policy::AuditFormat::fp32;
}

/// Returns the type that the options do not name.
std::string_view other_type(const SuggestOptions& options) {
    return to_string(types_of(options) == TriedTypes::float64 ? TriedTypes::float32 : TriedTypes::float64);
}

policy::Metric metric_of(const SuggestOptions& options) {
    return *policy::parse_word(policy::metric_words, options.metric);
}

void add_audit(const record::Audit& audit, std::size_t group, const SuggestOptions& options, AuditedGroups& found) {
    if ((audit.notes & record::audit_noise) != 0 && metric_of(options) != policy::Metric::component)
        ++found.noise[group];
    else
        found.audits.add(static_cast<std::uint32_t>(group), audit);
}

void add_recording(const record::RecordingReader& recording, const SuggestOptions& options,
                   RecordedProductsReader& reader, AuditedGroups& found) {
    std::map<std::uint32_t, std::size_t> numbers;
    std::set<std::uint32_t> others;  // rows of other types
    const TriedTypes types = types_of(options);
    if ((recording.facts().flags & record::format::flag_children_only) == 0) ++found.recordings;
    for (const auto& [id, counters] : recording.counters()) {
        const record::RecordedRow* const row = recording.row(id);
        found.total_ns += counters.total_ns;
        if (row == nullptr || row->is_overflow) continue;
        if (!are_tried(types, row->decision.call.dtype)) {
            found.of_other_types.add(counters);
            others.insert(id);
            continue;
        }
        if (types == TriedTypes::float64 && row->decision.call.device == policy::Device::cuda) {
            found.float64_on_gpu.add(counters);
            continue;
        }
        const std::size_t number = found.groups.number_of(reader.group_of(*row, recording));
        numbers[id] = number;
        found.counted[number].add(counters);
    }
    recording.visit_audits([&](const record::RecordedAudit& audit) {
        if (others.contains(audit.row) && !is_about_nonfinite(audit.audit)) ++found.audits_of_other_types;
        const auto number = numbers.find(audit.row);
        if (number == numbers.end() || audit.audit.reference != exact_format(types)) return true;
        ++found.formats[audit.audit.tested];
        if (audit.audit.tested == format_of(options)) add_audit(audit.audit, number->second, options, found);
        return true;
    });
}

/// A product, with its audits.
struct RankedProduct {
    const Group* group;
    Share counted;
    const RowAudits* audits = nullptr;  ///< null: none with an error
    std::uint64_t noise = 0;            ///< audits of results that are noise without being lowered
    double error = -1;                  ///< the largest; -1: no audit has one
};

/// Ranks the products by their largest error; those without one come last, by their time.
std::vector<RankedProduct> ranked(const AuditedGroups& found, const SuggestOptions& options) {
    std::vector<RankedProduct> products;
    for (const Group& group : found.groups.all()) products.push_back({&group, found.counted.at(products.size())});
    for (const auto& [number, audits] : found.noise) products[number].noise = audits;
    for (const RowAudits& audits : found.audits.all()) {
        if (audits.compared == 0) continue;
        products[audits.row].audits = &audits;
        const double error = audits.worst.by(metric_of(options));
        products[audits.row].error = error >= 0 ? error : std::numeric_limits<double>::infinity();  // NaN too
    }
    std::ranges::stable_sort(products, [](const RankedProduct& a, const RankedProduct& b) {
        return a.error != b.error ? a.error > b.error : a.counted.host_ns > b.counted.host_ns;
    });
    return products;
}

std::string audits_text(const RankedProduct& product) {
    if (product.audits != nullptr) return count_text(product.audits->compared);
    return product.noise > 0 ? "noise" : "none";
}

Table table_of(const std::vector<RankedProduct>& products, const AuditedGroups& found,
               const SuggestOptions& options) {
    Table table({{.title = "where", .shrinks_to = 24},
                 {.title = "function"},
                 {.title = "size"},
                 {.title = "calls", .is_number = true},
                 {.title = "host time", .is_number = true},
                 {.title = "audits", .is_number = true},
                 {.title = options.metric, .is_number = true},
                 {.title = "mean of all", .is_number = true},
                 {.title = "own error", .is_number = true}});
    const auto text = [](double error) { return fmt::format("{:.1e}", error); };
    for (const RankedProduct& product : products) {
        const RowAudits* const audits = product.audits;
        const auto mean =
            audits == nullptr ? std::nullopt : audits->estimated_mean(metric_of(options), product.counted.calls);
        const bool has_own = audits != nullptr && audits->checked > 0 && metric_of(options) == policy::Metric::row;
        table.add({product.group->location_text(), product.group->key.function, product.group->key.size_text(),
                   count_text(product.counted.calls), share_text(product.counted.host_ns, found.total_ns),
                   audits_text(product), audits == nullptr ? "" : text(product.error), mean ? text(*mean) : "",
                   has_own ? text(static_cast<double>(audits->fp32_error)) : ""});
    }
    return table;
}

constexpr std::string_view caveat =
    "Audits judge products, not what the program makes of them: one with a small error may have to stay exact, and "
    "one\n"
    "with a large error may not.";

/// Returns a command that records audits of a type.
std::string audit_command_for(std::string_view dtype) {
    return fmt::format("FP32_MATMUL_AUDIT=0.01{} fp32shim run --log run.fp32rec -- PROGRAM",
                       dtype == to_string(TriedTypes::float64) ? ",float64" : "");
}

/// The commands that run the program itself.
struct NextCommands {
    std::string_view search, try_policy;
};

NextCommands next_commands(const SuggestOptions& options) {
    // sensitivity lowers products of float32 only.
    if (types_of(options) == TriedTypes::float64)
        return {"fp32shim bisect --dtype float64 --cpu emulate -- TEST",
                "fp32shim run --cpu emulate --policy FILE -- PROGRAM"};
    return {"fp32shim sensitivity --cpu emulate -- PROGRAM",
            "fp32shim sensitivity --cpu emulate --policy FILE -- PROGRAM"};
}

/// Returns lines about the calls that are not ranked.
std::string left_out_text(const AuditedGroups& found, const SuggestOptions& options) {
    std::string text;
    if (found.of_other_types.calls > 0)
        text += fmt::format("Not ranked: {} of {}, {} of the host time; suggest --dtype {} is about them.\n",
                            counted(found.of_other_types.calls, "call"), other_type(options),
                            share_text(found.of_other_types.host_ns, found.total_ns), other_type(options));
    if (found.float64_on_gpu.calls > 0)
        text += fmt::format("On a GPU, where float64 is not lowered: {}, {} of the host time.\n",
                            counted(found.float64_on_gpu.calls, "call"),
                            share_text(found.float64_on_gpu.host_ns, found.total_ns));
    return text;
}

std::string text_of(const std::vector<RankedProduct>& products, const AuditedGroups& found,
                    const SuggestOptions& options) {
    std::uint64_t audits = 0;
    for (const RowAudits& row : found.audits.all()) audits += row.compared;
    return fmt::format("Largest errors of {} by the metric {}: {} in {}\n\n", policy::to_string(format_of(options)),
                       options.metric, counted(audits, "audit"), counted(found.recordings, "recording")) +
           table_of(products, found, options).text() + '\n' + left_out_text(found, options) +
           fmt::format("{}\nTo find the lines that need it: {}\nTo measure a policy: {}\n", caveat,
                       next_commands(options).search, next_commands(options).try_policy);
}

Json json_of(const RankedProduct& product, const SuggestOptions& options) {
    const GroupKey& key = product.group->key;
    const RowAudits* const audits = product.audits;
    const auto mean =
        audits == nullptr ? std::nullopt : audits->estimated_mean(metric_of(options), product.counted.calls);
    const bool has_own = audits != nullptr && audits->checked > 0;
    return {{"where", text_or_null(product.group->where)},
            {"scope", text_or_null(key.scope)},
            {"function", key.function},
            {"size", key.size_text()},
            {"calls", product.counted.calls},
            {"host_ns", product.counted.host_ns},
            {"audits", audits == nullptr ? 0 : audits->compared},
            {"noise", product.noise},
            {"error", audits == nullptr ? Json() : number_or_null(product.error)},
            {"estimated_mean", mean ? number_or_null(*mean) : Json()},
            {"own_error", has_own ? number_or_null(static_cast<double>(audits->fp32_error)) : Json()}};
}

Json to_json(const std::vector<RankedProduct>& products, const AuditedGroups& found, const SuggestOptions& options) {
    Json json = {{"schema", 1},
                 {"dtype", options.dtype},
                 {"tested", policy::to_string(format_of(options))},
                 {"metric", options.metric},
                 {"recordings", found.recordings},
                 {"host_ns", found.total_ns},
                 {"calls_of_other_types", found.of_other_types.calls},
                 {"float64_calls_on_gpu", found.float64_on_gpu.calls}};
    json["products"] = Json::array();
    for (const RankedProduct& product : products) json["products"].push_back(json_of(product, options));
    json["next"] = {next_commands(options).search, next_commands(options).try_policy};
    return json;
}

/// Returns the reason why nothing can be suggested; empty if something can.
std::string why_nothing(const AuditedGroups& found, const SuggestOptions& options) {
    const auto count_of = [&](policy::AuditFormat format) {
        const auto counted = found.formats.find(format);
        return counted == found.formats.end() ? 0 : counted->second;
    };
    if (count_of(format_of(options)) > 0) return {};
    std::string others;
    for (const auto& [format, count] : found.formats)
        others += fmt::format("{}{}", others.empty() ? "" : ", ", policy::to_string(format));
    const auto wanted = policy::to_string(format_of(options));
    const std::string of_others =
        found.of_other_types.calls == 0
            ? ""
            : fmt::format("; {} {} of {}", counted(found.of_other_types.calls, "call"),
                          found.of_other_types.calls == 1 ? "is" : "are", other_type(options)) +
                  (found.audits_of_other_types > 0
                       ? fmt::format(", with {}: give --dtype {}", counted(found.audits_of_other_types, "audit"),
                                     other_type(options))
                       : fmt::format(", without audits: record some by {}, and give --dtype {}",
                                     audit_command_for(other_type(options)), other_type(options)));
    if (found.groups.all().empty() && !of_others.empty())
        return fmt::format("found no products of {} in these recordings{}", to_string(types_of(options)), of_others);
    if (found.groups.all().empty() && found.float64_on_gpu.calls > 0)
        return fmt::format("{} of float64 ran on a GPU, where float64 is neither audited nor lowered",
                           counted(found.float64_on_gpu.calls, "call"));
    if (others.empty())
        return fmt::format("found no audits of {} in these recordings; record some: {}{}", wanted,
                           audit_command_for(to_string(types_of(options))), of_others);
    return fmt::format("found no audits of {}, only of {}; record with [audit] {} = \"{}\", or give --precision",
                       wanted, others, types_of(options) == TriedTypes::float64 ? "float64" : "against", wanted);
}

int suggest(SuggestOptions& options) {
    if (options.precision.empty())
        options.precision = types_of(options) == TriedTypes::float64 ? single_word : "high";
    if (types_of(options) == TriedTypes::float32)
        if (const std::string problem = problem_in_float32_precision(options.precision); !problem.empty()) {
            say("suggest", problem);
            return exit_code::usage;
        }
    RecordingPaths paths = find_recordings(options.recordings);
    if (paths.errors.empty()) {
        add_rest_of_runs(paths);
        mention_other_files_of_runs(paths);  // those that are not there any more
    }
    if (print_errors("suggest", paths)) return exit_code::usage;
    AuditedGroups found;
    RecordedProductsReader reader;
    const auto problems = visit_recordings(paths.paths, [&](const std::string&, record::RecordingReader& recording) {
        add_recording(recording, options, reader, found);
    });
    const bool is_damaged = print_problems("suggest", problems);
    if (found.recordings == 0) return exit_code::usage;
    if (const std::string why = why_nothing(found, options); !why.empty()) {
        say("suggest", why);
        return exit_code::inconclusive;
    }
    const std::vector<RankedProduct> products = ranked(found, options);
    print(options.is_json ? json_text(to_json(products, found, options)) : text_of(products, found, options));
    return is_damaged ? exit_code::finding : exit_code::ok;
}

}  // namespace

Action define_suggest(CLI::App& app) {
    auto options = std::make_shared<SuggestOptions>();
    app.add_option("RECORDING", options->recordings, "Recordings with audits, folders with recordings, or globs")
        ->type_name("FILE")
        ->required();
    options->dtype = to_string(TriedTypes::float32);
    add_choice(app, "--dtype", options->dtype, {to_string(TriedTypes::float32), to_string(TriedTypes::float64)},
               "Type of the products to rank, real and complex (default: float32)");
    add_choice(app, "--precision", options->precision, {"high", "medium", single_word, sgemm_word},
               "Precision whose audits count (default: high; with --dtype float64: fp32)");
    options->metric = "row";
    add_choice(app, "--metric", options->metric, policy::texts_of(policy::metric_words), "Measure of the error");
    add_table_or_json(app, options->is_json);
    return [options] { return suggest(*options); };
}

}  // namespace fp32shim::cli
