#include "sim/cli/output.hpp"

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "sim/cli/command.hpp"
#include "sim/cli/signals.hpp"
#include "sim/error/error.hpp"

namespace lamina::cli {
namespace {

[[noreturn]] void fail(const char* action, const std::filesystem::path& path, int reason) {
  throw error::EnvironmentError(fmt::format("cannot {} {}: {}", action, path.string(), std::strerror(reason)));
}

/// Returns 0 or the errno of what went wrong.
int write_all(int descriptor, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(descriptor, content.data(), content.size());
    if (written >= 0) {
      content.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

TemporaryFile write_aside(const std::filesystem::path& target, std::string_view content) {
  // Hidden, and with the process number, so that two runs into one folder do not meet.
  const auto aside = target.parent_path() / fmt::format(".{}.{}.tmp", target.filename().string(), ::getpid());
  TemporaryFile temporary(aside.string());
  constexpr int kMode = 0666;  // less the umask
  const int descriptor = ::open(temporary.path().c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, kMode);
  if (descriptor < 0) {
    fail("create", temporary.path(), errno);
  }
  const int failure = write_all(descriptor, content);
  const bool closed = ::close(descriptor) == 0;  // network file systems report a full disk here
  if (failure != 0 || !closed) {
    fail("write", target, failure != 0 ? failure : errno);
  }
  return temporary;
}

}  // namespace

void prepare_output_folder(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    fail("create output folder", folder, failure.value());
  }
  if (!std::filesystem::is_directory(folder, failure)) {
    fail("use output folder", folder, ENOTDIR);
  }
  if (::access(folder.c_str(), W_OK | X_OK) != 0) {
    fail("write into output folder", folder, errno);
  }
}

void check_output_file(const std::filesystem::path& file, const std::vector<std::string>& inputs) {
  std::error_code failure;
  const std::filesystem::file_status found = std::filesystem::status(file, failure);
  if (file.filename().empty() || std::filesystem::is_directory(found)) {
    throw UsageError(fmt::format("{} is a folder; -o takes the name of a file", file.string()));
  }
  if (std::filesystem::exists(found) && !std::filesystem::is_regular_file(found)) {
    throw UsageError(
        fmt::format("{} is no ordinary file; without -o the result goes to standard output", file.string()));
  }
  for (const std::string& input : inputs) {
    if (std::filesystem::equivalent(input, file, failure)) {
      throw UsageError(fmt::format("-o would replace {}", input));
    }
  }
}

void write_file(const std::filesystem::path& file, const std::string& content) {
  std::error_code failure;
  const bool is_link = std::filesystem::is_symlink(file, failure);
  failure.clear();  // there is no such file yet; whether one can be made shows when it is
  const std::filesystem::path target = is_link ? std::filesystem::canonical(file, failure) : file;
  if (failure) {
    fail("follow", file, failure.value());
  }
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  prepare_output_folder(folder);
  write_files(folder, {{target.filename().string(), content}});
}

void write_files(const std::filesystem::path& folder, const std::vector<OutputFile>& files) {
  std::vector<TemporaryFile> aside;
  aside.reserve(files.size());
  for (const OutputFile& file : files) {
    aside.push_back(write_aside(folder / file.name, file.content));
  }
  for (std::size_t i = 0; i < files.size(); ++i) {
    aside[i].keep_as((folder / files[i].name).string());
  }
}

}  // namespace lamina::cli
