#include "shim/onednn/copies.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "policy/words.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/elf/slots.hpp"
#include "shim/loader/loaded_files.hpp"
#include "shim/loader/provider.hpp"
#include "shim/settings/read_settings.hpp"
#include "shim/settings/settings.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/inline_text.hpp"
#include "system/kept_state.hpp"
#include "system/raw_syscall.hpp"

namespace fp32shim::onednn {
namespace {

using record::format::object_is_silent;
using record::format::object_tells;

constexpr std::size_t max_copies = 16;
constinit OneDnnCopy copies[max_copies]{};
constinit std::atomic<std::size_t> copy_count{0};
constinit system::ForkSafeLock copies_lock;

// ---- The value of ONEDNN_VERBOSE

/// The lines for which a value of ONEDNN_VERBOSE asks.
struct VerboseLines {
    bool executions = false;  ///< lines about executions of all primitives
    bool others = false;      ///< any lines that are not about errors
    bool errors = true;
};

VerboseLines wish_of(std::string_view value) {
    constexpr std::string_view with_executions[] = {"1", "2", "-1", "all", "profile", "profile_exec"};
    VerboseLines wish;
    bool is_filtered = false;
    while (!value.empty()) {
        const std::string_view word = value.substr(0, value.find(','));
        value.remove_prefix(word.size() < value.size() ? word.size() + 1 : word.size());
        if (policy::equal_ignoring_case(word, "0") || policy::equal_ignoring_case(word, "none")) {
            wish = {.errors = false};
            continue;
        }
        wish.errors = true;
        wish.others = wish.others || !policy::equal_ignoring_case(word, "error");
        for (const std::string_view known : with_executions)
            wish.executions = wish.executions || policy::equal_ignoring_case(word, known);
        is_filtered = is_filtered || (word.size() >= 7 && policy::equal_ignoring_case(word.substr(0, 7), "filter="));
    }
    wish.executions = wish.executions && !is_filtered;
    return wish;
}

// ---- The object that contains oneDNN

bool contains_one_of(const link_map* map, std::initializer_list<std::string_view> texts) {
    return elf::any_constant_segment(map, [&](std::string_view bytes) {
        return std::ranges::any_of(texts, [&](std::string_view text) {
            return memmem(bytes.data(), bytes.size(), text.data(), text.size()) != nullptr;
        });
    });
}

/// Returns true if the object contains the beginning of a line that oneDNN prints. An object without oneDNN may ask
/// for ONEDNN_VERBOSE too: an interpreter asks for its script, and some libraries ask for a oneDNN in another object.
bool contains_onednn(const link_map* map) { return contains_one_of(map, {"dnn_verbose", "dnnl_verbose"}); }

/// Returns true if the code at `caller` is MKL-DNN before 1.1, which knows only the variable MKLDNN_VERBOSE. torch
/// contains a later version, but asks for this variable too, and copies the answer into the environment, which child
/// processes inherit. So torch must not be told that the verbose mode is on.
bool is_mkldnn_at(std::uintptr_t caller) {
    const system::ErrnoAndFloatGuard kept;
    const elf::ReadGuard reading;
    const link_map* const map = elf::object_at(caller);
    return map != nullptr && !contains_one_of(map, {"onednn_verbose", "dnnl_verbose"}) && contains_onednn(map);
}

/// Returns false if OpenCL certainly finds no device. Its loader looks for drivers in /etc/OpenCL/vendors, or where
/// one of these variables says.
bool may_have_opencl_device() {
    for (const char* name : {"OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", "OPENCL_VENDOR_PATH"})
        if (std::getenv(name) != nullptr) return true;
    return system::raw::syscall6(SYS_faccessat, AT_FDCWD, "/etc/OpenCL/vendors", F_OK) != -ENOENT;
}

/// Returns true if products of this oneDNN may run on a GPU. With its verbose mode on, oneDNN waits for each product
/// on a GPU, so the shim does not switch the mode on then.
bool may_use_gpu(const LoadedObject& object) {
    bool is_found = false;
    visit_needed_libraries(object, [&](const LoadedObject& needed) {
        is_found = needed.name.starts_with("libsycl.") || needed.name.starts_with("libze_loader.") ||
                   (needed.name.starts_with("libOpenCL.") && may_have_opencl_device());
        return is_found;
    });
    return is_found;
}

void set_addresses(OneDnnCopy& copy, const link_map* map) {
    std::uintptr_t begin = UINTPTR_MAX, end = 0;
    for (const ElfW(Phdr) & segment : elf::program_headers(map)) {
        if (segment.p_type != PT_LOAD) continue;
        begin = std::min<std::uintptr_t>(begin, map->l_addr + segment.p_vaddr);
        end = std::max<std::uintptr_t>(end, map->l_addr + segment.p_vaddr + segment.p_memsz);
    }
    copy.begin.store(begin, std::memory_order_relaxed);
    copy.end.store(end, std::memory_order_relaxed);
}

/// Replaces the functions by which the object prints by the shim's functions. Returns false if the object does not
/// print by them, if they are not the C library's (another preloaded library may have printf), or if a reference
/// cannot be changed.
bool replace_printing(const LoadedObject& loaded) {
    const link_map* const map = loaded.map;
    const elf::ObjectTables object = elf::read_object_tables(map);
    const LoadedObject* const library =
        find_by_rtld_default(&loaded, "vprintf", {}).provider;  // the shim's replacements call vprintf
    for (const PrintReplacement& replacement : replacements)
        if (find_by_rtld_default(&loaded, replacement.name, {}).provider != library) return false;
    bool prints = false, is_changed = true;
    elf::for_each_reference(object, [&](std::uint32_t symbol, const ElfW(Rela) & relocation) {
        const std::string_view name = system::view(object.strings + object.symbols[symbol].st_name);
        for (const PrintReplacement& replacement : replacements) {
            if (!system::equal(name, replacement.name)) continue;
            prints = prints || replacement.prints;
            is_changed = elf::change_slot(map, object.base + relocation.r_offset,
                                          reinterpret_cast<ElfW(Addr)>(replacement.function)) &&
                         is_changed;
        }
    });
    return prints && is_changed;
}

OneDnnCopy* find_copy(const LoadedObject* object) {
    const std::size_t count = copy_count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i)
        if (&copies[i].object() == object) return &copies[i];
    return nullptr;
}

/// Returns the copy of oneDNN in an object. From then on, the functions of printing.cpp get the lines that this copy
/// prints. Returns nullptr if the settings do not ask for executions, or if the shim cannot get the lines. An
/// elf::ReadGuard must be held.
OneDnnCopy* prepare_copy(const link_map* map) {
    LoadedObject* const object = loaded_object(map);
    const system::HeldLock held(copies_lock);
    if (!held) {
        note_findings(*object, object_is_silent);
        return nullptr;
    }
    const std::uint32_t loads = object->loads.load(std::memory_order_acquire);
    OneDnnCopy* copy = find_copy(object);
    if (copy != nullptr && copy->loads == loads) return copy;
    if (copy == nullptr && (object->onednn.load(std::memory_order_relaxed) & object_is_silent) != 0) return nullptr;
    const Settings* const in_force = known_settings();
    const bool is_asked = in_force != nullptr && in_force->asks_onednn;
    if (is_asked && !contains_onednn(map)) return nullptr;
    const std::size_t count = copy_count.load(std::memory_order_relaxed);
    if (copy == nullptr && count < max_copies) copy = &copies[count];
    // The program may switch on the verbose mode of a oneDNN inside itself by a call that the shim does not see. Then
    // the program would miss its lines, so the lines of the program's own object are left alone.
    const bool can_tell = copy != nullptr && is_asked && map != elf::first_object() && !may_use_gpu(*object) &&
                          replace_printing(*object);
    note_findings(*object, can_tell ? object_tells : object_is_silent);
    if (!can_tell) return nullptr;
    copy->loads = loads;
    set_addresses(*copy, map);
    copy->is_set.store(false, std::memory_order_relaxed);
    copy->shows.store(false, std::memory_order_relaxed);
    copy->shows_errors.store(false, std::memory_order_relaxed);
    copy->head_size.store(0, std::memory_order_relaxed);
    if (copy == &copies[count]) {
        copy->site.provider = object;
        copy->site.number = (count + 1) * site_number_step;
        copy_count.store(count + 1, std::memory_order_release);
    }
    return copy;
}

/// Returns true if the object calls the dnnl_set_verbose of another object. That call reaches the shim, too.
bool calls_set_verbose(const link_map* map) {
    const elf::ObjectTables object = elf::read_object_tables(map);
    bool calls = false;
    elf::for_each_undefined_symbol(object, [&](std::uint32_t symbol) {
        calls =
            calls || system::equal(system::view(object.strings + object.symbols[symbol].st_name), "dnnl_set_verbose");
    });
    return calls;
}

/// Returns true if the settings ask for executions of oneDNN. If no thread has read the settings yet, reads them only
/// if FP32_MATMUL_ONEDNN may ask for executions.
bool asks_for_executions() {
    const Settings* const in_force = settings_if_wanted("FP32_MATMUL_ONEDNN");
    return in_force != nullptr && in_force->asks_onednn;
}

/// Calls prepare_copy() for the object that contains `address` and returns its result. `sets` must be true if
/// `address` is that of a function dnnl_set_verbose. If that function's object calls the dnnl_set_verbose of another
/// object, returns nullptr, because the shim will handle that call.
OneDnnCopy* prepare_at(std::uintptr_t address, bool sets) {
    const system::ErrnoAndFloatGuard kept;
    asks_for_executions();  // reads the settings before the list of loaded objects is locked
    const elf::ReadGuard reading;
    const link_map* const map = elf::object_at(address);
    return map == nullptr || (sets && calls_set_verbose(map)) ? nullptr : prepare_copy(map);
}

/// The functions dnnl_set_verbose that the program has looked up in libraries. Instead of looked_up[i], the program
/// gets setters[i].
constinit std::atomic<SetVerbose*> looked_up[max_copies]{};
template <std::size_t... indices>
constexpr std::array<SetVerbose*, sizeof...(indices)> setters_of(std::index_sequence<indices...> /*unused*/) {
    return {[](int level) { return set_verbose(looked_up[indices].load(std::memory_order_relaxed), level); }...};
}
constexpr auto setters = setters_of(std::make_index_sequence<max_copies>());

}  // namespace

void note_findings(LoadedObject& object, std::uint8_t findings) {
    object.onednn.fetch_or(findings, std::memory_order_relaxed);
    record::Recording* const recording = own_recording();
    record::LoadedFileList* const objects = recording == nullptr ? nullptr : recording->objects();
    if (objects != nullptr) record_loaded_file(*objects, object.map);
}

OneDnnCopy* copy_at(std::uintptr_t address) {
    const std::size_t count = copy_count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
        OneDnnCopy& copy = copies[i];
        if (address >= copy.begin.load(std::memory_order_relaxed) &&
            address < copy.end.load(std::memory_order_relaxed) &&
            copy.object().loaded.load(std::memory_order_acquire))
            return &copy;
    }
    return nullptr;
}

bool is_verbose_variable(std::string_view name) {
    return system::equal(name, "ONEDNN_VERBOSE") || system::equal(name, "DNNL_VERBOSE") ||
           system::equal(name, "MKLDNN_VERBOSE");
}

const char* answer_verbose(std::string_view name, const char* own, const char* other, bool has_log_file,
                           std::uintptr_t caller) {
    // torch also asks for MKLDNN_VERBOSE. The file of torch is searched for lines of oneDNN only if the settings ask
    // for executions.
    if (system::equal(name, "MKLDNN_VERBOSE") && (!asks_for_executions() || !is_mkldnn_at(caller))) return own;
    if (has_log_file) {
        const system::ErrnoAndFloatGuard kept;
        const elf::ReadGuard reading;
        const link_map* const map = elf::object_at(caller);
        if (map != nullptr) note_findings(*loaded_object(map), object_is_silent);
        return own;
    }
    OneDnnCopy* const copy = prepare_at(caller, false);
    if (copy == nullptr) return own;
    const char* const value = own != nullptr && *own != '\0' ? own : other;
    const VerboseLines wish = value == nullptr ? VerboseLines{} : wish_of(system::view(value));
    // Several threads may ask for the variable at the same time; they get the same answer.
    if (!copy->is_set.load(std::memory_order_relaxed)) {
        copy->shows_errors.store(wish.errors, std::memory_order_relaxed);
        copy->shows.store(wish.others, std::memory_order_relaxed);
    }
    if (!wish.others) return "1";
    if (!wish.executions) {
        const elf::ReadGuard reading;
        note_findings(copy->object(), object_is_silent);
    }
    return own;
}

int set_verbose(SetVerbose* set, int level) {
    constexpr int most = 2;
    OneDnnCopy* const copy =
        level < 0 || level > most ? nullptr : prepare_at(reinterpret_cast<std::uintptr_t>(set), true);
    if (copy == nullptr) return set(level);
    copy->is_set.store(true, std::memory_order_relaxed);
    copy->shows.store(level > 0, std::memory_order_relaxed);
    copy->shows_errors.store(level > 0, std::memory_order_relaxed);
    return set(level > 0 ? level : 1);
}

SetVerbose* wrap_setter(SetVerbose* found) {
    {
        const system::ErrnoAndFloatGuard kept;
        if (!asks_for_executions()) return found;
    }
    for (std::size_t i = 0; i < max_copies; ++i) {
        SetVerbose* known = nullptr;
        if (looked_up[i].compare_exchange_strong(known, found, std::memory_order_relaxed) || known == found)
            return setters[i];
    }
    return found;
}

}  // namespace fp32shim::onednn
