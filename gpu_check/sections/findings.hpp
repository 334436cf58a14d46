// Holds the findings of workers by name, and declares functions for their texts. "native/format" is the finding
// "format" of the variant "native". Sections without variants have findings without a prefix.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gpu {

class FindingMap {
  public:
    void add(const std::string& name, const std::string& value) { values_[name].push_back(value); }

    /// Returns all findings of this name in the order of their arrival; empty if there are none.
    const std::vector<std::string>& values_of(const std::string& name) const;
    /// Returns the lowest format among the findings of this name; "not measured" if there are none.
    std::string lowest_format(const std::string& name) const;
    /// Returns the distinct findings of this name, joined by +; "not measured" if there are none.
    std::string joined_values(const std::string& name) const;
    /// Returns the numbers among the findings of this name, in ascending order.
    std::vector<double> sorted_numbers(const std::string& name) const;
    const std::map<std::string, std::vector<std::string>>& values_by_name() const { return values_; }

  private:
    std::map<std::string, std::vector<std::string>> values_;
};

inline constexpr const char* not_measured = "not measured";

/// Returns true if `answer` names a format. Otherwise it tells that a product was refused.
bool is_format_name(const std::string& answer);
/// Returns the lower of two formats. A text that is no format counts as lower than any format.
std::string less_precise_format(const std::string& left, const std::string& right);
/// Returns all `texts` in one text, with `separator` between them.
std::string joined(const std::vector<std::string>& texts, const char* separator);
/// Returns the parts of `text` between separators.
std::vector<std::string> split(const std::string& text, char separator);
/// Returns `number` as text, in a format of printf().
std::string format_number(const char* format, double number);
/// Returns the median of the numbers `ascending`; 0 if there are none.
double median(const std::vector<double>& ascending);

}  // namespace gpu
