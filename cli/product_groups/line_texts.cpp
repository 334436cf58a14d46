#include "cli/product_groups/line_texts.hpp"

#include "cli/product_groups/policy_text.hpp"
#include "cli/report/source_lines.hpp"

namespace fp32shim::cli {

LineTexts::LineTexts(const Groups& groups, std::int64_t recorded_ns) {
    SourceLines lines;
    for (const Group& group : groups.all())
        if (group.line != 0) lines.want(group.file, group.line);
    files_ = lines.read(recorded_ns);
}

std::string LineTexts::of(const Group& group) const {
    const auto file = files_.find(group.file);
    if (file == files_.end() || !file->contains("lines")) return {};
    return file->at("lines").value(std::to_string(group.line), "");
}

std::string LineTexts::glob_of(const Group& group) const {
    const auto file = files_.find(group.file);
    if (group.key.location.is_call_site || file == files_.end() || file->contains("changed")) return {};
    std::string text = of(group);
    constexpr std::string_view cut = "…";  // end of a shortened line, whose remaining text is unknown
    const bool is_cut = text.ends_with(cut);
    if (is_cut) text.resize(text.size() - cut.size());
    return text.empty() ? text : glob_for(text) + (is_cut ? "*" : "");
}

}  // namespace fp32shim::cli
