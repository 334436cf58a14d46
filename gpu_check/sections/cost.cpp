// The costs of one call on the host, measured in one process by many short turns: two processes that do the same
// differ by more than the library costs. A turn counts the processor time of this thread only.
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "gpu_check/cuda/clock.hpp"
#include "gpu_check/sections/findings.hpp"
#include "gpu_check/sections/section.hpp"

namespace gpu {

namespace {

constexpr int order = 32;
constexpr int fewest_rounds = 10, most_rounds = 40;
constexpr auto enough_time = std::chrono::seconds(1);  // for further rounds
constexpr int unmeasured_calls = 200,
              measured_calls = 100;  // of a turn; few enough that no call waits for the device

using Sgemm = decltype(cublasSgemm_v2);

/// Changes what the library does in this process, by reloads of its policy file.
class Switch {
  public:
    Switch() : reload_(reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "fp32shim_reload_policy"))) {
        if (reload_ == nullptr) throw std::runtime_error("the library was not preloaded");
        std::ifstream file(path_);
        site_.assign(std::istreambuf_iterator<char>(file), {});
        if (site_.empty()) site_ = "schema = 1\n";
        write("");
    }

    /// level: `summary` or `calls`; empty: nothing is recorded.
    void record(const std::string& level) {
        if (std::exchange(level_, level) == level) return;
        write(level.empty() ? "" : "[log]\npath = \"" + path_ + ".fp32rec\"\nlevel = \"" + level + "\"\n");
        if (const int status = reload_(); status != 0)
            throw std::runtime_error("fp32shim_reload_policy: status " + std::to_string(status));
    }

  private:
    void write(const std::string& log) const {
        std::ofstream file(path_);
        file << site_ << log;
        if (!file.flush()) throw std::runtime_error(path_ + ": cannot be written");
    }

    int (*reload_)();
    const std::string path_ = std::getenv("FP32_MATMUL_POLICY");
    std::string site_;   // rules that hold whatever is recorded
    std::string level_;  // as last reloaded
};

/// Differences between two kinds of turns, one for each round.
struct Difference {
    double median = 0, low = 0, high = 0;  // nanoseconds; the true median is from low to high with 99% certainty
};

Difference difference(std::vector<double> each) {
    std::sort(each.begin(), each.end());
    // Each difference is as likely above the true median as below it. 2.576: 99% of a normal distribution.
    const auto count = static_cast<double>(each.size());
    const auto rank = static_cast<std::size_t>(std::max(count / 2 - 2.576 * std::sqrt(count) / 2, 0.0));
    return {median(each), each[rank], each[each.size() - 1 - rank]};
}

std::string tenths(double nanoseconds) {
    char text[32];
    std::snprintf(text, sizeof text, "%.1f", nanoseconds);
    return text;
}

class Turns {
  public:
    explicit Turns(Worker& worker) : worker_(worker) {
        const Library& library = worker.cublas().library;
        direct_ = library.find_own<Sgemm>("cublasSgemm_v2");
        if (direct_ == nullptr) throw std::runtime_error(library.file() + ": its own cublasSgemm_v2 was not found");
        called_ = &library.get<Sgemm>("cublasSgemm_v2");
    }

    /// Measures each way once. Every second round goes the other way round, so that a drift has no effect.
    void take(bool is_backwards) {
        std::array<void (Turns::*)(), 3> steps{&Turns::without_recording, &Turns::summary, &Turns::calls};
        if (is_backwards) std::reverse(steps.begin(), steps.end());
        is_backwards_ = is_backwards;
        for (const auto step : steps) (this->*step)();
    }

    double direct() const {
        std::vector<double> times = direct_times_;
        std::sort(times.begin(), times.end());
        return median(times);
    }
    Difference off() const { return minus(off_times_, direct_times_); }
    Difference recording(bool each_call) const {
        return minus(each_call ? calls_times_ : summary_times_, off_times_);
    }

  private:
    static Difference minus(const std::vector<double>& left, const std::vector<double>& right) {
        std::vector<double> each;
        for (std::size_t i = 0; i < left.size(); ++i) each.push_back(left[i] - right[i]);
        return difference(std::move(each));
    }

    void without_recording() {
        policy_.record("");
        if (is_backwards_) off_times_.push_back(turn(called_));
        direct_times_.push_back(turn(direct_));
        if (!is_backwards_) off_times_.push_back(turn(called_));
    }
    void summary() {
        policy_.record("summary");
        summary_times_.push_back(turn(called_));
    }
    void calls() {
        policy_.record("calls");
        calls_times_.push_back(turn(called_));
    }

    /// Returns the time of one call. The first calls after a change of settings take longer.
    double turn(Sgemm* function) const {
        repeat(function, unmeasured_calls);
        worker_.device().synchronise();
        const double begun = nanoseconds_of_this_thread();
        repeat(function, measured_calls);
        return (nanoseconds_of_this_thread() - begun) / measured_calls;
    }
    void repeat(Sgemm* function, int times) const {
        const float one = 1, zero = 0;
        for (int i = 0; i < times; ++i)
            check(function(worker_.cublas().handle, CUBLAS_OP_N, CUBLAS_OP_N, order, order, order, &one,
                           a_.as<float>(), order, b_.as<float>(), order, &zero, c_.as<float>(), order),
                  "cublasSgemm_v2");
    }

    Worker& worker_;
    Switch policy_;
    const std::vector<float> ones_ = std::vector<float>(order * order, 1);
    Buffer a_{worker_.device(), ones_}, b_{worker_.device(), ones_}, c_{worker_.device(), ones_};
    Sgemm *direct_, *called_;
    bool is_backwards_ = false;
    std::vector<double> direct_times_, off_times_, summary_times_, calls_times_;
};

}  // namespace

void ask_cost(Worker& worker) {
    worker.row({"cublasSgemm"}, [&]() -> std::vector<std::string> {
        Turns turns(worker);
        const auto begun = std::chrono::steady_clock::now();
        for (int round = 0; round < most_rounds; ++round) {
            if (round >= fewest_rounds && std::chrono::steady_clock::now() - begun > enough_time) break;
            turns.take(round % 2 != 0);
        }
        worker.found("launch", tenths(turns.direct()));
        std::vector<std::string> cells{tenths(turns.direct())};
        for (const auto& [name, cost] :
             {std::pair{"off", turns.off()}, {"summary", turns.recording(false)}, {"calls", turns.recording(true)}}) {
            worker.found(name, tenths(cost.median));
            worker.found(std::string(name) + "_low", tenths(cost.low));
            worker.found(std::string(name) + "_high", tenths(cost.high));
            cells.push_back(tenths(cost.median) + " (" + tenths(cost.low) + " to " + tenths(cost.high) + ")");
        }
        return cells;
    });
}

}  // namespace gpu
