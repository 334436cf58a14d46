#include "cli/diff/results.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <optional>
#include <unordered_map>
#include <utility>

#include "cli/recordings/location_text.hpp"
#include "record/fingerprint.hpp"
#include "record/read/reader.hpp"
#include "shim/table/functions.hpp"
#include "system/hash.hpp"
#include "system/inline_text.hpp"

namespace fp32shim::cli {
namespace {

/// Returns a number for a function. Functions that do the same work under different names, such as `cblas_sgemm` and
/// `cblas_sgemm64_`, get the same number.
std::uint64_t number_of_function(SharedText function) {
    const FunctionIndex found = find_function(std::string(function).c_str());
    if (found < 0) return function.id();
    const Function& known = functions[found];
    // This bit keeps the numbers of known functions distinct from the ids of texts.
    constexpr std::uint64_t is_known = std::uint64_t{1} << 63;
    return is_known | (reinterpret_cast<std::uint64_t>(known.family) << 3 & ~is_known) |
           static_cast<std::uint64_t>(known.convention);
}

/// Reads the products with fingerprints from one recording and adds them to a DiffSide.
class RecordingResultsReader {
  public:
    RecordingResultsReader(const record::RecordingReader& recording, ProductKindNumbering& kinds, DiffSide& side)
        : recording_(recording), filter_(*side.calls.filter(), recording), kinds_(kinds), side_(side) {}

    void add_process(const std::string& path) {
        const record::ProcessFacts& facts = recording_.facts().process;
        ProcessResults process{path,
                               std::string(system::base_name(facts.executable)),
                               facts.pid,
                               facts.rank,
                               recording_.facts().opened_ns,
                               side_.threads.size()};
        for (const std::uint32_t slot : recording_.slots_with_fingerprints()) add_slot(slot);
        process.threads = side_.threads.size() - process.first_thread;
        if (process.threads > 0) side_.processes.push_back(std::move(process));
    }

  private:
    void add_slot(std::uint32_t slot) {
        record::FingerprintCursor all = recording_.fingerprints(slot);
        const std::size_t first_thread = side_.threads.size();
        while (const auto entry = all.next()) {
            const std::optional<std::uint32_t> row = row_of(entry->row);
            if (!row) continue;
            if (side_.threads.size() == first_thread || side_.threads.back().id != entry->thread)
                side_.threads.push_back({0, entry->thread, side_.products.size(), 0});
            ++side_.threads.back().count;
            side_.products.push_back({entry->end_ns, entry->offset, hash_of(side_.kinds[*row], entry->fingerprint),
                                      *row, entry->number + 1, kept_operands(entry->operands)});
            side_.row_hashes.push_back(entry->fingerprint.rows);
        }
    }

    /// Returns a hash of `kind` and of the whole fingerprint, except for its `rows`.
    static std::uint64_t hash_of(std::uint32_t kind, const record::Fingerprint& fingerprint) {
        system::Hash hash;
        hash.add(kind).add(fingerprint.hash).add(fingerprint.flags);
        hash.add(std::bit_cast<std::uint64_t>(fingerprint.norm));
        for (const double sum : fingerprint.sketch)
            hash.add(std::bit_cast<std::uint64_t>(sum + 0.0));  // adding 0.0 turns -0 into 0
        return hash.value();
    }

    static ShortOperandHashes kept_operands(const std::optional<record::OperandHashes>& hashes) {
        if (!hashes) return {};
        system::Hash all;
        all.add(hashes->a).add(hashes->b).add(hashes->c).add(hashes->scalars);
        const auto part = [](std::uint64_t hash) { return static_cast<std::uint16_t>(hash); };
        return {all.value(), {part(hashes->a), part(hashes->b), part(hashes->c), part(hashes->scalars)}};
    }

    /// Returns the index in DiffSide::rows of the recording's row (decision) `id`, or nullopt if the filter leaves
    /// out the calls of this row.
    std::optional<std::uint32_t> row_of(std::uint32_t id) {
        const auto [entry, is_new] = rows_.try_emplace(id, static_cast<std::uint32_t>(side_.rows.size()));
        if (!is_new) return entry->second;
        const record::RecordedRow* const recorded = recording_.row(id);
        const bool passes = recorded == nullptr ? side_.calls.filter()->is_empty() : filter_.passes(*recorded);
        if (!passes) return entry->second = std::nullopt;
        MergedRow row;
        if (recorded != nullptr) row = to_merged_row(*recorded);
        side_.kinds.push_back(kinds_.number_of(row));
        side_.rows.push_back(row);
        return entry->second;
    }

    const record::RecordingReader& recording_;
    RowFilter filter_;
    ProductKindNumbering& kinds_;
    DiffSide& side_;
    std::unordered_map<std::uint32_t, std::optional<std::uint32_t>>
        rows_;  // index in DiffSide::rows for each row of the recording
};

}  // namespace

std::uint32_t ProductKindNumbering::number_of(const MergedRow& row) {
    const Key key{SharedText(without_line(row.where)).id(),
                  row.scope.id(),
                  number_of_function(row.function),
                  row.trans_a,
                  row.trans_b,
                  row.m,
                  row.n,
                  row.k,
                  row.batch};
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
}

std::uint8_t ShortOperandHashes::differing_operands(const ShortOperandHashes& other) const {
    if (all == 0 || other.all == 0) return operands_unknown;
    if (all == other.all) return 0;
    std::uint8_t bits = operand_any;
    for (std::size_t i = 0; i < each.size(); ++i)
        if (each[i] != other.each[i]) bits |= static_cast<std::uint8_t>(1U << i);
    return bits;
}

const ThreadResults& DiffSide::thread_of(std::size_t product) const {
    return *std::prev(std::ranges::upper_bound(threads, product, {}, &ThreadResults::first));
}

DiffSide read_diff_side(const std::vector<std::string>& files, const DiffSelection& wanted,
                        ProductKindNumbering& kinds, NativeLocator& locations,
                        std::vector<ReadingProblem>& problems) {
    DiffSide side(wanted.filter, locations);
    auto found = visit_recordings(files, [&](const std::string& path, record::RecordingReader& recording) {
        locations.locate_rows_of(recording, wanted.filter.looks_at_call_sites());
        side.calls.add(path, recording, wanted.call_paths ? &side.paths : nullptr);
        side.environment.add(recording.environment());
        side.lost += recording.lost_fingerprints();
        RecordingResultsReader(recording, kinds, side).add_process(path);
    });
    side.paths.finish();
    problems.insert(problems.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    std::ranges::stable_sort(side.processes, {}, &ProcessResults::opened_ns);
    for (std::size_t i = 0; i < side.processes.size(); ++i) {
        const ProcessResults& process = side.processes[i];
        for (std::size_t thread = 0; thread < process.threads; ++thread)
            side.threads[process.first_thread + thread].process = static_cast<std::uint32_t>(i);
    }
    return side;
}

}  // namespace fp32shim::cli
