# One static library per folder: lamina_library(NAME DEPENDS lamina::x ... PRIVATE_DEPENDS third_party ...).
# Sources and headers are the folder's own files, less EXCLUDE; the alias is lamina::NAME.

add_library(lamina_options INTERFACE)
target_compile_features(lamina_options INTERFACE cxx_std_20)
target_compile_options(lamina_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor
                                                $<$<BOOL:${LAMINA_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(lamina_options INTERFACE -Wno-restrict)  # false alarms on std::string at -O3, GCC bug 105329
endif()

function(lamina_library name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;PRIVATE_DEPENDS;SOURCES;EXCLUDE" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(TRANSFORM ARG_EXCLUDE PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(REMOVE_ITEM sources "" ${ARG_EXCLUDE})
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.hpp)
  if(NOT sources AND NOT ARG_SOURCES)  # headers only
    add_library(lamina_${name} INTERFACE)
    add_library(lamina::${name} ALIAS lamina_${name})
    target_sources(lamina_${name} INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
    target_compile_features(lamina_${name} INTERFACE cxx_std_20)
    target_link_libraries(lamina_${name} INTERFACE ${ARG_DEPENDS})
    return()
  endif()
  add_library(lamina_${name} STATIC ${sources} ${ARG_SOURCES})
  add_library(lamina::${name} ALIAS lamina_${name})
  target_sources(lamina_${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${headers})
  target_compile_features(lamina_${name} PUBLIC cxx_std_20)
  target_link_libraries(lamina_${name} PUBLIC ${ARG_DEPENDS}
                        PRIVATE ${ARG_PRIVATE_DEPENDS} $<BUILD_INTERFACE:lamina_options>)
endfunction()

# Writes builtin_<kind>.cpp, which calls register_<stem>(catalog) for each plug-in file of the folder. A plug-in that forgets
# its function is a link error; nothing is registered by static constructors.
function(lamina_plugin_table kind interface header)
  file(GLOB plugins CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(REMOVE_ITEM plugins ${ARGN})
  list(SORT plugins)
  set(LAMINA_DECLARATIONS "")
  set(LAMINA_CALLS "")
  foreach(plugin IN LISTS plugins)
    get_filename_component(stem ${plugin} NAME_WE)
    string(APPEND LAMINA_DECLARATIONS "void register_${stem}(catalog::Catalog<${interface}>& catalog);\n")
    string(APPEND LAMINA_CALLS "  register_${stem}(result);\n")
  endforeach()
  set(LAMINA_NAMESPACE ${kind})
  set(LAMINA_INTERFACE ${interface})
  set(LAMINA_HEADER ${header})
  configure_file(${PROJECT_SOURCE_DIR}/cmake/builtin_plugins.cpp.in ${CMAKE_CURRENT_BINARY_DIR}/builtin_${kind}.cpp @ONLY)
endfunction()

# A shared object lib/lamina/lamina_NAME.so, opened at run time (validate/plugins.hpp): lamina_plugin(NAME SOURCES ...
# LIBRARIES ...). It includes Lamina's headers and links none of its libraries.
function(lamina_plugin name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(lamina_${name}_plugin MODULE ${ARG_SOURCES})
  set_target_properties(lamina_${name}_plugin PROPERTIES PREFIX "" OUTPUT_NAME lamina_${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/lamina CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(lamina_${name}_plugin PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(lamina_${name}_plugin PRIVATE lamina_options ${ARG_LIBRARIES})
  install(TARGETS lamina_${name}_plugin LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/lamina)
endfunction()
