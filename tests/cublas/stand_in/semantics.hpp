// The table of semantics.def, with the answers that are in force in this process.
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

// Returns the answer to a row. An invalid STAND_IN_ASSUME ends the process, since a test with it would test nothing.
std::string_view answer(Row row);

inline bool yes(Row row) { return answer(row) == "yes"; }

// Returns the rule by which a device rounds ties to TF32.
inline Ties tf32_ties(int compute_capability) {
    const std::string_view ties = answer(compute_capability < 90 ? Row::tf32_ties : Row::tf32_ties_from_9_0);
    return ties == "even" ? Ties::even : ties == "truncate" ? Ties::truncate : Ties::away;
}

}  // namespace stand_in
