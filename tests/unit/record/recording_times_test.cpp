// Tests the total time of a row's calls, of which only some are timed. docs/recording-format.md describes the
// estimate.
#include <cfenv>
#include <cmath>
#include <functional>
#include <random>
#include <stdexcept>

#include "record/format/clock.hpp"
#include "recording_fixture.hpp"

namespace fp32shim::record::test {
namespace {

/// Simulates calls of one row. `duration_of(i, is_timed)`: nanoseconds that call number i takes.
class Estimate {
  public:
    Estimate(std::uint64_t calls, const std::function<double(std::uint64_t, bool)>& duration_of) {
        const auto recording = open_recording(folder_ / "run.fp32rec", {}, policy::LogLevel::summary);
        ThreadWriter* writer = recording->attach_thread();
        // Uses the writer's initial rate, by which it defines short calls.
        const double ticks_per_ns =
            static_cast<double>(read_recording(recording->path())->facts().ticks_per_second) / 1e9;
        for (std::uint64_t i = 0; i < calls; ++i) {
            const bool is_timed = !recording->count_untimed(*writer, 1, false);
            const double duration = duration_of(i, is_timed);
            true_ns_ += duration;
            if (!is_timed) continue;
            const std::uint64_t begin = ticks();
            const auto end = begin + static_cast<std::uint64_t>(std::llround(duration * ticks_per_ns));
            recording->count(*writer, 1, begin, end, false,
                             [](DecisionEvent& decision) { describe_square(decision, 20); });
        }
        const auto reader = read_recording(folder_ / "run.fp32rec");
        if (reader->counters().size() == 0) throw std::logic_error("nothing was counted");
        const RecordedCounters counters = reader->counters()[0].counters;
        EXPECT_EQ(counters.calls, calls);
        estimated_ns_ = static_cast<double>(counters.total_ns);
        timed_ = counters.timed_calls;
    }

    double true_ns() const { return true_ns_; }
    double estimated_ns() const { return estimated_ns_; }
    /// Returns the relative error of the estimate: 0.1 means a tenth too much.
    double error() const { return estimated_ns_ / true_ns_ - 1; }
    std::uint64_t timed() const { return timed_; }

  private:
    TemporaryFolder folder_;
    double true_ns_ = 0;
    double estimated_ns_ = 0;
    std::uint64_t timed_ = 0;
};

TEST(RecordingClock, LeavesTheFloatingPointFlagsAlone) {
    std::feclearexcept(FE_ALL_EXCEPT);
    EXPECT_EQ(ticks_per_second({10, 1'000'000, 0}, {10 + 7'000'000'003, 3'000'001'003, 0}), 2'334'110'590);
    EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
}

TEST(RecordingTimes, CallsOfOneLengthAreEstimatedByTheirLength) {
    const Estimate estimate(100'000, [](std::uint64_t, bool) { return 300.; });
    EXPECT_NEAR(estimate.error(), 0, 0.01);
    EXPECT_LT(estimate.timed(), 100'000U / 40);
}

TEST(RecordingTimes, AnInterruptedCallAmongTheFirstCountsOnce) {
    const Estimate estimate(60, [](std::uint64_t i, bool) { return i == 5 ? 10e6 : 1000.; });
    EXPECT_LT(estimate.timed(), 60U) << "else nothing was estimated";
    EXPECT_NEAR(estimate.estimated_ns(), estimate.true_ns(), 100e3);
}

TEST(RecordingTimes, AnInterruptedCallAmongTheLaterOnesCountsOnce) {
    for (const double interruption : {20e3, 100e3, 1e6}) {
        int timed = 0;
        const Estimate estimate(50'000, [&](std::uint64_t, bool is_timed) {
            timed += is_timed ? 1 : 0;
            return is_timed && timed == 100 ? interruption : 100.;
        });
        ASSERT_GT(timed, 100);
        EXPECT_NEAR(estimate.error(), 0, 0.03) << interruption;
    }
}

TEST(RecordingTimes, HeavyTailsAreEstimatedToAFewPercent) {
    for (const unsigned seed : {1U, 2U, 3U}) {
        std::mt19937 random(seed);
        std::lognormal_distribution<double> heavy(std::log(200.), 1);
        const Estimate lognormal(200'000, [&](std::uint64_t, bool) { return heavy(random); });
        EXPECT_NEAR(lognormal.error(), 0, 0.1) << seed;
        std::exponential_distribution<double> light(1 / 300.);
        const Estimate exponential(200'000, [&](std::uint64_t, bool) { return light(random); });
        EXPECT_NEAR(exponential.error(), 0, 0.05) << seed;
    }
}

TEST(RecordingTimes, WarmAndColdCallsAreBothCounted) {
    for (const double part_of_cold : {0.5, 0.2}) {
        std::mt19937 random(7);
        std::bernoulli_distribution is_cold(part_of_cold);
        const Estimate estimate(200'000, [&](std::uint64_t, bool) { return is_cold(random) ? 1500. : 100.; });
        EXPECT_NEAR(estimate.error(), 0, 0.08) << part_of_cold;
    }
}

TEST(RecordingTimes, CallsThatBecomeLongerForGoodAreFollowed) {
    const Estimate estimate(200'000, [](std::uint64_t i, bool) { return i < 5000 ? 60. : 1200.; });
    EXPECT_NEAR(estimate.error(), 0, 0.1);
}

}  // namespace
}  // namespace fp32shim::record::test
