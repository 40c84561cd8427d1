# The port of ratecell for vcpkg. The library is built by cargo, which vcpkg does not bring: https://rustup.rs.

find_program(CARGO cargo PATHS "$ENV{HOME}/.cargo/bin")
if(NOT CARGO)
  message(FATAL_ERROR "missing: cargo, the package manager of Rust (https://rustup.rs)")
endif()
get_filename_component(CARGO_FOLDER "${CARGO}" DIRECTORY)
vcpkg_add_to_path("${CARGO_FOLDER}")

# It is optimised whatever is asked for: there is no build for debugging.
set(VCPKG_BUILD_TYPE release)

# The sum is that of the tag's archive, and is written after the tag.
vcpkg_from_github(
  OUT_SOURCE_PATH SOURCE_PATH
  REPO ratecell/ratecell
  REF "v${VERSION}"
  SHA512 0
  HEAD_REF main)

set(STAGE "${CURRENT_BUILDTREES_DIR}/stage")
file(REMOVE_RECURSE "${STAGE}")
vcpkg_execute_required_process(
  COMMAND
  "${CMAKE_COMMAND}" -E env "PREFIX=/ratecell" "LIBDIR=/ratecell/lib" "INCLUDEDIR=/ratecell/include" "DESTDIR=${STAGE}"
  "CARGO_TARGET_DIR=${CURRENT_BUILDTREES_DIR}/cargo" "${SOURCE_PATH}/ci/install.sh"
  WORKING_DIRECTORY "${SOURCE_PATH}"
  LOGNAME "install-${TARGET_TRIPLET}")
file(INSTALL "${STAGE}/ratecell/" DESTINATION "${CURRENT_PACKAGES_DIR}" USE_SOURCE_PERMISSIONS)

# One of the two, as the triplet asks.
if(VCPKG_LIBRARY_LINKAGE STREQUAL "static")
  file(GLOB OTHERS "${CURRENT_PACKAGES_DIR}/lib/libratecell.so*")
else()
  set(OTHERS "${CURRENT_PACKAGES_DIR}/lib/libratecell.a")
endif()
file(REMOVE ${OTHERS})

vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/ratecell)
# It has come one folder nearer to the prefix.
vcpkg_replace_string("${CURRENT_PACKAGES_DIR}/share/ratecell/ratecell-config.cmake" "}/../../.." "}/../..")
vcpkg_fixup_pkgconfig()

vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE-MIT" "${SOURCE_PATH}/LICENSE-APACHE")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
