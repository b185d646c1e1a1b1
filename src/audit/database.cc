#include "audit/database.h"

#include <sqlite3.h>

#include "base/text.h"

namespace paddock::audit {

namespace {

// How long to wait for another process that writes, in milliseconds.
constexpr int kBusyMs = 30'000;

// Errors that mean damage get kBroken, by which the index is made again; the others are passed on.
Error sqlite_error(sqlite3* database, std::string_view what) {
  int status = sqlite3_errcode(database);
  bool broken = status == SQLITE_CORRUPT || status == SQLITE_NOTADB || status == SQLITE_SCHEMA ||
                status == SQLITE_ERROR;
  return {broken ? kBroken : Code::io,
          cat(what, " the index of the audit log: ", sqlite3_errmsg(database)),
          "make it anew with: paddock audit rebuild"};
}

// Whatever else stands in a database (a view, a trigger) is not ours.
Result<void> check_layout(const Database& database, const Layout& layout) {
  Transaction transaction = TRY(Transaction::begin(database));
  int64_t things = TRY(number_of(database, "SELECT count(*) FROM sqlite_schema"));
  if (things == 0) {
    for (const char* text : layout.schema) TRY(execute(database, text));
    TRY(execute(database, cat("PRAGMA application_id = ", layout.application)));
    TRY(execute(database, cat("PRAGMA user_version = ", layout.version)));
    return transaction.commit();
  }
  Error foreign{kBroken, "open the index of the audit log: it is another database"};
  if (TRY(number_of(database, "PRAGMA application_id")) != layout.application ||
      TRY(number_of(database, "PRAGMA user_version")) != layout.version)
    return foreign;
  if (things != std::ssize(layout.schema)) return foreign;
  for (const char* text : layout.schema) {
    Statement same =
        TRY(Statement::prepare(database, "SELECT count(*) FROM sqlite_schema WHERE sql = ?"));
    if (!TRY(same.add(std::string_view(text)).step()) || same.number(0) != 1) return foreign;
  }
  return transaction.commit();
}

}  // namespace

void CloseDatabase::operator()(sqlite3* database) const { (void)sqlite3_close_v2(database); }
void CloseDatabase::operator()(sqlite3_stmt* statement) const { (void)sqlite3_finalize(statement); }

// The file may have been written by somebody else, so SQLite is told to trust nothing in it.
Result<Database> open_database(const std::string& path, const Layout& layout) {
  sqlite3* opened = nullptr;
  int status =
      sqlite3_open_v2(path.c_str(), &opened,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(opened);
  if (!opened) return Error{Code::exhausted, "open the index of the audit log: no memory"};
  if (status != SQLITE_OK) return sqlite_error(opened, "open");
  (void)sqlite3_busy_timeout(opened, kBusyMs);
  (void)sqlite3_db_config(opened, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  (void)sqlite3_db_config(opened, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  // WAL: readers do not wait for writers. It is whole after a crash; what a power failure
  // takes is read from the log again.
  for (const char* pragma : {"PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL",
                             "PRAGMA cell_size_check = ON", "PRAGMA cache_size = -65536"})
    TRY(execute(database, pragma));
  TRY(check_layout(database, layout));
  return database;
}

Result<Statement> Statement::prepare(const Database& database, const std::string& text) {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database.get(), text.c_str(), static_cast<int>(text.size()), &statement,
                         nullptr) != SQLITE_OK)
    return sqlite_error(database.get(), "ask");
  return Statement(database.get(), statement);
}

// The first failure is kept, so that values can be added in one expression and checked once.
Statement& Statement::bound(int status) {
  if (failed_ == SQLITE_OK) failed_ = status;
  return *this;
}

Statement& Statement::add(int64_t number) {
  return bound(sqlite3_bind_int64(statement_.get(), ++count_, number));
}
Statement& Statement::add(std::string_view text) {
  return bound(sqlite3_bind_text(statement_.get(), ++count_, text.data(),
                                 static_cast<int>(text.size()), SQLITE_TRANSIENT));
}
Statement& Statement::add_or_null(std::string_view text) {
  return text.empty() ? bound(sqlite3_bind_null(statement_.get(), ++count_)) : add(text);
}

Result<bool> Statement::step() {
  int status = failed_ == SQLITE_OK ? sqlite3_step(statement_.get()) : failed_;
  if (status == SQLITE_ROW) return true;
  if (status != SQLITE_DONE) return sqlite_error(database_, "use");
  return false;
}

// Runs to the end, and can be used again with new values after that.
Result<void> Statement::run() {
  while (TRY(step())) {}
  (void)sqlite3_reset(statement_.get());
  count_ = 0;
  return {};
}

int64_t Statement::number(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const unsigned char* bytes = sqlite3_column_text(statement_.get(), column);
  return bytes ? std::string(reinterpret_cast<const char*>(bytes),
                             static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column)))
               : "";
}

Result<void> execute(const Database& database, const std::string& text) {
  Statement statement = TRY(Statement::prepare(database, text));
  return statement.run();
}

Result<int64_t> number_of(const Database& database, const std::string& text) {
  Statement statement = TRY(Statement::prepare(database, text));
  return TRY(statement.step()) ? statement.number(0) : 0;
}

Result<Transaction> Transaction::begin(const Database& database) {
  TRY(execute(database, "BEGIN IMMEDIATE"));
  return Transaction(database);
}

// Also runs when an error has rolled it back already; SQLite then does nothing.
Transaction::~Transaction() {
  if (database_ && *database_) (void)execute(*database_, "ROLLBACK");
}

Result<void> Transaction::commit() {
  TRY(execute(*database_, "COMMIT"));
  database_ = nullptr;
  return {};
}

}  // namespace paddock::audit
