// Makes texts about the process of a recording, which all reports share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/merged_calls.hpp"
#include "record/read/processes.hpp"

namespace fp32shim::cli {

/// Returns a text for each setting that was in force when the recording began: `default high`, `floor none`, `CPU
/// mode off`. The name of an exception to the floor must pass printable() before it is printed.
std::vector<std::string> settings_texts(const record::StartEvent& start);
/// Returns the texts of settings_texts(facts.start), followed by texts about the variables of `run --pin` and about
/// the policy.
std::vector<std::string> settings_texts(const record::RecordingFacts& facts);
/// Returns the policy's name and revision, or `none`. The result comes from a recording and must pass printable()
/// before it is printed.
std::string policy_name_text(std::string_view name, std::string_view revision, std::string_view sha256);
/// Returns a change of settings as text: `precision high`, or `policy not read again` for a refused change.
std::string settings_change_text(const record::RecordedSettingsChange& change);
/// Returns the source of a change of settings: `fp32shim command`.
std::string_view change_origin_text(record::format::SettingsChangeOrigin origin);
/// Returns a sentence about the changes of settings that a recording has lost.
std::string lost_changes_text(std::uint64_t count);
/// Returns the reason why a recording lacks later calls of its process; empty if it has all calls.
std::string early_end_text(const record::RecordingFacts& facts);

/// Returns a text about a child that the shim did not see: `./static in /home/me, is statically linked (process 12,
/// 2026-…; 2 times in all)`. The result must pass printable() before it is printed.
std::string unseen_child_text(const record::RecordedChild& child);

/// Returns a text that identifies a process: `python train.py (process 4711 on node3, job 88, rank 2)`. The result
/// must pass printable() before it is printed.
std::string process_text(const record::ProcessFacts& process);

/// Returns a list of processes as text: `python3 serve.py (process 4711), sh (process 4712) and 3 more`, with at most
/// 80 bytes of each command.
std::string running_processes_text(const std::vector<record::RemainingProcess>& processes);

/// Returns a text about the environment variables that pin a process to float32: `pinned by its environment:
/// NVIDIA_TF32_OVERRIDE=0, …`; empty if no variable pins the process.
std::string pins_text(std::uint16_t pins);

}  // namespace fp32shim::cli
