// Addresses in programs and libraries, in the words of those who wrote them: function, file and line.
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

/// A function that runs at an address. Names are bytes of a file, which need not be UTF-8.
struct SourceFrame {
    std::string function;  ///< as its author wrote it, with template arguments, without parameters; empty: not known
    std::string file;      ///< whole path where the compiler was told one; empty: not known
    int line = 0;          ///< line of the call; 0: not known
    bool is_inlined = false;  ///< the function is part of the code of the next frame's
};

/// Functions, file and line of an address, as far as the object's file tells them.
struct SourceLocation {
    std::vector<SourceFrame> frames;  ///< innermost first; empty: no debug information, see `why_unknown`
    std::string symbol;  ///< name that rules on call sites compare (where::function_name); empty: not known
    std::string clone;   ///< name of the compiler's for a split-off part of the function (`.cold`), or empty
    std::uint64_t symbol_offset = 0;  ///< bytes from the begin of the function, or of that part, to the address
    std::string why_unknown;  ///< reason why `frames` is empty, a predicate with the file as subject, or empty
};

/// Returns `libphysics.so!solve_step+0x1c4`, without a known function `libphysics.so+0x31c4`. `path`: the object's;
/// empty: code that was made at run time.
std::string call_site_text(std::string_view path, std::uint64_t offset, const SourceLocation& location);

/// Looks addresses up, and keeps all answers. Each file is opened once. Debug information may be in the file, also
/// compressed or split, or in files of its own beside it or under /usr/lib/debug. The network is never asked.
///
/// Files of others are read in a child process, which this one forks at the first question: a file that crashes the
/// reader, or keeps it for longer than 30 seconds, is asked for the names of its functions only, and then for
/// nothing.
///
/// One thread at a time may use an object. The child allocates and opens a library, so at the first question no other
/// thread may be in dlopen.
class SourceLocations {
  public:
    SourceLocations();
    ~SourceLocations();
    SourceLocations(const SourceLocations&) = delete;
    SourceLocations& operator=(const SourceLocations&) = delete;

    /// Returns the location of a call, by the address to which it returns. `offset`: that address less the object's
    /// `l_addr` (dl_iterate_phdr: `dlpi_addr`); this is the address that nm and objdump print, also of programs that
    /// are not position-independent. An object without a path stands for code that was made at run time. The result
    /// lasts as long as this object. Never throws, but for want of memory.
    const SourceLocation& at(const record::RecordedObject& object, std::uint64_t offset);

    /// Looks many locations of an object up, of which at() then knows the answers: a tenth of the time.
    void look_up(const record::RecordedObject& object, std::span<const std::uint64_t> offsets);

  private:
    struct Worker;
    struct KnownObject;
    KnownObject& known_object(const record::RecordedObject& object);
    std::vector<SourceLocation> ask(KnownObject& object, const std::vector<std::uint64_t>& offsets);

    std::unique_ptr<Worker> worker_;
    std::map<std::pair<std::string, std::vector<std::uint8_t>>, std::unique_ptr<KnownObject>> objects_;
};

}  // namespace fp32shim::cli
