#include "cli/log/trace_paths.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "cli/recordings/field_value.hpp"

namespace fp32shim::cli {
namespace {

/// Longest list of frames in the arguments of an event, which each event of a trace repeats.
constexpr int most_frames = 32;

}  // namespace

std::uint32_t TracePaths::frame_of(const record::RecordingReader& recording, const record::RecordedRow& row) {
    if (row.stack == 0 || row.is_overflow) return 0;
    std::vector<std::uint32_t>& frames = frames_[&recording];
    if (row.id >= frames.size()) frames.resize(row.id + 1, unread);
    std::uint32_t& frame = frames[row.id];
    if (frame != unread) return frame;
    if (std::exchange(last_, &recording) != &recording) paths_.start();
    paths_.add(recording, &row, 0, {});
    return frame = paths_.nodes()[paths_.calls().back().node].parent;
}

void TracePaths::append_stack(std::string& text, std::uint32_t frame) const {
    std::string_view separator = "[";
    int count = 0;
    for (; frame != 0 && count < most_frames; frame = paths_.nodes()[frame].parent, ++count)
        append_json_text(text.append(std::exchange(separator, ",")), paths_.nodes()[frame].text());
    int left_out = 0;
    for (; frame != 0; frame = paths_.nodes()[frame].parent) ++left_out;
    if (left_out > 0) append_json_text(text += ',', fmt::format("({} frames further out)", left_out));
    text += count == 0 ? "[]" : "]";
}

void TracePaths::write_frames(const TextSink& put) const {
    std::vector<bool> is_product(paths_.nodes().size());  // levels of products, which are events
    for (const PathCalls& calls : paths_.calls()) is_product[calls.node] = true;
    std::string_view separator = ",\"stackFrames\":{\n";
    for (std::size_t place = 1; place < is_product.size(); ++place) {
        if (is_product[place]) continue;
        const PathNode& node = paths_.nodes()[place];
        std::string line(std::exchange(separator, ",\n"));
        append_json_text(line += fmt::format("\"{}\":{{\"name\":", place), node.text());
        if (!node.file.empty()) append_json_text(line += ",\"category\":", node.file);
        if (node.parent != 0) line += fmt::format(",\"parent\":{}", node.parent);
        put(line += '}');
    }
    if (separator.starts_with(",\n")) put("\n}");
}

}  // namespace fp32shim::cli
