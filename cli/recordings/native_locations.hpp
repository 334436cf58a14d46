// Finds the locations of calls in compiled code. Recordings need them if `where` has `native`; filters need them too.
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

/// Translates the call sites of rows into text: `solve.cpp:120 solve_step`, or `libphysics.so!solve_step+0x1c4`
/// without debug information. Keeps all results. For one thread.
class NativeLocator {
  public:
    /// Makes a recording's reader name the call sites of rows that have no line of Python, if the recording asks for
    /// native locations. With `with_call_sites`, rows also get the `call_site` that filters compare: with a readable
    /// name of the function, or object and offset. This object must outlive the reader.
    void locate_rows_of(record::RecordingReader& recording, bool with_call_sites);

    /// Returns the functions and the line of a frame in compiled code. The result lives as long as this object.
    const SourceLocation& locate(const record::RecordedFrame& frame, const record::RecordingReader& recording);

  private:
    struct LocatedCallSite {
        std::string where;
        std::string text;
        std::string offset;              ///< object and offset
        policy::CallSiteText call_site;  ///< views of `text` and `offset`
    };
    const LocatedCallSite& location_of(const record::RecordedFrame& frame, const record::RecordingReader& recording);

    SourceLocator locations_;
    /// Locations by path of the object, its build id, and offset.
    std::map<std::tuple<std::string, std::vector<std::uint8_t>, std::uint32_t>, LocatedCallSite> known_;
};

}  // namespace fp32shim::cli
