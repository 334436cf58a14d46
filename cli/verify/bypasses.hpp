// What `fp32shim verify` cannot see: ways on which products of the recorded processes may have gone past the shim,
// judged by the files that they had loaded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/recordings/merged_calls.hpp"

namespace fp32shim::cli {

struct UnseenRoad {
    std::string word;    ///< for --assume-unused; of a child that was not seen: `child:NAME`
    std::string reason;  ///< what may have multiplied, and why that is not known: to follow the word
    std::string remedy;  ///< what governs it; empty: nothing
    std::uint16_t pins;  ///< record::pin_…, where the environment had all that keep it at float32; else 0
    std::vector<std::string> recordings;  ///< whose processes had it
};

/// Whether the process left the recording by a reload and went on in another of these: what it did and loaded later
/// is judged by that one.
bool is_continued(const MergedProcess& process, const std::vector<MergedProcess>& processes);

/// Each road once. Reads the files that were loaded, where they are still the same; of the others it judges the
/// names, and they are a road of their own.
std::vector<UnseenRoad> find_unseen_roads(const std::vector<MergedProcess>& processes);

/// Whether a word is one of a child: there are as many as there are programs.
bool is_child_word(std::string_view word);

/// The words of all other roads there are.
std::vector<std::string_view> unseen_road_words();

}  // namespace fp32shim::cli
