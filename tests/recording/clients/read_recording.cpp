// Prints what is in a recording as one JSON object: events of each thread, and calls and events of all. The command gives no
// events by thread, and a million of them as text take longer than all else that a test does.
//
//   read_recording FILE
#include <cstdio>
#include <map>
#include <string>

#include "record/recording_reader.hpp"

using namespace fp32shim::record;

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const RecordingReader::Opened opened = RecordingReader::open(argv[1]);
    if (!opened.reader) {
        std::fprintf(stderr, "read_recording: %s: %s\n", argv[1], opened.error.c_str());
        return 1;
    }
    RecordingReader& reader = *opened.reader;
    std::map<std::int32_t, unsigned long long> threads;
    unsigned long long events = 0, unknown_rows = 0, rows = 0;
    reader.visit_rows([&](const RecordedRow&) { return ++rows > 0; });
    for (const auto& [row, counters] : reader.counters())
        if (reader.row(row) == nullptr) ++unknown_rows;
    reader.visit_events([&](const RecordedEvent& event) {
        ++events;
        ++threads[event.thread];
        if (reader.row(event.row) == nullptr) ++unknown_rows;
        return true;
    });
    const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
    std::printf(R"({"calls": %llu, "uncounted_calls": %llu, "events": %llu, "unknown_rows": %llu, )",
                number(reader.total_calls()), number(reader.uncounted_calls()), events, unknown_rows);
    std::printf(R"("dropped_events": %llu, "overwritten_events": %llu, "lanes": %zu, "rows": %llu, "problems": %zu, )",
                number(reader.dropped_events()), number(reader.overwritten_events()), reader.lanes().size(),
                rows, reader.problems().size());
    std::printf(R"("last_error": %d, "threads": {)", reader.facts().last_error);
    const char* separator = "";
    for (const auto& [thread, count] : threads) {
        std::printf(R"(%s"%d": {"events": %llu})", separator, thread, count);
        separator = ", ";
    }
    std::printf("}}\n");
    return 0;
}
