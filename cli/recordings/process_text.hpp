// What a recording says of its process, in the words that the reports share.
#pragma once

#include <string>
#include <string_view>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

/// `default high, floor none, CPU mode off`: what was in force when the recording began.
std::string settings_text(const record::StartEvent& start);
/// `none`, or the policy's name and revision. Texts of a recording: not printable() yet.
std::string policy_text(std::string_view name, std::string_view revision, std::string_view sha256);
/// What was changed, without who did it: `precision high`; or what was not: `policy not read again`.
std::string change_text(const record::RecordedChange& change);
/// Who made a change: `fp32shim command`.
std::string_view origin_text(record::format::ChangeOrigin origin);
/// How many changes of settings are not in a recording any more.
std::string lost_changes_text(std::uint64_t count);
/// Why calls that the process made later are not in its recording; empty: they are.
std::string early_end_text(const record::RecordingFacts& facts);

/// `./static in /home/me is statically linked (2 times, the last at …)`. Text of a recording: not printable() yet.
std::string unseen_child_text(const record::RecordedChild& child);

/// `pinned by its environment: NVIDIA_TF32_OVERRIDE=0, …`; empty where that had none of these.
std::string pins_text(std::uint16_t pins);

}  // namespace fp32shim::cli
