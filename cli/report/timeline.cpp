#include "cli/report/timeline.hpp"

#include <algorithm>

namespace fp32shim::cli {

std::string_view format_of(const MergedRow& row) {
    return row.is_overflow || row.ran_at().empty() ? "unknown" : std::string_view(row.ran_at());
}

std::size_t Timeline::place_of(std::string_view format) {
    const auto found = std::find(formats_.begin(), formats_.end(), format);
    if (found != formats_.end()) return static_cast<std::size_t>(found - formats_.begin());
    formats_.emplace_back(format);
    return formats_.size() - 1;
}

void Timeline::add(std::int64_t begin_ns, std::int64_t end_ns, std::size_t place) {
    end_ns = std::max<std::int64_t>(end_ns, 0);
    begin_ns = std::clamp<std::int64_t>(begin_ns, 0, end_ns);
    cover(begin_ns, end_ns);
    ++share_at(end_ns / width_, place).calls;
    for (std::int64_t bin = begin_ns / width_; bin <= end_ns / width_; ++bin) {
        const std::int64_t from = std::max(begin_ns - bin * width_, std::int64_t{0});
        const std::int64_t to = std::min(end_ns - bin * width_, width_);
        share_at(bin, place).host_ns += static_cast<std::uint64_t>(to - from);
    }
}

void Timeline::cover(std::int64_t begin_ns, std::int64_t end_ns) {
    first_ns_ = std::min(first_ns_, begin_ns);
    last_ns_ = std::max(last_ns_, end_ns);
    while (last_ns_ / width_ - first_ns_ / width_ >= max_bins) {
        width_ *= 2;
        std::map<std::int64_t, Bin> joined;
        for (const auto& [number, bin] : bins_) {
            Bin& sum = joined[number / 2];
            sum.resize(std::max(sum.size(), bin.size()));
            for (std::size_t i = 0; i < bin.size(); ++i) {
                sum[i].calls += bin[i].calls;
                sum[i].host_ns += bin[i].host_ns;
            }
        }
        bins_ = std::move(joined);
    }
}

Share& Timeline::share_at(std::int64_t bin, std::size_t place) {
    Bin& shares = bins_[bin];
    if (shares.size() <= place) shares.resize(place + 1);
    return shares[place];
}

}  // namespace fp32shim::cli
