// Defines getenv. If a oneDNN asks for its verbose mode, onednn/copies.cpp answers. If FP32SHIM_XLA_FLAG is set, as
// by `fp32shim run --pin`, an XLA that asks for XLA_FLAGS gets one flag more than the environment has. With this
// flag, products go to cuBLAS, where a floor holds, and not into kernels of Triton.
//
// The environment itself is not changed, for three reasons. XLA ends the program on a flag that it does not know, so
// another XLA, in this process or in a child, must not find the flag there. Other threads may be reading the
// environment. And programs often replace the variable before XLA reads it, which is at XLA's first use.
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "policy/words.hpp"
#include "record/pinned_variables.hpp"
#include "record/process_facts.hpp"
#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/next_definition.hpp"
#include "shim/memory/arena.hpp"
#include "shim/onednn/copies.hpp"
#include "shim/settings/read_settings.hpp"
#include "shim/settings/settings.hpp"
#include "system/inline_text.hpp"
#include "system/line_writer.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {
namespace {

using Getenv = char*(const char*);
constinit NextFunction<Getenv> real_getenv{"getenv"};

// The loader stores this pointer when it relocates this library. Resolvers of indirect functions in other libraries
// may call getenv() earlier, when it can only return nullptr, because this library's own references are not
// relocated.
constexpr char relocation_mark = 0;
const char* volatile relocated = &relocation_mark;
bool is_relocated() { return relocated == &relocation_mark; }

bool is_xla_flags(const char* name) {
    constexpr char wanted[] = "XLA_FLAGS";
    for (std::size_t i = 0; i < sizeof wanted; ++i)
        if (name[i] != wanted[i]) return false;
    return true;
}

constexpr std::string_view blanks = " \t\r\n\v\f";  // characters that separate flags for XLA

/// A text that XLA got: the program's flags and the pinned flag. It is never freed, because XLA may keep the pointer.
struct JoinedFlags {
    const JoinedFlags* next;
    std::string_view text;
};
constinit std::atomic<const JoinedFlags*> given_texts{nullptr};

/// Returns the program's flags `own` followed by the pinned flag; nullptr if there is no memory.
const char* join_flags(std::string_view own, std::string_view pinned) {
    const JoinedFlags* newest = given_texts.load(std::memory_order_acquire);
    for (const JoinedFlags* given = newest; given != nullptr; given = given->next)
        if (given->text.size() == own.size() + 1 + pinned.size() && given->text.starts_with(own) &&
            given->text.ends_with(pinned))
            return given->text.data();
    char* const text = static_cast<char*>(arena_try_allocate(own.size() + pinned.size() + 2));
    if (text == nullptr) return nullptr;
    std::memcpy(text, own.data(), own.size());
    text[own.size()] = ' ';
    std::memcpy(text + own.size() + 1, pinned.data(), pinned.size());
    auto* const given = arena_try_new<JoinedFlags>(newest, std::string_view(text, own.size() + 1 + pinned.size()));
    if (given == nullptr) return nullptr;
    while (!given_texts.compare_exchange_weak(given->next, given, std::memory_order_acq_rel)) continue;
    return text;
}

/// Returns the last of `flags` with this name, such as `--name=false`; empty if there is none.
std::string_view last_flag(std::string_view flags, std::string_view name) {
    std::string_view found;
    while (!flags.empty()) {
        const std::string_view flag = flags.substr(0, flags.find_first_of(blanks));
        flags.remove_prefix(std::min(flag.size() + 1, flags.size()));
        if (flag.substr(0, flag.find('=')) == name) found = flag;
    }
    return found;
}

/// Returns true if `flag` has the value of the flag `pinned`, which has the same name. XLA reads `0`, `False` and
/// `FALSE` as `false`.
bool is_as_pinned(std::string_view flag, std::string_view pinned) {
    const std::size_t name_size = pinned.find('=');
    const std::string_view value = flag.substr(name_size), wanted = pinned.substr(name_size);
    return policy::equal_ignoring_case(value, wanted) || (wanted == "=false" && value == "=0");
}

/// Returns true if `bytes` contain `text` as a whole string between NULs, because the names of other flags may
/// contain it. Calls memmem, because searching hundreds of megabytes byte by byte takes seconds.
bool contains_string(std::string_view bytes, std::string_view text) {
    for (std::size_t at = 0; at < bytes.size();) {
        const void* const found = memmem(bytes.data() + at, bytes.size() - at, text.data(), text.size());
        if (found == nullptr) return false;
        const std::size_t begin = static_cast<const char*>(found) - bytes.data();
        at = begin + text.size();
        const bool begins = begin == 0 || bytes[begin - 1] == '\0';
        if (begins && at < bytes.size() && bytes[at] == '\0') return true;
    }
    return false;
}

/// Notes that XLA reads its flags without the pinned flag. Recordings of this process then no longer say that the
/// pinned flag is in force.
void note_not_pinned() {
    pins_without_effect.fetch_or(record::pin_xla, std::memory_order_relaxed);
    if (record::Recording* const recording = own_recording()) recording->withdraw_pins(record::pin_xla);
}

void warn_not_pinned(std::string_view what, std::string_view pinned) {
    static constinit system::OncePerProcess said;
    if (!said.is_first_call()) return;
    char buffer[512];
    system::LineWriter line(buffer);
    line.text("XLA_FLAGS ").text(what).text(", so --pin does not add ").escaped(pinned, 100);
    line.text(": XLA's products on a GPU may run at TF32, in kernels of Triton");
    system::stderr_line(line.view());
}

/// Returns the answer to the code at `caller`, which asks for XLA_FLAGS. `own` is the value in the environment, or
/// nullptr. `pinned_flag` is the flag to add, such as `--name=false`. If it cannot be added, the answer is `own`.
const char* answer_for_xla_flags(const char* own, const char* pinned_flag, ElfW(Addr) caller) {
    const std::string_view flags = own == nullptr ? std::string_view() : system::view(own);
    const std::string_view pinned = system::view(pinned_flag);
    const std::string_view name = pinned.substr(0, pinned.find('='));
    if (!name.starts_with("--") || name.size() == pinned.size()) return own;
    const link_map* asking = nullptr;
    {
        const elf::ReadGuard reading;
        asking = elf::object_at(caller);
    }
    if (asking == nullptr) return own;
    const std::size_t first = flags.find_first_not_of(blanks);
    if (const std::string_view known = last_flag(flags, name); !known.empty()) {
        if (is_as_pinned(known, pinned)) return own;
        warn_not_pinned("names that flag itself", pinned);
    } else if (!flags.empty() && (first == std::string_view::npos || flags[first] != '-')) {
        warn_not_pinned("names a file", pinned);
    } else if (elf::any_constant_segment(asking,
                                         [&](auto bytes) { return contains_string(bytes, name.substr(2)); })) {
        if (const char* const text = join_flags(flags, pinned)) return text;
    }
    note_not_pinned();
    return own;
}

}  // namespace
}  // namespace fp32shim

extern "C" __attribute__((visibility("default"))) char* getenv(const char* name) noexcept {
    using namespace fp32shim;
    if (!is_relocated()) return nullptr;
    Getenv* const real = real_getenv.get();
    if (real == nullptr) return nullptr;  // impossible, because there would be no C library
    char* const value = real(name);
    const bool may_be_verbose = name[0] == 'O' || name[0] == 'D' || name[0] == 'M';
    if (may_be_verbose && onednn::is_verbose_variable(system::view(name)))
        return const_cast<char*>(onednn::answer_verbose(
            system::view(name), value, real("DNNL_VERBOSE"),
            real("ONEDNN_VERBOSE_LOGFILE") != nullptr || real("DNNL_VERBOSE_LOGFILE") != nullptr,
            reinterpret_cast<ElfW(Addr)>(__builtin_return_address(0)) - 1));
    if (!is_xla_flags(name)) return value;
    const char* const pinned = real("FP32SHIM_XLA_FLAG");
    if (pinned == nullptr || !value_at_start("FP32_MATMUL_DISABLE").empty()) return value;
    const auto caller = reinterpret_cast<ElfW(Addr)>(__builtin_return_address(0)) - 1;
    return const_cast<char*>(answer_for_xla_flags(value, pinned, caller));
}
