#include "cli/product_groups/groups.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "cli/recordings/merged_calls.hpp"
#include "cli/recordings/recordings.hpp"
#include "policy/conditions.hpp"
#include "policy/decide.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

/// Sets `file` and `line` of `group`, whose location is a line of Python such as `train.py:41 Model.forward`. Both
/// come from the frame in the call path of `row` that has this line. Without such a frame, both stay unset.
void find_source_file(const record::RecordedRow& row, const record::RecordingReader& recording, ProductGroup& group) {
    std::size_t frames = 0;
    for (auto id = row.stack; id != 0 && frames < 300; ++frames) {
        const auto frame = recording.frame(id);
        if (!frame) return;
        if (frame->line != 0 &&
            group.where.starts_with(fmt::format("{}:{} ", system::base_name(frame->file), frame->line))) {
            group.file = frame->file;
            group.line = frame->line;
            return;
        }
        id = frame->parent;
    }
}

/// Returns true if a call ran below the format in which it was called.
bool is_lowered(policy::AppliedFormat applied, policy::Dtype dtype) {
    return applied != policy::native_format(dtype) && applied != policy::AppliedFormat::unchanged &&
           applied != policy::AppliedFormat::fp64_emulated;
}

/// Adds `group` to the map `met`. If the map already has a group with the same key, only adds calls and work to it.
void add_calls_of_group(std::map<GroupKey, RecordedProducts::RecordedGroup>& met, const ProductGroup& group,
                        bool was_lowered, std::string_view format) {
    const auto [entry, is_new] = met.try_emplace(group.key, RecordedProducts::RecordedGroup{group, was_lowered});
    entry->second.formats.emplace(format);
    if (is_new) return;
    entry->second.group.calls += group.calls;
    entry->second.group.work += group.work;
    entry->second.was_lowered |= was_lowered;
}

}  // namespace

void RecordedProductsReader::name_native_location(const record::RecordedRow& row,
                                                  const record::RecordingReader& recording, ProductGroup& group) {
    group.key.location.is_call_site = true;
    group.where = "(code made at run time)";
    const auto frame = recording.frame(row.stack);
    if (!frame || frame->file.empty() || !frame->function.empty()) return;
    const SourceLocation& location = locations_.locate(*frame, recording);
    group.where = call_site_text(frame->file, frame->offset, location);
    group.key.location.text = call_site_for_rules(frame->file, frame->offset, location);
    for (const SourceFrame& source : location.frames) {
        if (source.file.empty() || source.line <= 0) continue;
        group.file = source.file;
        group.line = static_cast<std::uint32_t>(source.line);
        group.where = fmt::format("{}:{} {}", system::base_name(source.file), source.line, source.function);
        return;
    }
}

ProductGroup RecordedProductsReader::group_of(const record::RecordedRow& row,
                                              const record::RecordingReader& recording) {
    const policy::MatmulCall& call = row.decision.call;
    ProductGroup group;
    group.key = {.scope = std::string(call.scope),
                 .location = {},
                 .function = std::string(call.function),
                 .m = call.m,
                 .n = call.n,
                 .k = call.k,
                 .batch = call.batch,
                 .is_folded = row.is_folded};
    if (call.where.empty()) {
        name_native_location(row, recording, group);
    } else {
        group.where = group.key.location.text = call.where;
        find_source_file(row, recording, group);
    }
    return group;
}

RecordedProducts RecordedProductsReader::read(const std::string& folder, TriedTypes types) {
    RecordedProducts products;
    std::map<GroupKey, RecordedProducts::RecordedGroup> met;
    const auto read_one = [&](const std::string& path, record::RecordingReader& recording) {
        if ((recording.facts().flags & record::format::flag_io_error) != 0)
            products.unwritten_recording = fmt::format("{}: {}", path, std::strerror(recording.facts().last_error));
        products.calls += recording.uncounted_calls();
        for (const auto& [id, counters] : recording.counters()) {
            const record::RecordedRow* row = recording.row(id);
            if (row != nullptr && record::is_onednn_or_xla(row->decision.call.function)) {
                const policy::MatmulCall& call = row->decision.call;
                if (row->decision.reason != policy::Reason::no_product)
                    products.by_onednn[std::string(call.where.empty() ? call.function : call.where)] +=
                        counters.calls;
                continue;
            }
            if (row != nullptr && is_vector_product(row->decision.call.function)) continue;
            if (row != nullptr && !row->is_overflow && !is_tried_type(types, row->decision.call.dtype)) {
                products.calls_of_other_types += counters.calls;
                continue;
            }
            products.calls += counters.calls;
            if (row != nullptr && row->decision.call.device != policy::Device::cpu)
                products.calls_on_gpu += counters.calls;
            const bool has_location = row != nullptr && !row->is_overflow &&
                                      (!row->decision.call.where.empty() || (row->stack != 0 && !row->stack_is_cut));
            if (!has_location) continue;
            const bool was_lowered = is_lowered(row->decision.applied, row->decision.call.dtype);
            if (!was_lowered) products.reasons[std::string(to_string(row->decision.reason))] += counters.calls;
            const double work = std::max(policy::flops_of(row->decision.call), 0.0);
            ProductGroup group = group_of(*row, recording);
            group.calls = counters.calls;
            group.work = work * static_cast<double>(counters.calls);
            add_calls_of_group(met, group, was_lowered, to_string(row->decision.applied));
        }
    };
    visit_recordings(find_recordings({folder}).paths, read_one);
    for (auto& [key, entry] : met) products.groups.push_back(std::move(entry));
    return products;
}

}  // namespace fp32shim::cli
