// Writes recordings for the tests of `fp32shim report`, `log` and `verify`. They have the contents that the shim
// would write for the calls described on the command line.
//
//   make_recording --lines        one recording for each line of standard input, which has the words below
//   make_recording FILE LEVEL [--stay] [--rows ROWS] [--max-size BYTES] [--one-thread] [--host NAME] [--job ID]
//                  [--rank NUMBER] [--executable PATH] [--policy NAME,REVISION,SHA256]
//                  [FUNCTION:SIZE:REQUESTED:APPLIED:REASON:CALLS[:THREADS[:TICKS,...[:SCOPE[:STACK[:RESULT,...]]]]]]...
//
// LEVEL is summary or calls. Each description is one distinct decision on the CPU. Each of THREADS threads makes
// CALLS calls of 1000 ticks, or of TICKS in turn; with --one-thread one thread makes all calls. SIZE is that of m, n
// and k, or MxNxK. FROM-TO means one decision for each size. SIZE/NT and SIZE/NT/BATCH give the transpositions and
// the number of products in a batch. STACK is a call path, outermost frame first: frames separated by `;`, each
// FUNCTION@FILE@LINE for Python, or PATH+OFFSET for a program; a `%` stands for the number of the decision. RESULT is
// a number that stands for a call's result, which then has a fingerprint; calls take the results in turn; nan is a
// result that is not finite. RESULT/OPERAND also has hashes of operands: of A the number OPERAND, and
// RESULT/OPERAND/ROWS a hash of the rows of a row-major result.
//
// The program prints the path of the file; with --stay it then waits until its standard input ends. --rows gives the
// number of distinct decisions that fit into the recording. The other options replace facts about the process.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "policy/words.hpp"
#include "record/write/count_call.hpp"

namespace record = fp32shim::record;
namespace policy = fp32shim::policy;

namespace {

struct Description {
    std::string function;
    long m = 0, n = 0, k = 0;
    long more_sizes = 0;  ///< number of further decisions, each one larger in m, n and k
    std::string transpositions = "NN";
    long batch = 1;
    policy::Precision requested{};
    policy::AppliedFormat applied{};
    policy::Reason reason{};
    long calls = 0;
    long threads = 1;
    std::vector<std::uint64_t> ticks = {1000};
    std::string scope, stack;
    std::vector<double> results;
    std::vector<std::optional<std::uint64_t>> operands;  ///< of each result
    std::vector<std::uint64_t> row_hashes;               ///< of each result; 0: none
};

policy::Reason reason_of(const std::string& text) {
    for (int value = 0; value < 64; ++value) {
        const auto reason = static_cast<policy::Reason>(value);
        if (policy::to_string(reason) == text) return reason;
    }
    std::fprintf(stderr, "make_recording: no such reason: %s\n", text.c_str());
    std::exit(2);
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts(1);
    for (const char c : text) {
        if (c == separator)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    return parts;
}

void read_sizes(const std::string& text, Description& description) {
    const std::vector<std::string> range = split(text, '-'), sizes = split(range[0], 'x');
    const long first = std::stol(sizes[0]);
    description.m = first;
    description.n = sizes.size() == 3 ? std::stol(sizes[1]) : first;
    description.k = sizes.size() == 3 ? std::stol(sizes[2]) : first;
    if (range.size() == 2) description.more_sizes = std::stol(range[1]) - first;
}

Description parsed(const std::string& text) {
    const std::vector<std::string> parts = split(text, ':');
    if (parts.size() < 6) {
        std::fprintf(stderr, "make_recording: not a description: %s\n", text.c_str());
        std::exit(2);
    }
    Description description;
    description.function = parts[0];
    const std::vector<std::string> size = split(parts[1], '/');
    read_sizes(size[0], description);
    if (size.size() > 1) description.transpositions = size[1];
    if (size.size() > 2) description.batch = std::stol(size[2]);
    description.requested = policy::parse_precision(parts[2]).value();
    description.applied = policy::parse_word(policy::applied_words, parts[3]).value();
    description.reason = reason_of(parts[4]);
    description.calls = std::stol(parts[5]);
    if (parts.size() > 6) description.threads = std::stol(parts[6]);
    if (parts.size() > 7) {
        description.ticks.clear();
        for (const std::string& ticks : split(parts[7], ',')) description.ticks.push_back(std::stoul(ticks));
    }
    if (parts.size() > 8) description.scope = parts[8];
    if (parts.size() > 9) description.stack = parts[9];
    if (parts.size() > 10)
        for (const std::string& result : split(parts[10], ',')) {
            const std::vector<std::string> words = split(result, '/');
            description.results.push_back(std::stod(words[0]));
            description.operands.emplace_back();
            if (words.size() > 1) description.operands.back() = std::stoul(words[1]);
            description.row_hashes.push_back(words.size() > 2 ? std::stoul(words[2]) | record::rows_are_rows : 0);
        }
    return description;
}

/// A call path, given in words.
struct WrittenStack : record::CallStack {
    WrittenStack(const std::string& words, long number) {
        for (const std::string& frame : split(words, ';')) {
            std::string filled = frame;
            if (const auto percent = filled.find('%'); percent != std::string::npos)
                filled.replace(percent, 1, std::to_string(number));
            frames.push_back(split(filled, '@'));
        }
        size = frames.size();
        read = read_frame;
    }
    static bool read_frame(const CallStack& stack, std::size_t index, record::StackFrame& frame) {
        const std::vector<std::string>& words = static_cast<const WrittenStack&>(stack).frames[index];
        frame = {};
        if (words.size() == 3) {
            frame.function = words[0];
            frame.file = words[1];
            frame.line = static_cast<std::uint32_t>(std::stoul(words[2]));
            return true;
        }
        const std::size_t plus = words[0].rfind('+');
        frame.file = std::string_view(words[0]).substr(0, plus);
        frame.offset = static_cast<std::uint32_t>(std::stoul(words[0].substr(plus + 1), nullptr, 0));
        return true;
    }

    std::vector<std::vector<std::string>> frames;
};

/// Returns the innermost line of Python, as in the field `where`; empty: the call path has none.
std::string where_of(const WrittenStack& stack) {
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame) {
        if (frame->size() != 3) continue;
        return (*frame)[1].substr((*frame)[1].rfind('/') + 1) + ":" + (*frame)[2] + " " + (*frame)[0];
    }
    return {};
}

/// Returns the type that a gemm's name tells; float32 for other functions.
policy::Dtype dtype_of(const std::string& function) {
    const auto has = [&](const char* name) { return function.find(name) != std::string::npos; };
    if (has("cgemm")) return policy::Dtype::complex64;
    if (has("dgemm") || has("Dgemm")) return policy::Dtype::float64;
    return has("zgemm") || has("Zgemm") ? policy::Dtype::complex128 : policy::Dtype::float32;
}

record::DecisionEvent decision_of(const Description& description, long number) {
    record::DecisionEvent decision;
    decision.call.function = description.function;
    decision.call.caller = "libcaller.so";
    decision.call.dtype = dtype_of(description.function);
    decision.call.trans_a = description.transpositions[0];
    decision.call.trans_b = description.transpositions[1];
    decision.call.batch = description.batch;
    if (description.function.starts_with("cublas")) {
        decision.call.device = policy::Device::cuda;
        decision.call.device_index = 0;
        decision.call.compute_capability = 90;
    }
    decision.call.scope = description.scope;
    decision.call.m = description.m + number;
    decision.call.n = description.n + number;
    decision.call.k = description.k + number;
    if (description.reason == policy::Reason::observed) decision.call.dtype = policy::Dtype::bfloat16;
    decision.provider = "libprovider.so.0";
    decision.requested = description.requested;
    decision.source =
        description.requested == policy::Precision::native ? policy::Source::native : policy::Source::environment;
    decision.applied = description.applied;
    decision.reason = description.reason;
    return decision;
}

/// Returns the fingerprint of a result that consists of one number.
record::Fingerprint fingerprint_of(double result) {
    record::Fingerprint fingerprint;
    fingerprint.hash = std::bit_cast<std::uint64_t>(result);
    if (!std::isfinite(result)) {
        fingerprint.flags = record::fingerprint_nonfinite;
        return fingerprint;
    }
    fingerprint.sketch[7] = result;
    fingerprint.norm = std::abs(result);
    return fingerprint;
}

void call(record::Recording& recording, const Description& description, std::uint64_t key, bool with_events) {
    record::ThreadWriter* writer = recording.attach_thread();
    for (long number = 0; number <= description.more_sizes; ++number) {
        const WrittenStack stack(description.stack, number);
        const std::string where = where_of(stack);
        for (long i = 0; i < description.calls; ++i) {
            const std::uint64_t ticks = description.ticks[static_cast<std::size_t>(i) % description.ticks.size()];
            const std::uint64_t end = std::max(record::ticks(), ticks + 1);  // the machine may have just started
            recording.count(*writer, key + static_cast<std::uint64_t>(number), end - ticks, end, with_events,
                            [&](record::DecisionEvent& decision) {
                                decision = decision_of(description, number);
                                if (description.stack.empty()) return;
                                decision.call.where = where;
                                decision.stack = &stack;
                            });
            const std::vector<double>& results = description.results;
            if (results.empty()) continue;
            const std::size_t next = static_cast<std::size_t>(i) % results.size();
            const std::uint64_t own_key = key + static_cast<std::uint64_t>(number);
            recording.add_fingerprint(*writer, own_key, end, fingerprint_of(results[next]));
            if (const auto operand = description.operands[next])
                recording.add_operands(*writer, own_key, end, {.a = *operand, .b = 1, .c = 0, .scalars = 1},
                                       static_cast<std::uint32_t>(description.row_hashes[next]));
        }
    }
    recording.detach_thread(writer);
}

/// Returns true if standard input has ended. Waits at most 10 ms.
bool input_has_ended() {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    char read_away = 0;
    return poll(&input, 1, 10) > 0 && read(STDIN_FILENO, &read_away, 1) <= 0;
}

/// A recording that the command line, or a line of standard input, asks for.
struct Request {
    std::string path;
    bool with_events = false, stays = false, is_one_thread = false;
    record::RecordingSettings settings;
    record::ProcessFacts facts;
    policy::Policy policy;
    std::vector<Description> descriptions;
};

record::ProcessFacts own_facts() {
    std::vector<std::string_view> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) environment.emplace_back(*entry);
    return record::gather_process_facts(environment);
}

/// Handles an option with a value. Returns false for another word.
bool take_option(const std::string& word, const std::string& value, Request& request) {
    if (word == "--max-size")
        request.settings.max_size = std::stoul(value);
    else if (word == "--rows")
        request.settings.row_limit = static_cast<std::uint32_t>(std::stoul(value));
    else if (word == "--host")
        request.facts.host = value;
    else if (word == "--job")
        request.facts.job_id = value;
    else if (word == "--rank")
        request.facts.rank = std::stoi(value);
    else if (word == "--executable")
        request.facts.executable = value;
    else if (word == "--policy") {
        const std::vector<std::string> parts = split(value, ',');
        request.policy.name = parts[0];
        request.policy.revision = parts[1];
        request.policy.sha256 = parts[2];
    } else
        return false;
    return true;
}

Request request_of(const std::vector<std::string>& words) {
    Request request;
    request.path = words[0];
    request.with_events = words[1] == "calls";
    request.facts = own_facts();
    request.policy.name = std::string("test");
    request.policy.revision = std::string("1");
    request.policy.log_level = request.with_events ? policy::LogLevel::calls : policy::LogLevel::summary;
    for (std::size_t i = 2; i < words.size(); ++i) {
        if (words[i] == "--stay")
            request.stays = true;
        else if (words[i] == "--one-thread")
            request.is_one_thread = true;
        else if (i + 1 < words.size() && take_option(words[i], words[i + 1], request))
            ++i;
        else
            request.descriptions.push_back(parsed(words[i]));
    }
    return request;
}

void make_calls(record::Recording& recording, const Request& request) {
    std::uint64_t key = 0;
    for (const Description& description : request.descriptions) {
        ++key;
        if (request.is_one_thread) call(recording, description, key, request.with_events);
        std::vector<std::thread> threads;
        for (long i = 0; i < description.threads && !request.is_one_thread; ++i)
            threads.emplace_back([&, key] { call(recording, description, key, request.with_events); });
        for (std::thread& thread : threads) thread.join();
        key += static_cast<std::uint64_t>(description.more_sizes);
    }
}

/// Answers commands, as the shim does at each product, until standard input ends.
void answer_commands(record::Recording& recording) {
    record::ThreadWriter* writer = recording.attach_thread();
    while (!input_has_ended()) {
        if (!recording.has_command()) continue;
        if (const auto command = recording.control()->receive_command()) {
            const bool is_set = command->kind == record::format::CommandKind::set_precision;
            recording.control()->answer(*command, is_set, is_set ? "" : "there is no policy file to read again");
        }
    }
    recording.detach_thread(writer);
}

/// Writes one recording. Returns the exit status.
int make(const Request& request) {
    const auto opened = record::Recording::open(request.path, request.facts,
                                                record::make_start_event("0.1.0", request.policy), request.settings);
    if (opened.recording == nullptr) {
        std::fprintf(stderr, "make_recording: %s\n", opened.error.c_str());
        return 1;
    }
    make_calls(*opened.recording, request);
    std::puts(opened.recording->path().c_str());
    std::fflush(stdout);
    if (request.stays) answer_commands(*opened.recording);
    // The shim does this when the program ends. No loaded file of this program multiplies.
    opened.recording->objects()->mark_complete(1);
    opened.recording->record_exit();
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view(argv[1]) == "--lines") {
        std::string line;
        while (std::getline(std::cin, line))
            if (const int status = make(request_of(split(line, ' '))); status != 0) return status;
        return 0;
    }
    if (argc < 3) return 2;
    return make(request_of({argv + 1, argv + argc}));
}
