// A policy consists of rules and settings, joined from files and environment variables. It is plain data, which
// load_policy() makes and decide() reads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/algorithm.hpp"
#include "policy/matmul_call.hpp"
#include "policy/precision.hpp"

namespace fp32shim::policy {

/// An inclusive range of sizes. A condition holds if one of its ranges contains the size.
struct NumberRange {
    double lowest;
    double highest;

    bool operator==(const NumberRange&) const = default;
};

/// A rule's `when` or `unless` table. All keys must hold: a key holds if its list is empty or has a matching entry.
struct Conditions {
    std::vector<std::string> function, caller, executable, command, host, scope, where, text, call_site,
        stack;  ///< lists of globs; at least one glob of each list must match
    /// The globs of `where` with `*` as the line number: `train.py:* forward`. Used instead of `where` if `text` is
    /// set.
    std::vector<std::string> where_of_any_line;
    std::vector<Device> device;
    std::vector<Dtype> dtype;
    std::vector<NumberRange> compute_capability;  ///< ranges of the compute capability, as 10·major + minor
    std::vector<NumberRange> m, n, k, batch, min_dim, max_dim, flops, call_number;

    bool empty() const;
    /// Returns true if a condition depends on the sizes of a call or on its `call_number`. Then the calls of one call
    /// site may get different decisions.
    bool looks_at_sizes() const;
    /// Returns the globs of `where` that a call has to match. If `text` is set, they allow any line number.
    const std::vector<std::string>& effective_where_globs() const { return text.empty() ? where : where_of_any_line; }

    bool operator==(const Conditions&) const = default;
};

/// Measures of the difference between two results, as policy/metrics.def lists them.
enum class ErrorMetric : std::uint8_t {
#define METRIC(name) name,
#define FURTHER_ERROR(name)
#include "policy/metrics.def"
};

/// The fraction of calls that is audited if `sample` is not set but audits are needed, because a rule has a tolerance
/// or `[audit] action` is pin.
inline constexpr double default_audit_sample = 1e-3;

/// The largest number that a policy can set for log_gpu_times.
inline constexpr std::uint32_t max_gpu_times = 1'000'000'000;

/// A limit on an audit's error, and the metric by which the error is measured.
struct Tolerance {
    double error = 1e-2;  ///< largest accepted error
    ErrorMetric metric = ErrorMetric::row;

    bool operator==(const Tolerance&) const = default;
};

struct Rule {
    std::string name;  ///< the name in the file; `rule 3` if the rule has no name
    Precision precision = Precision::native;
    bool has_precision = true;  ///< false if the rule decides nothing about products of float32 and float64
    std::optional<Accumulate> accumulate;  ///< absent if the rule decides nothing about half products
    AlgorithmLimits algorithms;            ///< limits on cublasLt's algorithms
    std::uint8_t fixed_point_bits = 0;  ///< with the precision `fixed`, the number of bits of the fixed-point numbers
    std::uint8_t mantissa_bits =
        0;  ///< with the precision `fp64_emulated`, the number of bits that cuBLAS is to keep; 0 if cuBLAS decides
    /// If present, audits choose the format: the cheapest one that is at least as exact as `precision` and whose
    /// errors stayed within this tolerance.
    std::optional<Tolerance> tolerance;
    /// True if CUDA calls may run below FP32 although they ask for PEDANTIC or are made under PyTorch's NoTF32Guard.
    bool lower_guarded = false;
    bool assume_aligned = false;  ///< true if CUDA batches that are passed as arrays of pointers may run below FP32
    Conditions when;
    Conditions unless;
    std::string file;  ///< path of the file that contains the rule, for messages
    int line = 0;
    /// Hash of the name, the file and all keys. A rule that a reload of the policy leaves unchanged keeps its hash.
    /// Hashes of different processes cannot be compared.
    std::uint64_t content = 0;
};

/// An exception to the floor of the policy file that contains it: a table [[limits.except]]. It holds if each of its
/// lists is empty or has an entry that fits the process.
struct FloorException {
    std::string name;  ///< the name in the file; `exception 2` for the file's second exception if it has no name
    std::string file;  ///< the path of the file that contains the exception, for messages
    int line = 0;
    Floor floor = Floor::none;              ///< the floor that replaces the file's floor if it is lower
    std::optional<bool> allow_bf16x9;       ///< if true, replaces the file's `allow_bf16x9`
    std::vector<std::string> user, group;   ///< names or numbers, of which one must be the process's own
    std::vector<std::string> command;       ///< globs for the command line, of which one must match
    std::vector<std::string> job, account;  ///< ids or names, of which one must belong to the process
    Floor file_floor = Floor::none;         ///< the floor of the file, which `floor` may replace
    bool holds = false;                     ///< true if the exception holds for the process that loaded the policy
};

enum class OnError : std::uint8_t { continue_untouched, highest, abort };
enum class LogLevel : std::uint8_t { unset, summary, calls };
enum class OnFull : std::uint8_t { drop, overwrite };
/// The sources from which the shim learns a call's location in its program. The values are bits of a
/// LocationSourceSet.
enum class LocationSource : std::uint8_t {
    none = 0,
    python = 1,     ///< the thread's stack of Python functions
    nvtx = 2,       ///< ranges that the program opens for NVIDIA's profilers; they become scopes
    itt = 4,        ///< tasks of Intel's profilers, which the shim ignores
    torch = 8,      ///< modules of PyTorch; they become scopes
    native = 16,    ///< the call site in a compiled program or library
    automatic = 31  ///< `auto`: all sources that the program has
};

/// Largest number of native callers that a policy can ask for.
inline constexpr std::uint8_t max_native_frames = 64;

/// A set of location sources: the sum of their bits.
struct LocationSourceSet {
    std::uint8_t bits = 0;
    std::uint8_t native_frames = 0;  ///< the number of native callers to read, at least 2; 0: only the call site

    bool has(LocationSource source) const { return (bits & static_cast<std::uint8_t>(source)) != 0; }
    bool operator==(const LocationSourceSet&) const = default;
};

/// Formats that an audit can compare, as the tested format or as the reference.
enum class AuditFormat : std::uint8_t {
#define AUDITED(number, name) name = (number),
#include "policy/formats.def"
};

enum class AuditAction : std::uint8_t { log, pin };

std::string_view to_string(OnError on_error);
std::string_view to_string(LogLevel level);
std::string_view to_string(OnFull on_full);
std::string_view to_string(AuditAction action);
std::string_view to_string(AuditFormat format);
/// Returns the AuditFormat for an AppliedFormat, or nullopt if audits do not have the format.
std::optional<AuditFormat> audit_format_of(AppliedFormat applied);
std::optional<AppliedFormat> applied_format_of(AuditFormat format);
std::string_view to_string(ErrorMetric metric);
/// Returns a set in the words of a policy file: `auto`, or the names of the sources with commas between them. The
/// text is empty if there are no sources. `python,native:8` stands for Python's lines and 8 callers in compiled code.
std::string to_string(LocationSourceSet where);

/// The facts about a call on which some rule depends.
struct RuleNeeds {
    bool looks_at_sizes = false;
    bool looks_at_scopes = false;
    bool looks_at_where = false;         ///< the lines of Python that lead to the call
    bool looks_at_text = false;          ///< the text of the source line that asks for the call
    bool looks_at_call_numbers = false;  ///< MatmulCall::call_number
    bool looks_at_call_sites = false;    ///< the call site in a program or library

    bool operator==(const RuleNeeds&) const = default;
};

struct Policy {
    std::string name;      ///< the policy's name; empty if it has none
    std::string revision;  ///< the file's own version text; empty if it has none
    std::string file;      ///< the path of the policy file; empty if there is no file
    std::string sha256;    ///< the SHA-256 of the file's bytes, in lower-case hex; empty if there is no file

    Precision default_precision = Precision::native;
    Source default_source = Source::native;  ///< the source of `default_precision`
    Floor floor = Floor::none;               ///< the strictest floor of all files and the environment
    bool allow_bf16x9 = false;               ///< true if BF16x9 satisfies a floor of FP32 (see [limits])
    /// The exceptions of the user's file, then those of the site's file (/etc/fp32shim/policy.toml).
    std::vector<FloorException> exceptions;
    /// The names of the exceptions that hold, with commas between them; empty if none holds.
    std::string floor_exception;

    CpuMode cpu_mode = CpuMode::off;
    Tf32Rounding tf32_rounding = Tf32Rounding::away;
    AccumulationModel accumulation = AccumulationModel::library;
    /// The most threads for a product that the shim computes; 0 means as many as the library may use.
    int threads = 0;
    std::optional<std::uint64_t> stochastic_seed;  ///< if present, operands are rounded at random, by this seed

    std::int32_t min_compute_capability = 80;
    bool pedantic = false;
    AlgorithmLimits algorithms;  ///< limits on cublasLt's algorithms in all products; rules add to them
    Accumulate accumulate = Accumulate::as_called;  ///< the type in which half products add if no rule decides it

    std::string log_path;  ///< `stderr`, `NAME.jsonl` or `NAME.fp32rec`, with placeholders; empty if there is no log
    LogLevel log_level = LogLevel::unset;
    std::uint64_t log_max_size = 1ULL << 30;  ///< largest size of a recording, in bytes
    OnFull log_on_full = OnFull::drop;
    std::uint32_t log_mode = 0600;  ///< the permission bits of the log; only its owner may write it
    LocationSourceSet log_where;    ///< the sources of a call's location in its program
    std::string log_group;          ///< the group that owns the log; empty for the process's own group
    bool log_onednn = false;        ///< true if the products that oneDNN computes in the process are to be recorded
    bool log_kernels = false;       ///< true if the kernels that are launched on GPUs are to be recorded
    bool log_vectors = false;       ///< true if products with a vector are to be recorded even if they run as called
    std::uint32_t log_gpu_times = 64;  ///< one product in this many is timed on its GPU; 0 means that none is

    double audit_sample = 0;       ///< fraction of calls to audit, 0 to 1
    std::uint64_t audit_seed = 0;  ///< seed for the random choice of the calls to audit
    /// The key `against`, which names one of the two formats that audits of float32 compare. If it is fp64, the
    /// format that ran is tested against fp64. Any other format is itself tested against FP32. If the key is absent,
    /// the format that ran is tested against FP32; if FP32 ran, TF32 is tested instead.
    std::optional<AuditFormat> audit_against;
    /// The format that audits of float64 test. If it is double_double, the format that ran is tested against
    /// double_double. If it is absent, only products that a rule runs below float64 are audited.
    std::optional<AuditFormat> audit_float64;
    ErrorMetric audit_metric = ErrorMetric::row;
    double audit_tolerance = 1e-2;  ///< the largest error by `audit_metric` that is accepted
    AuditAction audit_action = AuditAction::log;
    bool audit_fingerprint = false;  ///< true if a hash and a sketch of each result are to be kept
    /// True if the first product that turns finite operands into NaN or infinity is to be found.
    bool audit_nonfinite = false;

    OnError on_error = OnError::continue_untouched;
    bool disabled = false;  ///< true if FP32_MATMUL_DISABLE=1 is set

    std::vector<Rule> rules;  ///< the rules in the order in which they are tried: those of the user's file, then
                              ///< those of the site's file

    /// Returns the facts about calls on which some rule depends.
    RuleNeeds needs() const;
    /// Returns true if `log_where` names the source, or if the source opens scopes and a rule has a condition on the
    /// scope.
    bool wants(LocationSource source) const;
    /// Returns true if a rule has a tolerance, which only audits can judge.
    bool has_tolerances() const;
    /// Returns true if the section [cuda] or a rule limits algorithms. Then a product of cublasLt may need another
    /// algorithm than the program chose.
    bool limits_algorithms() const;
    /// Returns true if [cuda] or a rule asks for half products that add in FP32.
    bool changes_accumulation() const;
};

}  // namespace fp32shim::policy
