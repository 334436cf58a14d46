#include "cli/log/trace_paths.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace fp32shim::cli {
namespace {

/// Maximum number of frames in the arguments of an event. Each event of a trace repeats them.
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

void TracePaths::write_stack(JsonText& json, std::uint32_t frame) const {
    json.open('[');
    for (int count = 0; frame != 0 && count < most_frames; frame = paths_.nodes()[frame].parent, ++count)
        json.value(std::string_view(paths_.nodes()[frame].text()));
    int left_out = 0;
    for (; frame != 0; frame = paths_.nodes()[frame].parent) ++left_out;
    if (left_out > 0)
        json.value(std::string_view(fmt::format("({} frame{} further out)", left_out, left_out == 1 ? "" : "s")));
    json.close(']');
}

void TracePaths::write_frames(JsonText& json, const std::function<void()>& flush) const {
    std::vector<bool> is_product(paths_.nodes().size());  // true for functions that multiply, which are events and
                                                          // not frames
    for (const PathCalls& calls : paths_.calls()) is_product[calls.node] = true;
    bool is_first = true;
    for (std::size_t index = 1; index < is_product.size(); ++index) {
        if (is_product[index]) continue;
        if (std::exchange(is_first, false)) json.key("stackFrames").open('{');
        const PathNode& node = paths_.nodes()[index];
        json.key(std::to_string(index)).open('{').member("name", std::string_view(node.text()));
        if (!node.file.empty()) json.member("category", std::string_view(node.file));
        if (node.parent != 0) json.member("parent", node.parent);
        json.close('}');
        flush();
    }
    if (!is_first) json.close('}');
}

}  // namespace fp32shim::cli
