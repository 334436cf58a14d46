// The table of semantics.def, with the answers that hold in this process.
#pragma once

#include <string_view>

#include "products/rounding.hpp"

namespace stand_in {

enum class Row {
#define SEMANTICS(name, status, answer, alternatives, source) name,
#include "semantics.def"
#undef SEMANTICS
};

struct RowText {
    std::string_view name, status, answer, alternatives, source;
};

inline constexpr RowText row_texts[] = {
#define SEMANTICS(name, status, answer, alternatives, source) {#name, #status, answer, alternatives, source},
#include "semantics.def"
#undef SEMANTICS
};

// A wrong STAND_IN_ASSUME ends the process: a test that asks for an answer which does not exist tests nothing.
std::string_view answer(Row row);

inline bool yes(Row row) { return answer(row) == "yes"; }

// Returns the rule for ties by which a device rounds to TF32.
inline Ties tf32_ties(int compute_capability) {
    const std::string_view ties = answer(compute_capability < 90 ? Row::tf32_ties : Row::tf32_ties_from_9_0);
    return ties == "even" ? Ties::even : ties == "truncate" ? Ties::truncate : Ties::away;
}

}  // namespace stand_in
