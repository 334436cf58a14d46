// Runs a part of a test in a forked child, which may end in any way.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <type_traits>

namespace fp32shim::test {

/// Runs `body` in a forked child. Returns the child's exit status: the result of `body`, or 1 if an expectation in it
/// failed. If a signal killed the child, returns 1000 + the signal.
template <class Body>
int in_child(Body body) {
    const pid_t child = fork();
    if (child == 0) {
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            _exit(testing::Test::HasFailure() ? 1 : 0);
        } else {
            _exit(body());
        }
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace fp32shim::test
