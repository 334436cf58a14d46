// Writes call paths in two formats: as folded lines, and in speedscope's file format.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "cli/output/json_writer.hpp"
#include "cli/report/output_file.hpp"
#include "cli/report/report_formats.hpp"
#include "cli/report/timeline.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

/// Numbers the frames for speedscope. Nodes with equal frames share a number. The function that multiplies has one
/// frame for each format.
class FrameNumbering {
  public:
    std::size_t index_of(const PathFrame& frame, SharedText format = {}) {
        const std::array<std::uint32_t, 5> key = {frame.file.id(), frame.function.id(), frame.line, frame.offset,
                                                  format.id()};
        const auto [entry, is_new] = indices_.emplace(key, frames_.size());
        if (is_new) frames_.emplace_back(frame, format);
        return entry->second;
    }
    /// Writes the frames as an array.
    void write(JsonWriter& json) const {
        json.array(frames_, [&](const auto& entry) {
            const auto& [frame, format] = entry;
            const std::string name = format.empty() ? frame.name() : fmt::format("{} [{}]", frame.function, format);
            json.open('{').member("name", std::string_view(name));
            if (!frame.file.empty()) json.member("file", std::string_view(frame.file));
            if (frame.line != 0) json.member("line", frame.line);
            json.close('}');
        });
    }

  private:
    std::map<std::array<std::uint32_t, 5>, std::size_t> indices_;
    std::vector<std::pair<PathFrame, SharedText>> frames_;
};

/// A profile in speedscope's file: the quantity that its samples have as weight, its name and its unit.
struct SpeedscopeProfile {
    RowOrder weight;
    std::string_view name, unit;
};
constexpr SpeedscopeProfile profiles[] = {{RowOrder::time, "host time", "nanoseconds"},
                                          {RowOrder::calls, "calls", "none"},
                                          {RowOrder::flops, "floating-point operations", "none"}};

std::string whole_number(double number) { return fmt::format("{:.0f}", number); }

/// Returns the frames of a path, separated by `;` and without control characters: `main (train.py:9);cblas_sgemm`.
std::string folded_line(const CallPathTree& paths, std::uint32_t node) {
    std::string line;
    for (const std::uint32_t level : paths.path_of(node)) {
        std::string plain = system::plain_text(system::with_valid_utf8(paths.nodes()[level].text()));
        std::replace(plain.begin(), plain.end(), ';', ',');
        line.append(line.empty() ? "" : ";").append(plain);
    }
    return line;
}

}  // namespace

std::vector<PathShare> path_shares(const CallPathTree& paths, const MergedCalls& calls,
                                   const std::vector<std::int32_t>& listed) {
    std::vector<PathShare> shares;
    std::size_t first = 0;     // index of the node's first share
    std::size_t unlisted = 0;  // number of the node's shares whose decisions are not listed, which come first
    for (const CallsOfPath& part : paths.calls()) {
        const MergedRow& row = calls.rows()[part.row];
        const SharedText format(ran_at_or_unknown(row));
        const std::int32_t index = listed.empty() ? -1 : listed[part.row];
        if (first < shares.size() && shares[first].node != part.node) {
            first = shares.size();
            unlisted = 0;
        }
        const auto begin = shares.begin() + static_cast<std::ptrdiff_t>(first);
        const auto end = begin + static_cast<std::ptrdiff_t>(unlisted);
        auto found = index >= 0 ? shares.end() : std::ranges::find(begin, end, format, &PathShare::format);
        if (index >= 0 || found == end) {
            unlisted += index < 0;
            found = shares.insert(found, PathShare{{}, part.node, format, index});
        }
        found->add(part.counters, row.flops);
    }
    return shares;
}

void write_folded(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    for (const PathShare& share : path_shares(contents.paths, contents.calls)) {
        const std::string line = folded_line(contents.paths, share.node);
        if (!output.write(fmt::format("{} [{}] {:.0f}\n", line, share.format, share.sort_key(view.order)))) return;
    }
}

void write_speedscope(const ReportContents& contents, const ReportView& view, ReportOutput& output) {
    const CallPathTree& paths = contents.paths;
    const std::vector<PathShare> shares = path_shares(paths, contents.calls);
    FrameNumbering frames;
    const auto sample = [&](const PathShare& share) {
        JsonWriter json;
        json.open('[');
        for (const std::uint32_t node : paths.path_of(share.node)) {
            const SharedText format = node == share.node ? share.format : SharedText();
            json.value(std::uint64_t{frames.index_of(paths.nodes()[node], format)});
        }
        return json.close(']').take_text();
    };
    for (const PathShare& share : shares)
        sample(share);  // numbers the frames, which precede the profiles in the file
    JsonWriter json({.levels = 3}, [&](std::string_view text) { return output.write(text); });
    json.open('{').member("$schema", std::string_view("https://www.speedscope.app/file-format-schema.json"));
    json.member("exporter", std::string_view("fp32shim " FP32SHIM_VERSION));
    json.key("shared").open('{').key("frames");
    frames.write(json);
    json.close('}').key("profiles").array(profiles, [&](const SpeedscopeProfile& profile) {
        double end = 0;
        for (const PathShare& share : shares) end += share.sort_key(profile.weight);
        json.open('{').member("type", std::string_view("sampled")).member("name", profile.name);
        json.member("unit", profile.unit)
            .member("startValue", std::int64_t{0})
            .key("endValue")
            .raw(whole_number(end));
        json.key("samples").array(shares, [&](const PathShare& share) { json.raw(sample(share)); });
        json.key("weights").array(
            shares, [&](const PathShare& share) { json.raw(whole_number(share.sort_key(profile.weight))); });
        json.close('}');
    });
    const SpeedscopeProfile* const active = std::ranges::find(profiles, view.order, &SpeedscopeProfile::weight);
    json.member("activeProfileIndex", static_cast<std::int64_t>(active - profiles)).finish_line('}').flush();
}

}  // namespace fp32shim::cli
