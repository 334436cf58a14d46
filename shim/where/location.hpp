// The location of a call in its program: the lines of Python that led to the call, and the call site (the object and
// return address) in compiled code. A call without lines of Python can have a stack of compiled functions instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/matmul_call.hpp"
#include "record/events.hpp"
#include "shim/entry/site.hpp"
#include "shim/settings/settings.hpp"
#include "shim/where/native/native_stack.hpp"
#include "shim/where/python/frames.hpp"
#include "shim/where/python/source_file.hpp"

namespace fp32shim::where {

/// Returns a key that identifies the path to the current call: the lines of Python or, if the thread runs no Python,
/// the compiled functions. Returns 0 if `in_force` asks for neither. Thread-safe, takes no lock, does not need the
/// GIL.
std::uint64_t location_key(const Settings& in_force);

/// Combines the key of a row of the recording with the key of a location. A row key of 0 (no key) stays 0.
inline std::uint64_t combined_row_key(std::uint64_t row_key, std::uint64_t location) {
    return row_key == 0 ? 0 : row_key ^ location;
}

/// Memory for the lines and functions of a location. Callers put it on their stack by alloca, and only if the
/// settings ask for lines or functions, because a thread that multiplies in a signal handler may have a small stack.
struct LocationBuffer {
    PythonStack stack;
    NativeStack native;
    char where[512];
    char file[1024];
    char function[512];
};

/// The location of the call that this thread is making. Valid until the call returns.
class CallLocation : public record::CallStack, public policy::PythonStackLines, public policy::SourceLineText {
  public:
    /// The constructor reads no location yet. `buffer` is memory for a LocationBuffer, aligned to 16 bytes. If it is
    /// nullptr, read_location() reads no lines and no functions.
    explicit CallLocation(void* buffer) : buffer_(buffer == nullptr ? nullptr : new (buffer) LocationBuffer) {}
    CallLocation(const CallLocation&) = delete;
    CallLocation& operator=(const CallLocation&) = delete;

    /// Reads the lines of Python if `in_force` asks for them. If there are none, reads the compiled functions if
    /// `in_force` asks for them.
    void read_location(const Site& site, const Settings& in_force) {
        read_location(site, in_force, in_force.reads_python_lines);
    }
    /// Reads the lines of Python if `with_python` is true. If there are none, reads the compiled functions if
    /// `in_force` asks for them.
    void read_location(const Site& site, const Settings& in_force, bool with_python);
    /// Returns the innermost line outside of installed packages and the standard library, such as `train.py:41
    /// Model.forward`. Returns an empty text if that line is unknown.
    std::string_view program_line() const {
        return buffer_ == nullptr ? std::string_view{} : std::string_view(buffer_->where, where_size_);
    }
    /// Returns the text that a policy's rules compare with their condition `where`: program_line(), or the reason
    /// why there is no line of Python. Rules do not see stacks of compiled functions.
    std::string_view program_line_for_rules() const {
        return python_frames() == 0 ? reason_without_frames_ : program_line();
    }
    /// Returns true if the text of any line in the source file of program_line() matches one of `globs`, or if this
    /// file is not known.
    bool source_matches_any(const std::vector<std::string>& globs) const;
    /// Returns the path of the source file of program_line(), stored in `buffer`, or an empty text if there is no
    /// such line.
    std::string_view source_path(std::span<char> buffer) const;
    /// Returns true if the settings ask for lines of Python and the interpreter is known.
    bool has_python_reader() const { return python_ != nullptr; }

  private:
    static std::optional<std::string_view> text_of_line(const SourceLineText& line);
    const SourceFile* chosen_source_file() const;
    static bool any_line(const PythonStackLines& lines, bool (*judge)(void* context, std::string_view line),
                         void* context);
    static bool read_frame(const CallStack& stack, std::size_t index, record::StackFrame& frame);
    static bool read_native_frame(const CallStack& stack, std::size_t index, record::StackFrame& frame);
    std::size_t python_frames() const { return buffer_ == nullptr ? 0 : buffer_->stack.count; }
    bool read_python_frame(std::size_t index, record::StackFrame& frame) const;
    void read_native_callers(std::size_t max_callers);
    record::StackFrame frame_of(const PythonLocation& location) const;
    record::StackFrame frame_in(const LoadedObject& object, std::uintptr_t address) const;
    void choose_program_line();

    const Site* site_;  // read_location() sets `site_` and `in_force_`; nothing reads them earlier
    const Settings* in_force_;
    const PythonReader* python_ = nullptr;
    std::optional<PythonLocation> chosen_line_;  ///< the line that program_line() returns, if there is one
    std::string_view reason_without_frames_;     ///< the reason why there are no lines of Python
    std::size_t where_size_ = 0;
    LocationBuffer* buffer_;
};

/// Returns true if a source file belongs to an installed package, the standard library or the interpreter itself, or
/// if torch.compile wrote it.
bool is_library_file(std::string_view file);

}  // namespace fp32shim::where
