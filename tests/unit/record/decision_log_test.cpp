// Tests the log's file under everything that programs may do to it.
#include "record/lines/decision_log.hpp"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "../in_child.hpp"
#include "../sanitized.hpp"
#include "flat_json.hpp"

namespace {
thread_local long allocations = 0;
}

// Not inlined: otherwise gcc warns about a mismatch of new and delete (-Wmismatched-new-delete).
[[gnu::noinline]] void* operator new(std::size_t size) {
    ++allocations;
    if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
    throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace fp32shim::record {
namespace {

namespace fs = std::filesystem;
using test::FlatJson;
using test::in_child;
using test::sanitized;

DecisionEvent decision() {
    DecisionEvent event;
    event.call.function = "cblas_sgemm";
    event.call.caller = "libfoo.so";
    event.call.m = event.call.n = event.call.k = 8;
    event.provider = "libopenblas.so.0";
    return event;
}

StartEvent start() {
    StartEvent event;
    event.version = "0.1.0";
    return event;
}

std::vector<std::string> lines_of(const fs::path& path) {
    std::ifstream file(path);
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
}

/// Returns the objects in a log. Every line must be one object.
std::vector<FlatJson> objects_of(const fs::path& path) {
    std::vector<FlatJson> objects;
    for (const std::string& line : lines_of(path)) {
        const auto object = test::read_flat_json(line);
        EXPECT_TRUE(object) << line;
        if (object) objects.push_back(*object);
    }
    return objects;
}

/// The open descriptors of this process that refer to `path`.
std::vector<int> descriptors_of(const fs::path& path) {
    struct stat wanted {};
    if (stat(path.c_str(), &wanted) != 0) return {};
    std::vector<int> found;
    for (int descriptor = 0; descriptor < 1024; ++descriptor) {
        struct stat status {};
        if (fstat(descriptor, &status) == 0 && status.st_dev == wanted.st_dev && status.st_ino == wanted.st_ino)
            found.push_back(descriptor);
    }
    return found;
}

class DecisionLogTest : public testing::Test {
  protected:
    void SetUp() override {
        std::string name = testing::TempDir() + "fp32shim-log-XXXXXX";
        ASSERT_NE(mkdtemp(name.data()), nullptr);
        folder = name;
        path = folder / "log.jsonl";
    }
    void TearDown() override {
        log.reset();
        fs::remove_all(folder);
    }

    std::string open(const fs::path& name) { return log->open(name.native(), facts, start(), buffer); }
    void write(int times = 1) {
        for (int i = 0; i < times; ++i) log->write(decision(), buffer);
    }

    fs::path folder, path;
    const ProcessFacts facts = gather_process_facts({});
    std::unique_ptr<DecisionLog> log = std::make_unique<DecisionLog>();
    std::array<char, log_buffer_size> buffer{};
};

TEST_F(DecisionLogTest, BeginsWithTheStartEvent) {
    ASSERT_EQ(open(path), "");
    write(2);
    log->write(ErrorEvent{ErrorCode::bad_setting, "x", -1}, buffer);
    const auto objects = objects_of(path);
    ASSERT_EQ(objects.size(), 4U);
    EXPECT_EQ(objects[0]["event"], "\"start\"");
    EXPECT_EQ(objects[0]["forked_from"], "null");
    EXPECT_EQ(objects[1]["event"], "\"decision\"");
    EXPECT_EQ(objects[2]["pid"], std::to_string(getpid()));
    EXPECT_EQ(objects[3]["event"], "\"error\"");
}

TEST_F(DecisionLogTest, DoesNothingWhenItIsNotOpen) {
    write();
    EXPECT_EQ(log->unreported_lost_lines(), 0);
    EXPECT_FALSE(log->is_open());
}

TEST_F(DecisionLogTest, MakesPrivateFilesAndHighDescriptorsThatAreNotInherited) {
    ASSERT_EQ(open(path), "");
    struct stat status {};
    ASSERT_EQ(stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600U);
    const auto descriptors = descriptors_of(path);
    ASSERT_EQ(descriptors.size(), 1U);
    EXPECT_GE(descriptors[0], 100);
    EXPECT_TRUE(fcntl(descriptors[0], F_GETFD) & FD_CLOEXEC);
    log.reset();
    EXPECT_TRUE(descriptors_of(path).empty());
}

TEST_F(DecisionLogTest, GivesANewFileTheModeThatItIsToldAndLeavesOthersAlone) {
    const auto mode_of = [](const fs::path& file) {
        return static_cast<unsigned>(fs::status(file).permissions() & fs::perms::all);
    };
    const mode_t before = umask(077);
    EXPECT_EQ(log->open(path.native(), facts, start(), buffer, 0640), "");
    EXPECT_EQ(mode_of(path), 0640U);
    DecisionLog other;
    EXPECT_EQ(other.open(path.native(), facts, start(), buffer, 0600), "");
    EXPECT_EQ(mode_of(path), 0640U);
    umask(before);
}

TEST_F(DecisionLogTest, AppendsToWhatIsThere) {
    std::ofstream(path) << "{\"old\":1}\n";
    ASSERT_EQ(open(path), "");
    EXPECT_EQ(lines_of(path).at(0), "{\"old\":1}");
    EXPECT_EQ(lines_of(path).size(), 2U);
}

TEST_F(DecisionLogTest, RefusesASymbolicLink) {
    std::ofstream(path) << "kept\n";
    fs::create_symlink(path, folder / "link.jsonl");
    fs::create_symlink(folder / "nowhere", folder / "dangling.jsonl");
    for (const char* name : {"link.jsonl", "dangling.jsonl"}) {
        EXPECT_EQ(open(folder / name), "log " + (folder / name).native() +
                                           ": it is a symbolic link, or there are too many on its path (ELOOP); "
                                           "nothing is logged; name the file itself");
        EXPECT_FALSE(log->is_open());
    }
    write();
    EXPECT_EQ(lines_of(path), std::vector<std::string>{"kept"});
    EXPECT_FALSE(fs::exists(folder / "nowhere"));
}

TEST_F(DecisionLogTest, FollowsLinksToItsFolder) {
    fs::create_directory(folder / "real");
    fs::create_symlink("real", folder / "linked");
    ASSERT_EQ(open(folder / "linked" / "log.jsonl"), "");
    EXPECT_EQ(objects_of(folder / "real" / "log.jsonl").size(), 1U);
}

TEST_F(DecisionLogTest, RefusesAFileOfAnotherUserButNotOneOfRoot) {
    if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
    const auto said_by = [&](uid_t owner, uid_t user) {
        std::ofstream(path) << "";
        EXPECT_EQ(chmod(path.c_str(), 0666), 0);
        EXPECT_EQ(chown(path.c_str(), owner, static_cast<gid_t>(-1)), 0);
        EXPECT_EQ(chmod(folder.c_str(), 0777), 0);
        return in_child([&] {
            if (setresuid(user, user, user) != 0) return 2;
            const std::string said = open(path);
            if (said.empty()) return 0;
            return said.find("it belongs to another user (who is not root); nothing is logged") != std::string::npos
                       ? 1
                       : 3;
        });
    };
    EXPECT_EQ(said_by(54321, 54322), 1);
    EXPECT_EQ(said_by(54321, 0), 1);
    EXPECT_EQ(said_by(54321, 54321), 0);
    EXPECT_EQ(said_by(0, 54321), 0);
    EXPECT_EQ(said_by(0, 0), 0);
}

TEST_F(DecisionLogTest, SaysWhatIsWrongWithAPath) {
    EXPECT_EQ(open(folder / "no" / "log.jsonl"),
              "log " + (folder / "no" / "log.jsonl").native() +
                  ": no such directory (ENOENT); nothing is logged; create the directory, or name one that exists");
    EXPECT_FALSE(log->is_open());
    EXPECT_NE(open(folder).find("it is a directory (EISDIR)"), std::string::npos);
    EXPECT_NE(open("a.%x.jsonl").find("`%x` is not a placeholder"), std::string::npos);
    EXPECT_NE(open("a.%").find("a `%` at its end is not a placeholder"), std::string::npos);
    EXPECT_NE(open(std::string(5000, 'a')).find("longer than 4095 bytes"), std::string::npos);
    write();
    EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(DecisionLogTest, AllocatesNothingOnceItIsOpen) {
    ASSERT_EQ(open(folder / "log.%p.jsonl"), "");
    const int number = descriptors_of(folder / ("log." + std::to_string(getpid()) + ".jsonl")).at(0);
    const long before = allocations;
    write();
    close(number);
    write();
    EXPECT_EQ(allocations, before);
    EXPECT_EQ(in_child([&] {
                  write();
                  EXPECT_EQ(allocations, before);
              }),
              0);
}

TEST_F(DecisionLogTest, KeepsErrno) {
    ASSERT_EQ(open(path), "");
    errno = 77;
    write();
    EXPECT_EQ(errno, 77);
    close(descriptors_of(path).at(0));
    errno = 77;
    write();
    EXPECT_EQ(errno, 77);
}

TEST_F(DecisionLogTest, KeepsARelativePathWhenTheProgramChangesItsDirectory) {
    const fs::path before = fs::current_path();
    const fs::path odd = folder / "100%p";
    fs::create_directory(odd);
    fs::current_path(odd);
    ASSERT_EQ(open("r.jsonl"), "");
    fs::current_path(before);
    close(descriptors_of(odd / "r.jsonl").at(0));
    write();
    EXPECT_EQ(objects_of(odd / "r.jsonl").size(), 2U);
}

TEST_F(DecisionLogTest, NeverWritesToADescriptorThatIsNotItsOwn) {
    ASSERT_EQ(open(path), "");
    const fs::path foreign = folder / "foreign";
    const int taken = ::open(foreign.c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_EQ(dup2(taken, descriptors_of(path).at(0)) < 0, false);
    write();
    EXPECT_EQ(fs::file_size(foreign), 0U);
    EXPECT_EQ(objects_of(path).size(), 2U);  // opened again without a second start event

    testing::internal::CaptureStderr();
    ASSERT_GE(dup2(taken, descriptors_of(path).at(0)), 0);
    write(3);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "fp32shim: log " + path.native() +
                  ": the program has closed the log (EBADF); this process logs nothing more; "
                  "log to one file per process with %p\n");
    EXPECT_EQ(fs::file_size(foreign), 0U);
    EXPECT_EQ(objects_of(path).size(), 2U);
    EXPECT_EQ(log->unreported_lost_lines(), 3);
    close(taken);
}

TEST_F(DecisionLogTest, GivesAForkedChildItsOwnStartInTheSharedFile) {
    ASSERT_EQ(open(path), "");
    write();
    EXPECT_EQ(in_child([&] { write(2); }), 0);
    write();
    const auto objects = objects_of(path);
    ASSERT_EQ(objects.size(), 6U);
    const std::string parent = std::to_string(getpid());
    EXPECT_EQ(objects[2]["event"], "\"start\"");
    EXPECT_EQ(objects[2]["forked_from"], parent);
    EXPECT_NE(objects[2]["pid"], parent);
    EXPECT_EQ(objects[3]["event"], "\"decision\"");
    EXPECT_EQ(objects[3]["pid"], objects[2]["pid"]);
    EXPECT_EQ(objects[5]["pid"], parent);
}

TEST_F(DecisionLogTest, TellsTheSettingsInForceInTheStartOfAForkedChild) {
    static StartEvent reloaded;
    reloaded = start();
    reloaded.floor = policy::Floor::fp32;
    reloaded.policy_name = "second";
    ASSERT_EQ(log->open(path.native(), facts, start(), buffer, 0600, []() -> const StartEvent& { return reloaded; }),
              "");
    EXPECT_EQ(in_child([&] { write(); }), 0);
    const auto objects = objects_of(path);
    ASSERT_EQ(objects.size(), 3U);
    EXPECT_NE(objects[0]["policy_name"], "\"second\"");
    EXPECT_EQ(objects[1]["policy_name"], "\"second\"");
    EXPECT_EQ(objects[1]["floor"], "\"fp32\"");
    EXPECT_EQ(objects[1]["forked_from"], std::to_string(getpid()));
}

TEST_F(DecisionLogTest, GivesAForkedChildItsOwnFileWhereTheNameHasThePid) {
    ASSERT_EQ(open(folder / "log.%p.jsonl"), "");
    write();
    const int result = in_child([&] {
        write();
        const fs::path own = folder / ("log." + std::to_string(getpid()) + ".jsonl");
        const auto objects = objects_of(own);
        ASSERT_EQ(objects.size(), 2U);
        EXPECT_EQ(objects[0]["forked_from"], std::to_string(getppid()));
        EXPECT_TRUE(descriptors_of(folder / ("log." + std::to_string(getppid()) + ".jsonl")).empty());
        const int grandchild = in_child([&] { write(); });
        EXPECT_EQ(grandchild, 0);
    });
    EXPECT_EQ(result, 0);
    EXPECT_EQ(objects_of(folder / ("log." + std::to_string(getpid()) + ".jsonl")).size(), 2U);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 3);
}

TEST_F(DecisionLogTest, GoesOnInADaemonThatClosesEveryDescriptor) {
    ASSERT_EQ(open(path), "");
    const int result = in_child([&] {
        for (int descriptor = 0; descriptor < 1024; ++descriptor) close(descriptor);
        if (chdir("/") != 0) return;
        write(2);
        EXPECT_GE(descriptors_of(path).at(0), 100);
    });
    EXPECT_EQ(result, 0);
    EXPECT_EQ(objects_of(path).size(), 4U);
}

TEST_F(DecisionLogTest, StaysAboveTheStandardStreamsUnderATightDescriptorLimit) {
    const int result = in_child([&] {
        const rlimit tight{32, 32};
        setrlimit(RLIMIT_NOFILE, &tight);
        close(0);
        ASSERT_EQ(open(path), "");
        write();
        const auto descriptors = descriptors_of(path);
        ASSERT_EQ(descriptors.size(), 1U);
        EXPECT_GE(descriptors[0], 3);
    });
    EXPECT_EQ(result, 0);
    EXPECT_EQ(objects_of(path).size(), 2U);
}

TEST_F(DecisionLogTest, SaysOnceThatTheDiskIsFullAndCountsWhatIsLost) {
    if (mknod(path.c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0) GTEST_SKIP() << "no device can be made here";
    if (access(path.c_str(), W_OK) != 0 || !std::ofstream(path).is_open()) GTEST_SKIP() << "nor opened";
    testing::internal::CaptureStderr();
    ASSERT_EQ(open(path), "");
    write(5);
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "fp32shim: log " + path.native() +
                  ": no space left on device (ENOSPC); lines are lost until it can be written again; "
                  "free some space\n");
    EXPECT_EQ(log->unreported_lost_lines(), 6);
}

TEST_F(DecisionLogTest, SurvivesAFileSizeLimitAndReportsWhatWasLostAfterwards) {
    const int result = in_child([&] {
        signal(SIGXFSZ, SIG_DFL);
        rlimit limit{};
        getrlimit(RLIMIT_FSIZE, &limit);
        const rlim_t highest = limit.rlim_cur;
        limit.rlim_cur = 2000;  // a limit in the middle of a line
        setrlimit(RLIMIT_FSIZE, &limit);
        testing::internal::CaptureStderr();
        ASSERT_EQ(open(path), "");
        write(10);
        EXPECT_EQ(fs::file_size(path), 2000U);
        limit.rlim_cur = highest;
        setrlimit(RLIMIT_FSIZE, &limit);
        const std::int64_t dropped = log->unreported_lost_lines();
        EXPECT_GT(dropped, 5);
        write(2);
        EXPECT_EQ(log->unreported_lost_lines(), 0);
        EXPECT_NE(testing::internal::GetCapturedStderr().find("the file is too large (EFBIG)"), std::string::npos);
        int broken = 0, reported = 0;
        for (const std::string& line : lines_of(path)) {
            const auto object = test::read_flat_json(line);
            if (!object) {
                ++broken;
            } else if ((*object)["code"] == "\"lines_dropped\"") {
                ++reported;
                EXPECT_EQ((*object)["dropped"], std::to_string(dropped));
            }
        }
        EXPECT_EQ(broken, 1);  // the piece before the limit stays, on a line of its own
        EXPECT_EQ(reported, 1);
        sigset_t pending;
        sigpending(&pending);
        EXPECT_FALSE(sigismember(&pending, SIGXFSZ));
    });
    EXPECT_EQ(result, 0);
}

TEST_F(DecisionLogTest, RefusesAPipeThatNobodyReads) {
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_NE(open(path).find("nobody reads from this pipe (ENXIO)"), std::string::npos);
}

TEST_F(DecisionLogTest, SurvivesAPipeWhoseReaderGoes) {
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const int result = in_child([&] {
        signal(SIGPIPE, SIG_DFL);
        const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
        ASSERT_EQ(open(path), "");
        write();
        close(reader);
        testing::internal::CaptureStderr();
        write(3);
        EXPECT_NE(testing::internal::GetCapturedStderr().find("the pipe's reader has gone (EPIPE)"),
                  std::string::npos);
        EXPECT_EQ(log->unreported_lost_lines(), 3);
    });
    EXPECT_EQ(result, 0);
}

TEST_F(DecisionLogTest, NeverWaitsForASlowReader) {
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
    ASSERT_EQ(open(path), "");
    testing::internal::CaptureStderr();
    write(1000);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("the pipe is full (EAGAIN)"), std::string::npos);
    EXPECT_GT(log->unreported_lost_lines(), 0);
    std::string text;
    std::array<char, 65536> chunk;
    for (ssize_t size = 0; (size = read(reader, chunk.data(), chunk.size())) > 0;)
        text.append(chunk.data(), static_cast<std::size_t>(size));
    EXPECT_EQ(text.back(), '\n');  // the file has whole lines only
    close(reader);
}

TEST_F(DecisionLogTest, LeavesTheProgramItsOwnPendingSignal) {
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const int result = in_child([&] {
        const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
        ASSERT_EQ(open(path), "");
        close(reader);
        sigset_t pipe_signal, before, pending;
        sigemptyset(&pipe_signal);
        sigaddset(&pipe_signal, SIGPIPE);
        sigprocmask(SIG_BLOCK, &pipe_signal, &before);
        close(STDERR_FILENO);
        write();
        sigpending(&pending);
        EXPECT_FALSE(sigismember(&pending, SIGPIPE));
        raise(SIGPIPE);
        write();
        sigpending(&pending);
        EXPECT_TRUE(sigismember(&pending, SIGPIPE));
        sigprocmask(SIG_SETMASK, nullptr, &before);
        EXPECT_TRUE(sigismember(&before, SIGPIPE));
        EXPECT_FALSE(sigismember(&before, SIGXFSZ));
    });
    EXPECT_EQ(result, 0);
}

TEST_F(DecisionLogTest, OfManyProcessesAndThreadsHasOnlyWholeLines) {
    constexpr int processes = 6, threads = 3, lines = 300;
    ASSERT_EQ(open(path), "");
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            // Half of the threads share the inherited descriptor, the others open the file themselves.
            DecisionLog own;
            if (i % 2 == 0) own.open(path.native(), gather_process_facts({}), start(), buffer);
            DecisionLog& shared = i % 2 == 0 ? own : *log;
            std::vector<std::thread> running;
            for (int t = 0; t < threads; ++t)
                running.emplace_back([&] {
                    std::array<char, log_buffer_size> mine;
                    const std::string detail(700, 'x');
                    DecisionEvent event = decision();
                    for (int n = 0; n < lines; ++n) {
                        event.detail = std::string_view(detail).substr(0, static_cast<std::size_t>(n * 7 % 700));
                        shared.write(event, mine);
                    }
                });
            for (auto& thread : running) thread.join();
            _exit(0);
        }
        children.push_back(child);
    }
    for (const pid_t child : children) waitpid(child, nullptr, 0);
    std::map<std::string, int> events;
    std::map<std::string, int> starts;
    for (const FlatJson& object : objects_of(path)) {
        ++events[object["event"]];
        if (object["event"] == "\"start\"") ++starts[object["pid"]];
    }
    EXPECT_EQ(events["\"start\""], 1 + processes);
    EXPECT_EQ(events["\"decision\""], processes * threads * lines);
    EXPECT_EQ(starts.size(), 1U + processes);
}

TEST_F(DecisionLogTest, LosesNoLineWhenThreadsFindItClosed) {
    constexpr int threads = 4, lines = 500;
    ASSERT_EQ(open(path), "");
    const int number = descriptors_of(path).at(0);
    std::atomic<int> written = 0;
    std::vector<std::thread> running;
    for (int t = 0; t < threads; ++t)
        running.emplace_back([&] {
            std::array<char, log_buffer_size> mine;
            for (int n = 0; n < lines; ++n, ++written) log->write(decision(), mine);
        });
    while (written < lines) std::this_thread::yield();
    close(number);
    for (auto& thread : running) thread.join();
    // A line may be lost if its check came just before the close. It is then counted and reported.
    std::int64_t found = 0;
    for (const FlatJson& object : objects_of(path)) {
        if (object["event"] == "\"decision\"") ++found;
        if (object["event"] == "\"error\"") found += std::stoll(object["dropped"]);
    }
    EXPECT_EQ(found + log->unreported_lost_lines(), threads * lines);
}

struct SmallThread {
    DecisionLog* log;
    std::array<char, log_buffer_size>* buffer;
};

TEST_F(DecisionLogTest, IsWrittenByThreadsWithTheSmallestStack) {
    if (sanitized) GTEST_SKIP() << "sanitizers need more stack";
    ASSERT_EQ(open(path), "");
    SmallThread argument{log.get(), &buffer};
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(PTHREAD_STACK_MIN)), 0);
    pthread_t thread;
    // Makes the next write take the longest path, which first opens the file again.
    close(descriptors_of(path).at(0));
    ASSERT_EQ(pthread_create(
                  &thread, &attributes,
                  [](void* given) -> void* {
                      auto* small = static_cast<SmallThread*>(given);
                      small->log->write(decision(), *small->buffer);
                      return nullptr;
                  },
                  &argument),
              0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&attributes);
    EXPECT_EQ(objects_of(path).size(), 2U);
}

}  // namespace
}  // namespace fp32shim::record
