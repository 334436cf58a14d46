// Tests records of single calls, which are audits and fingerprints. No record may be lost without being counted.
#include <thread>

#include "recording_fixture.hpp"

namespace fp32shim::record::test {
namespace {

std::uint64_t key_of(std::int64_t m) { return system::Hash().add(static_cast<std::uint64_t>(m)).value(); }

/// Counts a call, and adds a fingerprint with the hash `hash`.
void add_call(Recording& recording, ThreadWriter& writer, std::int64_t m, std::uint64_t hash) {
    count_square(recording, writer, m, false);
    Fingerprint fingerprint;
    fingerprint.hash = hash;
    fingerprint.norm = static_cast<double>(m);
    recording.add_fingerprint(writer, key_of(m), ticks(), fingerprint);
}

std::vector<RecordedFingerprint> fingerprints_of(const RecordingReader& reader) {
    std::vector<RecordedFingerprint> all;
    for (const std::uint32_t slot : reader.slots_with_fingerprints()) {
        FingerprintCursor fingerprints = reader.fingerprints(slot);
        while (const auto entry = fingerprints.next()) all.push_back(*entry);
    }
    return all;
}

TEST(CallRecords, AreReadInTheOrderOfTheCallsAcrossSegments) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    ThreadWriter* const writer = recording->attach_thread();
    constexpr std::uint64_t calls = 3 * format::FingerprintSegment::capacity + 1;
    for (std::uint64_t i = 0; i < calls; ++i) {
        add_call(*recording, *writer, 8 + static_cast<std::int64_t>(i % 2), i);
        if (i % 3 == 0) recording->add_audit(*writer, key_of(8 + static_cast<std::int64_t>(i % 2)), ticks(), {});
    }
    const auto reader = read_recording(folder / "run.fp32rec");
    expect_no_problems(*reader);
    const auto fingerprints = fingerprints_of(*reader);
    ASSERT_EQ(fingerprints.size(), calls);
    for (std::uint64_t i = 0; i < calls; ++i) {
        ASSERT_EQ(fingerprints[i].fingerprint.hash, i);
        ASSERT_EQ(fingerprints[i].number, i);
        const RecordedRow* const row = reader->row(fingerprints[i].row);
        ASSERT_NE(row, nullptr);
        ASSERT_EQ(row->decision.call.m, 8 + static_cast<std::int64_t>(i % 2));
        ASSERT_GE(fingerprints[i].end_ns, fingerprints[i == 0 ? 0 : i - 1].end_ns);
    }
    std::uint64_t audits = 0;
    reader->visit_audits([&](const RecordedAudit&) { return ++audits > 0; });
    EXPECT_EQ(audits, (calls + 2) / 3);
    EXPECT_EQ(reader->lost_fingerprints(), 0U);
}

TEST(CallRecords, WithoutSpaceAreCountedAndTheirNumbersAreMissing) {
    const TemporaryFolder folder;
    RecordingSettings settings;
    settings.max_size = smallest_recording;
    const auto recording = open_recording(folder / "run.fp32rec", settings);
    ThreadWriter* const writer = recording->attach_thread();
    constexpr std::uint64_t calls = 8000;
    for (std::uint64_t i = 0; i < calls; ++i) add_call(*recording, *writer, 8, i);
    const auto reader = read_recording(folder / "run.fp32rec");
    const auto fingerprints = fingerprints_of(*reader);
    EXPECT_EQ(reader->total_calls(), calls);
    EXPECT_GT(fingerprints.size(), format::FingerprintSegment::capacity);
    EXPECT_GT(reader->lost_fingerprints(), 0U);
    EXPECT_EQ(fingerprints.size() + reader->lost_fingerprints(), calls);
    for (const RecordedFingerprint& entry : fingerprints) EXPECT_EQ(entry.number, entry.fingerprint.hash);
}

TEST(CallRecords, OfAnUnknownCallAreLost) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    ThreadWriter* const writer = recording->attach_thread();
    count_square(*recording, *writer, 8, false);
    recording->add_fingerprint(*writer, key_of(9), ticks(), {});
    const auto reader = read_recording(folder / "run.fp32rec");
    EXPECT_EQ(fingerprints_of(*reader).size(), 0U);
    EXPECT_EQ(reader->lost_fingerprints(), 1U);
}

TEST(CallRecords, OfThreadsThatShareASlotAreToldApart) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.fp32rec");
    const auto work = [&](std::uint64_t first) {
        ThreadWriter* const writer = recording->attach_thread();
        for (std::uint64_t i = 0; i < 3; ++i) add_call(*recording, *writer, 8, first + i);
        recording->detach_thread(writer);
    };
    std::thread(work, 0).join();
    std::thread(work, 10).join();
    const auto reader = read_recording(folder / "run.fp32rec");
    EXPECT_EQ(reader->slots_with_fingerprints().size(), 1U);
    const auto fingerprints = fingerprints_of(*reader);
    ASSERT_EQ(fingerprints.size(), 6U);
    EXPECT_NE(fingerprints[0].thread, fingerprints[3].thread);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(fingerprints[i].number, i % 3);
        EXPECT_EQ(fingerprints[i].thread, fingerprints[i / 3 * 3].thread);
    }
}

TEST(CallRecords, OfAForkedChildBeginInItsOwnFile) {
    const TemporaryFolder folder;
    const auto recording = open_recording(folder / "run.%p.fp32rec");
    ThreadWriter* const writer = recording->attach_thread();
    for (std::uint64_t i = 0; i < 5; ++i) add_call(*recording, *writer, 8, i);
    const std::string parent = recording->path();
    const auto add_others = [&] {
        for (std::uint64_t i = 10; i < 13; ++i) add_call(*recording, *writer, 8, i);
    };
    EXPECT_EQ(in_child(add_others), 0);
    EXPECT_EQ(fingerprints_of(*read_recording(parent)).size(), 5U);
    std::vector<RecordedFingerprint> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        if (entry.path() != parent) found = fingerprints_of(*read_recording(entry.path()));
    ASSERT_EQ(found.size(), 3U);
    for (std::uint64_t i = 0; i < 3; ++i) {
        EXPECT_EQ(found[i].number, i);
        EXPECT_EQ(found[i].fingerprint.hash, 10 + i);
    }
}

}  // namespace
}  // namespace fp32shim::record::test
