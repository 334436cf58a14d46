#include "cli/verify/bypasses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "cli/binaries/bypasses.hpp"
#include "cli/binaries/elf_file.hpp"
#include "cli/binaries/file_identity.hpp"
#include "cli/binaries/known_bypasses.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/run_members.hpp"
#include "cli/verify/examine_child.hpp"
#include "record/process_facts.hpp"
#include "record/processor.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::string_view bound_past = "bound-past", dlsym_past = "dlsym-past", later_libraries = "later",
                           unread_libraries = "unread", child_prefix = "child:", unseen_zgemv = "Zgemv";

/// The bypasses in one loaded file. A bypass is code that multiplies without the shim.
struct ScannedBypasses {
    std::vector<Bypass> bypasses;
    std::string why_unread;  ///< reason why only the file's name was judged; empty if the file was read
};

/// Finds the bypasses in files. A file is read only once even if many processes loaded it.
class BypassScanner {
  public:
    const ScannedBypasses& judged_file(const record::RecordedObject& object) {
        // If the recording does not tell when the file was changed, the time when the file was first seen decides
        // whether a file of this name may have changed since.
        const std::int64_t seen_ns = object.file.change.is_known() ? 0 : object.first_seen_ns;
        const auto key = std::tuple(object.path, object.build_id, object.file, seen_ns);
        const auto known = files_.find(key);
        return known != files_.end() ? known->second : files_.emplace(key, judge(object)).first->second;
    }

    /// Returns true for a program written in Go. Its runtime ends the process with the system call exit_group,
    /// without calling the C library.
    bool is_go_program(const std::string& program) {
        static constexpr std::string_view marker = "Go buildinf:";
        const auto known = in_go_.find(program);
        return known != in_go_.end()
                   ? known->second
                   : in_go_.emplace(program, !find_markers(program, {&marker, 1}).empty()).first->second;
    }

  private:
    ScannedBypasses judge(const record::RecordedObject& object) {
        if (!object.path.starts_with('/')) return {find_bypasses_by_name(object.path), "has no complete path"};
        const auto [entry, is_new] = scanned_.try_emplace(object.path);
        if (is_new) entry->second = scan_for_bypasses(object.path);
        const std::optional<ScannedFile>& file = entry->second;
        if (!file) return {find_bypasses_by_name(object.path), "does not exist here, or cannot be read"};
        if (std::string why = why_file_may_differ(object, file->build_id); !why.empty())
            return {find_bypasses_by_name(object.path), std::move(why)};
        return {file->bypasses, {}};
    }

    std::map<std::string, bool> in_go_;
    std::map<std::string, std::optional<ScannedFile>> scanned_;
    std::map<std::tuple<std::string, std::vector<std::uint8_t>, record::format::FileState, std::int64_t>,
             ScannedBypasses>
        files_;
};

/// The maximum number of files that a reason names.
constexpr std::size_t max_files = 5;

/// Collects possible bypasses, each once with all its recordings and files.
class BypassCollector {
  public:
    PossibleBypass& add(std::string_view name, std::string reason, std::string remedy, const std::string& recording,
                        std::uint16_t pins = 0) {
        const auto [entry, is_new] = indices_.emplace(std::tuple(std::string(name), reason, pins), all_.size());
        if (is_new) all_.push_back({std::string(name), std::move(reason), std::move(remedy), pins, {}});
        PossibleBypass& bypass = all_[entry->second];
        if (bypass.recordings.empty() || bypass.recordings.back() != recording)
            bypass.recordings.push_back(recording);
        return bypass;
    }
    /// Adds a bypass that was found in the file at `path`. `pins` are the environment variables that keep the bypass
    /// at float32. `why_float32` is the reason why the bypass certainly multiplies at float32, or empty. `remark`
    /// ends the reason.
    PossibleBypass& add(const Bypass& bypass, std::uint16_t pins, std::string path, const std::string& recording,
                        std::string_view remark, std::string_view why_float32) {
        const std::string title = bypass.title == bypass.name ? "" : bypass.title + " ";
        PossibleBypass& possible =
            add(bypass.name, fmt::format("{}in {{}}: {}{}{}", title, bypass.message, why_float32, remark),
                bypass.remedy, recording, pins);
        possible.is_float32 = bypass.is_float32 || !why_float32.empty();
        if (std::ranges::count(possible.files, path) == 0) possible.files.push_back(std::move(path));
        return possible;
    }
    std::vector<PossibleBypass> release() {
        constexpr std::string_view gap = "{}";
        for (PossibleBypass& bypass : all_)
            if (!bypass.files.empty())
                bypass.reason.replace(bypass.reason.find(gap), gap.size(), listed(bypass.files, max_files));
        return std::move(all_);
    }

  private:
    std::vector<PossibleBypass> all_;
    std::map<std::tuple<std::string, std::string, std::uint16_t>, std::size_t> indices_;
};

void add_unread(const std::map<std::string, std::vector<std::string>>& unread, const std::string& recording,
                BypassCollector& bypasses) {
    for (const auto& [why, names] : unread)
        bypasses.add(
            unread_libraries,
            fmt::format("{}: the loaded file {}, so only its name was judged", listed(names, max_files), why),
            "verify where the program ran", recording);
}

/// Returns true if the process became another program by exec.
bool became_another_program(const MergedProcess& process, const std::vector<MergedProcess>& processes) {
    const auto& facts = process.facts;
    // A process has several recordings after an exec or after a reload of its policy. Only a reload sets flag_left.
    const bool has_left = (facts.flags & record::format::flag_left) != 0;
    return !has_left && facts.identity.start != 0 && std::ranges::any_of(processes, [&](const MergedProcess& other) {
        return other.facts.identity == facts.identity && other.facts.opened_ticks > facts.opened_ticks;
    });
}

/// Adds an entry to `bypasses` if the list of a process's libraries may have a gap. `is_continued` says that another
/// recording lists the libraries that were loaded later.
void add_gaps(const MergedProcess& process, const std::vector<MergedProcess>& processes, bool is_continued,
              BypassScanner& files, BypassCollector& bypasses) {
    const record::RecordedObjectList& objects = process.objects;
    if (objects.looked_at_ns == 0) {
        bypasses.add(later_libraries, "which libraries were loaded is not recorded", "", process.path);
    } else if (objects.until_exit || is_continued || process.state == record::RecordingState::live) {
        // Nothing is missing: the list of libraries is complete, or the process still adds to it.
    } else if (files.is_go_program(process.facts.process.executable)) {
        bypasses.add(later_libraries,
                     "libraries that a program in Go loads near its end are not known: it ends by its own system "
                     "call, not through the C library",
                     "", process.path);
    } else if (became_another_program(process, processes)) {
        bypasses.add(later_libraries,
                     "libraries that were loaded near its end are not known: the process became another program by "
                     "exec, which the shim cannot foresee",
                     "", process.path);
    } else {
        const bool may_run = process.state == record::RecordingState::unknown && !notes_end_of_run(process.path);
        bypasses.add(
            later_libraries,
            may_run
                ? "libraries that were loaded later are not known: the process was killed, became another program by "
                  "exec, ended by its own system call, not through the C library, or still runs, which cannot be "
                  "seen from this machine, container or PID namespace"
                : "libraries that were loaded near its end are not known: the process was killed, became another "
                  "program by exec, or ended by its own system call, not through the C library",
            "a process that ends by exit or _exit leaves no such doubt; for the workers of multiprocessing.Pool: "
            "close() and join() before the `with` block ends",
            process.path);
    }
}

/// Adds the child processes that the shim did not cover.
void add_children(const MergedProcess& process, ChildExaminer& programs, BypassCollector& bypasses) {
    for (const record::RecordedChild& child : process.children) {
        const ExaminedChild examined = programs.examine(child, process);
        const std::string name = std::string(child_prefix) + std::string(system::base_name(child.path));
        const std::string basis = examined.basis.empty() ? "" : "; " + examined.basis;
        bypasses.add(name, "not covered: " + unseen_child_text(child) + basis, "", process.path).is_harmless =
            examined.is_harmless;
    }
    if (process.missed_children > 0)
        bypasses.add(std::string(child_prefix) + "*",
                     fmt::format("uncovered children were started {} more, but there was no room to note them",
                                 counted(process.missed_children, "time")),
                     "", process.path);
}

constexpr std::string_view cuda_driver = "libcuda.so";
constexpr std::string_view gpu_drivers[] = {cuda_driver, "libamdhip64.so", "libhsa-runtime64.so", "libze_loader.so"};

bool is_gpu_driver(std::string_view name) {
    return std::ranges::any_of(gpu_drivers, [&](std::string_view driver) { return name.starts_with(driver); });
}

/// Returns false if the process certainly had no GPU driver. Without a driver, no program can use a GPU.
bool may_have_a_gpu(const record::RecordedObjectList& objects) {
    if (objects.looked_at_ns == 0 || objects.are_missing) return true;
    return std::ranges::any_of(objects.all, [](const record::RecordedObject& object) {
        return is_gpu_driver(system::base_name(object.path));
    });
}

/// Tells whether a recording has all products of a library, such as the oneDNN in a file.
struct RecordedCoverage {
    bool is_all = false;  ///< the recording has each product of that library
    /// The end of the reason why the library may be a bypass; empty if the recording says nothing.
    std::string_view text;
};

/// Tells whether a recording has all products of the oneDNN in `object`. oneDNN asks for its verbose mode before it
/// executes a primitive, unless it was built without that mode. The gemm functions of oneDNN before 2.7 do not ask,
/// but those for float32 multiply at float32.
RecordedCoverage coverage_by_onednn(const record::RecordedObjectList& objects, const record::RecordedObject& object) {
    using namespace record::format;
    if (!objects.ask_onednn) return {};
    if (object.has_flag(object_is_silent))
        return {false,
                "; some of its executions may not be recorded: the program chose what oneDNN prints or has oneDNN "
                "linked in, oneDNN may use a GPU, or it prints in a way that is not known"};
    if (object.has_flag(object_tells))
        return {true, "; the calls above include each primitive by which it multiplied"};
    if (object.has_flag(object_asks_past))
        return {false, "; it would not have asked the shim whether to print its executions"};
    // The shim notes at once when a oneDNN asks for its verbose mode, and this oneDNN did not ask. If the process was
    // killed or still runs, its recording may lack later events; other doubts say so.
    return {true, objects.until_exit
                      ? "; it executed nothing: before it does, it asks whether to print, and it did not ask"
                      : "; it had executed nothing so far: before it does, it asks whether to print, and it had "
                        "not asked"};
}

/// Tells whether the recording has all kernels by which libraries multiply on a GPU.
RecordedCoverage coverage_by_kernels(const record::RecordedObjectList& objects) {
    const auto is_other_driver = [](const record::RecordedObject& object) {
        const std::string_view name = system::base_name(object.path);
        return is_gpu_driver(name) && !name.starts_with(cuda_driver);
    };
    if (!objects.ask_kernels) return {};
    if (std::ranges::any_of(objects.all, is_other_driver))
        return {false, "; the process had a driver for GPUs other than NVIDIA's, whose kernels are not seen"};
    if (objects.kernels_missed) return {false, "; some kernels may not have been recorded"};
    return {true, "; the calls above include the kernels that the process launched through the CUDA driver"};
}

/// Returns the reason why the library of `bypass` multiplies at float32 on `processor`, as a text to follow the
/// message of the bypass; empty if the library may multiply below float32. Precondition: the process had no GPU
/// driver.
std::string why_float32_on(std::uint16_t processor, const Bypass& bypass) {
    const auto known = std::ranges::find(known_bypasses(), bypass.name, &KnownBypass::name);
    if (known == known_bypasses().end() || known->needs == 0) return {};
    if ((processor & record::processor_is_x86_64) == 0 || (processor & known->needs) != 0) return {};
    std::string names = record::feature_names(record::processor_is_x86_64 | known->needs);
    for (std::size_t at = 0; (at = names.find(' ', at)) != std::string::npos; at += 4) names.replace(at, 1, " or ");
    return fmt::format("; its processor has no {}, and without one of these {} has no product below float32 ({})",
                       names, known->title, known->needs_source);
}

/// Tells whether all programs that JAX had XLA compile multiply float32 or wider numbers. `object` is the file that
/// contains XLA. XLA also uses the half types of Eigen in this file, so the answer holds for these types too.
RecordedCoverage what_jax_told(const record::RecordedObject& object, const Bypass& bypass) {
    using namespace record::format;
    if (!object.has_flag(object_tells_jax) || (bypass.name != "XLA-CPU" && bypass.name != "Eigen-half")) return {};
    if (object.has_flag(object_has_narrow_jax))
        return {false,
                "; some programs that JAX had it compile round numbers to less than float32, multiply such numbers, "
                "or are not known"};
    return {true,
            "; no program that JAX had it compile rounds numbers to less than float32 or multiplies such numbers"};
}

/// Adds the bypasses in the files that a process had loaded. `recording` is the file that lists the loaded files.
/// `pins` are the environment variables that were set in the process, and `processor` are its processor's features.
/// `remark` is appended to each reason.
void add_files(const record::RecordedObjectList& objects, std::uint16_t pins, std::uint16_t processor,
               const std::string& recording, std::string_view remark, BypassScanner& files,
               BypassCollector& bypasses) {
    std::map<std::string, std::vector<std::string>> unread;
    const bool has_gpu = may_have_a_gpu(objects);
    for (const record::RecordedObject& object : objects.all) {
        const ScannedBypasses& judged = files.judged_file(object);
        for (const Bypass& bypass : judged.bypasses) {
            if (bypass.device == "gpu" && !has_gpu) continue;
            const bool is_pinned = (pins & bypass.pins) == bypass.pins;
            const RecordedCoverage told = bypass.name == onednn_name ? coverage_by_onednn(objects, object)
                                          : bypass.device == "gpu"   ? coverage_by_kernels(objects)
                                                                     : RecordedCoverage();
            const RecordedCoverage jax = what_jax_told(object, bypass);
            bypasses
                .add(bypass, is_pinned ? bypass.pins : 0, normalized_path(object.path), recording,
                     fmt::format("{}{}{}", told.text, jax.is_all ? "" : jax.text, remark),
                     jax.is_all ? std::string(jax.text)
                     : has_gpu  ? std::string()
                                : why_float32_on(processor, bypass))
                .is_recorded = told.is_all;
        }
        if (object.path.empty())
            bypasses.add(unread_libraries, fmt::format("the name of a loaded file is not known{}", remark), "",
                         recording);
        else if (!judged.why_unread.empty())
            unread[judged.why_unread].emplace_back(system::base_name(object.path));
        if (object.has_flag(record::format::object_is_bound_past))
            bypasses.add(
                bound_past,
                fmt::format("{}: opened with RTLD_DEEPBIND, linked so that it searches itself first, or a "
                            "BLAS comes before the shim (in LD_PRELOAD, or in the program), or LD_BIND_NOT or "
                            "LD_AUDIT hides which functions it calls; what it multiplies with BLAS functions "
                            "or launches on a GPU may not go through the shim{}",
                            normalized_path(object.path), remark),
                "", recording);
    }
    add_unread(unread, recording, bypasses);
    if (objects.are_missing)
        bypasses.add(
            unread_libraries,
            fmt::format("not all libraries that were loaded are in the recording: there was no room for them, or the "
                        "process was forked while another thread unloaded one{}",
                        remark),
            "raise [log] max_size if it was reached", recording);
    if (objects.had_lookup_past)
        bypasses.add(
            dlsym_past,
            fmt::format("dlsym returned a function that multiplies without going through the shim{}", remark), "",
            recording);
}

/// Adds the possible bypasses of processes that ended without a recording. Such a process made no call that the shim
/// sees, or set its own FP32_MATMUL_LOG, FP32_MATMUL_POLICY or FP32_MATMUL_DISABLE.
void add_marks(const MergedProcess& process, BypassScanner& files, BypassCollector& bypasses) {
    for (const record::UnrecordedProcess& mark : process.marks) {
        const std::string remark = fmt::format(
            "; in a process of {} {}", mark.program.empty() ? "an unknown program" : system::base_name(mark.program),
            mark.has_changed_log ? "that changed its own log" : "without a call that is seen");
        add_files(mark.objects, mark.pins, mark.processor, process.path, remark, files, bypasses);
        if (mark.has_changed_log)
            bypasses.add(std::string(child_prefix) + std::string(system::base_name(mark.program)),
                         fmt::format("not covered: {} changed its own FP32_MATMUL_LOG, FP32_MATMUL_POLICY or "
                                     "FP32_MATMUL_DISABLE: what it multiplied is recorded elsewhere or not at all",
                                     mark.program),
                         "", process.path);
    }
    if (process.missed_marks > 0)
        bypasses.add(
            unread_libraries,
            fmt::format("the libraries of {} more process{} without a call that is seen are not known: "
                        "there was no room to note them, or signals of a crash were blocked or being handled "
                        "as the process ended or executed another program",
                        process.missed_marks, process.missed_marks == 1 ? "" : "es"),
            "", process.path);
}

void add_process(const MergedProcess& process, const std::vector<MergedProcess>& processes, BypassScanner& files,
                 ChildExaminer& programs, BypassCollector& bypasses) {
    add_files(process.objects, process.facts.process.pins, process.facts.processor, process.path, "", files,
              bypasses);
    add_children(process, programs, bypasses);
    add_marks(process, files, bypasses);
    if (process.is_children_file()) return;
    add_gaps(process, processes, continues_after_reload(process, processes), files, bypasses);
}

}  // namespace

bool continues_after_reload(const MergedProcess& process, const std::vector<MergedProcess>& processes) {
    using record::format::flag_closed, record::format::flag_left;
    // If the program closed the recording's descriptor, calls from before the reload may be missing.
    if ((process.facts.flags & (flag_closed | flag_left)) != flag_left) return false;
    return std::ranges::any_of(processes,
                               [&](const MergedProcess& next) { return process.facts.continues_in(next.facts); });
}

std::vector<PossibleBypass> find_possible_bypasses(const std::vector<MergedProcess>& processes) {
    BypassScanner files;
    ChildExaminer programs;
    BypassCollector bypasses;
    Progress progress("reading libraries");
    for (std::size_t i = 0; i < processes.size(); ++i) {
        progress.show(i, processes.size());
        add_process(processes[i], processes, files, programs, bypasses);
    }
    return bypasses.release();
}

std::optional<PossibleBypass> find_unseen_zgemv(const MergedCalls& calls) {
    // The program or its environment permitted emulation if a call with emulation was forwarded unchanged, or if a
    // rule changed a call so that it ran at fp64 without emulation.
    const auto was_permitted = [](const MergedRow& row) {
        return row.is_float64() && row.device != "cpu" && (row.applied == "fp64_emulated") == (row.how == "forward");
    };
    if (std::ranges::none_of(calls.rows(), was_permitted)) return std::nullopt;
    PossibleBypass zgemv{
        .name = std::string(unseen_zgemv),
        .reason =
            "cublasZgemv is not intercepted, and the program or its environment lets cuBLAS emulate float64, which "
            "by NVIDIA's notes of CUDA 13.4 reaches this function too under the strategy EAGER",
        .remedy = "CUBLAS_EMULATE_DOUBLE_PRECISION=0, if the program does not ask for emulation itself",
        .pins = 0,
        .recordings = {}};
    for (const MergedProcess& process : calls.processes()) zgemv.recordings.push_back(process.path);
    return zgemv;
}

bool is_child_bypass_name(std::string_view name) {
    return name.size() > child_prefix.size() && name.starts_with(child_prefix);
}

std::vector<std::string_view> possible_bypass_names() {
    std::vector<std::string_view> names = bypass_names();
    names.insert(names.end(), {bound_past, dlsym_past, later_libraries, unread_libraries, unseen_zgemv});
    return names;
}

}  // namespace fp32shim::cli
