// Writes recordings for the tests of `fp32shim report`, `log` and `verify`: what the shim's writer would write for
// calls that are described on the command line.
//
//   make_recording FILE LEVEL [--stay] [--rows ROWS] [FUNCTION:SIZE:REQUESTED:APPLIED:REASON:CALLS[:THREADS]]...
//
// LEVEL is summary or calls. Each description is one distinct decision on the CPU, called CALLS times by each thread,
// 1000 ticks a call. It then prints the path, and with --stay stays alive until its standard input ends. ROWS: how
// many distinct decisions the recording has room for.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "policy/words.hpp"
#include "record/recording_writer.hpp"

namespace record = fp32shim::record;
namespace policy = fp32shim::policy;

namespace {

struct Description {
    std::string function;
    long size = 0;
    policy::Precision requested{};
    policy::Applied applied{};
    policy::Reason reason{};
    long calls = 0;
    long threads = 1;
};

policy::Reason reason_of(const std::string& text) {
    for (int value = 0; value < 64; ++value) {
        const auto reason = static_cast<policy::Reason>(value);
        if (policy::to_string(reason) == text) return reason;
    }
    std::fprintf(stderr, "make_recording: no such reason: %s\n", text.c_str());
    std::exit(2);
}

Description parsed(const std::string& text) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == ':')
            parts.emplace_back();
        else
            parts.back() += c;
    }
    if (parts.size() < 6) {
        std::fprintf(stderr, "make_recording: not a description: %s\n", text.c_str());
        std::exit(2);
    }
    return {parts[0],
            std::stol(parts[1]),
            policy::parse_precision(parts[2]).value(),
            policy::parse_word(policy::applied_words, parts[3]).value(),
            reason_of(parts[4]),
            std::stol(parts[5]),
            parts.size() > 6 ? std::stol(parts[6]) : 1};
}

record::DecisionEvent decision_of(const Description& description) {
    record::DecisionEvent decision;
    decision.call.function = description.function;
    decision.call.caller = "libcaller.so";
    decision.call.dtype = policy::Dtype::float32;
    decision.call.trans_a = decision.call.trans_b = 'N';
    decision.call.m = decision.call.n = decision.call.k = description.size;
    if (description.reason == policy::Reason::observed) decision.call.dtype = policy::Dtype::bfloat16;
    decision.provider = "libprovider.so.0";
    decision.requested = description.requested;
    decision.source =
        description.requested == policy::Precision::native ? policy::Source::native : policy::Source::environment;
    decision.applied = description.applied;
    decision.reason = description.reason;
    return decision;
}

void call(record::Recording& recording, const Description& description, std::uint64_t key, bool with_events) {
    record::ThreadWriter* writer = recording.attach();
    for (long i = 0; i < description.calls; ++i) {
        const std::uint64_t end = record::ticks();
        recording.count(*writer, key, end - 1000, end, with_events,
                        [&](record::DecisionEvent& decision) { decision = decision_of(description); });
    }
    recording.detach(writer);
}

/// Waits 10 ms for it.
bool input_has_ended() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char read_away = 0;
    return poll(&input, 1, 10) > 0 && read(STDIN_FILENO, &read_away, 1) <= 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const bool with_events = std::strcmp(argv[2], "calls") == 0;
    bool stays = false;
    record::RecordingSettings settings;
    std::vector<Description> descriptions;
    for (int i = 3; i < argc; ++i) {
        if (std::strcmp(argv[i], "--stay") == 0)
            stays = true;
        else if (std::strcmp(argv[i], "--rows") == 0 && i + 1 < argc)
            settings.row_limit = static_cast<std::uint32_t>(std::stoul(argv[++i]));
        else
            descriptions.push_back(parsed(argv[i]));
    }
    std::vector<std::string_view> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
    policy::Policy policy;
    policy.name = "test";
    policy.revision = "1";
    policy.log_level = with_events ? policy::LogLevel::calls : policy::LogLevel::summary;
    const auto opened = record::Recording::open(argv[1], record::gather_process_facts(environment),
                                                record::make_start_event("0.1.0", policy), settings);
    if (opened.recording == nullptr) {
        std::fprintf(stderr, "make_recording: %s\n", opened.error.c_str());
        return 1;
    }
    std::uint64_t key = 0;
    for (const Description& description : descriptions) {
        ++key;
        std::vector<std::thread> threads;
        for (long i = 0; i < description.threads; ++i) {
            threads.emplace_back([&, key] { call(*opened.recording, description, key, with_events); });
        }
        for (std::thread& thread : threads) thread.join();
    }
    std::puts(opened.recording->path().c_str());
    std::fflush(stdout);
    record::ThreadWriter* writer = opened.recording->attach();
    while (stays && !input_has_ended()) {
        // What the shim does at each product.
        if (!opened.recording->has_command()) continue;
        if (const auto command = opened.recording->take_command()) {
            const bool is_set = command->kind == record::format::CommandKind::set_precision;
            opened.recording->answer(*command, is_set, is_set ? "" : "there is no policy file to read again");
        }
    }
    opened.recording->detach(writer);
    // What the shim does when the program ends; here nothing is loaded that multiplies.
    opened.recording->note_objects_complete(1);
    opened.recording->note_exit();
    return 0;
}
