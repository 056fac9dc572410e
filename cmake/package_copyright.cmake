# Run by CPack between installation and packing: gives each Debian package its copyright file.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()
file(READ ${CPACK_RESOURCE_FILE_LICENSE} licence)
get_filename_component(folder ${CPACK_RESOURCE_FILE_LICENSE} DIRECTORY)
file(READ ${folder}/NOTICE notice)
foreach(component TOOLS RUNTIME LAUNCHER DEVELOPMENT)
    string(TOLOWER ${component} name)
    file(WRITE ${CPACK_TEMPORARY_DIRECTORY}/${name}/usr/share/doc/${CPACK_DEBIAN_${component}_PACKAGE_NAME}/copyright
         "${notice}\n\n${licence}")
endforeach()
