// Compiles the library fmt once, from the source that distributions ship as headers.
#include <fmt/format-inl.h>

// These templates are instantiated here, because the other files that use fmt see only their declarations.
FMT_BEGIN_NAMESPACE
namespace detail {
template auto dragonbox::to_decimal(float x) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double x) noexcept -> dragonbox::decimal_fp<double>;
template auto locale_ref::get<std::locale>() const -> std::locale;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void vformat_to(buffer<char>&, string_view, format_args, locale_ref);
}  // namespace detail
FMT_END_NAMESPACE
