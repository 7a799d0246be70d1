# Everything comes from find_package; nothing is downloaded.
find_package(Boost 1.74 REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/reader.h REQUIRED)
add_library(lamina_rapidjson INTERFACE)  # headers only; some versions ship a CMake configuration without a target
target_include_directories(lamina_rapidjson SYSTEM INTERFACE $<BUILD_INTERFACE:${RAPIDJSON_INCLUDE_DIR}>)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(SIMGRID REQUIRED IMPORTED_TARGET simgrid)  # the package ships no CMake configuration

if(NOT TARGET yaml-cpp::yaml-cpp)  # 0.7 exports no namespace
  add_library(yaml-cpp::yaml-cpp ALIAS yaml-cpp)
endif()
