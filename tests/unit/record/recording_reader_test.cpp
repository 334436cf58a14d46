// Tests files with numbers that no writer would write. The reader reports them, and stays small and quick.
#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>

#include "recording_fixture.hpp"

namespace fp32shim::record::test {
namespace {

using format::SegmentKind;

/// A call path of two lines in two files.
struct TwoLines : CallStack {
    TwoLines() {
        size = 2;
        read = [](const CallStack&, std::size_t index, StackFrame& frame) {
            frame.file = index == 0 ? "/home/user/main.py" : "/tmp/cells/17.py";
            frame.function = index == 0 ? "main" : "step";
            frame.line = index == 0 ? 5 : 41;
            return true;
        };
    }
};

/// A recording of three calls and one object, which the test then changes. If there is a `stack`, it has a
/// call from there before these.
class Changed {
  public:
    explicit Changed(const CallStack* stack = nullptr) {
        const auto recording = open_recording(path_);
        ThreadWriter* writer = recording->attach_thread();
        if (stack != nullptr)
            recording->count(*writer, 1, 1, 2, true, [&](DecisionEvent& decision) {
                describe_square(decision, 16);
                decision.stack = stack;
            });
        for (int i = 0; i < 3; ++i) count_square(*recording, *writer, 8);
        recording->objects()->add({"/usr/lib/libfoo.so", {}, false});
        bytes_ = bytes_of(path_);
    }
    template <class Segment>
    Segment& segment(SegmentKind kind) {
        return *reinterpret_cast<Segment*>(bytes_.data() + offset_of(kind));
    }
    std::uint64_t offset_of(SegmentKind kind) const {
        for (std::uint64_t offset = format::segment_size; offset < bytes_.size(); offset += format::segment_size) {
            const auto* header = reinterpret_cast<const format::SegmentHeader*>(bytes_.data() + offset);
            if (header->kind == static_cast<std::uint32_t>(kind)) return offset;
        }
        ADD_FAILURE() << "no segment of kind " << static_cast<int>(kind);
        return 0;
    }
    format::Header& header() { return *reinterpret_cast<format::Header*>(bytes_.data()); }
    std::string& bytes() { return bytes_; }
    std::unique_ptr<RecordingReader> read() {
        std::ofstream(path_, std::ios::binary) << bytes_;
        return read_recording(path_);
    }

  private:
    TemporaryFolder folder_;
    std::string path_ = folder_ / "run.fp32rec";
    std::string bytes_;
};

bool has_problem(const RecordingReader& reader, std::uint64_t offset, const std::string& text) {
    return std::any_of(reader.problems().begin(), reader.problems().end(), [&](const FileProblem& problem) {
        return problem.offset == offset && problem.what.find(text) != std::string::npos;
    });
}

TEST(RecordingReader, LeavesOutSegmentsOfSlotsThatCannotBe) {
    for (const std::uint32_t slot : {UINT32_MAX, UINT32_MAX - 1, format::segment_limit}) {
        Changed file;
        const std::uint64_t ring = file.offset_of(SegmentKind::ring);
        file.segment<format::EventSegment>(SegmentKind::ring).header.slot = slot;
        const auto reader = file.read();
        EXPECT_TRUE(has_problem(*reader, ring, "slot " + std::to_string(slot)));
        EXPECT_TRUE(events_of(*reader).empty());
        EXPECT_EQ(reader->slot_count(), 1U);
        EXPECT_EQ(reader->total_calls(), 3U);
    }
}

TEST(RecordingReader, ReadsNoMoreSegmentsWithObjectsThanThereCanBe) {
    Changed file;
    const std::uint64_t offset = file.offset_of(SegmentKind::objects);
    const std::string segment = file.bytes().substr(offset, format::segment_size);
    const std::uint64_t extra = file.bytes().size() + (format::object_segment_limit - 1) * format::segment_size;
    for (std::uint32_t i = 0; i < 20; ++i) file.bytes() += segment;
    file.header().next_segment = static_cast<std::uint32_t>(file.bytes().size() / format::segment_size);
    const auto reader = file.read();
    EXPECT_EQ(reader->objects().all.size(), format::object_segment_limit);
    EXPECT_TRUE(has_problem(*reader, extra, "21 segments with objects"));
}

TEST(RecordingReader, ShowsTextsThatAreTooLongAsEmpty) {
    Changed file;
    const auto& object = file.segment<format::ObjectSegment>(SegmentKind::objects).entries[0];
    const std::uint64_t text = file.offset_of(SegmentKind::strings) + format::offset_of(object.path);
    const std::uint32_t size_plus_one = format::string_limit + 2;
    std::memcpy(file.bytes().data() + text, &size_plus_one, sizeof size_plus_one);
    const auto reader = file.read();
    ASSERT_EQ(reader->objects().all.size(), 1U);
    EXPECT_EQ(reader->objects().all[0].path, "");
    EXPECT_TRUE(has_problem(*reader, file.offset_of(SegmentKind::objects) + sizeof(format::SegmentHeader),
                            "of 2049 bytes, but texts have at most 2048"));
}

TEST(RecordingReader, KeepsTimesAndSumsThatAreTooLargeWithinTheirBounds) {
    Changed file;
    for (format::CounterRecord& counters : file.segment<format::CounterSegment>(SegmentKind::counters).entries) {
        if (counters.calls == 0) continue;
        counters.calls = counters.total = UINT64_MAX;
        counters.untimed = UINT32_MAX;
        counters.first = 0;
        counters.last = UINT64_MAX;
    }
    auto& ring = file.segment<format::EventSegment>(SegmentKind::ring);
    ring.entries[0].duration_row = format::pack_duration_and_row(format::untimed, format::row_of(ring.entries[0]));
    ring.entries[2].time = UINT64_MAX;
    file.header().ticks_per_second = 1;
    const auto reader = file.read();
    for (const auto& [id, counters] : reader->counters()) {
        EXPECT_EQ(counters.total_ns, static_cast<std::uint64_t>(INT64_MAX));
        EXPECT_EQ(counters.last_ns, farthest_time_ns);
        EXPECT_GE(counters.first_ns, -farthest_time_ns);
    }
    const std::vector<RecordedEvent> events = events_of(*reader);
    ASSERT_EQ(events.size(), 3U);
    for (const RecordedEvent& event : events) {
        EXPECT_LE(event.end_ns, farthest_time_ns);
        EXPECT_LE(event.begin_ns(), event.end_ns);
        EXPECT_GE(event.begin_ns(), -farthest_time_ns);
    }
}

TEST(RecordingReader, LeavesOutTheCallsOfAnEarlierCopy) {
    const TemporaryFolder folder;
    const std::string path = folder / "run.fp32rec", copy = folder / "copy.fp32rec";
    const auto recording = open_recording(path);
    ThreadWriter* writer = recording->attach_thread();
    for (const std::int64_t m : {8, 8, 16}) count_square(*recording, *writer, m);
    std::filesystem::copy_file(path, copy);
    for (const std::int64_t m : {8, 32}) count_square(*recording, *writer, m);

    const auto earlier = read_recording(copy), whole = read_recording(path);
    EXPECT_EQ(whole->subtract_earlier_copy(*earlier), "");
    EXPECT_EQ(whole->total_calls(), 2U);
    EXPECT_EQ(calls_of_square(*whole, 8), 1U);
    EXPECT_EQ(calls_of_square(*whole, 16), 0U);
    EXPECT_EQ(calls_of_square(*whole, 32), 1U);
    std::vector<std::int64_t> sizes;
    for (const RecordedEvent& event : events_of(*whole)) sizes.push_back(whole->row(event.row)->decision.call.m);
    EXPECT_EQ(sizes, (std::vector<std::int64_t>{8, 32}));
}

TEST(RecordingReader, LeavesNothingOutOfWhatIsNoLaterCopy) {
    const TemporaryFolder folder;
    const std::string path = folder / "run.fp32rec", copy = folder / "copy.fp32rec";
    const auto recording = open_recording(path);
    ThreadWriter* writer = recording->attach_thread();
    count_square(*recording, *writer, 8);
    std::filesystem::copy_file(path, copy);
    count_square(*recording, *writer, 8);
    const auto another = open_recording(folder / "another.fp32rec");

    const auto earlier = read_recording(copy), later = read_recording(path);
    EXPECT_NE(earlier->subtract_earlier_copy(*later).find("not an earlier copy"), std::string::npos);
    EXPECT_EQ(earlier->total_calls(), 1U);
    EXPECT_EQ(later->subtract_earlier_copy(*read_recording(folder / "another.fp32rec")), "is no copy of it");
    EXPECT_EQ(later->total_calls(), 2U);
}

TEST(RecordingReader, GivesFilesOtherNamesInCallPathsAndPlaces) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    ThreadWriter* writer = recording->attach_thread();
    const TwoLines path;
    recording->count(*writer, 1, 1, 2, true, [&](DecisionEvent& decision) {
        describe_square(decision, 8);
        decision.stack = &path;
        decision.call.where = "17.py:41 step";
    });
    const auto shown = [&](std::map<std::string, std::string> names) {
        const auto reader = read_recording(folder / "run.fp32rec");
        reader->row_reader().set_file_names(std::move(names));
        const RecordedRow* row = reader->row(reader->counters()[0].row);
        std::vector<std::string> texts{std::string(row->decision.call.where)};
        for (auto frame = reader->frame(row->stack); frame; frame = reader->frame(frame->parent)) {
            texts.push_back(frame->file);
            if (frame->parent == 0) break;
        }
        return texts;
    };
    using Texts = std::vector<std::string>;
    EXPECT_EQ(shown({}), (Texts{"17.py:41 step", "/tmp/cells/17.py", "/home/user/main.py"}));
    EXPECT_EQ(shown({{"/tmp/cells/17.py", "notebook[3]"}}),
              (Texts{"notebook[3]:41 step", "notebook[3]", "/home/user/main.py"}));
    EXPECT_EQ(shown({{"/home/user/main.py", "start.py"}}), (Texts{"17.py:41 step", "/tmp/cells/17.py", "start.py"}));
}

TEST(RecordingReader, ReportsABadFrameAtItsOffset) {
    const TwoLines path;
    Changed file(&path);
    const auto intact = file.read();
    const format::StringId id = intact->row(intact->counters()[0].row)->stack;
    const std::uint64_t text = file.offset_of(SegmentKind::strings) + format::offset_of(id);
    std::memcpy(file.bytes().data() + text + sizeof(std::uint32_t), &id, sizeof id);  // its own caller
    const auto reader = file.read();
    EXPECT_FALSE(reader->frame(id));
    EXPECT_TRUE(has_problem(*reader, text, "comes before its caller"));
}

}  // namespace
}  // namespace fp32shim::record::test
