// Writes large recordings, or many of them, for bench/scale. They have the contents that the shim would write.
//
//   scale_recordings rows FOLDER COUNT      COUNT distinct decisions, half a million a recording; two calls of each
//   scale_recordings events FILE COUNT      one recording with COUNT calls of 100 decisions, by four threads in turn
//   scale_recordings many FOLDER COUNT      COUNT recordings of three decisions each, one per host
//   scale_recordings fleet FOLDER COUNT     COUNT recordings of the same 1,000 decisions, one per host
//   scale_recordings distinct FOLDER COUNT  COUNT recordings of 1,000 decisions each, which no other recording has
//   scale_recordings names FOLDER COUNT     COUNT processes, one after the other, with recordings of the same name;
//                                           prints the time in which the first 100 and the last 100 began theirs
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "record/write/count_call.hpp"
#include "system/hash.hpp"

using namespace fp32shim;
using namespace fp32shim::record;

namespace {

std::uint64_t nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Opens a new recording. If `host` is not empty, the recording has this name of a host instead of the machine's.
std::unique_ptr<Recording> opened(const std::string& path, policy::LogLevel level, const std::string& host = {}) {
    policy::Policy policy;
    policy.log_level = level;
    RecordingSettings settings;
    settings.max_size = std::uint64_t{64} << 30;
    ProcessFacts facts = gather_process_facts({});
    if (!host.empty()) facts.host = host;
    auto result = Recording::open(path, facts, make_start_event("0.1.0", policy), settings);
    if (result.recording == nullptr) {
        std::fprintf(stderr, "scale_recordings: %s\n", result.error.c_str());
        std::exit(1);
    }
    return std::unique_ptr<Recording>(result.recording);
}

void describe(DecisionEvent& decision, long number) {
    decision.call.function = number % 2 == 0 ? "cblas_sgemm" : "sgemm_";
    decision.call.caller = "_multiarray_umath.cpython-311-x86_64-linux-gnu.so";
    decision.call.scope = number % 4 == 0 ? "encoder/layer" : "";
    decision.call.dtype = policy::Dtype::float32;
    decision.call.trans_a = decision.call.trans_b = 'N';
    decision.call.m = 1 + number % 1024;
    decision.call.n = 1 + number / 1024 % 1024;
    decision.call.k = 1 + number / (1024 * 1024);
    decision.provider = "libopenblas.so.0";
    decision.requested = policy::Precision::high;
    decision.source = policy::Source::environment;
    decision.applied = policy::AppliedFormat::tf32;
    decision.reason = policy::Reason::as_requested;
}

void call(Recording& recording, ThreadWriter& writer, long number, bool with_event) {
    const std::uint64_t end = ticks();
    recording.count(writer, system::Hash().add(static_cast<std::uint64_t>(number)).value(), end - 20'000, end,
                    with_event, [&](DecisionEvent& decision) { describe(decision, number); });
}

/// This is less than three quarters of a million rows. Beyond that number, a recording rounds sizes up.
constexpr long rows_of_a_recording = 500'000;

void make_rows(const std::string& folder, long count) {
    for (long begin = 0; begin < count; begin += rows_of_a_recording) {
        const std::string name = folder + "/" + std::to_string(begin / rows_of_a_recording) + ".fp32rec";
        const auto recording = opened(name, policy::LogLevel::summary);
        ThreadWriter* writer = recording->attach_thread();
        for (int round = 0; round < 2; ++round)
            for (long i = begin; i < std::min(count, begin + rows_of_a_recording); ++i)
                call(*recording, *writer, i, false);
    }
}

void make_events(const std::string& path, long count) {
    const auto recording = opened(path, policy::LogLevel::calls);
    ThreadWriter* writers[4];
    for (ThreadWriter*& writer : writers) writer = recording->attach_thread();
    for (long i = 0; i < count; ++i) call(*recording, *writers[i % 4], i % 100, true);
}

/// The number and kind of the decisions in each recording that make_many() writes.
struct RowsOfEach {
    long count = 3;
    bool are_distinct = false;  ///< no two recordings share a decision
};

void make_some_of_many(const std::string& folder, long begin, long end, RowsOfEach rows) {
    for (long i = begin; i < end; ++i) {
        const std::string name = std::to_string(i);
        const auto recording = opened(folder + "/" + name + ".fp32rec", policy::LogLevel::summary, "node" + name);
        ThreadWriter* writer = recording->attach_thread();
        const long first = rows.are_distinct ? i * rows.count : 0;
        for (long row = first; row < first + rows.count; ++row) call(*recording, *writer, row, false);
        for (int object = 0; object < 40; ++object) {
            const std::string path = "/usr/lib/x86_64-linux-gnu/libobject" + std::to_string(object) + ".so.1";
            recording->objects()->add({path, {}, false});
        }
        recording->objects()->mark_complete(1);
        recording->record_exit();
    }
}

/// Writes many recordings, in several processes, because the memory of a recording stays mapped, and the kernel
/// allows only 65,530 mappings per process.
int make_many(const std::string& folder, long count, RowsOfEach rows) {
    constexpr long of_a_process = 1000;
    for (long begin = 0; begin < count; begin += of_a_process) {
        const pid_t child = fork();
        if (child == 0) {
            make_some_of_many(folder, begin, std::min(count, begin + of_a_process), rows);
            _exit(0);
        }
        int status = 1;
        if (child < 0 || waitpid(child, &status, 0) < 0 || status != 0) return 1;
    }
    return 0;
}

/// Returns the microseconds in which a new process begins a recording, or a negative number if it could not begin
/// one.
double begin_in_a_child(const std::string& path) {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
        const std::uint64_t begin = nanoseconds();
        opened(path, policy::LogLevel::summary);
        const double taken = static_cast<double>(nanoseconds() - begin) / 1000;
        _exit(write(ends[1], &taken, sizeof taken) == sizeof taken ? 0 : 1);
    }
    close(ends[1]);
    double taken = -1;
    if (read(ends[0], &taken, sizeof taken) != sizeof taken) taken = -1;
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return taken;
}

void make_names(const std::string& folder, long count) {
    std::vector<double> taken;
    long without = 0;
    for (long i = 0; i < count; ++i) {
        taken.push_back(begin_in_a_child(folder + "/run.fp32rec"));
        without += taken.back() < 0;
    }
    const auto median = [](std::vector<double> values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    };
    const long some = std::min(count, 100L);
    std::printf("first %.0f us, last %.0f us, %ld without a recording\n",
                median({taken.begin(), taken.begin() + some}), median({taken.end() - some, taken.end()}), without);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    const std::string_view what = argv[1];
    const long count = std::atol(argv[3]);
    if (what == "rows")
        make_rows(argv[2], count);
    else if (what == "events")
        make_events(argv[2], count);
    else if (what == "many")
        return make_many(argv[2], count, {});
    else if (what == "fleet")
        return make_many(argv[2], count, {.count = 1000});
    else if (what == "distinct")
        return make_many(argv[2], count, {.count = 1000, .are_distinct = true});
    else if (what == "names")
        make_names(argv[2], count);
    else
        return 2;
    return 0;
}
