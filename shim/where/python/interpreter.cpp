#include "shim/where/python/interpreter.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/loaded_object.hpp"
#include "shim/loader/next_definition.hpp"
#include "shim/loader/provider.hpp"
#include "shim/memory/arena.hpp"
#include "system/inline_text.hpp"
#include "system/is_readable.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim::where {
namespace {

using record::PythonReaderState;

/// The interpreter that search() found; nullptr if none was found yet. Its stacks may not have been examined yet.
constinit std::atomic<const PythonReader*> found_python{nullptr};
constinit std::atomic<const PythonReader*> verified_python{
    nullptr};  ///< the interpreter, once a stack with frames was examined and looks valid
constinit std::atomic<PythonReaderState> state{PythonReaderState::unused};
/// quick_load_generation() at the last search that found no interpreter.
constinit std::atomic<std::uint64_t> searched_at{0};

// The library or program that contains the interpreter. All names are looked up there, since another interpreter may
// be loaded too.
constinit std::atomic<const LoadedObject*> python_library{nullptr};

/// Finds a function or object of the interpreter. Returns nullptr if there is none. Also accepts a definition in the
/// program, because copy relocations move data of a library there. Precondition: `python_library` is set.
void* find_symbol(const char* name) {
    const elf::ReadGuard reading;
    const LoadedObject& library = *python_library.load(std::memory_order_acquire);
    if (!library.loaded.load(std::memory_order_acquire)) return nullptr;
    const FunctionBinding found = find_by_rtld_default(nullptr, name, {});
    const bool is_its_own =
        found.provider == &library || (found.provider != nullptr && found.provider->map == elf::first_object());
    return is_its_own ? found.address : find_symbol_in(library, name);
}

/// Returns the object that contains the interpreter, or nullptr if there is none. Prefers the program's own
/// interpreter to one that was opened later.
const LoadedObject* find_python_library() {
    constexpr const char* name = "PyGILState_GetThisThreadState";
    const elf::ReadGuard reading;
    if (const FunctionBinding found = find_by_rtld_default(nullptr, name, {}); found.address != nullptr)
        return found.provider;
    const link_map* map = elf::object_at(next_definition(name));
    return map == nullptr ? nullptr : loaded_object(map);
}

void stop_reading(PythonReaderState reason, std::string_view why) {
    state.store(reason, std::memory_order_relaxed);
    verified_python.store(nullptr, std::memory_order_release);
    static constinit system::OncePerProcess said;
    if (!said.is_first_call()) return;
    const auto version = reinterpret_cast<const char* (*)()>(find_symbol("Py_GetVersion"));
    const std::string_view text = version == nullptr ? "?" : system::view(version());
    char buffer[512];
    system::LineWriter line(buffer);
    line.text("Python ").escaped(text.substr(0, text.find(' ')), 32).text(": ").text(why);
    line.text("; products are recorded without their lines of Python");
    system::stderr_line(line.view());
}

bool has_stopped_reading() {
    const PythonReaderState now = state.load(std::memory_order_relaxed);
    return now == PythonReaderState::unknown || now == PythonReaderState::differs;
}

bool is_readable(const char* begin, std::size_t size) {
    constexpr std::uintptr_t word = 8;
    const auto address = reinterpret_cast<std::uintptr_t>(begin);
    return system::is_readable(address & ~(word - 1)) && system::is_readable((address + size - 1) & ~(word - 1));
}

/// Searches the loaded objects for the interpreter. Returns nullptr if there is none, or if its version is unknown.
const PythonReader* search() {
    const std::uint64_t stamp = std::max<std::uint64_t>(quick_load_generation(), 1);
    if (searched_at.load(std::memory_order_relaxed) == stamp) return nullptr;
    const LoadedObject* const library = find_python_library();
    if (library == nullptr) {
        searched_at.store(stamp, std::memory_order_relaxed);
        return nullptr;
    }
    python_library.store(library, std::memory_order_release);
    const std::optional<PythonReader> found = PythonReader::find_interpreter(find_symbol, is_readable);
    if (!found) {
        stop_reading(PythonReaderState::unknown, "this version or build is not known");
        return nullptr;
    }
    const PythonReader* first = nullptr;
    const PythonReader* mine = arena_new<PythonReader>(*found);
    return found_python.compare_exchange_strong(first, mine, std::memory_order_acq_rel) ? mine : first;
}

/// Searches for the interpreter, and examines the calling thread's stack. Returns the interpreter if the stack has
/// frames and looks valid, otherwise nullptr.
[[gnu::noinline, gnu::cold]] const PythonReader* find_and_verify() {
    if (has_stopped_reading()) return nullptr;
    const PythonReader* found = found_python.load(std::memory_order_acquire);
    if (found == nullptr) found = search();
    if (found == nullptr) return nullptr;
    switch (found->verify_layout()) {
        case PythonReader::LayoutCheck::no_frames:
            return nullptr;
        case PythonReader::LayoutCheck::unlike:
            stop_reading(PythonReaderState::unknown, "this build stores its frames differently");
            return nullptr;
        case PythonReader::LayoutCheck::as_expected:
            break;
    }
    PythonReaderState unused = PythonReaderState::unused;
    state.compare_exchange_strong(unused, PythonReaderState::unchecked, std::memory_order_relaxed);
    verified_python.store(found, std::memory_order_release);
    return found;
}

/// Python's own functions for reading its stack. `frame` (PyEval_GetFrame) returns a borrowed reference. `code_of`
/// and `caller_of` return new references, which have to be passed to `release`.
struct PythonApi {
    int (*holds_gil)() = nullptr;
    void* (*frame)() = nullptr;
    void* (*code_of)(void* frame) = nullptr;
    int (*line_of)(void* frame) = nullptr;
    void* (*caller_of)(void* frame) = nullptr;
    void (*release)(void* object) = nullptr;

    bool is_complete() const {
        return holds_gil != nullptr && frame != nullptr && code_of != nullptr && line_of != nullptr &&
               caller_of != nullptr && release != nullptr;
    }
};

template <class Function>
void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(find_symbol(name));
}

PythonApi python_api() {
    PythonApi functions;
    find(functions.holds_gil, "PyGILState_Check");
    find(functions.frame, "PyEval_GetFrame");
    find(functions.code_of, "PyFrame_GetCode");
    find(functions.line_of, "PyFrame_GetLineNumber");
    find(functions.caller_of, "PyFrame_GetBack");
    find(functions.release, "Py_DecRef");
    return functions;
}

/// Returns true if `python` and Python's own functions give the same code objects and lines. Precondition: the thread
/// holds the GIL and runs Python.
bool agrees_with_api(const PythonReader& python, const PythonApi& functions) {
    PythonStack stack;
    python.read_stack(stack);
    void* frame = functions.frame();
    bool is_owned = false, is_same = true;
    for (std::size_t i = 0; i < stack.count && is_same; ++i) {
        const std::optional<PythonLocation> location = python.location_of(stack.frames[i]);
        if (!location) continue;
        if (frame == nullptr) return false;
        void* const code = functions.code_of(frame);
        is_same = code == location->code && functions.line_of(frame) == python.line_of(*location);
        functions.release(code);
        void* const caller = functions.caller_of(frame);
        if (is_owned) functions.release(frame);
        frame = caller;
        is_owned = true;
    }
    const bool is_at_end = frame == nullptr || stack.is_cut;
    if (is_owned && frame != nullptr) functions.release(frame);
    return is_same && is_at_end;
}

}  // namespace

const PythonReader* python_reader() {
    const PythonReader* found = verified_python.load(std::memory_order_acquire);
    return found != nullptr ? found : find_and_verify();
}

record::PythonReaderState python_state() { return state.load(std::memory_order_relaxed); }

void check_stack_reader_against_python() {
    static constinit std::atomic<bool> is_compared{false};
    if (is_compared.load(std::memory_order_relaxed)) return;
    const PythonReader* const reader = python_reader();
    if (reader == nullptr) return;
    const PythonApi functions = python_api();
    if (!functions.is_complete() || functions.holds_gil() != 1 || functions.frame() == nullptr) return;
    if (is_compared.exchange(true, std::memory_order_relaxed)) return;
    if (agrees_with_api(*reader, functions))
        state.store(PythonReaderState::checked, std::memory_order_relaxed);
    else
        stop_reading(PythonReaderState::differs, "its own functions report a different line from the one read here");
}

}  // namespace fp32shim::where
