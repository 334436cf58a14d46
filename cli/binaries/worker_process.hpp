// Runs code in a child process, because the code reads untrusted files or belongs to foreign libraries. Such code may
// crash, hang, start threads or print.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace fp32shim::cli {

/// A question to the child process or its answer, in JSON.
using Message = nlohmann::json;

/// The answer of a child process. Its texts may not be valid UTF-8.
struct WorkerAnswer {
    Message value;
    std::string problem;  ///< reason why there is no answer, as the end of a sentence such as `was killed by signal
                          ///< 11`; empty if there is an answer
};

/// A child process that answers questions. It is forked for the first question, and again for the next question after
/// it has ended. Its stdin, stdout and stderr are /dev/null. Only one thread at a time may use an object of this
/// class. The child allocates memory and opens libraries, so no other thread may be in dlopen() when the child is
/// forked.
class WorkerProcess {
  public:
    using AnswerFunction = std::function<Message(const Message& question)>;

    /// Runs `answer` in the child process, which may take `seconds` for each question and has `memory` bytes for its
    /// data.
    explicit WorkerProcess(AnswerFunction answer, unsigned seconds = 20, std::uint64_t memory = UINT64_MAX);
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    WorkerAnswer ask(const Message& question = {});

  private:
    bool ensure_started();
    int end_process(int signal_number);
    std::string end_reason_text(int status) const;

    AnswerFunction answer_;
    unsigned seconds_;
    std::uint64_t memory_;
    int socket_ = -1;
    pid_t process_ = -1;
};

}  // namespace fp32shim::cli
