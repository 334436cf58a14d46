// Tests `fp32shim set` and `reload` through a recording's header: record/read/control.hpp.
#include "record/read/control.hpp"

#include <grp.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <span>
#include <thread>

#include "recording_fixture.hpp"

namespace fp32shim::record::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// A child that multiplies and obeys commands, but refuses `high`.
class Multiplying {
  public:
    explicit Multiplying(const std::string& path) {
        pid_ = fork();
        if (pid_ == 0) {
            const Recording::OpenResult opened = Recording::open(path, facts(), start(), {});
            if (opened.recording == nullptr) _exit(1);
            Recording& recording = *opened.recording;
            ThreadWriter* writer = recording.attach_thread();
            std::int64_t precision = 1;
            for (;;) {
                if (recording.has_command())
                    if (const auto command = recording.control()->receive_command()) {
                        if (command->kind == format::CommandKind::reload) {
                            const format::ReloadedSettings settings{policy::Precision::highest, policy::Floor::tf32,
                                                                    policy::CpuMode::emulate};
                            recording.control()->answer(*command, true, "",
                                                        {"prod", "7", "abc", "the project's exception", settings});
                        } else if (command->precision == policy::Precision::high) {
                            recording.control()->answer(*command, false, "a floor of fp32 is in force");
                        } else {
                            precision = command->precision ? static_cast<std::int64_t>(*command->precision) : 99;
                            recording.control()->answer(*command, true, "");
                        }
                    }
                count_square(recording, *writer, precision, false);
                usleep(200);
            }
        }
    }
    ~Multiplying() {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    Multiplying(const Multiplying&) = delete;
    Multiplying& operator=(const Multiplying&) = delete;
    pid_t pid() const { return pid_; }

  private:
    pid_t pid_;
};

LiveRecording wait_for_recording(std::int32_t pid) {
    while (pid == getpid() || waitpid(pid, nullptr, WNOHANG) == 0) {
        if (auto found = find_live_recording(pid); found.recording) return *found.recording;
        std::this_thread::sleep_for(milliseconds(5));
    }
    ADD_FAILURE() << "no recording of " << pid;
    return {};
}

CommandAnswer set_precision(const LiveRecording& recording, std::optional<policy::Precision> precision,
                            milliseconds timeout) {
    return send_set_precision(std::span(&recording, 1), precision, timeout).at(0);
}
CommandAnswer reload(const LiveRecording& recording, milliseconds timeout) {
    return send_reload(std::span(&recording, 1), timeout).at(0);
}

TEST(RecordingControl, ACommandIsActedOnAtTheNextCallAnsweredAndRecorded) {
    const TemporaryFolder folder;
    const Multiplying process(folder / "run.fp32rec");
    const LiveRecording recording = wait_for_recording(process.pid());
    EXPECT_EQ(recording.pid, process.pid());
    EXPECT_EQ(recording.name, folder / "run.fp32rec");

    CommandAnswer answer = set_precision(recording, policy::Precision::medium, seconds(600));
    EXPECT_EQ(answer.outcome, CommandOutcome::done) << answer.message;
    answer = set_precision(recording, policy::Precision::high, seconds(600));
    EXPECT_EQ(answer.outcome, CommandOutcome::refused);
    EXPECT_EQ(answer.message, "a floor of fp32 is in force");
    answer = reload(recording, seconds(600));
    EXPECT_EQ(answer.outcome, CommandOutcome::done) << answer.message;
    answer = set_precision(recording, std::nullopt, seconds(600));
    EXPECT_EQ(answer.outcome, CommandOutcome::done) << answer.message;

    const auto reader = read_recording(recording.open_path);
    expect_no_problems(*reader);
    const std::vector<RecordedSettingsChange>& changes = reader->changes();
    ASSERT_EQ(changes.size(), 4U);
    EXPECT_EQ(changes[0].kind, format::SettingsChangeKind::set_precision);
    EXPECT_EQ(changes[0].precision, policy::Precision::medium);
    EXPECT_TRUE(changes[0].was_done);
    EXPECT_EQ(changes[0].origin, format::SettingsChangeOrigin::command);
    EXPECT_EQ(changes[0].requester, getpid());
    EXPECT_FALSE(changes[1].was_done);
    EXPECT_EQ(changes[1].message, "a floor of fp32 is in force");
    EXPECT_EQ(changes[2].kind, format::SettingsChangeKind::reload);
    EXPECT_EQ(changes[2].policy_name, "prod");
    EXPECT_EQ(changes[2].policy_revision, "7");
    EXPECT_EQ(changes[2].policy_sha256, "abc");
    EXPECT_EQ(changes[2].floor_exception, "the project's exception");
    ASSERT_TRUE(changes[2].settings);
    EXPECT_EQ(changes[2].settings->default_precision, policy::Precision::highest);
    EXPECT_EQ(changes[2].settings->floor, policy::Floor::tf32);
    EXPECT_EQ(changes[2].settings->cpu_mode, policy::CpuMode::emulate);
    EXPECT_EQ(changes[3].precision, std::nullopt);
    for (std::size_t i = 1; i < 4; ++i) EXPECT_GE(changes[i].time_ns, changes[i - 1].time_ns);
    EXPECT_GT(calls_of_square(*reader, 3), 0U);  // calls at `medium`
    EXPECT_EQ(reader->state(), RecordingState::live);
}

TEST(RecordingControl, ADeletedRecordingIsFoundToo) {
    const TemporaryFolder folder;
    const Multiplying process(folder / "run.fp32rec");
    wait_for_recording(process.pid());
    std::filesystem::remove(folder / "run.fp32rec");
    const LiveRecording recording = wait_for_recording(process.pid());
    EXPECT_EQ(recording.name, folder / "run.fp32rec (deleted)");
    EXPECT_EQ(reload(recording, seconds(600)).outcome, CommandOutcome::done);
    bool is_visited = false;
    visit_live_recordings([&](const LiveRecording& one) { is_visited = is_visited || one.pid == process.pid(); });
    EXPECT_TRUE(is_visited);
}

TEST(RecordingControl, AProcessWhoseUserIsInManyGroupsIsFoundToo) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can choose its groups";
    const TemporaryFolder folder;
    const std::vector<gid_t> before = [] {
        std::vector<gid_t> groups(static_cast<std::size_t>(getgroups(0, nullptr)));
        getgroups(static_cast<int>(groups.size()), groups.data());
        return groups;
    }();
    std::vector<gid_t> many;
    for (gid_t group = 2'000'000'000; many.size() < 5000; ++group) many.push_back(group);
    if (setgroups(many.size(), many.data()) != 0) GTEST_SKIP() << "no groups can be set here";
    const Multiplying process(folder / "run.fp32rec");
    setgroups(before.size(), before.data());
    std::string error = "not tried";
    for (int attempt = 0; attempt < 1000 && !error.empty(); ++attempt) {
        error = find_live_recording(process.pid()).error;
        std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_EQ(error, "");
}

TEST(RecordingControl, AProcessThatDoesNotMultiplyIsSaidToActLater) {
    const TemporaryFolder folder;
    const auto own = open_recording(folder / "run.fp32rec");
    const LiveRecording recording = wait_for_recording(getpid());
    const CommandAnswer answer = set_precision(recording, policy::Precision::highest, milliseconds(30));
    EXPECT_EQ(answer.outcome, CommandOutcome::not_answered);
    EXPECT_NE(answer.message.find("it will act at its next product"), std::string::npos) << answer.message;
    // Only one thread takes the command, once.
    ASSERT_TRUE(own->has_command());
    const auto command = own->control()->receive_command();
    ASSERT_TRUE(command);
    EXPECT_EQ(command->precision, policy::Precision::highest);
    EXPECT_FALSE(own->has_command());
    EXPECT_FALSE(own->control()->receive_command());
    own->control()->answer(*command, true, "");
}

TEST(RecordingControl, AForkedChildDoesNotObeyItsParentsCommands) {
    const TemporaryFolder folder;
    const auto own = open_recording(folder / "run.fp32rec");
    reload(wait_for_recording(getpid()), milliseconds(0));
    ASSERT_TRUE(own->has_command());
    EXPECT_EQ(in_child([&] { return own->control()->receive_command() || own->has_command() ? 1 : 0; }), 0);
    EXPECT_TRUE(own->control()->receive_command());
}

TEST(RecordingControl, ChangesOfTheProgramItselfAreNotedAndTheOldestGiveWay) {
    const TemporaryFolder folder;
    const auto own = open_recording(folder / "run.fp32rec");
    own->control()->record_precision_change(policy::Precision::highest);
    own->control()->record_floor_change(policy::Floor::tf32);
    own->control()->record_reload({"name", "", ""});
    auto reader = read_recording(folder / "run.fp32rec");
    ASSERT_EQ(reader->changes().size(), 3U);
    EXPECT_EQ(reader->lost_changes(), 0U);
    EXPECT_EQ(reader->changes()[0].precision, policy::Precision::highest);
    EXPECT_EQ(reader->changes()[0].origin, format::SettingsChangeOrigin::program);
    EXPECT_EQ(reader->changes()[1].kind, format::SettingsChangeKind::set_floor);
    EXPECT_EQ(reader->changes()[1].floor, policy::Floor::tf32);
    EXPECT_EQ(reader->changes()[2].policy_name, "name");
    EXPECT_FALSE(reader->changes()[2].settings) << "as written by a version that did not note them";
    for (std::size_t i = 0; i < format::change_limit; ++i) own->control()->record_floor_change(policy::Floor::fp32);
    ASSERT_TRUE(reader->read_again());
    ASSERT_EQ(reader->changes().size(), format::change_limit);
    EXPECT_EQ(reader->changes()[0].floor, policy::Floor::fp32);
    EXPECT_EQ(reader->lost_changes(), 3U);
}

TEST(RecordingControl, ARecordingThatItsProcessHasLeftIsPassedOver) {
    const TemporaryFolder folder;
    const auto first = open_recording(folder / "first.fp32rec");
    const LiveRecording found = wait_for_recording(getpid());
    const auto second = open_recording(folder / "second.fp32rec");
    first->mark_continued_in(second.get());
    const RecordingFacts left = read_recording(folder / "first.fp32rec")->facts();
    EXPECT_NE(left.flags & format::flag_left, 0U);
    EXPECT_TRUE(left.continues_in(read_recording(folder / "second.fp32rec")->facts()));
    EXPECT_FALSE(left.continues_in(left));
    EXPECT_EQ(wait_for_recording(getpid()).name, folder / "second.fp32rec");
    const CommandAnswer answer = reload(found, milliseconds(0));
    EXPECT_EQ(answer.outcome, CommandOutcome::failed);
    EXPECT_FALSE(first->has_command());

    second->mark_continued_in(nullptr);
    EXPECT_FALSE(read_recording(folder / "second.fp32rec")->facts().continues_in(left));
    EXPECT_FALSE(find_live_recording(getpid()).recording);
}

TEST(RecordingControl, AForkedChildDoesNotLeaveItsParentsRecording) {
    const TemporaryFolder folder;
    const auto own = open_recording(folder / "run.fp32rec");
    EXPECT_EQ(in_child([&] { return own->mark_continued_in(nullptr), 0; }), 0);
    EXPECT_EQ(read_recording(folder / "run.fp32rec")->facts().flags, 0U);
}

TEST(RecordingControl, WhoCannotBeFoundIsSaidInOneLine) {
    EXPECT_NE(find_live_recording(0).error.find("cannot exist"), std::string::npos);
    EXPECT_NE(find_live_recording(0x3fffff + 5).error.find("does not exist"), std::string::npos);
    pid_t idle = 0;  // process of another program; a forked child would still have recordings of earlier tests mapped
    const char* const words[] = {"sleep", "100", nullptr};
    ASSERT_EQ(posix_spawn(&idle, "/bin/sleep", nullptr, nullptr, const_cast<char* const*>(words), environ), 0);
    EXPECT_NE(find_live_recording(idle).error.find("records nothing"), std::string::npos);
    kill(idle, SIGKILL);
    waitpid(idle, nullptr, 0);
    EXPECT_NE(find_live_recording(idle).error.find("does not exist"), std::string::npos);
}

}  // namespace
}  // namespace fp32shim::record::test
