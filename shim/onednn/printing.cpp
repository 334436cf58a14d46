// Defines the functions that replace printf, __printf_chk, puts and fflush in an object that contains oneDNN. They
// hide a line of oneDNN that the program would not have seen without the shim; everything else is printed.
//
// All versions of oneDNN from 1.0 to 3.13 print each line by one call of printf, and the head of the log by several
// calls. A compiler may turn such a call into __printf_chk or puts. Some versions then call fflush, which would write
// what the program has put into its buffer, at a time when it was not written before. So an fflush right after a
// hidden text is left out too.
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "record/onednn/line.hpp"
#include "shim/loader/next_definition.hpp"
#include "shim/onednn/copies.hpp"
#include "shim/onednn/record_execution.hpp"
#include "shim/thread/thread_context.hpp"
#include "system/inline_text.hpp"
#include "system/kept_state.hpp"

namespace fp32shim::onednn {
namespace {

constinit NextFunction<int(int flag, const char* format, std::va_list arguments)> real_vprintf_chk{"__vprintf_chk"};

/// Two calls count as made by the same function of oneDNN, which prints a text and then calls fflush, if their return
/// addresses are less than this apart.
constexpr std::uintptr_t distance_in_one_function = 256;

/// Returns the return address of the last call by which oneDNN printed on this thread, if the shim hid the text from
/// the program and oneDNN has not flushed its output since. Otherwise returns 0.
std::uintptr_t hidden_text_return_address() {
    const ThreadContext* const context = existing_thread_context();
    return context == nullptr ? 0 : context->hidden_text_return_address;
}

bool begins_line(std::string_view text) {
    return std::ranges::any_of(record::onednn_line_beginnings,
                               [&](std::string_view beginning) { return text.starts_with(beginning); });
}

/// Stores `text` and then `end`, a part of the head of oneDNN's log, to print them if a line is shown later.
void keep_log_head(OneDnnCopy& copy, std::string_view text, std::string_view end) {
    const std::size_t size = copy.head_size.load(std::memory_order_relaxed);
    if (text.size() + end.size() > sizeof copy.head - size) return;
    std::memcpy(copy.head + size, text.data(), text.size());
    std::memcpy(copy.head + size + text.size(), end.data(), end.size());
    copy.head_size.store(size + text.size() + end.size(), std::memory_order_relaxed);
}

void show_head(OneDnnCopy& copy) {
    const std::size_t size = copy.head_size.exchange(0, std::memory_order_relaxed);
    if (size != 0) std::fwrite(copy.head, 1, size, stdout);
}

/// If `text`, which oneDNN prints, describes an execution, records the execution. `end` is what the C library would
/// print after `text`. Returns true if the program must not see the text.
bool hide_text(std::string_view text, std::uintptr_t return_address, std::string_view end = {}) {
    OneDnnCopy* const copy = copy_at(return_address);
    if (copy == nullptr) return false;
    record::OneDnnExecution execution;
    const record::OneDnnLineKind line = record::parse_onednn_line(text, execution);
    if (line == record::OneDnnLineKind::execution && execution.multiplies) record_execution(copy->site, execution);
    const bool is_error = line == record::OneDnnLineKind::error;
    const bool is_shown = (is_error ? copy->shows_errors : copy->shows).load(std::memory_order_relaxed);
    if (is_shown) show_head(*copy);
    if (!is_shown && line != record::OneDnnLineKind::execution && !is_error) keep_log_head(*copy, text, end);
    if (ThreadContext* const context = thread_context())
        context->hidden_text_return_address = is_shown ? 0 : return_address;
    return !is_shown;
}

/// Formats a text of oneDNN and passes it to the other hide_text(). Returns true if the program must not see the
/// text.
bool hide_text(const char* format, std::va_list arguments, std::uintptr_t return_address) {
    if (format == nullptr) return false;
    const system::ErrnoAndFloatGuard kept;
    const std::string_view pattern = system::view(format);
    if (system::equal(pattern, "%s") || system::equal(pattern, "%s\n")) {
        std::va_list copied;
        va_copy(copied, arguments);
        const char* const text = va_arg(copied, const char*);
        va_end(copied);
        return text != nullptr && begins_line(system::view(text)) && hide_text(system::view(text), return_address);
    }
    // oneDNN prints the line with the names of the columns in two parts. `continues` is true if this text is the
    // second part. The call that prints the second part may be a tail call. Its return address is then in other code
    // than that of the first call, so the two addresses are not compared.
    const bool continues = hidden_text_return_address() != 0 && pattern.starts_with("%soperation,");
    if (!continues && !begins_line(pattern)) return false;
    char text[2048];  // a thread may have only 16 KB of stack, of which finding the location of a call takes 5 KB
    std::va_list copied;
    va_copy(copied, arguments);
    const int size = std::vsnprintf(text, sizeof text, format, copied);
    va_end(copied);
    if (size < 0) return false;
    return hide_text({text, std::min(static_cast<std::size_t>(size), sizeof text - 1)}, return_address);
}

std::uintptr_t address(void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

int replaced_printf(const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    const int result =
        hide_text(format, arguments, address(__builtin_return_address(0))) ? 1 : std::vprintf(format, arguments);
    va_end(arguments);
    return result;
}

int replaced_printf_chk(int flag, const char* format, ...) {
    std::va_list arguments;
    va_start(arguments, format);
    const int result = hide_text(format, arguments, address(__builtin_return_address(0)))
                           ? 1
                           : real_vprintf_chk.get()(flag, format, arguments);
    va_end(arguments);
    return result;
}

int replaced_puts(const char* text) {
    const auto return_address = address(__builtin_return_address(0));
    if (begins_line(system::view(text))) {
        const system::ErrnoAndFloatGuard kept;
        if (hide_text(system::view(text), return_address, "\n")) return 1;
    }
    return std::puts(text);
}

int replaced_fflush(std::FILE* stream) {
    ThreadContext* const context = existing_thread_context();
    const std::uintptr_t before = hidden_text_return_address();
    const bool is_after_hidden_text =
        before != 0 && address(__builtin_return_address(0)) - before < distance_in_one_function;
    if (context != nullptr) context->hidden_text_return_address = 0;
    return is_after_hidden_text ? 0 : std::fflush(stream);
}

}  // namespace

const PrintReplacement replacements[replacement_count] = {
    {"printf", reinterpret_cast<void*>(replaced_printf), true},
    {"__printf_chk", reinterpret_cast<void*>(replaced_printf_chk), true},
    {"puts", reinterpret_cast<void*>(replaced_puts), false},
    {"fflush", reinterpret_cast<void*>(replaced_fflush), false},
};

}  // namespace fp32shim::onednn
