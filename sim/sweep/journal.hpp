#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace lamina::sweep {

/// Lines that survive the death of the program: each is `CRC PAYLOAD`, the CRC-32 of the payload in 8 hexadecimal
/// digits.
///
/// A line is handed to the system by one write, so a killed process loses at most the line it was writing: a torn last
/// line fails its checksum and is dropped. Against a crash of the machine, lines are forced to the disk once a second
/// (fdatasync), so that the last second may be lost; what is lost is computed again.
class Journal {
 public:
  struct Opened;

  struct Refusal {
    std::string reason;
    std::string other_head;  ///< when the file belongs to something else
  };

  /// Opens or makes the file and locks it for this process.
  /// @param head what the lines belong to; a file with another head is refused, and emptied when `restart`
  /// @return why not: another process has it, it belongs to something else, or it is no journal
  /// @throws EnvironmentError when the file cannot be made, read or written
  [[nodiscard]] static tl::expected<Opened, Refusal> open(const std::filesystem::path& file, const std::string& head,
                                                          bool restart);
  Journal(Journal&& other) noexcept;
  Journal& operator=(Journal&&) = delete;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;
  ~Journal();

  /// Adds a line. @throws EnvironmentError (disk full)
  void append(std::string_view payload);

  /// Forces everything to the disk. @throws EnvironmentError
  void sync();

  /// Removes the file: the table is complete.
  void remove();

 private:
  Journal(std::filesystem::path file, int descriptor);

  std::filesystem::path file_;
  int descriptor_ = -1;
  std::chrono::steady_clock::time_point synced_;
};

struct Journal::Opened {
  Journal journal;
  std::vector<std::string> payloads;  ///< of the lines that are there, without the head
};

/// Forces a file and its folder's entry to the disk. @throws EnvironmentError
void sync_file(const std::filesystem::path& file);

}  // namespace lamina::sweep
