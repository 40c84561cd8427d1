# find_package(ratecell) makes the target ratecell::ratecell: the shared library, or the static one where there is no other
# or where RATECELL_USE_STATIC_LIBS is true. The header ratecell.hpp needs C++17, ratecell.h C99.

# The folder above share/cmake/ratecell: what is installed can be moved as a whole.
get_filename_component(_ratecell_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(_ratecell_names libratecell.so libratecell.a)
if(RATECELL_USE_STATIC_LIBS)
  set(_ratecell_names libratecell.a)
endif()
find_path(RATECELL_INCLUDE_DIR ratecell.h HINTS "${_ratecell_prefix}/include")
find_library(
  RATECELL_LIBRARY
  NAMES ${_ratecell_names}
  HINTS "${_ratecell_prefix}/lib" "${_ratecell_prefix}/lib64"
        "${_ratecell_prefix}/lib/${CMAKE_LIBRARY_ARCHITECTURE}")
mark_as_advanced(RATECELL_INCLUDE_DIR RATECELL_LIBRARY)
unset(_ratecell_names)

include(CMakeFindDependencyMacro)
find_dependency(Threads)
if(NOT RATECELL_LIBRARY OR NOT RATECELL_INCLUDE_DIR)
  set(ratecell_FOUND FALSE)
  set(ratecell_NOT_FOUND_MESSAGE "expected libratecell and ratecell.h below ${_ratecell_prefix}")
endif()

if(RATECELL_LIBRARY AND RATECELL_INCLUDE_DIR AND NOT TARGET ratecell::ratecell)
  add_library(ratecell::ratecell UNKNOWN IMPORTED)
  set_target_properties(
    ratecell::ratecell PROPERTIES IMPORTED_LOCATION "${RATECELL_LIBRARY}"
                                  INTERFACE_INCLUDE_DIRECTORIES "${RATECELL_INCLUDE_DIR}")
  if(RATECELL_LIBRARY MATCHES "\\.a$")
    set_property(TARGET ratecell::ratecell PROPERTY INTERFACE_LINK_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS} m)
  endif()
endif()
unset(_ratecell_prefix)
