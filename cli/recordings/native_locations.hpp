// The location of a call in compiled code: for recordings that were asked for it (`where` has `native`), and for
// filters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "cli/source_locations/source_locations.hpp"
#include "policy/matmul_call.hpp"

namespace fp32shim::record {
struct RecordedFrame;
class RecordingReader;
}  // namespace fp32shim::record

namespace fp32shim::cli {

/// Puts the call sites of rows into words: `solve.cpp:120 solve_step`, or without debug information
/// `libphysics.so!solve_step+0x1c4`. Keeps all answers. For one thread.
class NativeLocations {
  public:
    /// Has the rows of a recording name their call sites, where it was asked for native ones and the row has no
    /// line of Python. `with_call_sites`: rows also have their `call_site`, as rules see it. This object must outlive
    /// the reader.
    void name_rows_of(record::RecordingReader& recording, bool with_call_sites);

    /// Returns the functions and the line of a frame in compiled code. The result lasts as long as this object.
    const SourceLocation& at(const record::RecordedFrame& frame, const record::RecordingReader& recording);

  private:
    struct Location {
        std::string where;
        std::string text;
        policy::CallSite call_site;  ///< views of `text`
    };
    const Location& location_of(const record::RecordedFrame& frame, const record::RecordingReader& recording);

    SourceLocations locations_;
    /// By path and build of the object, and offset.
    std::map<std::tuple<std::string, std::vector<std::uint8_t>, std::uint32_t>, Location> known_;
};

}  // namespace fp32shim::cli
