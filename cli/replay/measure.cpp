#include "cli/replay/measure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>
#include <utility>

namespace fp32shim::cli {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// Longest time for measuring one product, in seconds; then length and maximum number of its timed pieces.
constexpr double longest_measurement = 1;
constexpr double piece_ns = 1e6;
constexpr std::size_t most_pieces = 200;
/// Seconds that one product may take beyond the time for all products, before its library counts as hanging.
constexpr double patience = 30;

/// Measures one product. Runs it once untimed and once timed, then in timed pieces of a millisecond until `seconds`
/// are over.
void measure_one(ProductEngine& engine, MeasuringTask& task, double seconds) {
    const auto begin = Clock::now();
    const auto refused = [&] { task.problem = "the library refused it"; };
    if (!engine.run(1)) return refused();  // the first call loads pages and kernels, so it is not timed
    const std::optional<double> first = engine.run(1);
    if (!first) return refused();
    const auto count = static_cast<std::uint64_t>(std::clamp(piece_ns / std::max(*first, 1.0), 1.0, 1e6));
    std::vector<double> pieces;
    if (count == 1) pieces.push_back(*first);  // a single call is long enough to count as a measurement
    while (pieces.empty() || (seconds_since(begin) < seconds && pieces.size() < most_pieces)) {
        const std::optional<double> ns = engine.run(count);
        if (!ns) return refused();
        pieces.push_back(*ns / static_cast<double>(count));
    }
    task.runs = count * pieces.size();
    task.mean_ns = std::accumulate(pieces.begin(), pieces.end(), 0.0) / static_cast<double>(pieces.size());
    std::ranges::nth_element(pieces, pieces.begin() + static_cast<std::ptrdiff_t>(pieces.size() / 2));
    task.ns = pieces[pieces.size() / 2];
}

/// Engines opened by a child process.
class Engines {
  public:
    OpenedEngine& engine_for(const MeasuringTask& task) {
        const bool is_complex = task.kind->dtype == "complex64";
        const std::string function(task.kind->functions.front());
        const auto [found, is_new] = engines_.try_emplace({task.on_gpu, task.library, function, is_complex});
        if (is_new)
            found->second =
                task.on_gpu ? open_cuda_engine(task.library) : open_cpu_engine(task.library, function, is_complex);
        return found->second;
    }

  private:
    std::map<std::tuple<bool, std::string, std::string, bool>, OpenedEngine> engines_;
};

void measure_in_child(Engines& engines, MeasuringTask& task, double seconds) {
    OpenedEngine& opened = engines.engine_for(task);
    task.problem = opened.problem;
    if (!opened.engine) return;
    const GemmTask gemm{task.kind->sizes_in(opened.engine->layout()), task.kind->batch,
                        task.kind->dtype == "complex64", task.format};
    task.problem = opened.engine->prepare(gemm);
    if (task.problem.empty()) measure_one(*opened.engine, task, seconds);
    opened.engine->release();
}

/// Result of a task, as it is sent through a pipe.
struct Answer {
    double ns = 0;
    double mean_ns = 0;
    std::uint64_t runs = 0;
    char problem[232] = {};
};
static_assert(sizeof(Answer) <= 512);  // POSIX guarantees for PIPE_BUF bytes that they are written in one piece

[[noreturn]] void answer_all(std::vector<MeasuringTask>& tasks, std::size_t first, double seconds, int descriptor) {
    const rlimit no_core{0, 0};  // prevents a core file in the user's folder if the library crashes
    setrlimit(RLIMIT_CORE, &no_core);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int nowhere = open("/dev/null", O_RDWR);
    for (const int standard : {0, 1, 2}) dup2(nowhere, standard);
    const auto begin = Clock::now();
    Engines engines;
    for (std::size_t i = first; i < tasks.size(); ++i) {
        const double left = seconds - seconds_since(begin);
        MeasuringTask& task = tasks[i];
        if (left <= 0)
            task.problem = "there was no time left; raise --max-time";
        else
            measure_in_child(engines, task,
                             std::min(longest_measurement, left / static_cast<double>(tasks.size() - i)));
        Answer answer{task.ns, task.mean_ns, task.runs, {}};
        task.problem.copy(answer.problem, sizeof answer.problem - 1);
        if (write(descriptor, &answer, sizeof answer) != static_cast<ssize_t>(sizeof answer)) _exit(EXIT_FAILURE);
    }
    _exit(EXIT_SUCCESS);  // skips the destructors of foreign libraries
}

/// Reads the next answer. Returns nullopt if the child has ended, or sends nothing for `seconds`.
std::optional<Answer> next_answer(int descriptor, double seconds) {
    pollfd wanted{descriptor, POLLIN, 0};
    const auto begin = Clock::now();
    for (;;) {
        const double left = seconds - seconds_since(begin);
        if (left <= 0) return std::nullopt;
        const int ready = poll(&wanted, 1, static_cast<int>(std::min(left, 1000.0) * 1000) + 1);
        if (ready < 0 && errno != EINTR) return std::nullopt;
        if (ready <= 0) continue;
        Answer answer;
        const ssize_t got = read(descriptor, &answer, sizeof answer);
        if (got < 0 && errno == EINTR) continue;
        if (got != static_cast<ssize_t>(sizeof answer)) return std::nullopt;
        return answer;
    }
}

std::string how_it_ended(pid_t child) {
    int status = 0;
    pid_t ended = waitpid(child, &status, WNOHANG);
    for (int i = 0; ended == 0 && i < 20; ++i) {  // a crashing process closes its pipe before it can be waited for
        usleep(10'000);
        ended = waitpid(child, &status, WNOHANG);
    }
    if (ended == 0) {
        kill(child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
        return "the library did not return in time";
    }
    if (WIFSIGNALED(status)) return fmt::format("the library's process was killed by signal {}", WTERMSIG(status));
    return fmt::format("the library's process ended with status {}", WEXITSTATUS(status));
}

/// Makes a pipe whose descriptors are above 2, even if the standard descriptors are closed. Returns false and sets
/// errno on failure.
bool make_pipe(int (&ends)[2]) {
    if (pipe2(ends, O_CLOEXEC) != 0) return false;
    for (int& end : ends) {
        if (end > STDERR_FILENO) continue;
        const int moved = fcntl(end, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (moved < 0) {
            const int error = errno;
            for (const int opened : ends) close(opened);
            errno = error;
            return false;
        }
        close(std::exchange(end, moved));
    }
    return true;
}

/// Measures the tasks from `first` on in one child. Returns the number of the first task without an answer.
std::size_t measure_from(std::vector<MeasuringTask>& tasks, std::size_t first, double seconds,
                         const std::function<void(std::size_t)>& show) {
    int ends[2];
    if (!make_pipe(ends)) {
        tasks[first].problem = std::strerror(errno);
        return first;
    }
    std::fflush(stdout);
    const pid_t child = fork();
    if (child < 0) {
        tasks[first].problem = std::strerror(errno);
        close(ends[0]);
        close(ends[1]);
        return first;
    }
    if (child == 0) {
        try {
            answer_all(tasks, first, seconds, ends[1]);
        } catch (...) {
            _exit(EXIT_FAILURE);
        }
    }
    close(ends[1]);
    std::size_t next = first;
    const auto begin = Clock::now();
    for (; next < tasks.size(); ++next) {
        const auto answer = next_answer(ends[0], std::max(seconds - seconds_since(begin), 0.0) + patience);
        if (!answer) break;
        tasks[next].ns = answer->ns;
        tasks[next].mean_ns = answer->mean_ns;
        tasks[next].runs = answer->runs;
        tasks[next].problem.assign(answer->problem, strnlen(answer->problem, sizeof answer->problem));
        show(next + 1);
    }
    close(ends[0]);
    const std::string end = how_it_ended(child);
    if (next < tasks.size()) tasks[next].problem = end;
    return next;
}

}  // namespace

bool measure(std::vector<MeasuringTask>& tasks, double seconds, const std::function<void(std::size_t)>& show) {
    const auto begin = Clock::now();
    constexpr int most_crashes = 5;
    int crashes = 0;
    for (std::size_t first = 0; first < tasks.size();) {
        first = measure_from(tasks, first, seconds - seconds_since(begin), show);
        if (first == tasks.size()) break;
        ++first;
        if (++crashes < most_crashes) continue;
        for (; first < tasks.size(); ++first)
            tasks[first].problem = "earlier products crashed their libraries too often";
    }
    return crashes == 0;
}

}  // namespace fp32shim::cli
