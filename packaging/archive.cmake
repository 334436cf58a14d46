# Packs the staged files, for CPack. Order, owners and time are always the same.
string(TIMESTAMP time "%s" UTC)  # uses SOURCE_DATE_EPOCH if it is set
get_filename_component(folder ${CPACK_TEMPORARY_DIRECTORY} DIRECTORY)
set(archive ${CPACK_PACKAGE_DIRECTORY}/${CPACK_PACKAGE_FILE_NAME}.tar.gz)
execute_process(
  COMMAND tar --create --format=gnu --sort=name --owner=0 --group=0 --numeric-owner --mtime=@${time}
    --directory ${folder} ${CPACK_PACKAGE_FILE_NAME}
  COMMAND gzip -9n OUTPUT_FILE ${archive} COMMAND_ERROR_IS_FATAL ANY)
set(CPACK_EXTERNAL_BUILT_PACKAGES ${archive})
