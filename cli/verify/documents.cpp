#include "cli/verify/documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/output/json.hpp"
#include "cli/output/terminal.hpp"
#include "cli/verify/verdict.hpp"

namespace fp32shim::cli {
namespace {

constexpr std::string_view head = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>fp32shim verify</title><style>
:root{color-scheme:light}
body{font:15px/1.45 system-ui,sans-serif;color:#1b1f24;background:#fff;max-width:60rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin:0 0 .2rem}h2{font-size:1.1rem;margin:1.6rem 0 .4rem}
p{margin:.4rem 0}.date{color:#57606a}
.verdict{border-left:.4rem solid;padding:.5rem .9rem;margin:1rem 0;font-size:1.1rem}
.shown{border-color:#1a7f37}.violated{border-color:#cf222e}.inconclusive{border-color:#9a6700}
table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.3rem .6rem .3rem 0;border-bottom:1px solid #d0d7de}
td,li,p{overflow-wrap:anywhere}.calls{text-align:right;white-space:nowrap}code{font:12px/1.4 ui-monospace,monospace}
tr,li{break-inside:avoid}h2{break-after:avoid}
@media(max-width:40rem){thead{display:none}tr,td{display:block}td{border:0;padding:.1rem 0}
tr{border-bottom:1px solid #d0d7de;padding:.4rem 0}.calls{text-align:left}.calls::before{content:"calls: "}}
@page{size:A4;margin:18mm 16mm;@bottom-right{content:counter(page) " / " counter(pages);font:8pt sans-serif}}
@media print{body{font-size:10pt;margin:0;max-width:none;padding:0}code{font-size:8pt}.sha256{font-size:7pt;white-space:nowrap}}
</style></head><body>
)";

std::string escaped(std::string_view text) {
    using Entity = std::pair<char, std::string_view>;
    constexpr Entity entities[] = {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}};
    std::string html;
    for (const char& letter : text) {
        const Entity* const entity = std::ranges::find(entities, letter, &Entity::first);
        html += entity == std::end(entities) ? std::string_view(&letter, 1) : entity->second;
    }
    return html;
}

/// Returns a JSON value as text that is escaped for HTML; `unknown` for null.
std::string html_text(const Json& value) {
    if (value.is_null()) return "unknown";
    return escaped(value.is_string() ? value.get<std::string>() : dump_json(value, -1));
}

std::string maker_text(const Json& process) {
    std::string text = fmt::format("<code>{}</code><br>process {} on {}", html_text(process["program"]),
                                   html_text(process["pid"]), html_text(process["host"]));
    if (!process["job_id"].is_null()) text += ", job " + html_text(process["job_id"]);
    if (!process["rank"].is_null()) text += ", rank " + html_text(process["rank"]);
    return text;
}

/// Returns the size of a product as HTML; `?` for null, which stands for a size that the function does not have.
std::string size_text(const Json& size) { return size.is_null() ? "?" : html_text(size); }

std::string violations_part(const Json& violations) {
    std::string html = "<h2>Violations</h2>\n";
    if (violations.empty()) return html + "<p>None was found.</p>\n";
    html += "<table><thead><tr><th>product<th>ran at<th class=calls>calls<th>made by</thead><tbody>\n";
    for (const Json& row : violations) {
        // A product of float16 or bfloat16 is a violation only because of the format in which it adds.
        const bool adds = !row["accumulator"].is_null();
        for (const Json& maker : row["made_by"])
            html += fmt::format(
                "<tr><td>{} {}×{}×{}<td>{}<td class=calls>{}<td>{}<br><code>{}</code>\n", html_text(row["function"]),
                size_text(row["m"]), size_text(row["n"]), size_text(row["k"]),
                adds ? "adds in " + html_text(row["accumulator"])
                     : html_text(row["actual"].is_null() ? row["applied"] : row["actual"]),
                count_text(maker["calls"].get<std::uint64_t>()), maker_text(maker), html_text(maker["recording"]));
    }
    return html + "</tbody></table>\n";
}

std::string list_part(std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty()) return {};
    std::string html = fmt::format("<h2>{}</h2>\n<ul>\n", title);
    for (const std::string& line : lines) html += fmt::format("<li>{}\n", line);
    return html + "</ul>\n";
}

std::vector<std::string> bypass_lines(const Json& bypasses) {
    std::vector<std::string> lines;
    for (const Json& each : bypasses)
        lines.push_back(fmt::format("<b>{}</b>: {}", html_text(each["bypass"]), html_text(each["reason"])));
    return lines;
}

/// Returns a line of HTML for each doubt, and one for each bypass (code that multiplies without the shim) whose
/// products may be missing from the recordings.
std::vector<std::string> unproven_lines(const Json& result) {
    std::vector<std::string> lines;
    for (const Json& doubt : result["doubts"])
        lines.push_back(
            doubt["recording"].is_null()
                ? html_text(doubt["reason"])
                : fmt::format("<code>{}</code>: {}", html_text(doubt["recording"]), html_text(doubt["reason"])));
    for (std::string& line : bypass_lines(result["bypasses"])) lines.push_back(std::move(line));
    return lines;
}

std::string recordings_part(const Json& processes) {
    std::string html =
        "<h2>Recordings</h2>\n<table><thead><tr><th>recording and its SHA-256<th>process<th "
        "class=calls>calls</thead><tbody>\n";
    for (const Json& process : processes)
        html += fmt::format("<tr><td><code>{}</code><br><code class=sha256>{}</code><td>{}<td class=calls>{}\n",
                            html_text(process["recording"]), html_text(process["sha256"]), maker_text(process),
                            count_text(process["calls"].get<std::uint64_t>()));
    return html + "</tbody></table>\n";
}

std::string basis_part(const Json& result) {
    const auto float64 = result["float64_calls"].get<std::uint64_t>();
    std::string html = fmt::format("<h2>What this rests on</h2>\n<p>{}, with {}{}. {}{}{}.</p>\n",
                                   counted(result["recordings"].get<std::uint64_t>(), "recording"),
                                   counted(result["calls"].get<std::uint64_t>(), "call"),
                                   float64 == 0 ? "" : fmt::format(", {} of them of float64", count_text(float64)),
                                   !result["accumulate"].is_null() ? "All half products must add in FP32"
                                   : result["at_least"].is_null()  ? "All must have run in a fixed order"
                                                                   : "Lowest format allowed: ",
                                   result["at_least"].is_null() ? "" : html_text(result["at_least"]),
                                   result["allow_bf16x9"].get<bool>() ? "; bf16x9 counts as fp32" : "");
    const Json& expected = result["expected"];
    if (expected["file"].is_null())
        return html +
               "<p>No list of expected jobs was given, so nothing is said about jobs without recordings.</p>\n";
    html += fmt::format("<p>{} of {} in <code>{}</code> have recordings.</p>\n",
                        count_text(expected["jobs"].get<std::uint64_t>() - expected["missing"].size()),
                        counted(expected["jobs"].get<std::uint64_t>(), "expected job"), html_text(expected["file"]));
    std::vector<std::string> others;
    for (const Json& path : expected["unexpected"]) others.push_back("<code>" + html_text(path) + "</code>");
    return html + list_part("Recordings of jobs that were not expected", others);
}

}  // namespace

VerdictWords verdict_words(const std::string& at_least, bool of_accumulation) {
    if (of_accumulation) return {"add in FP32", "may add in less than FP32", ""};
    if (at_least.empty()) return {"ran in a fixed order", "ran in another order", ""};
    return {"ran at " + at_least + " or above", "ran below " + at_least, " below " + at_least};
}

std::string verdict_html_page(Json result, const std::string& date) {
    make_texts_printable(result);
    const std::string at_least = result["at_least"].is_null() ? "" : result["at_least"].get<std::string>();
    const std::string below = verdict_words(at_least, !result["accumulate"].is_null()).below;
    std::string html(head);
    html += fmt::format("<h1>fp32shim verify</h1>\n<p class=date>{}</p>\n<div class=\"verdict {}\">{}</div>\n", date,
                        result["verdict"].get<std::string>(), html_text(result["summary"]));
    html += basis_part(result) + violations_part(result["violations"]);
    html += list_part("What remains unproven", unproven_lines(result));
    std::vector<std::string> allowed;
    for (const Json& name : result["allowed_kernels"]) allowed.push_back(html_text(name));
    html += list_part("Kernels that are not judged, because --allow-kernel names them", allowed);
    for (const BypassList& list : std::span(bypass_lists).subspan(1))  // the first list is part of unproven_lines()
        html += list_part(escaped(fmt::format(fmt::runtime(list.title), below)),
                          bypass_lines(result[std::string(list.key)]));
    html += recordings_part(result["processes"]);
    return html + fmt::format("<h2>Scope</h2>\n<p>{}</p>\n</body></html>\n", html_text(result["scope"]));
}

Json in_toto_statement(const Json& result, const std::string& date) {
    Json subjects = Json::array();
    for (const Json& process : result["processes"]) {
        if (process["sha256"].is_null()) continue;
        subjects.push_back({{"name", process["recording"]}, {"digest", {{"sha256", process["sha256"]}}}});
    }
    return {{"_type", "https://in-toto.io/Statement/v1"},
            {"subject", std::move(subjects)},
            {"predicateType", "urn:x-fp32shim:verify:1"},
            {"predicate", {{"date", date}, {"result", result}}}};
}

}  // namespace fp32shim::cli
