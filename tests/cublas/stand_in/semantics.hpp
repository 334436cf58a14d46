// The table of semantics.def, with the answers that hold in this process.
#pragma once

#include <string_view>

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

}  // namespace stand_in
