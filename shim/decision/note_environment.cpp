// Writes the environment of a process into its recording: processor, Python, torch, the libraries that multiply,
// devices.
#include "shim/decision/record_call.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#if defined(__x86_64__)
#include <cpuid.h>
#else
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string_view>

#include "record/write/writer.hpp"
#include "shim/children/child_watch.hpp"
#include "shim/loader/elf/objects.hpp"
#include "shim/loader/elf/readers.hpp"
#include "shim/loader/provider.hpp"
#include "system/cpu_features.hpp"
#include "system/fork_safe_lock.hpp"
#include "system/inline_text.hpp"
#include "system/line_writer.hpp"
#include "system/raw_file.hpp"
#include "system/raw_syscall.hpp"
#include "system/small_files.hpp"

namespace fp32shim {
namespace {

using record::EnvironmentFact;
using record::EnvironmentFactList;
using Buffer = char[512];

// ---- the machine and the program ---------------------------------------------------------------------------------

/// Returns the beginning of a file, or an empty text if the file cannot be read.
std::string_view beginning_of(const char* path, Buffer& buffer) {
    return {buffer, system::RawFile(path).read(0, buffer, sizeof buffer)};
}

std::string_view trimmed(std::string_view text) { return system::trimmed(text, {" \t\n\0", 4}); }

/// Returns the text between `before` and `after`, or an empty text if `before` does not occur.
std::string_view text_between(std::string_view text, std::string_view before, std::string_view after) {
    const std::size_t begin = text.find(before);
    if (begin == std::string_view::npos) return {};
    text.remove_prefix(begin + before.size());
    return text.substr(0, text.find(after));
}

std::string_view processor_name(Buffer& buffer) {
#if defined(__x86_64__)
    // CPUID gives the processor's name, which /proc/cpuinfo shows too.
    std::uint32_t registers[12] = {};
    for (unsigned i = 0; i < 3; ++i) {
        std::uint32_t* const part = registers + std::size_t{4} * i;
        if (__get_cpuid(0x80000002 + i, part, part + 1, part + 2, part + 3) == 0) return {};
    }
    std::memcpy(buffer, registers, sizeof registers);
    return trimmed({buffer, sizeof registers});
#else
    // The register MIDR_EL1 tells the design: 0x00000000410fd0c0 is a Cortex-A76.
    return trimmed(beginning_of("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", buffer));
#endif
}

void note_number(EnvironmentFactList& list, EnvironmentFact fact, std::string_view subject, std::int64_t number) {
    char buffer[24];
    system::LineWriter text(buffer);
    list.add_fact(fact, subject, text.number(number).view());
}

/// Returns the newest vector extension of this processor for which BLAS libraries have kernels.
std::string_view instructions() {
#if defined(__x86_64__)
    using system::CpuFeature;
    if (system::processor_has(CpuFeature::avx512_bf16)) return "AVX512_BF16";
    if (system::processor_has(CpuFeature::avx512f)) return "AVX512";
    if (system::processor_has(CpuFeature::avx2)) return "AVX2";
    return system::processor_has(CpuFeature::avx) ? "AVX" : "SSE2";
#else
    return (getauxval(AT_HWCAP) & HWCAP_SVE) != 0 ? "SVE" : "NEON";
#endif
}

[[gnu::noinline]] void note_machine(EnvironmentFactList& list) {
    Buffer buffer;
    list.add_fact(EnvironmentFact::processor, {}, processor_name(buffer));
    list.add_fact(EnvironmentFact::instructions, {}, instructions());
    std::uint64_t allowed[sizeof buffer / sizeof(std::uint64_t)] = {};  // enough bits for 4096 processors
    if (system::raw::syscall6(SYS_sched_getaffinity, 0, sizeof allowed, allowed) <= 0) return;
    std::int64_t count = 0;
    for (const std::uint64_t word : allowed) count += __builtin_popcountll(word);
    note_number(list, EnvironmentFact::cpus, {}, count);
}

/// Returns true if the shim itself computes all products on the CPU.
bool computes_cpu_products(const policy::Policy& policy) { return policy.cpu_mode == policy::CpuMode::reproducible; }

constexpr std::string_view own_name = "fp32shim";

/// Records the version of torch, whose library has this path. The version is in `torch/version.py` beside the
/// library's folder, or in the name of the file, as in Debian's package.
[[gnu::noinline]] void note_torch(EnvironmentFactList& list, std::string_view path) {
    const std::string_view in_name = text_between(path, "libtorch_cpu.so.", "/");
    if (!in_name.empty()) return list.add_fact(EnvironmentFact::torch, {}, in_name);
    char file[400];
    system::LineWriter name(file);
    name.text(path.substr(0, path.rfind('/'))).text("/../version.py").text(std::string_view("\0", 1));
    if (name.view().size() >= sizeof file - 1) return;
    Buffer buffer;
    list.add_fact(EnvironmentFact::torch, {}, text_between(beginning_of(file, buffer), "__version__ = '", "'"));
}

/// Records the versions of Python and torch, if they are loaded.
[[gnu::noinline]] void note_frameworks(EnvironmentFactList& list) {
    ForeignFunction<const char*()> python_version;
    char torch[400] = "";
    {
        const elf::ReadGuard reading;
        python_version = ForeignFunction<const char*()>(find_by_rtld_default(nullptr, "Py_GetVersion", {}).address);
        for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next) {
            const std::string_view path = system::view(map->l_name);
            if (elf::name_of(map).starts_with("libtorch_cpu.so") && path.size() < sizeof torch)
                std::copy(path.begin(), path.end(), torch);
        }
    }
    if (python_version != nullptr) {
        const std::string_view text = system::view(python_version());
        list.add_fact(EnvironmentFact::python, {}, text.substr(0, text.find(' ')));
    }
    if (torch[0] != 0) note_torch(list, torch);
}

// ---- libraries ---------------------------------------------------------------------------------------------------

/// The structure MKLVersion of mkl_types.h.
struct MklVersion {
    std::int32_t numbers[3];
    const char *status, *build, *processor, *platform;
};

/// The functions by which a library tells its name, version, kernel and number of threads. Functions that the library
/// lacks are nullptr.
struct IdentityFunctions {
    ForeignFunction<const char*()> openblas_config;
    ForeignFunction<const char*()> openblas_kernel;
    ForeignFunction<const char*()> blis_version;
    ForeignFunction<std::int32_t()> blis_kernel;
    ForeignFunction<const char*(std::int32_t)> blis_kernel_name;
    ForeignFunction<void(char*, std::int32_t)> mkl_version;
    ForeignFunction<void(MklVersion*)> mkl_kernel;
    ForeignFunction<std::int32_t(std::int32_t which, std::int32_t* value)> cublas_property;
    ForeignFunction<std::size_t()> cublas_lt_version;
    ForeignFunction<std::int64_t()> blis_threads;
    ForeignFunction<std::int32_t()> threads;

    bool is_known() const {
        return openblas_config != nullptr || blis_version != nullptr || mkl_version != nullptr ||
               cublas_property != nullptr || cublas_lt_version != nullptr;
    }
};

/// Looks for a function of OpenBLAS under the names that builds give it, such as `scipy_openblas_get_config64_`.
template <class Signature>
void find_openblas(const LoadedObject& object, std::string_view name, ForeignFunction<Signature>& function) {
    for (const std::string_view prefix : {"", "scipy_"}) {
        for (const std::string_view suffix : {"", "64_", "_64"}) {
            char buffer[64];
            system::LineWriter full(buffer);
            if (function == nullptr)
                find_symbol_in(object, full.text(prefix).text(name).text(suffix).view(), function);
        }
    }
}

/// Returns the functions by which a library identifies itself. Precondition: an elf::ReadGuard is held.
IdentityFunctions find_identity_functions(const LoadedObject& object) {
    IdentityFunctions found;
    find_openblas(object, "openblas_get_config", found.openblas_config);
    if (found.openblas_config != nullptr) {
        find_openblas(object, "openblas_get_corename", found.openblas_kernel);
        find_openblas(object, "openblas_get_num_threads", found.threads);
        return found;
    }
    find_symbol_in(object, "bli_info_get_version_str", found.blis_version);
    find_symbol_in(object, "bli_arch_query_id", found.blis_kernel);
    find_symbol_in(object, "bli_arch_string", found.blis_kernel_name);
    find_symbol_in(object, "bli_thread_get_num_threads", found.blis_threads);
    find_symbol_in(object, "MKL_Get_Version_String", found.mkl_version);
    find_symbol_in(object, "MKL_Get_Version", found.mkl_kernel);
    if (found.mkl_version != nullptr) find_symbol_in(object, "MKL_Get_Max_Threads", found.threads);
    find_symbol_in(object, "cublasGetProperty", found.cublas_property);
    find_symbol_in(object, "cublasLtGetVersion", found.cublas_lt_version);
    return found;
}

/// Returns the functions by which a library identifies itself. If it has none, returns those of a library that it
/// needs: Debian's libblas.so.3 calls libopenblas.so.0.
IdentityFunctions find_identity_functions_with_needed(const LoadedObject& library) {
    IdentityFunctions found = find_identity_functions(library);
    if (found.is_known()) return found;
    visit_needed_libraries(library, [&](const LoadedObject& needed) {
        const IdentityFunctions other = find_identity_functions(needed);
        if (other.is_known()) found = other;
        return other.is_known();
    });
    return found;
}

/// Records the path of a library's file, with links resolved.
[[gnu::noinline]] void note_file(EnvironmentFactList& list, const LoadedObject& library) {
    const char* const path = library.map->l_name[0] == 0 ? "/proc/self/exe" : library.map->l_name;
    const int descriptor = system::raw::open(path, O_PATH | O_CLOEXEC);
    if (descriptor < 0) return list.add_fact(EnvironmentFact::file, library.name, system::view(path));
    char link[40];
    system::LineWriter name(link);
    name.text("/proc/self/fd/").number(descriptor).text(std::string_view("\0", 1));
    Buffer buffer;
    const long size = system::raw::readlink(link, buffer, sizeof buffer);
    system::raw::close(descriptor);
    list.add_fact(EnvironmentFact::file, library.name,
                  size > 0 ? std::string_view(buffer, static_cast<std::size_t>(size)) : system::view(path));
}

/// Returns `0.3.21` of `OpenBLAS 0.3.21 NO_LAPACKE …`, and `2024.2` of `… Version 2024.2-Product Build …`.
std::string_view first_word(std::string_view text) { return text.substr(0, text.find_first_of(" -")); }

std::string_view text_or_empty(const char* text) { return text == nullptr ? std::string_view{} : system::view(text); }

/// Records the library's version, and the kernel that it has chosen for this processor.
[[gnu::noinline]] void note_version(EnvironmentFactList& list, std::string_view library,
                                    const IdentityFunctions& identity) {
    char buffer[256];
    system::LineWriter version(buffer);
    std::string_view kernel;
    if (identity.openblas_config != nullptr) {
        constexpr std::string_view name = "OpenBLAS ";
        const std::string_view config = text_or_empty(identity.openblas_config());
        const std::string_view number = first_word(text_between(config, name, "\n"));
        version.text(name).text(number.empty() ? "of an unknown version" : number);
        if (identity.openblas_kernel != nullptr) kernel = text_or_empty(identity.openblas_kernel());
    } else if (identity.blis_version != nullptr) {
        version.text("BLIS ").text(text_or_empty(identity.blis_version()));
        if (identity.blis_kernel != nullptr && identity.blis_kernel_name != nullptr)
            kernel = text_or_empty(identity.blis_kernel_name(identity.blis_kernel()));
    } else if (identity.mkl_version != nullptr) {
        char text[200] = "";
        identity.mkl_version(text, sizeof text - 1);
        version.text("MKL ").text(first_word(text_between(system::view(text), "Version ", "\n")));
        MklVersion facts{};
        if (identity.mkl_kernel != nullptr) identity.mkl_kernel(&facts);
        // MKL writes `Intel(R) Advanced Vector Extensions 2 (Intel(R) AVX2) enabled processors`.
        const std::string_view processors = text_or_empty(facts.processor);
        kernel = processors.substr(0, processors.find(" enabled processors"));
    } else if (identity.cublas_property != nullptr) {
        std::int32_t part[3] = {};
        for (std::int32_t i = 0; i < 3; ++i)
            if (identity.cublas_property(i, &part[i]) != 0) return;
        version.text("cuBLAS ").number(part[0]).text(".").number(part[1]).text(".").number(part[2]);
    } else if (identity.cublas_lt_version != nullptr) {
        const auto number = static_cast<std::int64_t>(identity.cublas_lt_version());
        version.text("cublasLt ").number(number / 10000).text(".").number(number / 100 % 100);
        version.text(".").number(number % 100);
    } else {
        return;
    }
    list.add_fact(EnvironmentFact::version, library, version.view());
    list.add_fact(EnvironmentFact::kernel, library, kernel);
}

// ---- the facts that are recorded already -------------------------------------------------------------------------

/// A library whose facts were recorded. A NotedLibrary is never freed, and never used for another library.
struct NotedLibrary {
    const LoadedObject* object = nullptr;
    std::uint32_t loads = 0;
    IdentityFunctions identity;
    std::atomic<std::uint32_t> list{0};     // the list_number at which this library's facts were recorded
    std::atomic<std::int64_t> threads{-1};  // the number of threads when the library was last asked
    std::uint32_t thread_changes = 0;

    bool is(const LoadedObject& library) const {
        return object == &library && loads == library.loads.load(std::memory_order_relaxed);
    }
    std::int64_t ask_threads() const {
        if (identity.threads != nullptr) return identity.threads();
        return identity.blis_threads == nullptr ? -1 : std::max<std::int64_t>(identity.blis_threads(), 1);
    }
};
constexpr std::uint32_t max_noted = 32, max_thread_changes = 8;
constinit NotedLibrary noted_libraries[max_noted];
constinit std::atomic<std::uint32_t> noted_count{0};
// The number of recordings that this process and its ancestors have begun. Each recording has its own list of facts.
constinit std::atomic<std::uint32_t> list_number{0};
constinit std::atomic<std::uint64_t> frameworks_searched_at{0};
constinit std::atomic<std::uint64_t> noted_devices{0};  // a bit for each CUDA device whose facts were recorded
// This lock is held while the variables from noted_libraries to noted_devices are changed.
constinit system::ForkSafeLock environment_lock;

NotedLibrary* find_noted_library(const LoadedObject& library) {
    NotedLibrary* const end = noted_libraries + noted_count.load(std::memory_order_acquire);
    NotedLibrary* const found =
        std::find_if(noted_libraries, end, [&](const NotedLibrary& noted) { return noted.is(library); });
    return found == end ? nullptr : found;
}

std::uint64_t current_stamp() { return std::max<std::uint64_t>(quick_load_generation(), 1); }
std::uint64_t bit_of(std::int32_t device) { return std::uint64_t{1} << (device & 63); }
bool has_device(const policy::MatmulCall& call) {
    return call.device == policy::Device::cuda && call.device_index >= 0;
}

/// Returns true if all facts about the environment that this call could add to the recording are already in it.
bool is_all_noted(const LoadedObject* provider, const policy::MatmulCall& call) {
    constexpr auto relaxed = std::memory_order_relaxed;
    if (frameworks_searched_at.load(relaxed) != current_stamp()) return false;
    if (has_device(call) && (noted_devices.load(relaxed) & bit_of(call.device_index)) == 0) return false;
    if (provider == nullptr) return true;
    const NotedLibrary* const known = find_noted_library(*provider);
    if (known == nullptr) return noted_count.load(relaxed) == max_noted;
    if (known->list.load(relaxed) != list_number.load(relaxed)) return false;
    return known->thread_changes > max_thread_changes || known->threads.load(relaxed) == known->ask_threads();
}

// The following functions are called with environment_lock held.

NotedLibrary* find_or_add_noted(const LoadedObject& library) {
    if (NotedLibrary* const known = find_noted_library(library)) return known;
    const std::uint32_t count = noted_count.load(std::memory_order_relaxed);
    if (count == max_noted) return nullptr;
    NotedLibrary& added = noted_libraries[count];
    added.object = &library;
    added.loads = library.loads.load(std::memory_order_relaxed);
    {
        const elf::ReadGuard reading;
        added.identity = find_identity_functions_with_needed(library);
    }
    noted_count.store(count + 1, std::memory_order_release);
    return &added;
}

/// Records new facts about a library. `shim_takes_its_threads` is true if the shim itself uses as many threads as the
/// library.
void note_library(EnvironmentFactList& list, const LoadedObject& library, bool shim_takes_its_threads) {
    NotedLibrary* const known = find_or_add_noted(library);
    if (known == nullptr) return;
    const bool is_new = known->list.load(std::memory_order_relaxed) != list_number.load(std::memory_order_relaxed);
    if (is_new) {
        note_file(list, library);
        note_version(list, library.name, known->identity);
        known->thread_changes = 0;
    }
    const std::int64_t threads = known->ask_threads();
    if (threads >= 0 && (is_new || threads != known->threads.load(std::memory_order_relaxed)) &&
        known->thread_changes++ < max_thread_changes) {
        note_number(list, EnvironmentFact::threads, library.name, threads);
        if (shim_takes_its_threads) note_number(list, EnvironmentFact::threads, own_name, threads);
    }
    known->threads.store(threads, std::memory_order_relaxed);
    known->list.store(list_number.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

[[gnu::noinline]] void note_device(EnvironmentFactList& list, std::int32_t index) {
    ForeignFunction<std::int32_t(char* name, std::int32_t size, std::int32_t device)> get_name;
    {
        const elf::ReadGuard reading;
        for (const link_map* map = elf::first_object(); map != nullptr; map = map->l_next)
            if (elf::name_of(map) == "libcuda.so.1") find_symbol_in(*loaded_object(map), "cuDeviceGetName", get_name);
    }
    char name[256] = "";
    char subject[24];
    system::LineWriter device(subject);
    device.text("cuda:").number(index);
    if (get_name != nullptr && get_name(name, sizeof name - 1, index) == 0)
        list.add_fact(EnvironmentFact::gpu, device.view(), system::view(name));
    Buffer buffer;
    const std::string_view version =
        text_between(beginning_of("/proc/driver/nvidia/version", buffer), "Module ", "\n");
    list.add_fact(EnvironmentFact::driver, {}, first_word(trimmed(version)));
    noted_devices.fetch_or(bit_of(index), std::memory_order_relaxed);
}

}  // namespace

void note_environment(const Settings& in_force, const Site& site, const policy::MatmulCall& call) {
    EnvironmentFactList* const list = in_force.recording->environment();
    if (list == nullptr) return;
    const bool is_new = list->begin_once_per_process();
    if ((!is_new && is_all_noted(site.provider, call)) || may_have_crashed()) return;
    const system::HeldLock held(environment_lock);
    if (!held) return;
    if (is_new) {
        list_number.fetch_add(1, std::memory_order_relaxed);
        frameworks_searched_at.store(0, std::memory_order_relaxed);
        noted_devices.store(0, std::memory_order_relaxed);
        note_machine(*list);
        if (computes_cpu_products(in_force.policy))
            list->add_fact(EnvironmentFact::version, own_name, FP32SHIM_VERSION);
        if (computes_cpu_products(in_force.policy) && in_force.policy.threads > 0)
            note_number(*list, EnvironmentFact::threads, own_name, in_force.policy.threads);
    }
    if (const std::uint64_t stamp = current_stamp();
        stamp != frameworks_searched_at.load(std::memory_order_relaxed)) {
        note_frameworks(*list);
        frameworks_searched_at.store(stamp, std::memory_order_relaxed);
    }
    if (site.provider != nullptr)
        note_library(*list, *site.provider, computes_cpu_products(in_force.policy) && in_force.policy.threads == 0);
    if (has_device(call)) note_device(*list, call.device_index);
}

}  // namespace fp32shim
