#include "cli/replay/measured_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"

namespace fp32shim::cli {
namespace {

/// A device and a format, which together have a column of the table.
using DeviceFormat = std::pair<bool, policy::Applied>;

DeviceFormat device_format(const MeasuringTask& task) { return {task.on_gpu, task.format}; }

std::string_view device_of(const DeviceFormat& column) { return column.first ? "cuda" : "cpu"; }

std::string title_of(const DeviceFormat& column) {
    return fmt::format("{} {}", column.first ? "GPU" : "CPU", to_string(column.second));
}

/// Sum over the measured products of one column, for all calls in the recordings.
struct Total {
    std::uint64_t kinds = 0;
    std::uint64_t calls = 0;
    double ns = 0;                  ///< measured time of all these calls on this machine
    std::uint64_t recorded_ns = 0;  ///< recorded time of those calls that ran on a CPU
    std::uint64_t recorded_calls = 0;
};

/// Returns the totals of the columns that have measurements, in the order of the columns.
std::map<DeviceFormat, Total> totals_of(const Replay& replay) {
    std::map<DeviceFormat, Total> totals;
    for (const ReplayedKind& replayed : replay.kinds)
        for (const MeasuringTask& task : replayed.tasks) {
            if (!task.problem.empty()) continue;
            Total& total = totals[device_format(task)];
            ++total.kinds;
            total.calls += replayed.kind->calls.calls;
            total.ns += task.mean_ns * static_cast<double>(replayed.kind->calls.calls);
            if (replayed.kind->device != "cpu") continue;
            total.recorded_ns += replayed.kind->calls.host_ns;
            total.recorded_calls += replayed.kind->calls.calls;
        }
    return totals;
}

double recorded_each(const ProductKind& kind) {
    return static_cast<double>(kind.calls.host_ns) /
           static_cast<double>(std::max<std::uint64_t>(kind.calls.calls, 1));
}

/// Returns how often a call took as long here as recorded, or the reverse; 1 if the two times cannot be compared.
double ratio_of(const ProductKind& kind, const MeasuringTask& task) {
    const bool is_comparable = task.problem.empty() && !task.on_gpu && kind.device == "cpu" &&
                               kind.ran_at == to_string(task.format) && kind.calls.host_ns > 0;
    if (!is_comparable) return 1;
    const double ratio = task.mean_ns / recorded_each(kind);
    return std::max(ratio, 1 / ratio);
}

/// Returns a warning if the machine or its load was another one than during the program; empty otherwise.
std::string unlike_text(const Replay& replay) {
    constexpr double unlike = 3;  // noise and cold caches rarely explain more
    std::size_t count = 0;
    double largest = 1;
    const ProductKind* where = nullptr;
    for (const ReplayedKind& replayed : replay.kinds)
        for (const MeasuringTask& task : replayed.tasks) {
            const double ratio = ratio_of(*replayed.kind, task);
            if (ratio >= unlike) ++count;
            if (ratio > largest) where = replayed.kind;
            largest = std::max(largest, ratio);
        }
    if (count == 0) return {};
    return fmt::format(
        "\nRecorded and measured times differ by a factor of {:.0f} or more for {}, most for {} ({:.3g} times).\nDo "
        "not "
        "compare formats by them: threads, load, the library or the machine were different.\n",
        unlike, counted(count, "kind"), where->text(), largest);
}

/// Returns the reasons why calls were not measured, with their numbers of calls, largest first.
std::vector<std::pair<std::string, Share>> left_out_of(const Replay& replay) {
    std::vector<std::pair<std::string, Share>> reasons;
    const auto add = [&](const std::string& why, const ProductKind& kind) {
        auto found = std::ranges::find(reasons, why, &std::pair<std::string, Share>::first);
        if (found == reasons.end()) found = reasons.insert(found, {why, Share()});
        found->second.calls += kind.calls.calls;
        found->second.host_ns += kind.calls.host_ns;
        ++found->second.timed_calls;  // this member counts the kinds of products here
    };
    for (const ReplayedKind& replayed : replay.kinds) {
        if (!replayed.why_not.empty()) add(replayed.why_not, *replayed.kind);
        for (const MeasuringTask& task : replayed.tasks)
            if (!task.problem.empty())
                add(fmt::format("{}: {}", title_of(device_format(task)), task.problem), *replayed.kind);
    }
    return reasons;
}

Table table_of(const Replay& replay, const std::map<DeviceFormat, Total>& totals) {
    std::vector<Table::Column> columns = {{"calls", true}, {"share", true}, {"product"},
                                          {"dtype"},       {"ran at"},      {"recorded", true}};
    for (const auto& [column, total] : totals) columns.push_back({title_of(column), true});
    Table table(std::move(columns));
    std::uint64_t all_ns = 0;
    for (const ReplayedKind& replayed : replay.kinds) all_ns += replayed.kind->calls.host_ns;
    for (const ReplayedKind& replayed : replay.kinds) {
        if (std::ranges::none_of(replayed.tasks, [](const MeasuringTask& task) { return task.problem.empty(); }))
            continue;
        const ProductKind& kind = *replayed.kind;
        std::vector<std::string> cells = {
            count_text(kind.calls.calls),
            share_text(kind.calls.host_ns, all_ns),
            kind.text(),
            std::string(kind.dtype),
            std::string(kind.ran_at),
            kind.device == "cpu" ? duration_text(recorded_each(kind), kind.calls.is_estimate) : "(launch)"};
        for (const auto& [column, total] : totals) {
            const auto task =
                std::ranges::find_if(replayed.tasks, [&column = column](const MeasuringTask& candidate) {
                    return device_format(candidate) == column && candidate.problem.empty();
                });
            cells.push_back(task == replayed.tasks.end() ? "" : duration_text(task->mean_ns));
        }
        table.add(std::move(cells));
    }
    return table;
}

std::string letter_text(char letter) { return letter == 0 ? std::string() : std::string(1, letter); }

Json size_or_null(std::int64_t size) { return size < 0 ? Json() : Json(size); }

Json to_json(const ReplayedKind& replayed) {
    const ProductKind& kind = *replayed.kind;
    Json json = {{"operation", text_or_null(kind.operation)},
                 {"dtype", text_or_null(kind.dtype)},
                 {"trans_a", text_or_null(letter_text(kind.sizes.trans_a))},
                 {"trans_b", text_or_null(letter_text(kind.sizes.trans_b))},
                 {"m", size_or_null(kind.sizes.m)},
                 {"n", size_or_null(kind.sizes.n)},
                 {"k", size_or_null(kind.sizes.k)},
                 {"batch", size_or_null(kind.batch)},
                 {"device", text_or_null(kind.device)},
                 {"precision", text_or_null(kind.ran_at)},
                 {"calls", kind.calls.calls},
                 {"host_ns", kind.calls.host_ns},
                 {"left_out", text_or_null(replayed.why_not)}};
    json["measured"] = Json::array();
    for (const MeasuringTask& task : replayed.tasks)
        json["measured"].push_back({{"device", device_of(device_format(task))},
                                    {"precision", to_string(task.format)},
                                    {"library", text_or_null(task.library)},
                                    {"ns", task.problem.empty() ? Json(task.ns) : Json()},
                                    {"mean_ns", task.problem.empty() ? Json(task.mean_ns) : Json()},
                                    {"runs", task.runs},
                                    {"problem", text_or_null(task.problem)}});
    return json;
}

}  // namespace

std::string replay_text(const Replay& replay, int stream) {
    const std::map<DeviceFormat, Total> totals = totals_of(replay);
    std::string text;
    if (!replay.libraries.empty()) text += fmt::format("CPU: {}\n", printable(listed(replay.libraries, 4)));
    if (!replay.gpu.empty()) text += fmt::format("GPU: {}\n", printable(replay.gpu));
    if (!totals.empty())
        text +=
            "Mean time of one call, recorded and measured here\n\n" + table_of(replay, totals).text(stream) + "\n";
    if (!totals.empty()) text += "All these calls\n";
    for (const auto& [column, total] : totals) {
        text += fmt::format("{}: {} in {} of {}", title_of(column), duration_text(total.ns),
                            counted(total.calls, "call"), counted(total.kinds, "kind"));
        if (total.recorded_calls == total.calls)
            text += fmt::format("; recorded: {}", duration_text(static_cast<double>(total.recorded_ns)));
        text += "\n";
    }
    text += unlike_text(replay);
    const auto reasons = left_out_of(replay);
    if (!reasons.empty()) text += "\nNot measured\n";
    for (const auto& [why, share] : reasons)
        text += fmt::format("{} of {}, {} recorded: {}\n", counted(share.calls, "call"),
                            counted(share.timed_calls, "kind"), duration_text(static_cast<double>(share.host_ns)),
                            printable(why));
    return text;
}

std::string replay_json(const Replay& replay) {
    Json json;
    json["schema"] = 1;
    json["libraries"] = replay.libraries;
    json["gpu"] = text_or_null(replay.gpu);
    json["totals"] = Json::array();
    for (const auto& [column, total] : totals_of(replay))
        json["totals"].push_back({{"device", device_of(column)},
                                  {"precision", to_string(column.second)},
                                  {"kinds", total.kinds},
                                  {"calls", total.calls},
                                  {"ns", total.ns},
                                  {"recorded_calls", total.recorded_calls},
                                  {"recorded_ns", total.recorded_ns}});
    json["products"] = Json::array();
    for (const ReplayedKind& kind : replay.kinds) json["products"].push_back(to_json(kind));
    return json_text(json);
}

}  // namespace fp32shim::cli
