# Makes packages by CPack: a .tar.gz, or with FP32SHIM_DEBIAN a .deb. packaging/packages.sh builds both.
set(FP32SHIM_MAINTAINER "The fp32shim authors <maintainers@fp32shim.invalid>" CACHE STRING
  "maintainer of the Debian package: whoever publishes it, with an address")

set(CPACK_PACKAGE_VENDOR "The fp32shim authors")
set(CPACK_PACKAGE_CONTACT "${FP32SHIM_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "chooses and records the precision of float32 matrix products")
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)  # sets the mode of folders,
                                                                                           # whatever the umask
set(CPACK_VERBATIM_VARIABLES ON)

set(LOADER_LIB lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)  # value of $LIB in Debian's loader
configure_file(packaging/debian/prerm.in ${CMAKE_BINARY_DIR}/package/prerm @ONLY)
file(CHMOD ${CMAKE_BINARY_DIR}/package/prerm PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

if(NOT FP32SHIM_DEBIAN)
  set(CPACK_GENERATOR External)  # CPack's own archives follow the file system's order, so builds would differ
  set(CPACK_EXTERNAL_ENABLE_STAGING ON)
  set(CPACK_EXTERNAL_PACKAGE_SCRIPT ${PROJECT_SOURCE_DIR}/packaging/archive.cmake)
  set(CPACK_PACKAGE_FILE_NAME fp32shim-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR})
  include(CPack)
  return()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(architecture_of_x86_64 amd64)
set(architecture_of_aarch64 arm64)
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE ${architecture_of_${CMAKE_SYSTEM_PROCESSOR}})
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
  "fp32shim is preloaded into programs that cannot be changed. It runs each of
their float32 matrix products (BLAS, cuBLAS) at the precision that a policy
asks for, and records which precision that was, and where.
.
The package has the library, the command fp32shim, and modules by which
programs in C, Fortran and Python name the parts of their work.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libdw1, zlib1g")  # functions, files and lines of native code; packed files of numpy
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "python3 (>= 3.9)")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${CMAKE_BINARY_DIR}/package/prerm)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/debian/documents.cmake)
include(CPack)
