# Installs a CMake package and a file for pkg-config, which let other projects find fp32shim. Both refer to files by
# relative paths, so that an installation can be moved.
include(CMakePackageConfigHelpers)

set(library ${FP32SHIM_INSTALL_LIBRARYDIR}/libfp32shim.so)
set(command ${CMAKE_INSTALL_BINDIR}/fp32shim)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/fp32shim)
configure_package_config_file(cmake/package/fp32shim-config.cmake.in ${CMAKE_BINARY_DIR}/package/fp32shim-config.cmake
  INSTALL_DESTINATION ${package_folder} PATH_VARS library command CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/fp32shim-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/package/fp32shim-config.cmake ${CMAKE_BINARY_DIR}/package/fp32shim-config-version.cmake
  DESTINATION ${package_folder})

set(pkgconfig_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_pkgconfig /prefix/${pkgconfig_folder} /prefix)
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig "${prefix_from_pkgconfig}")
list(TRANSFORM CMAKE_DL_LIBS PREPEND -l OUTPUT_VARIABLE dl)
configure_file(cmake/package/fp32shim.pc.in ${CMAKE_BINARY_DIR}/package/fp32shim.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/package/fp32shim.pc DESTINATION ${pkgconfig_folder})
