// The findings of workers by name, and functions for their texts. "native/format" is the finding "format" of the
// variant "native". Sections without variants have findings without a prefix.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace gpu {

class FindingMap {
  public:
    void add(const std::string& name, const std::string& value) { values_[name].push_back(value); }

    /// Returns all findings of this name in the order of their arrival; empty: there are none.
    const std::vector<std::string>& values_of(const std::string& name) const;
    /// Returns the only finding of this name, or the lowest format of several; "not measured": there is none.
    std::string lowest_format(const std::string& name) const;
    /// Returns each distinct finding of this name once, joined by +; "not measured": there is none.
    std::string joined_values(const std::string& name) const;
    /// Returns the numbers among the findings of this name, in ascending order.
    std::vector<double> sorted_numbers(const std::string& name) const;
    const std::map<std::string, std::vector<std::string>>& values_by_name() const { return values_; }

  private:
    std::map<std::string, std::vector<std::string>> values_;
};

inline constexpr const char* not_measured = "not measured";

/// Returns true if an answer names the format of a product, and false if it is a refusal.
bool is_format_name(const std::string& answer);
/// Returns the lower of two formats. A refusal counts as lower than any format.
std::string less_precise_format(const std::string& left, const std::string& right);
/// Returns one text of these texts, with `separator` between them.
std::string joined(const std::vector<std::string>& texts, const char* separator);
/// Returns the parts of a text between separators.
std::vector<std::string> split(const std::string& text, char separator);
/// Returns a number in a format of printf().
std::string format_number(const char* format, double number);
/// Returns the median of numbers in ascending order; 0 if there are none.
double median(const std::vector<double>& ascending);

}  // namespace gpu
