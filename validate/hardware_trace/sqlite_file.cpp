#include "validate/hardware_trace/sqlite_file.hpp"

#include <utility>

#include <fmt/format.h>
#include <sqlite3.h>

#include "sim/error/error.hpp"
#include "validate/hardware_trace/byte_source.hpp"

namespace lamina::validate::hardware_trace {
namespace {

constexpr int kWorkPiece = 10000;

std::string as_identifier(const std::string& name) {
  std::string result = "\"";
  for (const char c : name) {
    result += c;
    if (c == '"') {
      result += c;
    }
  }
  return result + "\"";
}

sqlite3_stmt* prepared(const SqliteFile& file, const std::string& query) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(file.handle(), query.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    sqlite3_finalize(statement);
    file.fail("looking at its tables");
  }
  return statement;
}

}  // namespace

SqliteFile::SqliteFile(const std::filesystem::path& file, std::int64_t most_work)
    : name_(file.string()), work_left_(most_work / kWorkPiece) {
  if (sqlite3_open_v2(file.c_str(), &handle_, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
    const std::string text = handle_ == nullptr ? "out of memory" : sqlite3_errmsg(handle_);
    sqlite3_close(handle_);
    throw error::EnvironmentError(fmt::format("cannot read {}: {}", name_, text));
  }
  prepare();
}

SqliteFile::SqliteFile(std::string_view bytes, std::string name, std::int64_t most_work)
    : name_(std::move(name)), work_left_(most_work / kWorkPiece) {
  if (sqlite3_open_v2(":memory:", &handle_, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) {
    sqlite3_close(handle_);
    throw error::EnvironmentError("cannot open a database in memory");
  }
  auto* copy = static_cast<unsigned char*>(sqlite3_malloc64(bytes.size() + 1));
  if (copy == nullptr) {
    sqlite3_close(handle_);
    throw error::EnvironmentError("out of memory");
  }
  bytes.copy(reinterpret_cast<char*>(copy), bytes.size());
  const auto size = static_cast<sqlite3_int64>(bytes.size());
  (void)sqlite3_deserialize(handle_, "main", copy, size, size,
                            SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_READONLY);
  prepare();
}

void SqliteFile::prepare() {
  constexpr int kLongestValue = 16 << 20;
  sqlite3_limit(handle_, SQLITE_LIMIT_LENGTH, kLongestValue);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  // Cells that a damaged page puts outside of itself would be read from whatever lies behind it in memory.
  sqlite3_exec(handle_, "pragma cell_size_check = on", nullptr, nullptr, nullptr);
  sqlite3_progress_handler(handle_, kWorkPiece, &SqliteFile::count_work, this);
  try {
    sqlite3_stmt* const statement = prepared(*this, "select name from sqlite_master where type = 'table'");
    int state = SQLITE_ROW;
    while ((state = sqlite3_step(statement)) == SQLITE_ROW) {
      const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
      tables_.insert(text == nullptr ? "" : text);
    }
    sqlite3_finalize(statement);
    if (state != SQLITE_DONE) {
      fail("looking at its tables");
    }
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

SqliteFile::~SqliteFile() {
  sqlite3_close(handle_);
}

int SqliteFile::count_work(void* self) {
  return --static_cast<SqliteFile*>(self)->work_left_ < 0 ? 1 : 0;
}

std::set<std::string> SqliteFile::columns(const std::string& table) {
  std::set<std::string> result;
  sqlite3_stmt* const statement = prepared(*this, fmt::format("pragma table_info({})", as_identifier(table)));
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement, 1));
    result.insert(text == nullptr ? "" : text);
  }
  sqlite3_finalize(statement);
  return result;
}

void SqliteFile::fail(const std::string& doing) const {
  refuse(name_, fmt::format("The SQLite file is damaged, or no such file ({}).", doing), sqlite3_errmsg(handle_),
         "an export of Nsight Systems: nsys export --type sqlite");
}

Rows::Rows(SqliteFile& file, std::string table, const std::vector<std::string>& columns)
    : file_(file), table_(std::move(table)) {
  const std::set<std::string> known = file_.columns(table_);
  std::string list;
  for (const std::string& column : columns) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", known.contains(column) ? as_identifier(column) : "NULL");
  }
  statement_ = prepared(file_, fmt::format("select {} from {}", list, as_identifier(table_)));
}

Rows::~Rows() {
  sqlite3_finalize(statement_);
}

bool Rows::next() {
  ++row_;
  const int state = sqlite3_step(statement_);
  if (state != SQLITE_ROW && state != SQLITE_DONE) {
    file_.fail(fmt::format("table {}, row {}", table_, row_));
  }
  return state == SQLITE_ROW;
}

std::optional<std::int64_t> Rows::whole(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_INTEGER) {
    return std::nullopt;
  }
  return sqlite3_column_int64(statement_, column);
}

std::optional<std::string_view> Rows::text(int column) const {
  if (sqlite3_column_type(statement_, column) != SQLITE_TEXT) {
    return std::nullopt;
  }
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (text == nullptr) {
    return std::nullopt;
  }
  return std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
}

void Rows::refuse_row(const std::string& problem) const {
  refuse(file_.name(), fmt::format("{} (table {}, row {})", problem, table_, row_), {},
         "an export of Nsight Systems: nsys export --type sqlite");
}

}  // namespace lamina::validate::hardware_trace
