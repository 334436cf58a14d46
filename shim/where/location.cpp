#include "shim/where/location.hpp"

#include <algorithm>
#include <iterator>

#include "policy/conditions.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/loaded_object.hpp"
#include "shim/thread/thread_context.hpp"
#include "shim/where/python/interpreter.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::where {
namespace {

constexpr std::string_view no_frames = "(thread without Python frames)";
constexpr std::string_view shutting_down = "(Python is shutting down)";
constexpr std::string_view outer_frames = "(outer frames left out)";
constexpr std::string_view unknown_frames = "(outer frames not known)";
constexpr std::string_view generated_code = "(code made at run time)";

UnwindCache* unwind_cache() { return thread_part<UnwindCache>(ThreadPart::unwind_cache); }

/// Returns true for a file that torch.compile wrote into its cache, such as `hl/chlhgf….py`: the file's name has 52
/// characters, and its folder is named after the second and third of these characters.
bool is_compiled_by_torch(std::string_view file) {
    constexpr std::size_t size = 52 + 3, folder = 3;
    if (file.size() < folder + size || !file.ends_with(".py")) return false;
    const std::string_view name = file.substr(file.size() - size),
                           above = file.substr(file.size() - size - folder, folder);
    return name[0] == 'c' && above[0] == name[1] && above[1] == name[2] && above[2] == '/' &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz234567") == 52;
}

}  // namespace

std::uint64_t location_key(const Settings& in_force) {
    std::uint64_t key = 0;
    if (in_force.reads_python_lines) {
        const PythonReader* const reader = python_reader();
        if (reader != nullptr) key = reader->stack_key();
    }
    if (in_force.native_frames == 0 || key > PythonReader::key_at_shut_down) return key;
    NativeStack stack;
    read_native_stack(in_force.native_frames, unwind_cache(), stack);
    return stack.key;
}

void CallLocation::read_location(const Site& site, const Settings& in_force, bool with_python) {
    site_ = &site;
    in_force_ = &in_force;
    read = read_frame;
    any = any_line;
    read_text = text_of_line;
    size = site.caller != nullptr ? 1 : 0;
    if (with_python && buffer_ != nullptr) python_ = python_reader();
    if (python_ != nullptr) {
        reason_without_frames_ = python_->is_shutting_down() ? shutting_down : no_frames;
        python_->read_stack(buffer_->stack);
    }
    if (python_frames() == 0 && in_force.native_frames != 0 && buffer_ != nullptr)
        return read_native_callers(in_force.native_frames);
    if (python_ != nullptr) {
        size += std::max<std::size_t>(buffer_->stack.count, 1) + (buffer_->stack.is_cut ? 1 : 0);
        choose_program_line();
    }
}

void CallLocation::choose_program_line() {
    chosen_line_.reset();
    bool is_of_string = false;
    for (std::size_t i = 0; i < buffer_->stack.count; ++i) {
        const std::optional<PythonLocation> location = python_->location_of(buffer_->stack.frames[i]);
        if (!location) continue;
        if (!chosen_line_) chosen_line_ = location;  // stays chosen if all frames belong to installed packages
        const std::string_view file = python_->file_of(*location, buffer_->file);
        if (is_library_file(file)) continue;
        // Code whose file is called `<string>` may be the program of `python -c`, but is often code that a package
        // has generated. So the line of a real file is preferred.
        const bool is_string = system::equal(file, "<string>");
        if (!is_string || !is_of_string) chosen_line_ = location;
        if (!is_string) break;
        is_of_string = true;
    }
    record::StackFrame frame;
    if (chosen_line_)
        frame = frame_of(*chosen_line_);
    else
        frame.function = reason_without_frames_;
    where_size_ = record::frame_text(frame, buffer_->where).size();
}

const SourceFile* CallLocation::chosen_source_file() const {
    return chosen_line_ ? source_file(python_->file_of(*chosen_line_, buffer_->file)) : nullptr;
}

std::optional<std::string_view> CallLocation::text_of_line(const SourceLineText& line) {
    const auto& self = static_cast<const CallLocation&>(line);
    const SourceFile* const file = self.chosen_source_file();
    return file == nullptr ? std::nullopt : file->line(self.python_->line_of(*self.chosen_line_));
}

bool CallLocation::source_matches_any(const std::vector<std::string>& globs) const {
    const SourceFile* const file = chosen_source_file();
    if (file == nullptr) return true;
    for (int number = 1; const auto text = file->line(number); ++number)
        if (policy::matches_any_glob(globs, *text)) return true;
    return false;
}

std::string_view CallLocation::source_path(std::span<char> buffer) const {
    return chosen_line_ ? python_->file_of(*chosen_line_, buffer) : std::string_view{};
}

/// Calls `judge` with each line of Python, outermost first, until it returns true. Returns true if it did.
bool CallLocation::any_line(const PythonStackLines& lines, bool (*judge)(void* context, std::string_view line),
                            void* context) {
    const auto& self = static_cast<const CallLocation&>(lines);
    if (self.read == read_native_frame) return self.python_ != nullptr && judge(context, self.reason_without_frames_);
    char words[512];
    for (std::size_t index = 0; index < self.size; ++index) {
        record::StackFrame frame;
        if (!read_frame(self, index, frame)) continue;
        const std::string_view line = record::frame_text(frame, words);
        if (!line.empty() && judge(context, line)) return true;
    }
    return false;
}

/// Reads frame number `index` of the stack, counted from the outermost frame. The lines of Python come first. The
/// last frame is the call site in compiled code.
bool CallLocation::read_frame(const CallStack& stack, std::size_t index, record::StackFrame& frame) {
    const auto& self = static_cast<const CallLocation&>(stack);
    const bool has_caller = self.site_->caller != nullptr;
    if (!has_caller || index + 1 < self.size) return self.read_python_frame(index, frame);
    const LoadedObject& caller = *self.site_->caller;
    // A shared call site stands for several callers in one object, so only their object is known.
    const bool is_known = !is_shared_site(*self.site_);
    frame = self.frame_in(caller,
                          is_known ? self.site_->kept_return_address.load(std::memory_order_relaxed) : caller.base);
    return true;
}

/// Reads at most `max_callers` compiled functions of the stack, from the caller of the BLAS function outwards.
void CallLocation::read_native_callers(std::size_t max_callers) {
    read_native_stack(max_callers, unwind_cache(), buffer_->native);
    read = read_native_frame;
    size = buffer_->native.count + (buffer_->native.end == NativeStack::StackEnd::outermost ? 0 : 1);
}

/// Reads frame number `index` of the stack, counted from the outermost frame. If the stack is incomplete, the first
/// frame only tells the reason. All other frames are locations in programs and libraries.
bool CallLocation::read_native_frame(const CallStack& stack, std::size_t index, record::StackFrame& frame) {
    const auto& self = static_cast<const CallLocation&>(stack);
    const std::size_t from_innermost = self.size - 1 - index;
    frame = {};
    if (from_innermost == self.buffer_->native.count) {
        frame.function = self.buffer_->native.end == NativeStack::StackEnd::cut              ? outer_frames
                         : self.buffer_->native.end == NativeStack::StackEnd::generated_code ? generated_code
                                                                                             : unknown_frames;
        return true;
    }
    const std::uintptr_t address = self.buffer_->native.addresses[from_innermost];
    const elf::ReadGuard reading;
    const LoadedObject* const object = object_containing(address - 1);
    if (object == nullptr) return false;
    frame = self.frame_in(*object, address);
    return true;
}

record::StackFrame CallLocation::frame_in(const LoadedObject& object, std::uintptr_t address) const {
    const std::string_view path = system::view(object.map->l_name);
    return {.file = path.empty() ? std::string_view(in_force_->facts.executable) : path,
            .function = {},
            .line = 0,
            .offset = static_cast<std::uint32_t>(address - object.base)};
}

bool CallLocation::read_python_frame(std::size_t index, record::StackFrame& frame) const {
    if (buffer_->stack.count == 0 || (buffer_->stack.is_cut && index == 0)) {
        frame = {};
        frame.function = buffer_->stack.count == 0 ? reason_without_frames_ : outer_frames;
        return true;
    }
    const std::size_t from_outermost = index - (buffer_->stack.is_cut ? 1 : 0);
    const std::optional<PythonLocation> found =
        python_->location_of(buffer_->stack.frames[buffer_->stack.count - 1 - from_outermost]);
    if (!found) return false;
    frame = frame_of(*found);
    return true;
}

record::StackFrame CallLocation::frame_of(const PythonLocation& location) const {
    return {.file = python_->file_of(location, buffer_->file),
            .function = python_->function_of(location, buffer_->function),
            .line = static_cast<std::uint32_t>(python_->line_of(location)),
            .offset = 0};
}

bool is_library_file(std::string_view file) {
    constexpr std::string_view folders[] = {"/site-packages/", "/dist-packages/", "/lib/python3.", "/lib64/python3."};
    constexpr std::string_view made_up[] = {"<frozen ", "<__array_function__ internals>", "<attrs generated",
                                            "<eval_with_key>"};
    const auto contains = [&](std::string_view part) { return file.find(part) != std::string_view::npos; };
    const auto begins = [&](std::string_view part) { return file.starts_with(part); };
    return std::any_of(std::begin(folders), std::end(folders), contains) ||
           std::any_of(std::begin(made_up), std::end(made_up), begins) || is_compiled_by_torch(file);
}

}  // namespace fp32shim::where
