// A SQLite database that can be thrown away: statements, transactions, and whether it is the one
// that is meant. No other file knows SQLite.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "paddock/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace paddock::audit {

// It is damaged, or another one. Make it again.
constexpr Code kBroken = Code::internal;

struct CloseDatabase {
  void operator()(sqlite3* database) const;
  void operator()(sqlite3_stmt* statement) const;
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;

struct Layout {
  int application, version;
  // Every CREATE there is.
  std::span<const char* const> schema = {};
};

// Made with this layout when it is empty; any other than this is kBroken. `path` may be ":memory:".
Result<Database> open_database(const std::string& path, const Layout& layout);

class Statement {
 public:
  static Result<Statement> prepare(const Database& database, const std::string& text);

  // The values of its question marks, in order.
  Statement& add(int64_t number);
  Statement& add(std::string_view text);
  // An empty text is stored as null.
  Statement& add_or_null(std::string_view text);

  // Says whether there is a row.
  Result<bool> step();
  // Runs to its end; then it takes new values.
  Result<void> run();
  int64_t number(int column) const;
  std::string text(int column) const;

 private:
  Statement(sqlite3* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}
  Statement& bound(int status);

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, CloseDatabase> statement_;
  int count_ = 0, failed_ = 0;
};

Result<void> execute(const Database& database, const std::string& text);
// The first column of the first row; 0: none.
Result<int64_t> number_of(const Database& database, const std::string& text);

// Rolled back unless it came to commit().
class Transaction {
 public:
  static Result<Transaction> begin(const Database& database);
  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  ~Transaction();
  Result<void> commit();

 private:
  explicit Transaction(const Database& database) : database_(&database) {}
  const Database* database_;
};

}  // namespace paddock::audit
