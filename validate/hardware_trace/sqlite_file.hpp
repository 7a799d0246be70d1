#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;
struct sqlite3_stmt;

namespace lamina::validate::hardware_trace {

/// A SQLite file opened for reading, with everything off that a hostile file could use.
class SqliteFile {
 public:
  /// @param most_work bounds the steps of SQLite's machine
  SqliteFile(const std::filesystem::path& file, std::int64_t most_work);
  SqliteFile(std::string_view bytes, std::string name, std::int64_t most_work);
  ~SqliteFile();
  SqliteFile(const SqliteFile&) = delete;
  SqliteFile& operator=(const SqliteFile&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }

  [[nodiscard]] bool has_table(const std::string& table) const { return tables_.contains(table); }

  /// Names of the table's columns.
  [[nodiscard]] std::set<std::string> columns(const std::string& table);

  /// Throws the ScenarioError for what SQLite says.
  [[noreturn]] void fail(const std::string& doing) const;

  [[nodiscard]] sqlite3* handle() const { return handle_; }

 private:
  void prepare();
  static int count_work(void* self);

  std::string name_;
  sqlite3* handle_ = nullptr;
  std::int64_t work_left_ = 0;
  std::set<std::string> tables_;
};

/// Rows of one table: the columns asked for, in that order; those that the table lacks read as NULL.
class Rows {
 public:
  Rows(SqliteFile& file, std::string table, const std::vector<std::string>& columns);
  ~Rows();
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;

  [[nodiscard]] bool next();

  /// A whole number; nothing where the column is missing, NULL or of another type.
  [[nodiscard]] std::optional<std::int64_t> whole(int column) const;
  [[nodiscard]] std::optional<std::string_view> text(int column) const;

  /// Throws the ScenarioError for the current row.
  [[noreturn]] void refuse_row(const std::string& problem) const;

 private:
  SqliteFile& file_;
  std::string table_;
  sqlite3_stmt* statement_ = nullptr;
  std::int64_t row_ = 0;
};

}  // namespace lamina::validate::hardware_trace
