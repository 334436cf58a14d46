// fp32shim replay: measures the products of recordings on this machine.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/command_line/commands.hpp"
#include "cli/command_line/options.hpp"
#include "cli/doctor/machine.hpp"
#include "cli/output/progress.hpp"
#include "cli/output/terminal.hpp"
#include "cli/recordings/filter.hpp"
#include "cli/recordings/native_locations.hpp"
#include "cli/recordings/process_text.hpp"
#include "cli/recordings/recordings.hpp"
#include "cli/replay/measured_times.hpp"
#include "policy/quantity.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

struct ReplayOptions {
    std::vector<std::string> recordings;
    std::string library;
    bool is_json = false;
    std::int64_t top = 20;
    double max_time = 30;
    Filter filter;
};

/// A library that the recorded processes had loaded and that exists on this machine.
struct RecordedLibrary {
    std::string path;
    std::string why_not;  ///< reason why the library must not be opened; empty if it may be
};
using Libraries = std::map<std::string, RecordedLibrary, std::less<>>;  ///< libraries by base name

/// Returns the reason why a library named by a recording must not be opened; empty if it may be. Anybody can write a
/// recording, and opening a library runs its code. So the library and all folders above it must belong to root or to
/// this user.
std::string why_not_opened(const std::string& path) {
    const auto refused = [&](const std::string& what) {
        return fmt::format("{}: its code would run as this user; --library {} opens it anyway", what, path);
    };
    for (std::filesystem::path part = path;; part = part.parent_path()) {
        struct stat status {};
        if (stat(part.c_str(), &status) != 0)
            return refused(fmt::format("{}: {}", part.string(), std::strerror(errno)));
        if (status.st_uid != 0 && status.st_uid != geteuid())
            return refused(fmt::format("{} belongs to another user, number {}", part.string(), status.st_uid));
        if ((status.st_mode & S_IWOTH) != 0 && (status.st_mode & S_ISVTX) == 0)
            return refused(fmt::format("{} may be changed by anyone", part.string()));
        if (!part.has_relative_path()) return {};
    }
}

Libraries recorded_libraries(const MergedCalls& calls) {
    Libraries libraries;
    for (const MergedProcess& process : calls.processes())
        for (const record::RecordedObject& object : process.objects.all) {
            // Links are resolved first, so that the file that is checked is the file that is opened.
            std::error_code error;
            const std::string path = std::filesystem::canonical(object.path, error).string();
            if (!error && access(path.c_str(), R_OK) == 0)
                libraries.insert(
                    {std::string(system::base_name(object.path)), RecordedLibrary{path, why_not_opened(path)}});
        }
    return libraries;
}

/// Returns the library that ran products of this kind; null if it does not exist on this machine.
const RecordedLibrary* library_of(const ProductKind& kind, const Libraries& libraries) {
    for (const SharedText provider : kind.providers)
        if (const auto found = libraries.find(std::string_view(provider)); found != libraries.end())
            return &found->second;
    return nullptr;
}

/// Returns the formats that a GPU supports, the most precise first.
std::vector<policy::Applied> formats_of(const Gpu& gpu) {
    const std::int32_t capability = policy::parse_compute_capability(gpu.compute_capability).value_or(0);
    std::vector<policy::Applied> formats = {policy::Applied::fp32, policy::Applied::tf32, policy::Applied::bf16};
    std::erase_if(formats, [=](policy::Applied format) { return !policy::gpu_has(format, capability); });
    return formats;
}

/// Plans the measurements for a kind of product. If there are none, sets the reason.
void plan_kind(const ReplayOptions& options, const Libraries& libraries, const Gpus& gpus, ReplayedKind& replayed) {
    const ProductKind& kind = *replayed.kind;
    replayed.why_not = kind.why_no_gemm();
    if (replayed.why_not.empty() && kind.dtype != "float32" && kind.dtype != "complex64")
        replayed.why_not = fmt::format("{} is not measured", kind.dtype);
    if (!replayed.why_not.empty()) return;
    const RecordedLibrary* const recorded = library_of(kind, libraries);
    const std::string found = recorded != nullptr && recorded->why_not.empty() ? recorded->path : "";
    const std::string library = options.library.empty() && !kind.is_cublas ? found : options.library;
    if (!library.empty()) replayed.tasks.push_back({.kind = &kind, .on_gpu = false, .library = library});
    if (!gpus.devices.empty())
        for (const policy::Applied format : formats_of(gpus.devices.front()))
            replayed.tasks.push_back(
                {.kind = &kind, .on_gpu = true, .library = kind.is_cublas ? found : "", .format = format});
    if (!replayed.tasks.empty()) return;
    if (kind.is_cublas)
        replayed.why_not = fmt::format("it ran on a GPU, but there is none here ({})", gpus.problem);
    else
        replayed.why_not =
            recorded != nullptr ? recorded->why_not : "its library does not exist here; name another with --library";
}

Replay plan_replay(const ReplayOptions& options, const std::vector<ProductKind>& kinds, const MergedCalls& calls,
                   const Gpus& gpus) {
    const Libraries libraries = recorded_libraries(calls);
    Replay replay;
    std::int64_t planned = 0;
    for (const ProductKind& kind : kinds) {
        ReplayedKind& replayed = replay.kinds.emplace_back(ReplayedKind{&kind});
        plan_kind(options, libraries, gpus, replayed);
        if (replayed.tasks.empty()) continue;
        if (options.top != 0 && ++planned > options.top) {
            replayed.tasks.clear();
            replayed.why_not = fmt::format("--top {} leaves it out", options.top);
            continue;
        }
        for (const MeasuringTask& task : replayed.tasks)
            if (!task.on_gpu && std::ranges::find(replay.libraries, task.library) == replay.libraries.end())
                replay.libraries.push_back(task.library);
    }
    if (!gpus.devices.empty())
        replay.gpu = fmt::format("{} (compute capability {})", gpus.devices.front().name,
                                 gpus.devices.front().compute_capability);
    return replay;
}

/// Runs all measurements of a replay. Returns false if a library crashed.
bool measure(Replay& replay, double seconds) {
    std::vector<MeasuringTask> tasks;
    for (const ReplayedKind& kind : replay.kinds) tasks.insert(tasks.end(), kind.tasks.begin(), kind.tasks.end());
    Progress progress("measuring products");
    const bool is_sound = measure(tasks, seconds, [&](std::size_t done) { progress.show(done, tasks.size()); });
    std::size_t next = 0;
    for (ReplayedKind& kind : replay.kinds)
        for (MeasuringTask& task : kind.tasks) task = tasks[next++];
    return is_sound;
}

bool has_measured(const Replay& replay) {
    return std::ranges::any_of(replay.kinds, [](const ReplayedKind& kind) {
        return std::ranges::any_of(kind.tasks, [](const MeasuringTask& task) { return task.problem.empty(); });
    });
}

int replay(ReplayOptions& options) {
    if (const std::string problem = options.filter.read(); !problem.empty()) {
        say("replay", problem);
        return exit_code::usage;
    }
    if (!options.library.empty() && access(options.library.c_str(), R_OK) != 0) {
        say("replay", fmt::format("--library {}: there is no such file, or it cannot be read", options.library));
        return exit_code::usage;
    }
    const RecordingPaths paths = find_recordings(options.recordings);
    if (print_errors("replay", paths)) return exit_code::usage;
    MergedCalls calls(&options.filter);
    NativeLocations native_locations;
    const auto problems =
        visit_recordings(paths.paths, [&](const std::string& path, record::RecordingReader& recording) {
            native_locations.name_rows_of(recording, options.filter.looks_at_call_sites());
            calls.add(path, recording);
        });
    const bool is_damaged = print_problems("replay", problems);
    const std::vector<ProductKind> kinds = product_kinds(calls, RowOrder::time);
    if (kinds.empty()) {
        say("replay", options.filter.is_empty() ? "found no products in these recordings"
                                                : "found no products that match in these recordings");
        return is_damaged ? exit_code::finding : exit_code::inconclusive;
    }
    Replay found = plan_replay(options, kinds, calls, read_gpus());
    const bool is_sound = measure(found, options.max_time);
    print(options.is_json ? replay_json(found) : replay_text(found, STDOUT_FILENO));
    if (is_damaged || !is_sound) return exit_code::finding;
    return has_measured(found) ? exit_code::ok : exit_code::inconclusive;
}

}  // namespace

Action define_replay(CLI::App& app) {
    auto options = std::make_shared<ReplayOptions>();
    app.add_option("RECORDING", options->recordings, "Recordings, folders with recordings, or globs")
        ->type_name("FILE")
        ->required();
    add_table_or_json(app, options->is_json);
    add_name(app, "--library", options->library, "FILE",
             "BLAS library for the CPU; default: the one that was recorded");
    add_count(app, "--top", options->top, 0,
              "Kinds of products to measure, those with the most host time; default: 20; 0: all");
    add_seconds(app, "--max-time", options->max_time, 1, "Time for all measurements; default: 30");
    options->filter.declare(app);
    return [options] { return replay(*options); };
}

}  // namespace fp32shim::cli
