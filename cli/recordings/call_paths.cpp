#include "cli/recordings/call_paths.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/native_locations.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"
#include "system/plain_text.hpp"

namespace fp32shim::cli {
namespace {

std::uint64_t hash_of(std::uint32_t parent, const PathFrame& frame) {
    system::Hash hash;
    hash.add(std::uint64_t{parent} << 32 | frame.line).add(std::uint64_t{frame.file.id()} << 32 | frame.offset);
    return hash.add(std::uint64_t{frame.function.id()}).value();
}

/// Returns true for a frame of fp32shim's own start-up file, which opens scopes for PyTorch modules.
bool is_own_frame(const record::RecordedFrame& frame) { return frame.file.ends_with("/fp32shim_torch.py"); }

/// Returns true for the function by which IPython runs a cell. Its callers belong to IPython or to Jupyter's kernel.
bool runs_cells(const record::RecordedFrame& frame) {
    return frame.file.ends_with("/IPython/core/interactiveshell.py") && frame.function.ends_with("run_code");
}

/// Returns the functions of a location whose lines are known, innermost first.
std::vector<PathFrame> frames_with_lines(const SourceLocation& location) {
    std::vector<PathFrame> levels;
    for (const SourceFrame& source : location.frames) {
        if (source.file.empty() || source.line <= 0) continue;
        levels.push_back({.file = SharedText(system::with_valid_utf8(source.file)),
                          .function = SharedText(system::with_valid_utf8(source.function)),
                          .line = static_cast<std::uint32_t>(source.line)});
    }
    return levels;
}

}  // namespace

std::string PathFrame::name() const {
    if (line != 0 || file.empty()) return function;
    if (!call_site.empty()) return call_site;
    return std::string(function.empty() ? system::base_name(file) : std::string_view(function));
}

std::string PathFrame::text() const {
    const std::string_view base = system::base_name(file);
    if (line != 0) return fmt::format("{} ({}:{})", function, base, line);
    if (file.empty() || function.empty() || !call_site.empty()) return name();
    return fmt::format("{} ({})", function, base);
}

void CallPathTree::begin_recording() {
    known_.clear();
    if (calls_.size() > 2 * summed_up_ + 4096) merge_equal_calls();
}

void CallPathTree::add(const record::RecordingReader& recording, const record::RecordedRow* row,
                       std::uint32_t row_index, const record::RecordedCounters& counters) {
    if (calls_.empty())
        // Growing the vector step by step would take twice the memory.
        calls_.reserve(recording.counters().size());
    std::uint32_t node = 0;
    PathFrame product{.function = SharedText("(found no room)")};
    if (row != nullptr && !row->is_overflow) {
        product.function = row->decision.call.function;
        if (row->stack != 0) {
            node = node_of(recording, row->stack);
            if (row->stack_is_cut) {
                cut_calls_ += counters.calls;
                node = find_or_add_child(node, {.function = SharedText("(inner frames left out)")});
            }
        } else if (!row->decision.call.caller.empty()) {  // only the name of the calling library is known
            node = find_or_add_child(0, {.file = SharedText(row->decision.call.caller)});
        }
    }
    add(find_or_add_child(node, product), row_index, counters);
}

void CallPathTree::add(std::uint32_t node, std::uint32_t row, const record::RecordedCounters& counters) {
    calls_.push_back({node, row, counters});
}

/// Returns the node of the recorded frame with the id `frame`. Adds nodes for this frame and its callers if they are
/// new. If a damaged file has an unreadable frame, the path begins with the frame that it called. In IPython, the
/// path begins with the cell.
std::uint32_t CallPathTree::node_of(const record::RecordingReader& recording, record::format::StringId frame) {
    std::vector<std::pair<record::format::StringId, record::RecordedFrame>> unknown;  // innermost first
    std::uint32_t node = 0;
    while (frame != 0) {
        if (const auto found = known_.find(frame); found != known_.end()) {
            node = found->second;
            break;
        }
        std::optional<record::RecordedFrame> read = recording.frame(frame);
        if (!read || runs_cells(*read)) break;
        const record::format::StringId caller = read->parent;
        unknown.emplace_back(frame, *std::move(read));
        frame = caller;
    }
    for (auto level = unknown.rbegin(); level != unknown.rend(); ++level)
        known_[level->first] = node = child_of_recorded(node, level->second, recording);
    return node;
}

/// Adds a recorded frame and returns its node. In compiled code, inlined functions become levels of their own.
std::uint32_t CallPathTree::child_of_recorded(std::uint32_t parent, const record::RecordedFrame& frame,
                                              const record::RecordingReader& recording) {
    PathFrame level{.file = SharedText(frame.file),
                    .function = SharedText(frame.function),
                    .line = frame.line,
                    .offset = frame.offset};
    const bool is_native = frame.function.empty() && frame.offset != 0;
    if (!is_native) return is_own_frame(frame) ? parent : find_or_add_child(parent, level);
    static const SourceLocation unknown;
    const SourceLocation& location = locations_ == nullptr ? unknown : locations_->locate(frame, recording);
    level.function = system::with_valid_utf8(location.symbol);
    level.call_site = system::with_valid_utf8(call_site_text(frame.file, frame.offset, location));
    const std::vector<PathFrame> lines = frames_with_lines(location);  // innermost first
    for (std::size_t i = lines.size(); i-- > 1;) parent = find_or_add_child(parent, lines[i]);
    if (!lines.empty()) {
        level.file = lines[0].file;
        level.function = lines[0].function;
        level.line = lines[0].line;
    }
    return find_or_add_child(parent, level);
}

std::uint32_t CallPathTree::find_or_add_child(std::uint32_t parent, const PathFrame& frame) {
    const auto is_like = [&](std::uint32_t index) {
        return nodes_[index].parent == parent && nodes_[index] == frame;
    };
    const auto [index, is_new] = node_indices_.find_or_add(hash_of(parent, frame), is_like, [&](std::uint32_t other) {
        return hash_of(nodes_[other].parent, nodes_[other]);
    });
    if (is_new) {
        index = static_cast<std::uint32_t>(nodes_.size());
        nodes_.push_back({frame, parent});
    }
    return index;
}

void CallPathTree::finish() {
    known_.clear();
    merge_equal_calls();
}

/// Sorts calls_ and adds up entries with the same row and path.
void CallPathTree::merge_equal_calls() {
    const auto key = [](const CallsOfPath& calls) { return std::tuple(calls.node, calls.row); };
    std::ranges::sort(calls_, {}, key);
    std::size_t kept = 0;
    for (std::size_t i = 0; i < calls_.size(); ++i)
        if (kept > 0 && key(calls_[kept - 1]) == key(calls_[i]))
            add_counters(calls_[kept - 1].counters, calls_[i].counters);
        else
            calls_[kept++] = calls_[i];
    calls_.resize(kept);
    summed_up_ = kept;
}

std::vector<std::uint32_t> CallPathTree::path_of(std::uint32_t node) const {
    std::vector<std::uint32_t> path;
    for (; node != 0; node = nodes_[node].parent) path.push_back(node);
    std::reverse(path.begin(), path.end());
    return path;
}

}  // namespace fp32shim::cli
