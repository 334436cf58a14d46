// Prints the contents of a recording as one JSON object: calls and events per thread, and in total. The command does
// not show them per thread, and a million events as text would take longer than the rest of a test.
//
//   read_recording FILE
#include <cstdio>
#include <fstream>
#include <map>

#include "record/format/format.hpp"
#include "record/read/reader.hpp"

using namespace fp32shim::record;

namespace {

struct Counted {
    unsigned long long calls = 0;
    unsigned long long events = 0;
};

/// Reads the counters from the file itself, since the reader adds up the counters of all threads.
void count_calls(const char* path, std::map<std::int32_t, Counted>& threads) {
    std::ifstream file(path, std::ios::binary);
    format::CounterSegment segment;
    while (file.read(reinterpret_cast<char*>(&segment), sizeof segment)) {
        if (segment.header.kind != static_cast<std::uint32_t>(format::SegmentKind::counters)) continue;
        for (const format::CounterRecord& counters : segment.entries)
            if (counters.calls > 0) threads[segment.header.thread].calls += counters.calls;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const RecordingReader::OpenResult opened = RecordingReader::open(argv[1]);
    if (!opened.reader) {
        std::fprintf(stderr, "read_recording: %s: %s\n", argv[1], opened.error.c_str());
        return 1;
    }
    RecordingReader& reader = *opened.reader;
    std::map<std::int32_t, Counted> threads;
    count_calls(argv[1], threads);
    unsigned long long events = 0, unknown_rows = 0, rows = 0;
    reader.visit_rows([&](const RecordedRow&) { return ++rows > 0; });
    for (const auto& [row, counters] : reader.counters())
        if (reader.row(row) == nullptr) ++unknown_rows;
    reader.visit_events([&](const RecordedEvent& event) {
        ++events;
        ++threads[event.thread].events;
        if (reader.row(event.row) == nullptr) ++unknown_rows;
        return true;
    });
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf(R"({"calls": %llu, "uncounted_calls": %llu, "events": %llu, "unknown_rows": %llu, )",
                number(reader.total_calls()), number(reader.uncounted_calls()), events, unknown_rows);
    std::printf(
        R"("dropped_events": %llu, "overwritten_events": %llu, "slots": %zu, "rows": %llu, "problems": %zu, )",
        number(reader.dropped_events()), number(reader.overwritten_events()), reader.slot_count(), rows,
        reader.problems().size());
    std::printf(R"("last_error": %d, "threads": {)", reader.facts().last_error);
    const char* separator = "";
    for (const auto& [thread, counted] : threads) {
        std::printf(R"(%s"%d": {"calls": %llu, "events": %llu})", separator, thread, counted.calls, counted.events);
        separator = ", ";
    }
    std::printf("}}\n");
    return 0;
}
