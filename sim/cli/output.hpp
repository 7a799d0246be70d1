#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lamina::cli {

/// Files that appear together or not at all: written aside in the same folder, then renamed.
struct OutputFile {
  std::string name;  ///< file name without folder
  std::string content;
};

/// Creates the folder (and its parents) if missing and checks that files can be made in it.
/// @throws EnvironmentError with the system's reason
void prepare_output_folder(const std::filesystem::path& folder);

/// Checks that `file` can be written as a result of `inputs`: no folder, no device, none of the inputs.
/// @throws UsageError with the reason
void check_output_file(const std::filesystem::path& file, const std::vector<std::string>& inputs);

/// write_files for one file; creates its folder.
void write_file(const std::filesystem::path& file, const std::string& content);

/// Replaces existing files of these names. After an error, or SIGINT or SIGTERM, no temporary file is left and no file
/// is half written.
/// @throws EnvironmentError with file and reason (disk full, permission)
void write_files(const std::filesystem::path& folder, const std::vector<OutputFile>& files);

}  // namespace lamina::cli
