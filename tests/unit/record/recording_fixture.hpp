// Shared by the tests of recordings: a folder, a program that only counts products, and a reader of its file.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "../in_child.hpp"
#include "../sanitized.hpp"
#include "record/read/reader.hpp"
#include "record/write/count_call.hpp"
#include "system/hash.hpp"

namespace fp32shim::record::test {

using fp32shim::test::in_child;
using fp32shim::test::sanitized;
using fp32shim::test::thread_sanitized;

inline std::string bytes_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return std::move(bytes).str();
}

/// A new folder, which the destructor removes.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "recording.XXXXXX").string();
        path_ = mkdtemp(name.data());
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    std::string operator/(const std::string& name) const { return (path_ / name).string(); }
    const std::filesystem::path& path() const { return path_; }

  private:
    std::filesystem::path path_;
};

inline ProcessFacts facts() {
    ProcessFacts facts;
    facts.pid = getpid();
    facts.host = "node17";
    facts.executable = "/usr/bin/python3.11";
    facts.command = "python3 train.py --epochs 3";
    facts.start_ns = 1'795'000'000'000'000'000;
    return facts;
}

inline StartEvent start(policy::LogLevel level = policy::LogLevel::calls) {
    StartEvent start;
    start.version = "0.1.0";
    start.default_precision = policy::Precision::high;
    start.log_level = level;
    return start;
}

/// Describes the decision about an m×m×m product.
inline void describe_square(DecisionEvent& decision, std::int64_t m) {
    decision.call.function = "cblas_sgemm";
    decision.call.caller = "libfoo.so";
    decision.call.trans_a = 'N';
    decision.call.trans_b = 'T';
    decision.call.m = decision.call.n = decision.call.k = m;
    decision.provider = "libopenblas.so.0";
    decision.requested = policy::Precision::high;
    decision.source = policy::Source::environment;
    decision.applied = policy::AppliedFormat::tf32;
    decision.how = How::round_operands;
}

/// Counts one m×m×m product at the present time.
inline void count_square(Recording& recording, ThreadWriter& writer, std::int64_t m, bool with_event = true) {
    const std::uint64_t begin = ticks();
    const std::uint64_t end = ticks();
    recording.count(writer, system::Hash().add(static_cast<std::uint64_t>(m)).value(), begin, end, with_event,
                    [m](DecisionEvent& decision) { describe_square(decision, m); });
}

inline std::unique_ptr<Recording> open_recording(const std::string& path, const RecordingSettings& settings = {},
                                                 policy::LogLevel level = policy::LogLevel::calls) {
    Recording::OpenResult opened = Recording::open(path, facts(), start(level), settings);
    EXPECT_EQ(opened.error, "");
    return std::unique_ptr<Recording>(opened.recording);
}

inline std::unique_ptr<RecordingReader> read_recording(const std::string& path) {
    RecordingReader::OpenResult opened = RecordingReader::open(path);
    EXPECT_EQ(opened.error, "") << path;
    return std::move(opened.reader);
}

inline std::vector<RecordedEvent> events_of(RecordingReader& reader) {
    std::vector<RecordedEvent> events;
    reader.visit_events([&](const RecordedEvent& event) {
        events.push_back(event);
        return true;
    });
    return events;
}

/// Reads all rows and loaded objects. Only then are their problems known.
inline void read_rows_and_objects(const RecordingReader& reader) {
    for (const auto& [id, counters] : reader.counters()) reader.row(id);
    reader.visit_rows([](const RecordedRow&) { return true; });
    reader.objects();
}

inline void expect_no_problems(const RecordingReader& reader) {
    read_rows_and_objects(reader);
    for (const FileProblem& problem : reader.problems()) ADD_FAILURE() << problem.offset << ": " << problem.what;
}

/// Returns the number of m×m×m products in the recording.
inline std::uint64_t calls_of_square(const RecordingReader& reader, std::int64_t m) {
    std::uint64_t calls = 0;
    for (const auto& [id, counters] : reader.counters()) {
        const RecordedRow* row = reader.row(id);
        if (row != nullptr && !row->is_overflow && row->decision.call.m == m) calls += counters.calls;
    }
    return calls;
}

/// Returns the lines that `body` writes to standard error.
template <class Body>
std::vector<std::string> stderr_lines(const TemporaryFolder& folder, Body body) {
    const std::string path = folder / "stderr";
    const int saved = dup(STDERR_FILENO);
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDERR_FILENO);
    body();
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(file);
    std::ifstream written(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(written, line);) lines.push_back(line);
    return lines;
}

}  // namespace fp32shim::record::test
