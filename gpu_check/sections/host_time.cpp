// Measures what calls cost on the host: the processor time of the calling thread, for products so small that their
// own time hardly matters. A single process makes all kinds of calls in turn, because the times of two processes that
// do the same differ by more than the library costs.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <utility>

#include "gpu_check/products/problem.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {
namespace {

constexpr int matrix_order = 32;

/// Returns the processor time that this thread has used. It contains neither the time of other programs nor time
/// spent waiting.
double nanoseconds_of_this_thread() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
}

constexpr int min_rounds = 10, max_rounds = 40;
constexpr auto time_for_rounds = std::chrono::seconds(1);  // time after which no round beyond min_rounds begins
constexpr int unmeasured_calls = 200,
              measured_calls = 100;  // calls that are timed together; so few that none waits for the device

/// Changes what the library records in this process, by writing its policy file and reloading it.
class RecordingSwitch {
  public:
    RecordingSwitch() : reload_(reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "fp32shim_reload_policy"))) {
        if (reload_ == nullptr) throw std::runtime_error("the library was not preloaded");
        std::ifstream file(path_);
        rules_.assign(std::istreambuf_iterator<char>(file), {});
        if (rules_.empty()) rules_ = "schema = 1\n";
        write("");
    }

    /// Records at `level`, which is `summary` or `calls`. Records nothing if `level` is empty.
    void record(const std::string& level) {
        if (std::exchange(level_, level) == level) return;
        write(level.empty() ? "" : "[log]\npath = \"" + path_ + ".fp32rec\"\nlevel = \"" + level + "\"\n");
        if (const int status = reload_(); status != 0)
            throw std::runtime_error("fp32shim_reload_policy: status " + std::to_string(status));
    }

  private:
    void write(const std::string& log) const {
        std::ofstream file(path_);
        file << rules_ << log;
        if (!file.flush()) throw std::runtime_error(path_ + ": cannot be written");
    }

    int (*reload_)();
    const std::string path_ = std::getenv("FP32_MATMUL_POLICY");
    std::string rules_;  // first content of the file: rules that hold whatever is recorded
    std::string level_;  // argument of the last call of record()
};

/// The kinds of calls, in the order of a round: directly to cuBLAS, and through the shim while it records nothing, at
/// the level `summary`, or at the level `calls`.
enum Kind { direct, off, summary, calls, kind_count };
struct CallVariant {
    const char* name;
    const char* level;   ///< argument for RecordingSwitch::record()
    Kind compared_with;  ///< the kind whose times are subtracted
};
constexpr CallVariant turns[kind_count] = {
    {"launch", "", direct}, {"off", "", direct}, {"summary", "summary", off}, {"calls", "calls", off}};

/// Sends the median of the differences `left[i] - right[i]` of all rounds `i`, and the bounds between which the true
/// median lies with 99% certainty.
void send_difference(Worker& worker, const std::string& name, const std::vector<double>& left,
                     const std::vector<double>& right) {
    std::vector<double> each;
    for (std::size_t i = 0; i < left.size(); ++i) each.push_back(left[i] - right[i]);
    std::ranges::sort(each);
    // Each difference is as likely to be above the true median as below it. So the number of differences below it has
    // the mean count / 2 and the standard deviation sqrt(count) / 2. 99% of a normal distribution lie within 2.576
    // standard deviations.
    const auto count = static_cast<double>(each.size());
    const auto rank = static_cast<std::size_t>(std::max(count / 2 - 2.576 * std::sqrt(count) / 2, 0.0));
    worker.report_finding(name, format_number("%.1f", median(each)));
    worker.report_finding(name + "_low", format_number("%.1f", each[rank]));
    worker.report_finding(name + "_high", format_number("%.1f", each[each.size() - 1 - rank]));
}

}  // namespace

void measure_recording_cost(Worker& worker) {
    worker.measure_row("cublasSgemm", "", [&] {
        // `policy` is made first, because its constructor writes the policy file that the library reads at the first
        // product.
        RecordingSwitch policy;
        const Cublas& cublas = worker.cublas();
        using Sgemm = decltype(cublasSgemm_v2);
        Sgemm* const own = cublas.library.find_own<Sgemm>("cublasSgemm_v2");
        if (own == nullptr)
            throw std::runtime_error(cublas.library.file_name() + ": its own cublasSgemm_v2 was not found");
        Sgemm* const called = &cublas.library.get<Sgemm>("cublasSgemm_v2");
        const RandomMatrices matrices(worker.device(), matrix_order);
        const CallArguments p = matrices.call_arguments();
        std::array<std::vector<double>, kind_count> times;
        const auto run_turn = [&](int kind) {
            policy.record(turns[kind].level);
            const auto call = [&, function = kind == direct ? own : called] {
                throw_on_error(function(cublas.handle, p.trans_a, p.trans_b, p.m, p.n, p.k, p.alpha, p.a, p.lda, p.b,
                                        p.ldb, p.beta, p.c, p.ldc),
                               "cublasSgemm_v2");
            };
            // The first calls after a change of settings take longer, so they are not measured.
            for (int i = 0; i < unmeasured_calls; ++i) call();
            worker.device().synchronise();
            const double begun = nanoseconds_of_this_thread();
            for (int i = 0; i < measured_calls; ++i) call();
            times[kind].push_back((nanoseconds_of_this_thread() - begun) / measured_calls);
        };
        const auto begun = std::chrono::steady_clock::now();
        for (int round = 0; round < max_rounds; ++round) {
            if (round >= min_rounds && std::chrono::steady_clock::now() - begun > time_for_rounds) break;
            // Every second round runs in reverse order, so that a drift of the clock cancels out.
            for (int i = 0; i < kind_count; ++i) run_turn(round % 2 == 0 ? i : kind_count - 1 - i);
        }
        std::vector<double> launches = times[direct];
        std::ranges::sort(launches);
        worker.report_finding(turns[direct].name, format_number("%.1f", median(launches)));
        for (const Kind kind : {off, summary, calls})
            send_difference(worker, turns[kind].name, times[kind], times[turns[kind].compared_with]);
    });
}

}  // namespace gpu
