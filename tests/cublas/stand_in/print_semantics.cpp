// Prints the table of semantics.def for the tests: name, status, answer and alternatives, separated by tabs.
#include <cstdio>

#include "semantics.hpp"

int main() {
    for (const auto& row : stand_in::row_texts)
        std::printf("%s\t%s\t%s\t%s\n", row.name.data(), row.status.data(), row.answer.data(),
                    row.alternatives.data());
}
