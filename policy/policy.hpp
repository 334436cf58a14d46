// A policy: rules and settings, whatever file or variable they come from. Plain data; read_policy makes it, decide
// reads it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/matmul_call.hpp"
#include "policy/precision.hpp"

namespace fp32shim::policy {

/// An inclusive range of sizes. A condition holds if one of its ranges contains the size.
struct Range {
    double lowest;
    double highest;

    bool operator==(const Range&) const = default;
};

/// A rule's `when` or `unless` table. All keys must hold: a key holds if its list is empty or has a matching entry.
struct Conditions {
    std::vector<std::string> function, caller, executable, command, host, scope, where, call_site,
        stack;  ///< globs, one of which must match
    std::vector<Device> device;
    std::vector<Dtype> dtype;
    std::vector<Range> compute_capability;  ///< in 10·major + minor
    std::vector<Range> m, n, k, batch, min_dim, max_dim, flops;

    bool empty() const;
    /// Returns true if a condition depends on a call's sizes: then decisions cannot be cached by call site alone.
    bool looks_at_sizes() const;
    /// Returns true if a condition depends on the lines of Python that led to a call.
    bool looks_at_where() const { return !where.empty() || !stack.empty(); }

    bool operator==(const Conditions&) const = default;
};

struct Rule {
    std::string name;  ///< name in the file; `rule 3` if it has none
    Precision precision = Precision::native;
    bool assume_aligned = false;  ///< lets CUDA batches given by arrays of pointers run below FP32
    Conditions when;
    Conditions unless;
    std::string file;  ///< path of the file that has the rule, for messages
    int line = 0;
};

enum class OnError : std::uint8_t { continue_untouched, highest, abort };
enum class LogLevel : std::uint8_t { unset, summary, calls };
enum class OnFull : std::uint8_t { drop, overwrite };
/// Sources from which the place of a call in its program is told; bits of a WhereSet.
enum class Where : std::uint8_t {
    none = 0,
    python = 1,     ///< the thread's stack of Python functions
    nvtx = 2,       ///< ranges that the program marks for NVIDIA's profilers, as scopes
    itt = 4,        ///< tasks that the program marks for Intel's profilers, as scopes
    torch = 8,      ///< modules of PyTorch, as scopes
    native = 16,    ///< the calling place in a compiled program or library
    automatic = 31  ///< `auto`: all that the program has
};

/// A set of sources: the sum of their bits.
struct WhereSet {
    std::uint8_t bits = 0;

    bool has(Where source) const { return (bits & static_cast<std::uint8_t>(source)) != 0; }
    bool operator==(const WhereSet&) const = default;
};

enum class AuditAction : std::uint8_t { log, pin };

std::string_view to_string(OnError on_error);
std::string_view to_string(LogLevel level);
std::string_view to_string(OnFull on_full);
std::string_view to_string(AuditAction action);
/// Returns `auto`, or the names of the sources joined by commas; empty: there are none.
std::string to_string(WhereSet where);

struct Policy {
    std::string name;      ///< the policy's name; empty: none
    std::string revision;  ///< the file's own version text; empty: none
    std::string file;      ///< path of the policy file; empty: none
    std::string sha256;    ///< SHA-256 of the file's bytes, in lower-case hex; empty: no file

    Precision default_precision = Precision::native;
    Source default_source = Source::native;  ///< source of `default_precision`
    Floor floor = Floor::none;               ///< the strictest of all files and the environment
    bool allow_bf16x9 = false;               ///< BF16x9 satisfies a floor of FP32 (see [limits])

    CpuMode cpu_mode = CpuMode::off;
    Tf32Rounding tf32_rounding = Tf32Rounding::away;

    std::int32_t min_compute_capability = 80;
    bool pedantic = false;

    std::string log_path;  ///< `stderr`, `NAME.jsonl` or `NAME.fp32rec`, with placeholders; empty when none
    LogLevel log_level = LogLevel::unset;
    std::uint64_t log_max_size = 1ULL << 30;  ///< largest size of a recording, in bytes
    OnFull log_on_full = OnFull::drop;
    std::uint32_t log_mode = 0600;  ///< permission bits of the log; only its owner may write
    WhereSet log_where;             ///< sources of a call's place in its program
    std::string log_group;          ///< group of the log; empty: the process's own

    double audit_sample = 0;  ///< fraction of calls to audit, 0 to 1
    double audit_tolerance = 1e-2;
    AuditAction audit_action = AuditAction::log;

    OnError on_error = OnError::continue_untouched;
    bool disabled = false;  ///< FP32_MATMUL_DISABLE=1

    std::vector<Rule> rules;  ///< in the order in which they are tried: those of the user's file, then of the site's

    /// Returns true if a rule depends on the sizes of a call.
    bool looks_at_sizes() const;
    /// Returns true if a rule depends on the scope of a call.
    bool looks_at_scopes() const;
    /// Returns true if a rule depends on the lines of Python that led to a call.
    bool looks_at_where() const;
    /// Returns true if a rule depends on the calling place in a program or library.
    bool looks_at_call_sites() const;
};

}  // namespace fp32shim::policy
