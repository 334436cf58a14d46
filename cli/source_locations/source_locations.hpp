// Finds the function, the source file and the line of addresses in programs and libraries.
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

/// A function that was running at an address. The texts are bytes from a file and may not be valid UTF-8.
struct SourceFrame {
    std::string function;  ///< name as its author wrote it, with template arguments and without parameters; empty if
                           ///< it is unknown
    std::string file;      ///< complete path if the compiler was given one; empty if it is unknown
    int line = 0;          ///< line of the call; 0 if it is unknown
    bool is_inlined = false;  ///< the function was inlined into the function of the next frame
};

/// The functions, the source file and the line at an address, as far as the object's file contains them.
struct SourceLocation {
    std::vector<SourceFrame> frames;  ///< innermost function first; empty if there is no debug information, for the
                                      ///< reason in `why_unknown`
    std::string symbol;  ///< name of the function, without parameters and template arguments; empty if it is unknown
    std::string
        clone;  ///< suffix that the compiler gave to a split-off part of the function, such as `.cold`; usually empty
    std::string exported;  ///< name by which the object exports the function; empty if the object does not export it
    std::uint64_t symbol_offset =
        0;  ///< number of bytes from the start of the function, or of its split-off part, to the address
    std::string why_unknown;  ///< reason, as the end of a sentence about the file, why `frames` is empty; empty if
                              ///< `frames` is not
};

/// Returns a text such as `libphysics.so!solve_step+0x1c4` or, if the function is unknown, `libphysics.so+0x31c4`.
/// `path` is the path of the object, which is empty for code that was generated at run time.
std::string call_site_text(std::string_view path, std::uint64_t offset, const SourceLocation& location);

/// Returns a call site in the form that rules of a policy use, which has the exported name of the function, such as
/// `libphysics.so!_Z5solvei+0x1c4`. If the object does not export the function, returns the object and the offset,
/// such as `libphysics.so+0x31c4`.
std::string call_site_for_rules(std::string_view path, std::uint64_t offset, const SourceLocation& location);

/// Looks up addresses and keeps all answers. Each file is opened once. Debug information may be in the file, even
/// compressed or split, or in separate files beside it or under /usr/lib/debug. The network is never used. Files may
/// be malicious, so a WorkerProcess reads their symbols and debug information; the rules about threads that
/// WorkerProcess has apply here, too. If a file crashes the worker or keeps it busy for more than 30 seconds, only
/// the file's function names are read. If that fails too, nothing is read.
class SourceLocator {
  public:
    SourceLocator();
    ~SourceLocator();
    SourceLocator(const SourceLocator&) = delete;
    SourceLocator& operator=(const SourceLocator&) = delete;

    /// Returns the location of a call. `offset` is the return address of the call minus the object's `l_addr`
    /// (`dlpi_addr` in dl_iterate_phdr). The difference is an address as nm and objdump print it, even for programs
    /// that are not position-independent. An object without a path stands for code that was generated at run time.
    /// The result lives as long as this object. The function throws only if memory runs out.
    const SourceLocation& location_of(const record::RecordedObject& object, std::uint64_t offset);

    /// Looks up many locations of one object, so that location_of() then knows the answers. This takes a tenth of the
    /// time of separate calls.
    void look_up_all(const record::RecordedObject& object, std::span<const std::uint64_t> offsets);

  private:
    struct KnownObject;
    KnownObject& known_object(const record::RecordedObject& object);
    std::vector<SourceLocation> ask_worker(KnownObject& object, const std::vector<std::uint64_t>& offsets);

    std::unique_ptr<WorkerProcess> child_;
    std::map<std::pair<std::string, std::vector<std::uint8_t>>, std::unique_ptr<KnownObject>> objects_;
};

}  // namespace fp32shim::cli
