#include "cli/report/path_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "cli/output/json.hpp"
#include "cli/recordings/field_value.hpp"
#include "cli/report/timeline.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

/// Numbers the frames of speedscope: one for each node's frame, since nodes of different paths share frames. The
/// function that multiplies has a frame for each format.
class Frames {
  public:
    std::size_t place_of(const PathFrame& frame, SharedText format = {}) {
        const std::array<std::uint32_t, 5> key = {frame.file.id(), frame.function.id(), frame.line, frame.offset,
                                                  format.id()};
        const auto [place, is_new] = places_.emplace(key, frames_.size());
        if (is_new) frames_.emplace_back(frame, format);
        return place->second;
    }
    bool write(ReportOutput& output) const {
        std::string text;
        std::string_view separator = "\n";
        for (const auto& [frame, format] : frames_) {
            text.assign(std::exchange(separator, ",\n")).append("    {\"name\": ");
            append_json_text(text, name_of(frame, format));
            if (!frame.file.empty()) append_json_text(text += ", \"file\": ", frame.file);
            if (frame.line != 0) text += fmt::format(", \"line\": {}", frame.line);
            if (!output.put(text += "}")) return false;
        }
        return true;
    }

  private:
    static std::string name_of(const PathFrame& frame, SharedText format) {
        if (!format.empty()) return fmt::format("{} [{}]", frame.function, format);
        return frame.name();
    }

    std::map<std::array<std::uint32_t, 5>, std::size_t> places_;
    std::vector<std::pair<PathFrame, SharedText>> frames_;
};

struct Profile {
    RowOrder weight;
    std::string_view name, unit;
};
constexpr Profile profiles[] = {{RowOrder::time, "host time", "nanoseconds"},
                                {RowOrder::calls, "calls", "none"},
                                {RowOrder::flops, "floating-point operations", "none"}};

template <class Entry>
bool put_list(ReportOutput& output, const std::vector<PathShare>& shares, const Entry& entry) {
    std::string text;
    std::string_view separator = "\n";
    for (const PathShare& share : shares) {
        text.assign(std::exchange(separator, ",\n"));
        if (!output.put(text += entry(share))) return false;
    }
    return true;
}

bool put_profile(const Profile& profile, const std::vector<PathShare>& shares, ReportOutput& output,
                 const std::function<std::string(const PathShare&)>& sample) {
    double end = 0;
    for (const PathShare& share : shares) end += share.weight(profile.weight);
    output.put(
        fmt::format("    {{\"type\": \"sampled\", \"name\": \"{}\", \"unit\": \"{}\", \"startValue\": 0, "
                    "\"endValue\": {:.0f}, \"samples\": [",
                    profile.name, profile.unit, end));
    put_list(output, shares, sample);
    output.put("], \"weights\": [");
    const bool is_written = put_list(
        output, shares, [&](const PathShare& share) { return fmt::format("{:.0f}", share.weight(profile.weight)); });
    return is_written && output.put("]}");
}

}  // namespace

std::vector<PathShare> path_shares(const CallPaths& paths, const MergedCalls& calls) {
    std::vector<PathShare> shares;
    std::size_t first = 0;  // of the node
    for (const PathCalls& part : paths.calls()) {
        const MergedRow& row = calls.rows()[part.row];
        const SharedText format(format_of(row));
        if (first < shares.size() && shares[first].node != part.node) first = shares.size();
        const auto begin = shares.begin() + static_cast<std::ptrdiff_t>(first);
        auto found =
            std::find_if(begin, shares.end(), [&](const PathShare& share) { return share.format == format; });
        if (found == shares.end()) found = shares.insert(found, PathShare{{}, part.node, format});
        found->add(part.counters, row.flops);
    }
    return shares;
}

std::string folded_line(const CallPaths& paths, std::uint32_t node) {
    std::string line;
    for (const std::uint32_t level : paths.path_of(node)) {
        std::string plain = system::plain_text(system::with_valid_utf8(paths.nodes()[level].text()));
        std::replace(plain.begin(), plain.end(), ';', ',');
        line.append(line.empty() ? "" : ";").append(plain);
    }
    return line;
}

Json frame_json(const PathNode& node) {
    return {{"parent", node.parent == 0 ? Json() : Json(node.parent - 1)},
            {"file", text_or_null(node.file)},
            {"function", text_or_null(node.function)},
            {"line", node.line == 0 ? Json() : Json(node.line)},
            {"offset", node.offset == 0 ? Json() : Json(node.offset)},
            {"call_site", text_or_null(node.call_site)}};
}

Json path_json(const PathShare& share) {
    return {{"frame", share.node - 1},  {"applied", std::string(share.format)}, {"calls", share.calls},
            {"host_ns", share.host_ns}, {"timed_calls", share.timed_calls},     {"flops_total", share.work}};
}

void write_folded(const CallPaths& paths, const MergedCalls& calls, RowOrder weight, ReportOutput& output) {
    for (const PathShare& share : path_shares(paths, calls)) {
        const std::string line = folded_line(paths, share.node);
        if (!output.put(fmt::format("{} [{}] {:.0f}\n", line, share.format, share.weight(weight)))) return;
    }
}

void write_speedscope(const CallPaths& paths, const MergedCalls& calls, RowOrder weight, ReportOutput& output) {
    const std::vector<PathShare> shares = path_shares(paths, calls);
    Frames frames;
    const auto sample = [&](const PathShare& share) {
        std::string text = "[";
        for (const std::uint32_t node : paths.path_of(share.node)) {
            if (text.size() > 1) text += ',';
            text += std::to_string(
                frames.place_of(paths.nodes()[node], node == share.node ? share.format : SharedText()));
        }
        return text + "]";
    };
    for (const PathShare& share : shares) sample(share);  // numbers the frames, which stand first in the file
    output.put(
        "{\"$schema\": \"https://www.speedscope.app/file-format-schema.json\",\n \"exporter\": "
        "\"fp32shim " FP32SHIM_VERSION "\",\n \"shared\": {\"frames\": [");
    if (!frames.write(output)) return;
    output.put("]},\n \"profiles\": [\n");
    std::size_t active = 0;
    for (std::size_t i = 0; i < std::size(profiles); ++i) {
        if (profiles[i].weight == weight) active = i;
        if (i > 0) output.put(",\n");
        if (!put_profile(profiles[i], shares, output, sample)) return;
    }
    output.put(fmt::format("],\n \"activeProfileIndex\": {}}}\n", active));
}

}  // namespace fp32shim::cli
