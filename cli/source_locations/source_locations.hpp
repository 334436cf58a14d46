// Finds the function, source file and line for addresses in programs and libraries.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace fp32shim::record {
struct RecordedObject;
}

namespace fp32shim::cli {

class WorkerProcess;

/// A function that runs at an address. Names are bytes of a file and may not be UTF-8.
struct SourceFrame {
    std::string function;     ///< name as its author wrote it, with template arguments and without parameters; empty:
                              ///< unknown
    std::string file;         ///< complete path if the compiler was given one; empty: unknown
    int line = 0;             ///< line of the call; 0: unknown
    bool is_inlined = false;  ///< the function was inlined into the function of the next frame
};

/// Functions, file and line at an address, as far as the object's file contains them.
struct SourceLocation {
    std::vector<SourceFrame> frames;  ///< innermost first; empty without debug information, see `why_unknown`
    std::string symbol;    ///< name of the function, without parameters and template arguments; empty: unknown
    std::string clone;     ///< suffix of the compiler for a split-off part of the function (`.cold`); usually empty
    std::string exported;  ///< name by which the object exports the function; empty: it does not
    std::uint64_t symbol_offset = 0;  ///< bytes from the start of the function, or of its split-off part, to the
                                      ///< address
    std::string why_unknown;  ///< reason why `frames` is empty, as the end of a sentence about the file; empty: none
};

/// Returns `libphysics.so!solve_step+0x1c4`; if the function is unknown, `libphysics.so+0x31c4`. `path` is that of
/// the object; an empty one stands for code generated at run time.
std::string call_site_text(std::string_view path, std::uint64_t offset, const SourceLocation& location);

/// Returns the call site as rules know it: with the function's exported name, `libphysics.so!_Z5solvei+0x1c4`. If the
/// object does not export the function, returns object and offset, `libphysics.so+0x31c4`.
std::string call_site_for_rules(std::string_view path, std::uint64_t offset, const SourceLocation& location);

/// Looks up addresses and keeps all answers. Each file is opened once. Debug information may be in the file, even
/// compressed or split, or in separate files beside it or under /usr/lib/debug. The network is never used. Files may
/// be malicious, so a WorkerProcess reads their symbols and debug information, with its conditions for threads. If a
/// file crashes the child or keeps it busy for more than 30 seconds, only its function names are read; if that fails
/// too, nothing.
class SourceLocator {
  public:
    SourceLocator();
    ~SourceLocator();
    SourceLocator(const SourceLocator&) = delete;
    SourceLocator& operator=(const SourceLocator&) = delete;

    /// Returns the location of a call from its return address. `offset` is that address minus the object's `l_addr`
    /// (dl_iterate_phdr: `dlpi_addr`). This is the address that nm and objdump print, even for programs that are not
    /// position-independent. An object without a path stands for code generated at run time. The result lives as long
    /// as this object. Throws only if there is no memory.
    const SourceLocation& location_of(const record::RecordedObject& object, std::uint64_t offset);

    /// Looks up many locations of an object, so that location_of() then knows the answers. Takes a tenth of the time
    /// of separate calls.
    void look_up_all(const record::RecordedObject& object, std::span<const std::uint64_t> offsets);

  private:
    struct KnownObject;
    KnownObject& known_object(const record::RecordedObject& object);
    std::vector<SourceLocation> ask_worker(KnownObject& object, const std::vector<std::uint64_t>& offsets);

    std::unique_ptr<WorkerProcess> child_;
    std::map<std::pair<std::string, std::vector<std::uint8_t>>, std::unique_ptr<KnownObject>> objects_;
};

}  // namespace fp32shim::cli
