# Completes the staged files of a Debian package, for CPack: adds changelogs and lintian's overrides, compresses
# manual pages.
set(share ${CPACK_TEMPORARY_DIRECTORY}/usr/share)
set(documents ${share}/doc/fp32shim)
configure_file(${CMAKE_CURRENT_LIST_DIR}/../../CHANGELOG.md ${documents}/changelog COPYONLY)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)  # uses SOURCE_DATE_EPOCH if it is set
file(WRITE ${documents}/changelog.Debian
  "fp32shim (${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=medium\n\n"
  "  * Version ${CPACK_PACKAGE_VERSION}: changelog.gz lists what changed.\n\n"
  " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")

configure_file(${CMAKE_CURRENT_LIST_DIR}/lintian-overrides ${share}/lintian/overrides/fp32shim COPYONLY)

file(GLOB pages ${share}/man/man1/*.1)
execute_process(COMMAND gzip -9n ${pages} ${documents}/changelog ${documents}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
file(GLOB added ${share}/man/man1/*.gz ${documents}/*.gz ${share}/lintian/overrides/*)
file(CHMOD ${added} PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
