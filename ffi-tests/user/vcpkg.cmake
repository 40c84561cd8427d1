# Runs the portfile of contrib/vcpkg by stand-ins of vcpkg's functions: what the port does itself is done, and what vcpkg does
# with sources, logs and pkg-config's file is not.
#
#   cmake -DSOURCES=FOLDER -DPACKAGES=FOLDER -DBUILDTREES=FOLDER -DLINKAGE=static|dynamic -P vcpkg.cmake
cmake_minimum_required(VERSION 3.16)

set(PORT ratecell)
set(TARGET_TRIPLET "x64-linux")
set(CURRENT_PACKAGES_DIR "${PACKAGES}")
set(CURRENT_BUILDTREES_DIR "${BUILDTREES}")
set(VCPKG_LIBRARY_LINKAGE "${LINKAGE}")
# vcpkg reads it there, too.
file(READ "${SOURCES}/contrib/vcpkg/vcpkg.json" MANIFEST)
string(REGEX MATCH "\"version\": \"([0-9.]+)\"" _ "${MANIFEST}")
set(VERSION "${CMAKE_MATCH_1}")

function(vcpkg_add_to_path folder)
  set(ENV{PATH} "$ENV{PATH}:${folder}")
endfunction()

function(vcpkg_from_github)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_SOURCE_PATH;REPO;REF;SHA512;HEAD_REF" "")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_REPO STREQUAL "ratecell/ratecell" OR NOT arg_REF STREQUAL "v${VERSION}")
    message(FATAL_ERROR "vcpkg_from_github: ${ARGV}")
  endif()
  set(${arg_OUT_SOURCE_PATH} "${SOURCES}" PARENT_SCOPE)
endfunction()

function(vcpkg_execute_required_process)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "WORKING_DIRECTORY;LOGNAME" "COMMAND")
  if(arg_UNPARSED_ARGUMENTS OR NOT arg_LOGNAME)
    message(FATAL_ERROR "vcpkg_execute_required_process: ${ARGV}")
  endif()
  execute_process(COMMAND ${arg_COMMAND} WORKING_DIRECTORY "${arg_WORKING_DIRECTORY}" RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${arg_COMMAND} ends with ${result}")
  endif()
endfunction()

# Moves the folder; it mends targets that CMake has exported, of which there are none.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  file(RENAME "${PACKAGES}/${arg_CONFIG_PATH}" "${PACKAGES}/share/${PORT}")
  file(REMOVE_RECURSE "${PACKAGES}/share/cmake")
endfunction()

# As vcpkg's, it minds if nothing is replaced.
function(vcpkg_replace_string file match replacement)
  file(READ "${file}" text)
  string(REPLACE "${match}" "${replacement}" changed "${text}")
  if(changed STREQUAL text)
    message(FATAL_ERROR "${file}: expected ${match}")
  endif()
  file(WRITE "${file}" "${changed}")
endfunction()

function(vcpkg_fixup_pkgconfig)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  foreach(file IN LISTS arg_FILE_LIST)
    file(INSTALL "${file}" DESTINATION "${PACKAGES}/share/${PORT}")
  endforeach()
endfunction()

include("${SOURCES}/contrib/vcpkg/portfile.cmake")
