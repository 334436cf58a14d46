// Measures the cost that the recording adds to a call at steady state: for two readings of the clock alone, for a
// counted call, and for a counted call with an event; on one thread, and on two at once. Alternating rounds, medians.
// It also measures an untimed call of a thread that cycles through a number of rows.
//
//     build/bin/recording_bench [rounds]
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "record/write/count_call.hpp"
#include "system/hash.hpp"

namespace {

using namespace fp32shim::record;

constexpr int calls = 2'000'000;
constexpr int distinct = 16;  // number of decisions that the loop cycles through

enum class What { clock, summary, events };

/// Returns the processor time of this thread. Other programs on the machine do not affect it.
double thread_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double ns_per_call(Recording& recording, ThreadWriter& writer, const std::uint64_t* keys, What what) {
    const double begin = thread_ns();
    for (int i = 0; i < calls; ++i) {
        const std::uint64_t started = ticks();
        asm volatile("" ::: "memory");  // in place of the product
        const std::uint64_t ended = ticks();
        if (what == What::clock) {
            asm volatile("" ::"r"(started), "r"(ended));
            continue;
        }
        const int which = i % distinct;
        recording.count(writer, keys[which], started, ended, what == What::events, [&](DecisionEvent& decision) {
            decision.call.function = "sgemm_";
            decision.call.m = which;
        });
    }
    return (thread_ns() - begin) / calls;
}

/// Cycles through `rows` rows on a new thread, in the order of their first calls or in another order. Returns the
/// time per row.
double ns_per_row(Recording& recording, std::uint64_t rows, bool in_order) {
    double result = 0;
    std::thread([&] {
        ThreadWriter* writer = recording.attach_thread();
        std::vector<std::uint64_t> keys(rows);
        for (std::uint64_t row = 0; row < rows; ++row) {
            keys[row] = fp32shim::system::Hash().add(rows).add(row).value();
            // Counts 17 calls of no duration, so that the row is known and its next calls are not timed.
            for (int i = 0; i < 17; ++i)
                recording.count(*writer, keys[row], 1, 1, false, [&](DecisionEvent& decision) {
                    decision.call.function = "sgemm_";
                    decision.call.m = static_cast<std::int64_t>(row);
                });
        }
        if (!in_order) std::shuffle(keys.begin(), keys.end(), std::minstd_rand(1));
        const std::uint64_t rounds = std::max<std::uint64_t>(1, calls / rows);
        const double begin = thread_ns();
        for (std::uint64_t round = 0; round < rounds; ++round)
            for (const std::uint64_t key : keys)
                if (!recording.count_untimed(*writer, key, false))
                    recording.count(*writer, key, 1, 1, false, [](DecisionEvent&) {});
        result = (thread_ns() - begin) / static_cast<double>(rounds * rows);
        recording.detach_thread(writer);
    }).join();
    return result;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
    return values[values.size() / 2];
}

}  // namespace

int main(int count, char** arguments) {
    const int rounds = count > 1 ? std::max(3, std::atoi(arguments[1])) : 15;
    const char* folder = std::getenv("TMPDIR");
    const std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/recording_bench.%p.fp32rec";
    RecordingSettings settings;
    settings.max_size = 256ULL << 20;
    settings.on_full = fp32shim::policy::OnFull::overwrite;  // without overwriting, the file would fill the disk
    const Recording::OpenResult opened = Recording::open(path, {}, {}, settings);
    if (opened.recording == nullptr) {
        std::fprintf(stderr, "recording_bench: %s\n", opened.error.c_str());
        return 1;
    }
    Recording& recording = *opened.recording;
    const std::string file = recording.path();

    std::uint64_t keys[distinct];
    for (std::uint64_t i = 0; i < distinct; ++i) keys[i] = fp32shim::system::Hash().add(i).value();
    for (const int threads : {1, 2}) {
        std::vector<double> clock, summary, events;
        const auto run = [&](What what) {
            std::vector<double> times(static_cast<std::size_t>(threads));
            std::vector<std::thread> running;
            for (double& time : times)
                running.emplace_back([&] {
                    ThreadWriter* writer = recording.attach_thread();
                    time = ns_per_call(recording, *writer, keys, what);
                    recording.detach_thread(writer);
                });
            for (std::thread& thread : running) thread.join();
            return *std::max_element(times.begin(), times.end());
        };
        for (int round = 0; round < rounds; ++round) {
            clock.push_back(run(What::clock));
            summary.push_back(run(What::summary));
            events.push_back(run(What::events));
        }
        std::printf("%d thread%s: clock %6.2f ns   summary %+6.2f ns   calls %+6.2f ns more   (medians of %d)\n",
                    threads, threads == 1 ? " " : "s", median(clock), median(summary) - median(clock),
                    median(events) - median(summary), rounds);
    }
    unlink(file.c_str());

    const Recording::OpenResult of_rows = Recording::open(path, {}, {}, {});
    if (of_rows.recording == nullptr) return 1;
    unlink(of_rows.recording->path().c_str());
    for (const std::uint64_t rows : {1, 100, 1000, 10'000, 100'000, 500'000}) {
        std::vector<double> in_order, at_random;
        for (int round = 0; round < std::min(rounds, 5); ++round) {
            in_order.push_back(ns_per_row(*of_rows.recording, rows, true));
            at_random.push_back(ns_per_row(*of_rows.recording, rows, false));
        }
        std::printf("%7llu rows: an untimed call %6.2f ns, at random %6.2f ns\n",
                    static_cast<unsigned long long>(rows), median(in_order), median(at_random));
    }
}
