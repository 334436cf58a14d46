// The work of the child process that reads files of others.
#pragma once

namespace fp32shim::cli {

/// Seconds that the child takes for one question at most. It ends by SIGALRM then.
inline constexpr unsigned question_seconds = 30;

/// Answers the questions that come through the socket, until the other side closes it, and ends the process. For a
/// process that was forked for this.
[[noreturn]] void answer_questions(int socket);

}  // namespace fp32shim::cli
