// The places of calls in compiled code, for recordings that were asked for them (`where` has `native`).
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/source_places/source_places.hpp"
#include "record/read/reader.hpp"

namespace fp32shim::cli {

/// A function that runs at a place in compiled code. Names are bytes of a file, which need not be UTF-8.
struct NativeLevel {
    std::string function;  ///< as its author wrote it, or `libphysics.so!solve_step+0x1c4` where there is no line
    std::string file;      ///< whole path of the source file; empty: not known
    int line = 0;          ///< line of the call; 0: not known
};

/// Puts the calling places of rows into words: `solve.cpp:120 solve_step`, or without debug information
/// `libphysics.so!solve_step+0x1c4`. Keeps all answers. For one thread.
class NativePlaces {
  public:
    /// Has the rows of a recording name their calling places, where it was asked for native ones and the row has no
    /// line of Python. This object must outlive the reader.
    void name_rows_of(record::RecordingReader& recording);

    /// Returns the functions that run at each of some places in compiled code, outermost first: more than one where
    /// functions are inlined. Each result has a level at least. Places of one object are looked up together.
    std::vector<std::vector<NativeLevel>> levels_of(std::span<const record::RecordedFrame> frames,
                                                    const record::RecordingReader& recording);

  private:
    const std::string& text_of(const record::RecordedFrame& frame, const record::RecordingReader& recording);

    SourcePlaces places_;
    std::map<std::pair<std::string, std::uint32_t>, std::string> texts_;  ///< by object and offset
};

}  // namespace fp32shim::cli
