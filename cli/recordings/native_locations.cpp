#include "cli/recordings/native_locations.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "record/read/reader.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

/// Returns the recorded facts about the file at `path`. If the recording does not list the file, only the path is
/// set.
record::RecordedObject object_at(const std::string& path, const record::RecordingReader& recording) {
    const auto& all = recording.objects().all;
    const auto found = std::ranges::find(all, path, &record::RecordedObject::path);
    if (found != all.end()) return *found;
    record::RecordedObject object;
    object.path = path;
    return object;
}

/// Returns the innermost function whose line is known: `solve.cpp:120 solve_step`; empty if there is none.
std::string line_text(const SourceLocation& location) {
    for (const SourceFrame& frame : location.frames) {
        if (frame.file.empty() || frame.line == 0) continue;
        return fmt::format("{}:{} {}", system::base_name(frame.file), frame.line, frame.function);
    }
    return {};
}

}  // namespace

const SourceLocation& NativeLocator::locate(const record::RecordedFrame& frame,
                                            const record::RecordingReader& recording) {
    return locations_.location_of(object_at(frame.file, recording), frame.offset);
}

const NativeLocator::LocatedCallSite& NativeLocator::location_of(const record::RecordedFrame& frame,
                                                                 const record::RecordingReader& recording) {
    const bool is_native = frame.function.empty();
    const std::vector<std::uint8_t> build =
        is_native ? object_at(frame.file, recording).build_id : std::vector<std::uint8_t>();
    const auto [entry, is_new] = known_.try_emplace({is_native ? frame.file : frame.function, build, frame.offset});
    LocatedCallSite& known = entry->second;
    if (!is_new) return known;
    if (!is_native) {
        // A frame without a file is a remark: the product was called by code that was generated at run time.
        if (frame.file.empty()) known.where = frame.function;
        return known;
    }
    const SourceLocation& location = locate(frame, recording);
    known.text = call_site_text(frame.file, frame.offset, location);
    const std::size_t function = location.symbol.empty() ? 0 : 1 + location.symbol.size();
    known.offset = call_site_text(frame.file, frame.offset, {});
    known.call_site = {known.text,
                       std::string_view(known.text).substr(0, system::base_name(frame.file).size() + function),
                       known.offset};
    known.where = line_text(location);
    if (known.where.empty()) known.where = known.text;
    return known;
}

void NativeLocator::locate_rows_of(record::RecordingReader& recording, bool with_call_sites) {
    const bool with_where = recording.facts().start.where.has(policy::LocationSource::native);
    if (!with_where && !with_call_sites) return;
    std::unordered_map<record::format::StringId, const LocatedCallSite*> of_stacks;
    recording.row_reader().set_location_namer(
        [this, &recording, with_where, with_call_sites, of_stacks](record::RecordedRow& row) mutable {
            policy::MatmulCall& call = row.decision.call;
            if (row.stack_is_cut || (!with_call_sites && !call.where.empty())) return;
            const auto [entry, is_new] = of_stacks.try_emplace(row.stack);
            if (is_new) {
                const auto frame = recording.frame(row.stack);
                if (frame) entry->second = &location_of(*frame, recording);
            }
            const LocatedCallSite* const location = entry->second;
            if (location == nullptr) return;
            if (with_where && call.where.empty()) call.where = location->where;
            if (with_call_sites && !location->call_site.text.empty()) call.call_site = &location->call_site;
        });
}

}  // namespace fp32shim::cli
