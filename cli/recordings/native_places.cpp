#include "cli/recordings/native_places.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

/// Returns what the recording knows of a file; of one that it does not list, the path only.
record::RecordedObject object_at(const std::string& path, const record::RecordingReader& recording) {
    const auto& all = recording.objects().all;
    const auto found = std::ranges::find(all, path, &record::RecordedObject::path);
    if (found != all.end()) return *found;
    record::RecordedObject object;
    object.path = path;
    return object;
}

/// Returns the innermost function with a line: `solve.cpp:120 solve_step`; empty if there is none.
std::string line_text(const SourcePlace& place) {
    for (const SourceFrame& frame : place.frames) {
        if (frame.file.empty() || frame.line == 0) continue;
        return fmt::format("{}:{} {}", system::base_name(frame.file), frame.line, frame.function);
    }
    return {};
}

}  // namespace

const SourcePlace& NativePlaces::at(const record::RecordedFrame& frame, const record::RecordingReader& recording) {
    return places_.at(object_at(frame.file, recording), frame.offset);
}

const std::string& NativePlaces::text_of(const record::RecordedFrame& frame,
                                         const record::RecordingReader& recording) {
    const auto [entry, is_new] = texts_.try_emplace({frame.file, frame.offset});
    if (is_new) {
        const SourcePlace& place = at(frame, recording);
        entry->second = line_text(place);
        if (entry->second.empty()) entry->second = call_site_text(frame.file, frame.offset, place);
    }
    return entry->second;
}

void NativePlaces::name_rows_of(record::RecordingReader& recording) {
    if (!recording.facts().start.where.has(policy::Where::native)) return;
    recording.name_places([this, &recording](const record::RecordedRow& row) {
        const auto frame = row.stack_is_cut ? std::nullopt : recording.frame(row.stack);
        if (!frame) return std::string();
        if (frame->function.empty()) return text_of(*frame, recording);
        // A remark: the product was called by code that was made at run time.
        return frame->file.empty() ? frame->function : std::string();
    });
}

}  // namespace fp32shim::cli
