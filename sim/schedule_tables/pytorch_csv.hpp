#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "schedules/schedule.hpp"

namespace lamina::schedule_tables {

/// Reads PyTorch's pipeline CSV (torch.distributed.pipelining, `_load_csv`), compute-only or lowered: one line per
/// pipeline rank, cells in issue order, blank cells are idle slots and ignored; LF or CR LF; cells may be quoted;
/// spaces around actions, a byte order mark of UTF-8 and empty lines at the end are ignored. csv_reader.hpp has the
/// grammar. Fused cells "(0F3;1B2)OVERLAP_F_B" become pairs. Stages form one chain 0, 1, ...; a stage belongs to the
/// rank in whose row it is computed. With `model_copies` 2 the second half of the stages is a second chain over the
/// same model chunks, and both chains count their micro-batches from 0 (DualPipe), so that `micro_batches` is twice as
/// many. A lowered file fills `lowered` as well. The result has passed `find_fault` and `find_lowered_fault`. Files of
/// PyTorch versions that wrote BW for the whole backward and B for the input gradient are refused with a message that
/// says so: without BW in it such a file cannot be told from one in today's names.
/// @param file for messages
/// @param model_copies 1 or 2
/// @throws ScenarioError with file, line (rank + 1), column (of the character), what was read and what is allowed;
///   also when a stage or micro-batch number is over 1,000,000 or there are more ranks than that
[[nodiscard]] schedules::ScheduleTable read_pytorch_csv(std::string_view text, const std::string& file,
                                                        int model_copies = 1);

/// The same from a file.
/// @throws EnvironmentError when it cannot be read, ScenarioError when it does not exist, is a folder or is over 1 GiB
[[nodiscard]] schedules::ScheduleTable load_pytorch_csv(const std::filesystem::path& file, int model_copies = 1);

/// Compute-only form, LF line ends; what `read_pytorch_csv` reads back as the same table when its stages are chained as
/// there.
[[nodiscard]] std::string to_pytorch_csv(const schedules::ScheduleTable& table);

/// Lowered form.
[[nodiscard]] std::string to_pytorch_csv(const schedules::LoweredRows& rows);

}  // namespace lamina::schedule_tables
