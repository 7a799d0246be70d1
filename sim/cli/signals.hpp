#pragma once

#include <string>
#include <string_view>

/// The only mutable globals of the program live behind this header: a signal handler can reach nothing else.
namespace lamina::cli {

/// SIGINT, SIGTERM and SIGHUP remove the files registered below, erase the progress line and end the process by that
/// same signal. SIGPIPE and SIGXFSZ become ordinary write errors. Closed standard descriptors are opened on /dev/null,
/// so that no result file can end up as standard output.
void install_signal_handlers();

/// While alive, a signal that ends the process removes `path`.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&&) = delete;
  ~TemporaryFile();  ///< removes the file unless it was kept

  [[nodiscard]] const std::string& path() const { return path_; }

  /// Renames it to its final name. @throws EnvironmentError
  void keep_as(const std::string& final_path);

 private:
  std::string path_;
};

/// A line on standard error that appears after one second, is refreshed each second with the time passed, and is erased
/// at the end. A timer signal draws it: no thread, since the replay forks.
class ProgressLine {
 public:
  explicit ProgressLine(bool enabled);
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ProgressLine(ProgressLine&&) = delete;
  ProgressLine& operator=(ProgressLine&&) = delete;
  ~ProgressLine();

  /// At most 79 columns are shown.
  void show(std::string_view text);

  /// Erases the line, before anything else is printed; `show` brings it back.
  void hide();

 private:
  bool enabled_ = false;
  bool running_ = false;
};

}  // namespace lamina::cli
