// Prints the call paths of a recording for a test: a line of JSON for each decision with calls.
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/recordings/native_locations.hpp"
#include "record/read/reader.hpp"

namespace {

using Json = nlohmann::ordered_json;
using fp32shim::record::RecordedFrame;
using fp32shim::record::RecordingReader;

/// Returns the frames of a call path, innermost first.
std::vector<RecordedFrame> path_of(const RecordingReader& recording, std::uint32_t frame) {
    std::vector<RecordedFrame> path;
    while (frame != 0) {
        const auto read = recording.frame(frame);
        if (!read) break;
        path.push_back(*read);
        frame = read->parent;
    }
    return path;
}

/// Returns the source locations, innermost first, of the frames that lie in compiled code.
Json levels_of(fp32shim::cli::NativeLocator& locations, const std::vector<RecordedFrame>& path,
               const RecordingReader& recording) {
    Json levels = Json::array();
    for (const RecordedFrame& frame : path) {
        if (!frame.function.empty()) continue;
        for (const auto& level : locations.locate(frame, recording).frames)
            levels.push_back({{"function", level.function}, {"file", level.file}, {"line", level.line}});
    }
    return levels;
}

}  // namespace

int main(int argc, char** argv) {
    const bool with_levels = argc > 2;
    const auto opened = RecordingReader::open(argv[1]);
    if (opened.reader == nullptr) return 1;
    RecordingReader& recording = *opened.reader;
    fp32shim::cli::NativeLocator locations;
    locations.locate_rows_of(recording, false);
    for (const auto& [id, counters] : recording.counters()) {
        const auto* row = recording.row(id);
        if (row == nullptr) return 1;
        Json line = {{"m", row->decision.call.m}, {"calls", counters.calls}, {"where", row->decision.call.where}};
        const auto path = path_of(recording, row->stack);
        line["frames"] = Json::array();
        for (const RecordedFrame& frame : path)
            line["frames"].push_back({{"file", frame.file}, {"function", frame.function}, {"offset", frame.offset}});
        if (with_levels) line["levels"] = levels_of(locations, path, recording);
        std::cout << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
    }
}
