#include "cli/report/html_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <random>
#include <span>
#include <utility>

#include "cli/output/json.hpp"
#include "policy/words.hpp"
#include "system/limited_text.hpp"

// These symbols are defined in report/page/embedded.S.
extern "C" {
extern const char fp32shim_page_head[], fp32shim_page_head_end[];
extern const char fp32shim_page_style[], fp32shim_page_style_end[];
extern const char fp32shim_page_chart[], fp32shim_page_chart_end[];
extern const char fp32shim_page_report_html[], fp32shim_page_report_html_end[];
extern const char fp32shim_page_report_script[], fp32shim_page_report_script_end[];
extern const char fp32shim_page_diff_html[], fp32shim_page_diff_html_end[];
extern const char fp32shim_page_diff_script[], fp32shim_page_diff_script_end[];
}

namespace fp32shim::cli {
namespace {

/// Cuts each text in `json` to at most 400 bytes without splitting a character, to limit the size of the page.
void shorten_texts(Json& json) {
    char buffer[400];
    if (json.is_string())
        json = std::string(system::cut_to_fit(json.get_ref<const std::string&>(), buffer));
    else if (json.is_structured())
        for (Json& value : json) shorten_texts(value);
}

/// Writes JSON that is safe between <script> tags: pure ASCII, hence without U+2028, and without `<`. Control
/// characters in its texts become \xNN, since the page shows the texts unchanged.
std::string json_for_script(Json json) {
    shorten_texts(json);
    make_texts_printable(json);
    const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
    json = {};  // frees the memory before the text is copied
    std::string safe;
    safe.reserve(text.size());
    for (const char& c : text) safe += c == '<' ? std::string_view("\\u003c") : std::string_view(&c, 1);
    return safe;
}

/// Returns a random word for the page's Content-Security-Policy, which allows only scripts with this word. A
/// recording cannot contain the word, so no text of a recording runs as a script.
std::string nonce() {
    std::random_device random;
    std::string text;
    for (int i = 0; i < 4; ++i) text += fmt::format("{:08x}", random());
    return text;
}

/// Returns `page` with each `{{name}}` replaced by the text that `values` has for this name. If such a text itself
/// contains a `{{name}}`, this one is not replaced.
std::string fill_template(std::string_view page, const std::map<std::string_view, std::string_view>& values) {
    std::string text;
    std::size_t size = page.size();
    for (const auto& [name, value] : values) size += value.size();
    text.reserve(size);  // a text that grows is in memory twice for a moment
    while (true) {
        const std::size_t begin = page.find("{{"), end = page.find("}}", begin);
        if (end == std::string_view::npos) return text.append(page);
        text.append(page.substr(0, begin)).append(values.at(page.substr(begin + 2, end - begin - 2)));
        page.remove_prefix(end + 2);
    }
}

std::string_view text_between(const char* begin, const char* end) {
    return {begin, static_cast<std::size_t>(end - begin)};
}

/// The look of a number format on a page: its colours on a `light` and on a `dark` page, the shape of its points in
/// charts, and the hatch of its areas.
struct FormatDrawing {
    std::string_view name, light, dark, shape, hatch;
};
constexpr FormatDrawing drawn_formats[] = {
#define DRAWN(format, light, dark, shape, hatch) {#format, light, dark, shape, hatch},
#include "policy/formats.def"
};
static_assert(std::ranges::equal(policy::applied_words,
                                 std::span(drawn_formats).first<std::size(drawn_formats) - 1>(), {},
                                 &policy::NamedValue<policy::AppliedFormat>::text, &FormatDrawing::name) &&
              drawn_formats[std::size(drawn_formats) - 1].name == "unknown");

/// Returns CSS that defines, for each format, a variable with its colour and a class for swatches in this colour.
std::string format_style() {
    std::string light, dark, swatches;
    for (const FormatDrawing& format : drawn_formats) {
        light += fmt::format(" --{}: {};", format.name, format.light);
        dark += fmt::format(" --{}: {};", format.name, format.dark);
        swatches += fmt::format(".swatch.{0} {{ background-color: var(--{0}); }}\n", format.name);
    }
    return fmt::format(
        ":root {{{} }}\n@media screen and (prefers-color-scheme: dark) {{\n  :root:not([data-printing]) {{{} "
        "}}\n}}\n{}",
        light, dark, swatches);
}

/// Returns the shape of points and the hatch of areas for each format, in the order of policy/formats.def.
Json format_drawings() {
    Json drawings;
    for (const FormatDrawing& format : drawn_formats)
        drawings[std::string(format.name)] = {{"shape", format.shape}, {"hatch", format.hatch}};
    return drawings;
}

/// The parts of a page that depend on its kind, `Page::report` or `Page::diff`.
struct PageParts {
    std::string_view title, html, script;
};
PageParts parts_of(Page page) {
    if (page == Page::diff)
        return {"fp32shim diff", text_between(fp32shim_page_diff_html, fp32shim_page_diff_html_end),
                text_between(fp32shim_page_diff_script, fp32shim_page_diff_script_end)};
    return {"fp32shim report", text_between(fp32shim_page_report_html, fp32shim_page_report_html_end),
            text_between(fp32shim_page_report_script, fp32shim_page_report_script_end)};
}

}  // namespace

Json table_json(const LimitedTable& limited) {
    const TextTable& table = limited.table;
    Json json = {{"heads", Json::array()}, {"rows", Json::array()}, {"more", limited.left_out}};
    for (const TextTable::Column& head : table.columns())
        json["heads"].push_back({{"title", head.title}, {"number", head.is_number}});
    for (std::size_t row = 0; row < table.row_count(); ++row) {
        json["rows"].push_back(Json::array());
        for (std::size_t column = 0; column < table.columns().size(); ++column)
            json["rows"].back().push_back(table.cell(row, column));
    }
    return json;
}

std::string html_page(Page page, Json data) {
    const PageParts parts = parts_of(page);
    const std::string json = json_for_script(std::move(data)), once = nonce();
    const std::string colours = format_style(), drawings = json_for_script(format_drawings());
    const std::string whole =
        std::string(text_between(fp32shim_page_head, fp32shim_page_head_end)).append(parts.html);
    return fill_template(whole, {{"title", parts.title},
                                 {"style", text_between(fp32shim_page_style, fp32shim_page_style_end)},
                                 {"format_style", colours},
                                 {"format_drawings", drawings},
                                 {"script", parts.script},
                                 {"chart", text_between(fp32shim_page_chart, fp32shim_page_chart_end)},
                                 {"data", json},
                                 {"nonce", once}});
}

}  // namespace fp32shim::cli
