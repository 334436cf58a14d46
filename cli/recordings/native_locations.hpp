// Finds the locations of calls in compiled code. They are needed for recordings whose setting `where` has the word
// `native`, and for filters by call site.
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
/// without debug information. Keeps all results in memory. Only one thread may use an object.
class NativeLocator {
  public:
    /// Makes the reader of a recording set `where` in rows that have no line of Python, if the recording asks for
    /// native locations. With `with_call_sites`, the reader also sets `call_site`, which filters compare, in rows
    /// whose call site is known. This object must outlive the reader.
    void locate_rows_of(record::RecordingReader& recording, bool with_call_sites);

    /// Returns the functions and the line of a frame in compiled code. The result lives as long as this object.
    const SourceLocation& locate(const record::RecordedFrame& frame, const record::RecordingReader& recording);

  private:
    struct LocatedCallSite {
        std::string where;
        std::string text;
        std::string offset;              ///< name of the program or library, and offset in it
        policy::CallSiteText call_site;  ///< views of `text` and `offset`
    };
    const LocatedCallSite& location_of(const record::RecordedFrame& frame, const record::RecordingReader& recording);

    SourceLocator locations_;
    /// The call sites that were located, by the path and the build id of the program or library, and the offset in
    /// it.
    std::map<std::tuple<std::string, std::vector<std::uint8_t>, std::uint32_t>, LocatedCallSite> known_;
};

}  // namespace fp32shim::cli
