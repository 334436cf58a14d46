#include "record/stderr_line.hpp"

#include <errno.h>
#include <unistd.h>

#include "record/raw_syscall.hpp"
#include "record/signal_hold.hpp"
#include "record/this_process.hpp"

namespace fp32shim::record {

namespace {

iovec part(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

}  // namespace

void stderr_line(std::string_view text) {
    const iovec parts[] = {part("fp32shim: "), part(text), part("\n")};
    const SignalHold hold(SignalHold::by_writing);
    const long result = raw::uninterrupted([&] { return raw::writev(STDERR_FILENO, parts, 3); });
    if (result == -EPIPE) hold.take_back(SIGPIPE);
    if (result == -EFBIG) hold.take_back(SIGXFSZ);
}

bool OncePerProcess::first() {
    const std::uint32_t self = this_process();
    return process_.exchange(self, std::memory_order_relaxed) != self;
}

}  // namespace fp32shim::record
