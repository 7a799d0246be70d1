#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "schedules/schedule.hpp"

namespace lamina::schedule_tables {

/// Reads PyTorch's pipeline CSV (torch.distributed.pipelining, `_load_csv`), compute-only or lowered: one line per
/// pipeline rank, cells in issue order, blank cells are idle slots and ignored; LF or CRLF. Fused cells
/// "(0F3;1B2)OVERLAP_F_B" become pairs. Stages form one chain 0, 1, ...; a stage belongs to the rank in whose row it is
/// computed. With `model_copies` 2 the second half of the stages is a second chain over the same model chunks.
/// A lowered file fills `lowered` as well. The result has passed `find_fault` and `find_lowered_fault`.
/// @param file for messages
/// @throws ScenarioError with file, line (rank + 1), column (of the character), what was read and what is allowed
[[nodiscard]] schedules::ScheduleTable read_pytorch_csv(std::string_view text, const std::string& file,
                                                        int model_copies = 1);

/// The same from a file. @throws EnvironmentError when it cannot be read, ScenarioError when it is over 1 GiB
[[nodiscard]] schedules::ScheduleTable load_pytorch_csv(const std::filesystem::path& file, int model_copies = 1);

/// Compute-only form, LF line ends; what `read_pytorch_csv` reads back as the same table.
[[nodiscard]] std::string to_pytorch_csv(const schedules::ScheduleTable& table);

/// Lowered form.
[[nodiscard]] std::string to_pytorch_csv(const schedules::LoweredRows& rows);

}  // namespace lamina::schedule_tables
