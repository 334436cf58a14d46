// Call paths of the events of a trace (`log --format chrome`).
#pragma once

#include <cstdint>
#include <functional>
#include <unordered_map>
#include <vector>

#include "cli/output/json_text.hpp"
#include "cli/recordings/call_paths.hpp"
#include "cli/recordings/native_locations.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// Numbers the frames of all recordings; equal paths share their numbers. Takes some 70 bytes for each distinct
/// decision and 100 for each distinct frame, however many calls there are.
class TracePaths {
  public:
    /// Keeps a pointer to `locations`, which must outlive this object.
    explicit TracePaths(NativeLocations& locations) : paths_(&locations) {}

    /// Returns the number of the innermost frame of a row's call path; 0 if it has no path.
    std::uint32_t frame_of(const record::RecordingReader& recording, const record::RecordedRow& row);
    /// Writes the frames of a path as an array of texts, innermost first. A deep path is cut after the innermost
    /// frames.
    void write_stack(JsonText& json, std::uint32_t frame) const;
    /// Writes the member `stackFrames` of the trace; nothing if there are no frames. Calls `flush` after each frame.
    void write_frames(JsonText& json, const std::function<void()>& flush) const;

  private:
    static constexpr std::uint32_t unread = ~std::uint32_t{0};

    CallPaths paths_;
    const record::RecordingReader* last_ = nullptr;  ///< recording of the last row that was added to paths_
    std::unordered_map<const record::RecordingReader*, std::vector<std::uint32_t>> frames_;  ///< frame numbers by row
                                                                                             ///< id
};

}  // namespace fp32shim::cli
