// Events of a decision log. docs/schema.md describes every key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "policy/matmul_call.hpp"
#include "policy/policy.hpp"
#include "policy/precision.hpp"
#include "record/process_facts.hpp"

namespace fp32shim::record {

/// The way in which the shim had a product computed.
enum class How : std::uint8_t {
    forward,         ///< called the function that the program called, with the same arguments
    round_operands,  ///< called the function that the program called, with rounded copies of the operands
    one_by_one,      ///< ran a batch as single products, because no library has the batch function
    compute_type,    ///< called the function of cuBLAS that the program called, and changed only the compute type
    math_mode,    ///< called the function of cuBLAS that the program called, after setting another math mode in its
                  ///< handle
    fixed_order,  ///< computed by the shim in a fixed order of operations
    bf16_units,   ///< computed by the shim on the processor's BF16 units
    algorithm,    ///< called the function of cublasLt that the program called, with another algorithm, or with an
                  ///< algorithm if the program chose none
};
std::string_view to_string(How how);

/// The time of a line in a log, and the process and thread that the line is about.
struct TimeAndThread {
    std::int64_t time_ns = 0;  ///< time in nanoseconds since 1970, UTC
    std::int32_t pid = 0;
    std::int32_t tid = 0;  ///< thread id; -1: the line is about several threads
};
/// Returns the time now, with the ids of this process and thread.
TimeAndThread current_time_and_thread();

/// The state of the code that reads Python's call stacks in a process.
enum class PythonReaderState : std::uint8_t {
    unused,     ///< no call has asked for a stack, or the process has no Python
    unchecked,  ///< stacks are read; a comparison with Python's own functions was not possible
    checked,    ///< stacks are read; Python's own functions gave the same answer
    unknown,    ///< no stacks are read: this version or build of Python is not known
    differs,    ///< no stacks are read any more: Python's own functions gave another answer
};

/// The first line that a process writes to a log. It has the settings at the start of the process.
struct StartEvent {
    std::string version;          ///< version of fp32shim
    std::string policy_name;      ///< name of the policy; empty: it has no name
    std::string policy_revision;  ///< version text of the policy; empty: the policy has none
    std::string policy_sha256;    ///< SHA-256 of the policy file; empty: no file
    policy::Precision default_precision = policy::Precision::native;
    policy::Floor floor = policy::Floor::none;
    bool allow_bf16x9 = false;    ///< BF16x9 may be used where the floor, the lowest allowed precision, is fp32
    std::string floor_exception;  ///< names of the exceptions that lowered the floor; empty: no exception did
    policy::CpuMode cpu_mode = policy::CpuMode::off;
    policy::Tf32Rounding tf32_rounding = policy::Tf32Rounding::away;
    policy::AccumulationModel accumulation = policy::AccumulationModel::library;
    bool rounds_at_random = false;  ///< previews round operands at random
    policy::LogLevel log_level = policy::LogLevel::calls;
    policy::LocationSourceSet where;      ///< sources from which the shim learns a call's location in the program
    bool asks_onednn = false;             ///< the shim makes each oneDNN in the process print what it executes
    bool asks_kernels = false;            ///< the shim records the kernels that the process launches on GPUs
    std::span<const policy::Rule> rules;  ///< the rules in force; they are never destroyed
};
StartEvent make_start_event(std::string_view version, const policy::Policy& policy);

/// One level of the call path of a product: a line of a Python function, or a location in a program or library.
struct StackFrame {
    std::string_view file;      ///< path of the source file, or of the loaded program or library
    std::string_view function;  ///< name of the Python function, qualified from Python 3.11 on; empty: compiled code
    std::uint32_t line = 0;     ///< line in the source file, from 1; 0: unknown
    std::uint32_t offset = 0;   ///< return address in a program or library, in bytes from its load address
};

/// Returns the text for a frame of Python, such as `train.py:41 Model.forward`. A frame with a function but no file
/// stands for missing frames; its text is the function. Long names are cut and end in `…`. The result is empty for a
/// frame of compiled code. The result lies in `buffer`.
std::string_view frame_text(const StackFrame& frame, std::span<char, 512> buffer);

/// Call path of a product, outermost frame first. The object does not store the frames: `read` finds out one frame at
/// a time. The texts of a frame stay valid until the next call of `read`.
struct CallStack {
    std::size_t size = 0;
    /// Reads the frame at `index`, which must be below `size`. Returns false if the frame should be left out.
    bool (*read)(const CallStack& stack, std::size_t index, StackFrame& frame) = nullptr;
};

/// One call and the decision on it (decision_fields.def lists the fields). An event does not own its texts.
struct DecisionEvent {
    policy::MatmulCall call;
    std::string_view provider;  ///< base name of the library that ran the product; empty when unknown
    policy::Precision requested = policy::Precision::native;
    policy::Source source = policy::Source::native;
    std::string_view rule;  ///< name of the rule that decided the precision; empty when no rule matched
    policy::AppliedFormat applied = policy::AppliedFormat::unchanged;
    std::optional<policy::AppliedFormat> actual;  ///< format that the library says it used; absent: the library does
                                                  ///< not say
    How how = How::forward;
    policy::Reason reason = policy::Reason::as_requested;
    std::string_view detail;      ///< free text about the decision; empty when there is nothing to add
    std::int64_t host_ns = -1;    ///< duration of the call on the host; -1: not measured
    std::optional<int> status{};  ///< status that the function returned; absent: the function returns
                                  ///< none
    /// The number types in which a product of half-precision matrices adds: `accumulator_as_called` in the call as
    /// the program made it, and `accumulator` in the call that ran.
    policy::Accumulator accumulator_as_called = policy::Accumulator::unknown;
    policy::Accumulator accumulator = policy::Accumulator::unknown;
    int mantissa_bits = 0;       ///< bits of mantissa that an emulated product of float64 kept; 0: not known
    std::string_view algorithm;  ///< algorithm of cublasLt that ran; empty: the product had no algorithm, or the
                                 ///< algorithm is not known
    bool is_of_vector = false;   ///< one operand of the product is a vector; recordings do not have this field
    const CallStack* stack = nullptr;          ///< call path of the product; nullptr: not known
    const policy::Rule* decided_by = nullptr;  ///< the rule with the name `rule`; nullptr: no rule matched, or the
                                               ///< pointer is not known
    const policy::Rule* limited_by =
        nullptr;  ///< the rule that limited the algorithms of cublasLt; nullptr: no rule limited them
};

/// Codes of error events.
enum class ErrorCode : std::uint8_t {
    bad_setting,    ///< an environment variable or a policy file is wrong; `detail` says what the shim does now
    provider,       ///< the function of the BLAS library could not be found, or must not be called
    lines_dropped,  ///< earlier lines of this process could not be written; `dropped` says how many
};
std::string_view to_string(ErrorCode code);

struct ErrorEvent {
    ErrorCode code = ErrorCode::bad_setting;
    std::string_view detail;
    std::int64_t dropped = -1;  ///< number of lost lines if the code is lines_dropped; otherwise -1
};

}  // namespace fp32shim::record
