// Defines the public C API. include/fp32shim/fp32shim.h documents each function.
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>

#define FP32SHIM_IS_THE_LIBRARY
#include "fp32shim/fp32shim.h"
#include "policy/decide.hpp"
#include "policy/words.hpp"
#include "shim/decision/decide_call.hpp"
#include "shim/decision/record_call.hpp"
#include "shim/settings/settings.hpp"
#include "shim/thread/thread_context.hpp"

static_assert(FP32SHIM_MAX_SCOPES == fp32shim::scope_depth_limit);
static_assert(FP32SHIM_MAX_SCOPE_PATH == fp32shim::scope_label_limit);

namespace fp32shim {
namespace {

using policy::Floor;
using policy::Precision;
using policy::Source;

class ErrnoKeeper {
  public:
    ErrnoKeeper() : saved_(errno) {}
    ~ErrnoKeeper() { errno = saved_; }
    ErrnoKeeper(const ErrnoKeeper&) = delete;
    ErrnoKeeper& operator=(const ErrnoKeeper&) = delete;

  private:
    int saved_;
};

bool is_active() { return !settings().forward_everything; }

/// Returns the part of this process's recording that stores changes of settings, or nullptr if there is no recording.
record::RecordingControl* recorded_changes() {
    record::Recording* const recording = settings().recording;
    return recording != nullptr ? recording->control() : nullptr;
}

/// Parses a precision that a program may request. Returns nullopt for precisions that are only for rules.
std::optional<Precision> precision_of(const char* text) {
    return policy::parse_word(policy::default_precision_words, text);
}

/// Copies `text` and a '\0' to `buffer`. Returns false if they do not fit. If `buffer` is null and `size` is 0, no
/// copy is wanted, and the result is true.
bool copy_out(std::string_view text, char* buffer, std::size_t size) {
    if (buffer == nullptr) return size == 0;
    if (text.size() >= size) return false;
    std::memcpy(buffer, text.data(), text.size());
    buffer[text.size()] = '\0';
    return true;
}

void clear(char* buffer, std::size_t size) {
    if (buffer != nullptr && size > 0) buffer[0] = '\0';
}

struct PrecisionSetting {
    Precision precision;
    Source source;
};

/// Returns the precision for calls of this thread that no policy rule matches, and the source of the precision.
PrecisionSetting setting_in_force() {
    if (const ThreadContext* context = existing_thread_context();
        context != nullptr && context->scopes.innermost().precision >= 0)
        return {static_cast<Precision>(context->scopes.innermost().precision), Source::thread};
    if (const auto precision = process_precision()) return {*precision, Source::process};
    const policy::Policy& policy = settings().policy;
    return {policy.default_precision, policy.default_source};
}

int push(const char* label, const char* precision, const char* floor) {
    ScopeRequest wanted;
    if (precision != nullptr && !(wanted.precision = precision_of(precision))) return FP32SHIM_INVALID_ARGUMENT;
    if (floor != nullptr) {
        const std::optional<Floor> parsed = policy::parse_floor(floor);
        if (!parsed) return FP32SHIM_INVALID_ARGUMENT;
        wanted.floor = *parsed;
    }
    if (label != nullptr) wanted.label = label;
    ThreadContext* context = thread_context();
    if (context == nullptr || !context->scopes.push(wanted)) return FP32SHIM_SCOPE_DEPTH;
    note_opened_scope(precision == nullptr && floor == nullptr ? ScopesSeen::labels : ScopesSeen::precisions);
    return FP32SHIM_OK;
}

}  // namespace
}  // namespace fp32shim

using namespace fp32shim;

int fp32shim_abi_version(void) { return FP32SHIM_ABI_VERSION; }

const char* fp32shim_version(void) { return FP32SHIM_VERSION; }

const char* fp32shim_status_string(int status) {
    constexpr const char* texts[] = {"ok",
                                     "invalid argument",
                                     "fp32shim is not active in this process",
                                     "pop without push",
                                     "too many scopes, or their labels are too long",
                                     "the policy has errors",
                                     "no product of this thread was recorded"};
    static_assert(std::size(texts) == FP32SHIM_NOT_RECORDED + 1);
    if (status == FP32SHIM_NOT_LOADED) return "fp32shim is not loaded";
    return status >= 0 && status <= FP32SHIM_NOT_RECORDED ? texts[status] : "unknown status";
}

int fp32shim_set_precision(const char* precision) {
    const ErrnoKeeper keep;
    if (!is_active()) return FP32SHIM_NOT_ACTIVE;
    std::optional<Precision> wanted;
    if (precision != nullptr && !(wanted = precision_of(precision))) return FP32SHIM_INVALID_ARGUMENT;
    if (!set_process_precision(wanted)) return FP32SHIM_OK;
    if (record::RecordingControl* changes = recorded_changes()) changes->record_precision_change(wanted);
    return FP32SHIM_OK;
}

int fp32shim_get_precision(char* precision, size_t precision_size, char* source, size_t source_size) {
    const ErrnoKeeper keep;
    clear(precision, precision_size);
    clear(source, source_size);
    if (!is_active()) return FP32SHIM_NOT_ACTIVE;
    const PrecisionSetting setting = setting_in_force();
    if (copy_out(policy::to_string(setting.precision), precision, precision_size) &&
        copy_out(policy::to_string(setting.source), source, source_size))
        return FP32SHIM_OK;
    clear(precision, precision_size);
    clear(source, source_size);
    return FP32SHIM_INVALID_ARGUMENT;
}

int fp32shim_set_floor(const char* floor) {
    const ErrnoKeeper keep;
    if (!is_active()) return FP32SHIM_NOT_ACTIVE;
    const std::optional<Floor> wanted = floor == nullptr ? std::nullopt : policy::parse_floor(floor);
    if (!wanted) return FP32SHIM_INVALID_ARGUMENT;
    if (!raise_process_floor(*wanted)) return FP32SHIM_OK;
    if (record::RecordingControl* changes = recorded_changes()) changes->record_floor_change(*wanted);
    return FP32SHIM_OK;
}

int fp32shim_get_floor(char* floor, size_t size) {
    const ErrnoKeeper keep;
    clear(floor, size);
    if (!is_active()) return FP32SHIM_NOT_ACTIVE;
    if (floor == nullptr) return FP32SHIM_INVALID_ARGUMENT;
    return copy_out(policy::to_string(floor_in_force(settings())), floor, size) ? FP32SHIM_OK
                                                                                : FP32SHIM_INVALID_ARGUMENT;
}

int fp32shim_push_scope(const char* label, const char* precision, const char* floor) {
    const ErrnoKeeper keep;
    if (!is_active()) return FP32SHIM_NOT_ACTIVE;
    return push(label, precision, floor);
}

int fp32shim_pop_scope(void) {
    const ErrnoKeeper keep;
    if (!is_active()) return FP32SHIM_NOT_ACTIVE;
    ThreadContext* context = existing_thread_context();
    return context != nullptr && context->scopes.pop() ? FP32SHIM_OK : FP32SHIM_SCOPE_MISMATCH;
}

int fp32shim_scope_depth(void) {
    const ErrnoKeeper keep;
    if (!is_active()) return 0;  // a pop does nothing then, and a loop that pops down to a depth must end
    const ThreadContext* const context = existing_thread_context();
    return context == nullptr ? 0 : context->scopes.c_api_depth();
}

int fp32shim_reload_policy(void) {
    const ErrnoKeeper keep;
    if (!is_active()) return FP32SHIM_NOT_ACTIVE;
    if (!reload_settings()) return FP32SHIM_POLICY_ERROR;
    if (record::RecordingControl* changes = recorded_changes())
        changes->record_reload(policy_facts(settings().policy));
    return FP32SHIM_OK;
}

int fp32shim_last_product(fp32shim_product* product, size_t size) {
    const ErrnoKeeper keep;
    if (product == nullptr || size != sizeof *product) return FP32SHIM_INVALID_ARGUMENT;
    *product = {};
    if (!is_active()) return FP32SHIM_NOT_ACTIVE;
    record::Recording* const recording = settings().recording;
    const ThreadContext* const context = existing_thread_context();
    const bool has_writer =
        recording != nullptr && context != nullptr && context->recording == recording && context->writer != nullptr;
    record::DecisionEvent decision;
    bool has_sizes = false;
    if (!has_writer || !recording->last_decision(*context->writer, decision, has_sizes)) return FP32SHIM_NOT_RECORDED;
    const auto put = [](std::string_view text, auto& buffer) {  // longer texts are cut
        copy_out(text.substr(0, sizeof buffer - 1), buffer, sizeof buffer);
    };
    put(decision.call.function, product->function);
    put(policy::to_string(decision.call.dtype), product->dtype);
    product->m = has_sizes ? decision.call.m : -1;
    product->n = has_sizes ? decision.call.n : -1;
    product->k = has_sizes ? decision.call.k : -1;
    product->batch = has_sizes ? decision.call.batch : -1;
    put(policy::to_string(decision.requested), product->requested);
    put(policy::to_string(decision.source), product->source);
    put(policy::to_string(decision.applied), product->applied);
    if (decision.actual) put(policy::to_string(*decision.actual), product->actual);
    put(record::to_string(decision.how), product->how);
    put(policy::to_string(decision.reason), product->reason);
    put(decision.rule, product->rule);
    return FP32SHIM_OK;
}
