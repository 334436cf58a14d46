#include "cli/report/path_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "cli/output/json.hpp"
#include "cli/report/json_document.hpp"
#include "cli/report/timeline.hpp"
#include "cli/report/writers.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

/// Numbers the frames for speedscope. Nodes with equal frames share a number. The function that multiplies has one
/// frame for each format.
class Frames {
  public:
    std::size_t index_of(const PathFrame& frame, SharedText format = {}) {
        const std::array<std::uint32_t, 5> key = {frame.file.id(), frame.function.id(), frame.line, frame.offset,
                                                  format.id()};
        const auto [entry, is_new] = indices_.emplace(key, frames_.size());
        if (is_new) frames_.emplace_back(frame, format);
        return entry->second;
    }
    /// Writes the frames. Returns false if writing failed.
    bool write(JsonDocument& document) const {
        JsonText& json = document.json();
        for (const auto& [frame, format] : frames_) {
            json.open('{').member("name", std::string_view(name_of(frame, format)));
            if (!frame.file.empty()) json.member("file", std::string_view(frame.file));
            if (frame.line != 0) json.member("line", frame.line);
            json.close('}');
            if (!document.flush()) return false;
        }
        return true;
    }

  private:
    static std::string name_of(const PathFrame& frame, SharedText format) {
        if (!format.empty()) return fmt::format("{} [{}]", frame.function, format);
        return frame.name();
    }

    std::map<std::array<std::uint32_t, 5>, std::size_t> indices_;
    std::vector<std::pair<PathFrame, SharedText>> frames_;
};

struct Profile {
    RowOrder weight;
    std::string_view name, unit;
};
constexpr Profile profiles[] = {{RowOrder::time, "host time", "nanoseconds"},
                                {RowOrder::calls, "calls", "none"},
                                {RowOrder::flops, "floating-point operations", "none"}};

std::string whole_number(double number) { return fmt::format("{:.0f}", number); }

/// Writes a profile. `sample` returns the path of a share, as an array. Returns false if writing failed.
bool write_profile(const Profile& profile, const std::vector<PathShare>& shares, JsonDocument& document,
                   const std::function<std::string(const PathShare&)>& sample) {
    double end = 0;
    for (const PathShare& share : shares) end += share.weight(profile.weight);
    JsonText& json = document.json();
    json.open('{').member("type", std::string_view("sampled")).member("name", profile.name);
    json.member("unit", profile.unit).member("startValue", std::int64_t{0}).key("endValue").raw(whole_number(end));
    json.key("samples").open('[');
    for (const PathShare& share : shares) {
        json.raw(sample(share));
        if (!document.flush()) return false;
    }
    json.close(']').key("weights").open('[');
    for (const PathShare& share : shares) {
        json.raw(whole_number(share.weight(profile.weight)));
        if (!document.flush()) return false;
    }
    json.close(']').close('}');
    return true;
}

}  // namespace

std::vector<PathShare> path_shares(const CallPaths& paths, const MergedCalls& calls) {
    std::vector<PathShare> shares;
    std::size_t first = 0;  // index of the node's first share
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
        std::string text;
        JsonText json(text);
        json.open('[');
        for (const std::uint32_t node : paths.path_of(share.node)) {
            const SharedText format = node == share.node ? share.format : SharedText();
            json.value(std::uint64_t{frames.index_of(paths.nodes()[node], format)});
        }
        json.close(']');
        return text;
    };
    for (const PathShare& share : shares)
        sample(share);  // this numbers the frames, which precede the profiles in the
                        // file
    JsonDocument document(output, {.levels = 3});
    JsonText& json = document.json();
    json.member("$schema", std::string_view("https://www.speedscope.app/file-format-schema.json"));
    json.member("exporter", std::string_view("fp32shim " FP32SHIM_VERSION));
    json.key("shared").open('{').key("frames").open('[');
    if (!frames.write(document)) return;
    json.close(']').close('}').key("profiles").open('[');
    std::size_t active = 0;
    for (std::size_t i = 0; i < std::size(profiles); ++i) {
        if (profiles[i].weight == weight) active = i;
        if (!write_profile(profiles[i], shares, document, sample)) return;
    }
    json.close(']').member("activeProfileIndex", std::uint64_t{active});
    document.finish();
}

}  // namespace fp32shim::cli
