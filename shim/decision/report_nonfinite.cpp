#include "shim/decision/record_call.hpp"

#include <bit>

#include "record/lines/event_lines.hpp"
#include "shim/thread/thread_context.hpp"
#include "shim/where/location.hpp"
#include "system/line_writer.hpp"
#include "system/signal_hold.hpp"
#include "system/stderr_line.hpp"

namespace fp32shim {
namespace {

/// Appends a bound such as `, |A| < 2^67`, by which a reader can see that the product had to overflow.
void append_limit(system::LineWriter& line, std::string_view name, const record::ExponentRange& exponents) {
    if (exponents.lowest > exponents.highest) return;
    line.texts(", |", name, "| < 2^").number(exponents.highest + 1);
}

/// Returns the smallest exponent whose power of two exceeds a positive number.
int exponent_above(float number) { return static_cast<int>(std::bit_cast<std::uint32_t>(number) >> 23) - 126; }

std::string_view nonfinite_word(const record::Audit& found) {
    return (found.flags & record::audit_nan) != 0 ? "NaN" : "infinity";
}

void append_made(system::LineWriter& line, const record::Audit& found, bool is_batch) {
    line.texts("first NaN or infinity from finite operands: ", nonfinite_word(found), " in row ");
    line.number(found.worst_row).text(", column ").number(found.worst_column);
    if (is_batch) line.text(" of product ").number(found.product);
    append_limit(line, "A", found.a);
    append_limit(line, "B", found.b);
    if (found.alpha != 1) line.text(", |alpha| < 2^").number(exponent_above(found.alpha));
    if (found.beta != 0) line.text(", |beta| < 2^").number(exponent_above(found.beta));
}

void append_received(system::LineWriter& line, const record::Audit& found) {
    const std::string_view operand = record::nonfinite_operand_name(found);
    line.texts("first product that received NaN or infinity: ", nonfinite_word(found), " in ", operand);
    if (operand.size() > 1) return;  // alpha and beta
    line.text(", row ").number(found.worst_row).text(", column ").number(found.worst_column);
}

}  // namespace

void report_nonfinite(const Site& site, const Settings& in_force, const policy::MatmulCall& call,
                      const policy::Decision& decision, const Done& done, const record::Audit& found) {
    ThreadContext* const context = thread_context();
    if (context == nullptr) return system::stderr_line("a product produced NaN or infinity from finite operands");
    // Signals are held, since lines about products in signal handlers are written into the same buffer.
    const system::SignalHold hold;
    const std::span<char> buffer(context->log_buffer);
    system::LineWriter line(buffer);
    if ((found.flags & record::audit_received) != 0)
        append_received(line, found);
    else
        append_made(line, found, call.batch != 1);
    where::CallLocation location(__builtin_alloca(sizeof(where::LocationBuffer)));
    const record::DecisionEvent event = decision_event(site, in_force, call, decision, done, location);
    location.find(site, in_force, true);
    if (!location.where().empty()) line.text("; at ").text(location.where());
    line.text("; ");
    const std::size_t size = line.size();
    const std::size_t words = record::format_decision_text(event, buffer.subspan(size)).size();
    system::stderr_line({buffer.data(), size + words});
}

}  // namespace fp32shim
